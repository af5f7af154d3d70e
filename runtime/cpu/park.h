// Sleeping on a word of memory until another thread changes it and says so: the two functions that a port to
// another system has to write. They make no promise about order: callers use the atomics' own.
#pragma once

#include <atomic>
#include <cstdint>

namespace kw {

/// Returns when woken, when the word is not `value`, or for no reason: callers look again.
void park_while(const std::atomic<uint32_t> &word, uint32_t value) noexcept;
/// Wakes one thread that sleeps on the word.
void unpark_one(std::atomic<uint32_t> &word) noexcept;

}  // namespace kw
