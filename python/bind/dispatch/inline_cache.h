// The short way of a call that has the types and shapes of the call before it. Decides nothing itself: what
// it does not recognise goes the long way.
#pragma once

#include "bind/dispatch/state.h"

namespace kw {

/// Such a call, taken apart. Copies what a run without the GIL needs of the plan.
struct CachedCall {
  void *data[max_args + 1];
  int64_t extents[max_dims], out_extents[max_rank];
  uint64_t scalars[max_args];
  size_t extent_count = 0;
  PyObject *out = nullptr;  ///< given as out=; borrowed
  int64_t workspace = 0, work = 0;
};

/// Fills plan.inline_cache for a call of the arguments `args`, whose shapes the plan now holds.
void remember(CallPlan &plan, const LoadedKernel &kernel, PyObject *const *args);

/// Whether the call repeats the plan's last one; out= then needs no further check.
bool matches_repeat(const CallPlan &plan, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CachedCall &c);

/// The array that the call writes, zeroed where the kernel does not write everything; null with an exception.
PyObject *open_output(const CallPlan &plan, CachedCall &c);

}  // namespace kw
