// Texts for messages about a call: the kernel's parameters and the passed arguments. Raises no exceptions of
// its own.
#pragma once

#include "bind/dispatch/args.h"

namespace kw {

/// Returns "add(a, b, scale=2)": the kernel as in its `def` line.
std::string call_form(const KernelState &k);
/// Adds "in the call add(a: float32[2, 3], b: int)" to a pending error of this package about types or values.
/// Returns null.
PyObject *note_call(const KernelState &k, const CallFrame &f);
/// Adds the same note for positional arguments.
PyObject *note_call(const KernelState &k, PyObject *const *args, size_t nargs);

}  // namespace kw
