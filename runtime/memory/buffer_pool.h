// Memory of at least a few kilobytes that was released, kept by size until it is wanted again. Bounded, and
// the oldest goes first. Knows no threads' lists: runtime/memory/buffer has them for small sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace kw {

/// What stands in the 64 bytes before the memory of a buffer.
struct alignas(64) Block {
  Block *newer = nullptr, *older = nullptr;    ///< among the kept ones, by the time of release
  Block *next = nullptr, *previous = nullptr;  ///< among the kept ones of its class
  uint32_t size_class = 0;
  bool is_hot = false;

  void *data() { return this + 1; }
  static Block *of(void *data) { return static_cast<Block *>(data) - 1; }
};
static_assert(sizeof(Block) == 64);

/// Sizes come in classes: four between a power of two and the next, from 64 bytes on.
inline constexpr uint32_t size_classes = 164;
/// The class of a size; at least `size_classes` for one that is too large to exist.
uint32_t size_class_of(size_t bytes);
/// What a block of a class holds.
size_t class_bytes(uint32_t size_class);

/// A new block of a class, all zeros from 2 MB on, with poisoned data under AddressSanitizer; or null.
Block *make_block(uint32_t size_class);
void free_block(Block *block);
/// What AddressSanitizer lets pass: of the block in use, `bytes` of its data.
#if defined(__SANITIZE_ADDRESS__)
void open_block(Block *block, size_t bytes);
void close_block(Block *block);
#else
inline void open_block(Block *, size_t) {}
inline void close_block(Block *) {}
#endif

/// How much a pool keeps. Up to `hot` bytes stay as they are; older blocks are offered to the system, which
/// takes their pages when it runs short, or freed where they cannot be; beyond `all` the oldest are freed.
struct PoolLimits {
  size_t hot, all;
};

class BufferPool {
 public:
  /// `find`, when given, tells the limits once what is kept passes those of `start`.
  explicit BufferPool(PoolLimits start, PoolLimits (*find)() = nullptr) : limits_(start), find_(find) {}
  BufferPool(const BufferPool &) = delete;
  ~BufferPool() { give_back(); }

  /// A kept block or a new one, closed; null when there is no memory even after all was given back. `is_zero`
  /// is set when its data are known to be zeros.
  Block *take(uint32_t size_class, bool &is_zero);
  /// Keeps a closed block.
  void keep(Block *block);
  /// Frees all that is kept; false when that was nothing.
  bool give_back();
  size_t kept_bytes();

  /// Holds the pool still while the process forks.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  void remove(Block *block);
  Block *cool();

  std::mutex mutex_;
  PoolLimits limits_;
  PoolLimits (*find_)();
  std::array<Block *, size_classes> by_class_{};  ///< the last released first
  Block *newest_ = nullptr, *oldest_ = nullptr;
  Block *last_hot_ = nullptr;  ///< the hot ones are those from the newest to this
  size_t hot_ = 0, kept_ = 0;
};

}  // namespace kw
