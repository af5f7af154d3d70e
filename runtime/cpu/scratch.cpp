// Arenas in buffers. When an arena grows, its contents are not kept.
#include "runtime/cpu/scratch.h"

#include "runtime/memory/buffer.h"
#include "support/thread_end.h"

namespace kw {

constexpr size_t kept_bytes = size_t{8} << 20;  ///< bytes that a thread keeps between runs

namespace {

/// The arenas of one thread. They need no destructor, and a thread that uses none needs no memory to watch
/// its end.
struct Arenas {
  Arena scratch, workspace;
  bool watched = false;
};
constinit thread_local Arenas arenas{};

/// Returns the memory of an ending thread to the pool of buffers.
void drop_all(void *) {
  arenas.scratch.drop(), arenas.workspace.drop();
  arenas.watched = false;
}

/// Returns whether the end of this thread will release its arenas. Otherwise an arena must not grow, because
/// its memory would leak.
bool end_is_watched() noexcept {
  static const AtThreadEnd thread_end(drop_all);
  return arenas.watched || (arenas.watched = thread_end.watch(&arenas));
}

}  // namespace

void *Arena::need(size_t bytes) noexcept {
  if (bytes <= size_ && data_) return data_;
  if (!end_is_watched()) return nullptr;
  // the old memory is released first, because its contents are not kept and the new one may reuse it
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

Arena &scratch_arena() noexcept { return arenas.scratch; }
Arena &workspace_arena() noexcept { return arenas.workspace; }

}  // namespace kw
