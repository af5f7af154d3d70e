// Executable memory, the one file per operating system: mapped writable, filled, then made read-only and
// executable; never both.
#pragma once

#include <cstddef>
#include <utility>

namespace kw {

/// Owns one mapping; unmapped when destroyed.
class CodeMapping {
 public:
  CodeMapping() = default;
  /// A writable mapping of at least `bytes`. Throws std::bad_alloc when there is no room for it.
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
  /// Read and execute only from here on; false when the system refuses. Throws std::bad_alloc when that takes
  /// memory that is not there.
  bool make_executable();

 private:
  char *data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace kw
