// Memory that a thread keeps for the temporaries of its kernels: aligned, grown on demand, never shared. Its
// contents are meaningless after the code that requested it has returned.
#pragma once

#include <cstddef>

namespace kw {

/// 64-byte aligned memory of one thread, released when the thread ends.
class Arena {
 public:
  /// Returns at least `bytes`, valid until the next call. Returns null if there is no memory, or no way to
  /// release it when the thread ends.
  void *need(size_t bytes) noexcept;
  /// Releases the memory if it exceeds what a thread keeps between runs.
  void shrink() noexcept;
  /// Releases all of the memory.
  void drop() noexcept;

 private:
  void *data_ = nullptr;
  size_t size_ = 0;
};

/// Returns the calling thread's arena for the temporaries of the chunks that it runs.
Arena &scratch_arena() noexcept;
/// Returns the calling thread's arena for the temporaries of the kernels that it calls.
Arena &workspace_arena() noexcept;

}  // namespace kw
