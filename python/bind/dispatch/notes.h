// What a message about a call says of the kernel's parameters and of the arguments that were passed. Raises
// nothing of its own.
#pragma once

#include "bind/dispatch/args.h"

namespace kw {

/// "add(a, b, scale=2)": the kernel as its `def` line has it.
std::string call_form(const KernelState &k);
/// Adds "in the call add(a: float32[2, 3], b: int)" to a pending error of this package about types or values;
/// null.
PyObject *note_call(const KernelState &k, const CallFrame &f);
/// The same from arguments by position.
PyObject *note_call(const KernelState &k, PyObject *const *args, size_t nargs);

}  // namespace kw
