// Arrays that change while a call is on its way: what Python code that the call meets may do to them, and
// other threads while a kernel is compiled. Changes of their elements are nobody's business.
#pragma once

#include "bind/dispatch/args.h"

namespace kw {

/// Compares all arrays of the call with what was read of them. Comes last before a run: from here on no
/// Python code runs. `outputs` are those of the run. False with E222 when the memory or the shape of one is
/// another.
bool check_unchanged(const KernelState &k, const CallFrame &f, std::span<PyObject *const> outputs);

}  // namespace kw
