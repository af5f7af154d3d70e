// Arenas by aligned_alloc: contents are not kept when one grows.
#include "runtime/cpu/scratch.h"

#include <cstdlib>

namespace kw {

constexpr size_t kept_bytes = size_t{8} << 20;  ///< what a thread keeps between runs

Arena::~Arena() { std::free(data_); }

void *Arena::need(size_t bytes) noexcept {
  if (bytes <= size_ && data_) return data_;
  std::free(data_);
  size_ = bytes > 0 ? (bytes + 63) / 64 * 64 : 64;
  data_ = std::aligned_alloc(64, size_);
  if (!data_) size_ = 0;
  return data_;
}

void Arena::shrink() noexcept {
  if (size_ <= kept_bytes) return;
  std::free(data_);
  data_ = nullptr;
  size_ = 0;
}

Arena &scratch_arena() noexcept {
  thread_local Arena arena;
  return arena;
}

}  // namespace kw
