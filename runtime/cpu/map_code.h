// Executable memory, the one file per operating system. The memory is mapped writable, filled, then made
// read-only and executable; it is never both.
#pragma once

#include <cstddef>
#include <utility>

namespace kw {

/// Owns one mapping, which its destructor unmaps.
class CodeMapping {
 public:
  CodeMapping() = default;
  /// Maps at least `bytes` of writable memory. Throws std::bad_alloc if there is no room.
  explicit CodeMapping(size_t bytes);
  CodeMapping(CodeMapping &&o) noexcept
      : data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  CodeMapping &operator=(CodeMapping &&o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    return *this;
  }
  ~CodeMapping();

  char *data() const { return data_; }
  size_t size() const { return size_; }
  /// Makes the mapping read-only and executable; returns false if the system refuses. Throws std::bad_alloc
  /// if the system has no memory for it.
  bool make_executable();

 private:
  char *data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kw
