// The process's pool, and per-thread lists of blocks up to 64 KB, which need no lock and are used first.
#include "runtime/memory/buffer.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "runtime/memory/buffer_pool.h"
#include "runtime/memory/map_pages.h"
#include "support/thread_end.h"

namespace kw {

namespace {

constexpr uint32_t small_classes = 20;             ///< up to 4 KB: only in the lists of threads
constexpr uint32_t listed_classes = 36;            ///< up to 64 KB: first in these lists, then in the pool
constexpr uint32_t most_listed = 16;               ///< small blocks per class and thread
constexpr uint32_t most_larger = 2;                ///< larger blocks per class: at most 0.8 MB per thread
constexpr size_t unquestioned = size_t{32} << 20;  ///< bytes that may be kept on any machine

/// Returns the limits of the pool. Many processes may share the machine, so little memory is kept that the
/// system cannot reclaim.
PoolLimits limits_of_machine() {
  size_t memory = 0;
  try {
    memory = usable_memory();
  } catch (...) {  // too little memory to read the limit
  }
  return {std::max(memory / 64, unquestioned), std::max(memory / 4, unquestioned)};
}

/// Returns the process's pool. It is never destroyed, because buffers are released until the process ends.
BufferPool &buffer_pool() {
  alignas(BufferPool) static char memory[sizeof(BufferPool)];
  static BufferPool &instance = *[] {
    auto *made = new (memory) BufferPool({unquestioned, unquestioned}, limits_of_machine);
    pthread_atfork([] { buffer_pool().before_fork(); }, [] { buffer_pool().after_fork(); },
                   [] { buffer_pool().after_fork(); });
    return made;
  }();
  return instance;
}

/// Small blocks that a thread released. Needs no destructor, so it can be used while the thread ends.
struct ThreadLists {
  Block *first[listed_classes];
  uint32_t count[listed_classes];
  uint32_t most[2];  ///< limits for small and larger blocks: 0 before begin_lists and after clear_lists
  bool ended;
};
constinit thread_local ThreadLists lists{};

/// Frees the thread's lists.
void clear_lists(void *) {
  lists.most[0] = lists.most[1] = 0;
  lists.ended = true;
  for (Block *&first : lists.first)
    while (first) free_block(std::exchange(first, first->next));
}

/// Starts the thread's lists. Returns false if the thread ends or its end cannot be watched: then it keeps
/// none.
bool begin_lists() {
  static const AtThreadEnd thread_end(clear_lists);
  if (lists.ended || !thread_end.watch(&lists)) return false;
  lists.most[0] = most_listed, lists.most[1] = most_larger;
  return true;
}

/// Prepares a block for its new owner and returns its data; null for no block. If `clear`, zeros the first
/// `bytes`.
void *open(Block *block, size_t bytes, bool clear) {
  if (!block) return nullptr;
  open_block(block, bytes);
  if (clear) std::memset(block->data(), 0, bytes);
  return block->data();
}

/// Makes a small block. If there is no memory, it frees the blocks of the pool and retries once.
Block *make_small(uint32_t size_class) {
  Block *made = make_block(size_class);
  return made || !buffer_pool().give_back() ? made : make_block(size_class);
}

/// Releases a block that no list of the thread takes. The first such call starts the lists.
void release_unlisted(Block *block) {
  if (block->size_class < listed_classes && lists.most[0] == 0 && begin_lists())
    return release_buffer(block->data());
  if (block->size_class < small_classes)
    free_block(block);
  else
    buffer_pool().keep(block);
}

}  // namespace

void *allocate_buffer(size_t bytes, bool zeroed) noexcept {
  uint32_t size_class = size_class_of(bytes);
  if (size_class < listed_classes) [[likely]] {
    ThreadLists &mine = lists;
    // last in, first out: the block released last is the likeliest to be in the caches
    if (Block *block = mine.first[size_class]) {
      mine.first[size_class] = block->next;
      --mine.count[size_class];
      return open(block, bytes, zeroed);
    }
    if (size_class < small_classes) return open(make_small(size_class), bytes, zeroed);
  }
  if (size_class >= size_classes) return nullptr;
  bool is_zero = false;
  Block *block = buffer_pool().take(size_class, is_zero);
  return open(block, bytes, zeroed && !is_zero);
}

void release_buffer(void *data) noexcept {
  Block *block = Block::of(data);
  close_block(block);
  uint32_t size_class = block->size_class;
  ThreadLists &mine = lists;
  if (size_class >= listed_classes || mine.count[size_class] >= mine.most[size_class >= small_classes])
    return release_unlisted(block);
  block->next = mine.first[size_class];
  mine.first[size_class] = block;
  ++mine.count[size_class];
}

void *resize_buffer(void *data, size_t bytes) noexcept {
  Block *block = Block::of(data);
  // the block has room for every size of its class
  if (size_class_of(bytes) == block->size_class) {
    close_block(block);
    open_block(block, bytes);
    return data;
  }
  void *made = allocate_buffer(bytes);
  if (!made) return nullptr;
  size_t held = class_bytes(block->size_class);
  open_block(block, held);  // the number of bytes in use is unknown
  std::memcpy(made, data, std::min(held, bytes));
  release_buffer(data);
  return made;
}

size_t kept_buffer_bytes() { return buffer_pool().kept_bytes(); }

void give_back_buffers() { buffer_pool().give_back(); }

}  // namespace kw
