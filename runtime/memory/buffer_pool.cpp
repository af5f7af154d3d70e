// Lists of kept blocks: one per class, last in first out, and one of all by age.
#include "runtime/memory/buffer_pool.h"

#include <bit>
#include <cstdlib>
#include <new>

#include "runtime/memory/map_pages.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace kw {

static_assert(sizeof(Block) == before_mapping);

namespace {

// Bytes of a cache line; block sizes are multiples of it.
constexpr size_t unit = 64;

/// Returns whether blocks of the class are mapped from the system; smaller ones come from the C library.
bool is_mapped(uint32_t size_class) { return class_bytes(size_class) >= huge_page; }

/// Frees blocks chained by `next`. Called without the lock, because unmapping pages is slow.
void free_chain(Block *chain) {
  while (chain) {
    Block *next = chain->next;
    free_block(chain);
    chain = next;
  }
}

}  // namespace

/// Returns the size class. From class 8 on, it is the position of the leading bit of `last` with the 2 bits
/// below it:
///   class   0    3    4    7    8    11    12
///   bytes  64  256  320  512  640  1024  1280
uint32_t size_class_of(size_t bytes) {
  size_t last = bytes ? (bytes - 1) / unit : 0;  // the index of the last unit
  auto shift = static_cast<uint32_t>(last < 4 ? 0 : std::bit_width(last) - 3);
  return 4 * shift + static_cast<uint32_t>(last >> shift);
}

size_t class_bytes(uint32_t size_class) {
  uint32_t shift = size_class < 8 ? 0 : size_class / 4 - 1;
  return (size_t{size_class} - 4 * shift + 1) * unit << shift;
}

Block *make_block(uint32_t size_class) {
  size_t bytes = class_bytes(size_class);
  void *memory = nullptr;
  if (is_mapped(size_class)) {
    void *data = map_pages(bytes);
    memory = data ? Block::of(data) : nullptr;
  } else {
    memory = std::aligned_alloc(unit, sizeof(Block) + bytes);
  }
  if (!memory) return nullptr;
  auto *block = new (memory) Block;
  block->size_class = size_class;
  close_block(block);
  return block;
}

void free_block(Block *block) {
  size_t bytes = class_bytes(block->size_class);
  open_block(block, bytes);
  if (is_mapped(block->size_class))
    unmap_pages(block->data(), bytes);
  else
    std::free(block);
}

#if defined(__SANITIZE_ADDRESS__)
void open_block(Block *block, size_t bytes) { __asan_unpoison_memory_region(block->data(), bytes); }

void close_block(Block *block) { __asan_poison_memory_region(block->data(), class_bytes(block->size_class)); }
#endif

/// Takes a block. New pages of the system are zeros, kept blocks are not, so only new pages set `is_zero`.
Block *BufferPool::take(uint32_t size_class, bool &is_zero) {
  is_zero = false;
  {
    std::scoped_lock lock(mutex_);
    if (Block *kept = by_class_[size_class]) {
      remove(kept);
      return kept;
    }
  }
  Block *made = make_block(size_class);
  if (!made && give_back()) made = make_block(size_class);
  is_zero = made && is_mapped(size_class);
  return made;
}

void BufferPool::keep(Block *block) {
  Block *freed = nullptr;
  {
    std::scoped_lock lock(mutex_);
    size_t bytes = class_bytes(block->size_class);
    Block *&first = by_class_[block->size_class];
    block->previous = nullptr;
    block->next = first;
    if (first) first->previous = block;
    first = block;
    block->newer = nullptr;
    block->older = newest_;
    (newest_ ? newest_->newer : oldest_) = block;
    newest_ = block;
    block->is_hot = true;
    if (!last_hot_) last_hot_ = block;
    hot_ += bytes;
    kept_ += bytes;
    if (hot_ > limits_.hot || kept_ > limits_.all) freed = cool();
  }
  free_chain(freed);
}

/// Reduces the kept blocks to the limits; returns the blocks to free, chained by `next`.
Block *BufferPool::cool() {
  Block *freed = nullptr;
  auto drop = [&](Block *b) {
    remove(b);
    b->next = freed;
    freed = b;
  };
  // called once and late, because most processes never keep enough to need the machine's limits
  if (find_) {
    limits_ = find_();
    find_ = nullptr;
  }
  // from the oldest hot block on; a block whose pages cannot be offered is freed instead
  while (hot_ > limits_.hot) {
    Block *b = last_hot_;
    size_t bytes = class_bytes(b->size_class);
    if (!is_mapped(b->size_class) || !offer_pages(b->data(), bytes)) {
      drop(b);
      continue;
    }
    b->is_hot = false;
    hot_ -= bytes;
    last_hot_ = b->newer;
  }
  while (kept_ > limits_.all) drop(oldest_);
  return freed;
}

bool BufferPool::give_back() {
  Block *freed = nullptr;
  {
    std::scoped_lock lock(mutex_);
    while (Block *b = oldest_) {
      remove(b);
      b->next = freed;
      freed = b;
    }
  }
  bool any = freed != nullptr;
  free_chain(freed);
  return any;
}

size_t BufferPool::kept_bytes() {
  std::scoped_lock lock(mutex_);
  return kept_;
}

void BufferPool::remove(Block *block) {
  size_t bytes = class_bytes(block->size_class);
  (block->previous ? block->previous->next : by_class_[block->size_class]) = block->next;
  if (block->next) block->next->previous = block->previous;
  (block->newer ? block->newer->older : newest_) = block->older;
  (block->older ? block->older->newer : oldest_) = block->newer;
  if (block == last_hot_) last_hot_ = block->newer;
  if (block->is_hot) hot_ -= bytes;
  kept_ -= bytes;
}

}  // namespace kw
