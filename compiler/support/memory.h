// Whether there is memory, asked before work that ends the process or hangs where memory ends amidst it.
// Takes none.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <exception>

namespace kw {

inline bool has_memory(size_t bytes) noexcept {
  void *volatile p = std::malloc(bytes);  // volatile: else compilers take the answer to be yes
  if (!p) return false;
  std::free(p);
  return true;
}

/// Asked before work that may meet the end of memory in a thread for the first time. Variables of a thread,
/// those of the C++ library for exceptions among them, are made at their first use, and the C library ends
/// the process where it has no memory for them. False where there is little memory: then nothing may be
/// thrown.
inline bool can_throw() noexcept { return has_memory(size_t{1} << 20) && std::uncaught_exceptions() >= 0; }

}  // namespace kw
