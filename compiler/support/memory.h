// Tests whether there is memory, before work that would end the process or hang if memory ran out during it.
// Keeps none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <exception>

namespace kw {

inline bool has_memory(size_t bytes) noexcept {
  void *volatile p = std::malloc(bytes);  // volatile: else compilers assume that malloc succeeds
  if (!p) return false;
  std::free(p);
  return true;
}

/// Returns whether there is memory to throw; if not, nothing may be thrown. Call it before work that may run
/// out of memory in a thread for the first time. Thread-local variables, such as those of the C++ library for
/// exceptions, are allocated at their first use. The C library ends the process if it has no memory for them.
inline bool can_throw() noexcept { return has_memory(size_t{1} << 20) && std::uncaught_exceptions() >= 0; }

}  // namespace kw
