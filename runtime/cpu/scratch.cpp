// Arenas of buffers: contents are not kept when one grows.
#include "runtime/cpu/scratch.h"

#include "runtime/buffer.h"

namespace kw {

constexpr size_t kept_bytes = size_t{8} << 20;  ///< what a thread keeps for itself

Arena::~Arena() { drop(); }

void *Arena::need(size_t bytes) noexcept {
  if (bytes <= size_ && data_) return data_;
  drop();
  data_ = allocate_buffer(bytes);
  if (data_) size_ = bytes;
  return data_;
}

void Arena::shrink() noexcept {
  if (size_ > kept_bytes) drop();
}

void Arena::drop() noexcept {
  if (data_) release_buffer(data_);
  data_ = nullptr;
  size_ = 0;
}

Arena &scratch_arena() noexcept {
  thread_local Arena arena;
  return arena;
}

}  // namespace kw
