// Memory that a thread keeps for the temporaries of its kernels: aligned, grown on demand, never shared. What
// lies in it means nothing once the code that asked for it has returned.
#pragma once

#include <cstddef>

namespace kw {

/// 64-byte aligned memory of the thread that it belongs to, until that ends.
class Arena {
 public:
  /// At least `bytes`, valid until the next call; null when there is no memory, or no way to give it back
  /// when the thread ends.
  void *need(size_t bytes) noexcept;
  /// Gives memory beyond what a thread keeps between runs back.
  void shrink() noexcept;
  /// Gives all of it back.
  void drop() noexcept;

 private:
  void *data_ = nullptr;
  size_t size_ = 0;
};

/// Of the calling thread, for the temporaries of the chunks that it runs.
Arena &scratch_arena() noexcept;
/// Of the calling thread, for the temporaries of the kernels that it calls.
Arena &workspace_arena() noexcept;

}  // namespace kw
