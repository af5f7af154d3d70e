// Arenas of buffers: contents are not kept when one grows.
#include "runtime/cpu/scratch.h"

#include "runtime/memory/buffer.h"
#include "support/thread_end.h"

namespace kw {

constexpr size_t kept_bytes = size_t{8} << 20;  ///< what a thread keeps for itself

namespace {

/// They need no destructor, and a thread without them no memory to note that it ends.
struct Arenas {
  Arena scratch, workspace;
  bool watched = false;
};
constinit thread_local Arenas arenas{};

/// Gives the memory of a thread that ends back to the pool of buffers.
void drop_all(void *) {
  arenas.scratch.drop(), arenas.workspace.drop();
  arenas.watched = false;
}

/// Returns whether the end of this thread will release its arenas. Without that an arena must not grow: its
/// memory would be lost.
bool end_is_watched() noexcept {
  static const AtThreadEnd thread_end(drop_all);
  return arenas.watched || (arenas.watched = thread_end.watch(&arenas));
}

}  // namespace

void *Arena::need(size_t bytes) noexcept {
  if (bytes <= size_ && data_) return data_;
  if (!end_is_watched()) return nullptr;
  // the old memory is released first: contents are not kept, and the new one may take its place
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
