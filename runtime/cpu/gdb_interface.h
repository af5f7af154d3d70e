// GDB's interface for code that a program makes: objects in memory, which GDB reads when it is told.
// Source: GDB's manual, "JIT Compilation Interface".
#pragma once

#include <memory>
#include <string>

namespace kw {

/// Registers an object whose sections say where they lie (runtime/cpu/object_file). GDB forgets it when the
/// result is gone. Thread-safe.
std::shared_ptr<void> register_with_gdb(std::string object);

}  // namespace kw
