// Sleeping on a word of memory until another thread changes the word and wakes the sleeper. A port to another
// system must write these two functions. They order no memory accesses: callers use the order of the atomics.
#pragma once

#include <atomic>
#include <cstdint>

namespace kw {

/// Sleeps while the word is `value`. Also returns when woken or spuriously, so callers test again.
void park_while(const std::atomic<uint32_t> &word, uint32_t value) noexcept;
/// Wakes one thread that sleeps on the word.
void unpark_one(std::atomic<uint32_t> &word) noexcept;

}  // namespace kw
