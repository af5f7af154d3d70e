// The inline cache: the fast path of a call with the types and shapes of the previous call. Decides nothing
// itself; calls that it does not recognize take the general path.
#pragma once

#include "bind/dispatch/state.h"

namespace kw {

/// The arguments of such a call, and copies of the plan's values that a run without the GIL needs.
struct CachedCall {
  void *data[max_args + 1];
  int64_t extents[max_dims], out_extents[max_rank];
  uint64_t scalars[max_args];
  size_t extent_count = 0;
  PyObject *out = nullptr;     ///< array given as out=; borrowed
  bool out_is_a_view = false;  ///< and its memory belongs to another object, maybe a tensor
  int64_t workspace = 0, work = 0;
};

/// Fills plan.inline_cache for a call with the arguments `args`, whose shapes the plan now holds.
void remember(CallPlan &plan, const LoadedKernel &kernel, PyObject *const *args);

/// Returns whether the call repeats the plan's last one; then out= needs no further check.
bool matches_repeat(const CallPlan &plan, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CachedCall &c);

/// Returns the array that the call writes, zeroed if the kernel does not write all of it; null with an
/// exception.
PyObject *open_output(const CallPlan &plan, CachedCall &c);

}  // namespace kw
