// Released memory of at least a few kilobytes, kept by size for reuse. Its size is bounded, and the oldest
// block is freed first. Knows no lists of threads: runtime/memory/buffer has them for small sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace kw {

/// The header in the 64 bytes before the memory of a buffer.
struct alignas(64) Block {
  Block *newer = nullptr, *older = nullptr;    ///< neighbors among all kept blocks, by time of release
  Block *next = nullptr, *previous = nullptr;  ///< neighbors among the kept blocks of its class
  uint32_t size_class = 0;
  bool is_hot = false;

  void *data() { return this + 1; }
  static Block *of(void *data) { return static_cast<Block *>(data) - 1; }
};
static_assert(sizeof(Block) == 64);

/// Size classes: four between a power of two and the next, from 64 bytes on.
inline constexpr uint32_t size_classes = 164;
/// Returns the class of a size; at least `size_classes` for a size that is too large to exist.
uint32_t size_class_of(size_t bytes);
/// Returns the bytes that a block of a class holds.
size_t class_bytes(uint32_t size_class);

/// Makes a new block of a class, or returns null. Blocks from 2 MB on are zeros. Under AddressSanitizer the
/// data are poisoned.
Block *make_block(uint32_t size_class);
void free_block(Block *block);
/// Tell AddressSanitizer which bytes are accessible: the first `bytes` of the data of a block in use.
#if defined(__SANITIZE_ADDRESS__)
void open_block(Block *block, size_t bytes);
void close_block(Block *block);
#else
inline void open_block(Block *, size_t) {}
inline void close_block(Block *) {}
#endif

/// Limits of a pool, in bytes. Up to `hot` bytes stay resident. Older blocks are offered to the system, which
/// takes their pages when memory is short; blocks that cannot be offered are freed. Beyond `all` the oldest
/// are freed.
struct PoolLimits {
  size_t hot, all;
};

class BufferPool {
 public:
  /// `find`, if given, returns the limits. It is called once, when the kept bytes first exceed `start`.
  explicit BufferPool(PoolLimits start, PoolLimits (*find)() = nullptr) : limits_(start), find_(find) {}
  BufferPool(const BufferPool &) = delete;
  ~BufferPool() { give_back(); }

  /// Returns a kept block or a new one, closed; null if there is no memory even after everything was freed.
  /// Sets `is_zero` if its data are known to be zeros.
  Block *take(uint32_t size_class, bool &is_zero);
  /// Keeps a closed block.
  void keep(Block *block);
  /// Frees all kept blocks; returns false if there were none.
  bool give_back();
  size_t kept_bytes();

  /// Lock the pool while the process forks.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  void remove(Block *block);
  Block *cool();

  std::mutex mutex_;
  PoolLimits limits_;
  PoolLimits (*find_)();
  std::array<Block *, size_classes> by_class_{};  ///< the last released block first
  Block *newest_ = nullptr, *oldest_ = nullptr;
  Block *last_hot_ = nullptr;  ///< oldest of the hot blocks, which begin with the newest
  size_t hot_ = 0, kept_ = 0;
};

}  // namespace kw
