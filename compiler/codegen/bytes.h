// Little-endian reading and writing of length-checked bytes: the encoding of everything inside an artifact.
// Knows no types of the compiler and allocates nothing but its output.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kw {

/// Appends values to a string, least significant byte first. Nothing is padded or aligned.
class ByteWriter {
 public:
  void u8(uint8_t v) { out_ += static_cast<char>(v); }
  void u32(uint32_t v) { fixed(v, 4); }
  void u64(uint64_t v) { fixed(v, 8); }
  /// Writes the length in 4 bytes, then the bytes.
  void text(std::string_view v) {
    u32(static_cast<uint32_t>(v.size()));
    out_ += v;
  }
  /// Returns everything written. The writer is not used afterwards.
  std::string take() { return std::move(out_); }

 private:
  /// Shifts instead of copying memory, so that the bytes do not depend on the host's byte order.
  void fixed(uint64_t v, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(v >> (8 * i));
  }
  std::string out_;
};

/// Reads never leave the buffer: after a failure `ok` is false and every value is zero or empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }
  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }
  uint64_t u64() { return fixed(8); }
  /// Returns a view into the buffer, which must outlive it. A length above `most` is a failure.
  std::string_view text(size_t most = SIZE_MAX) {
    uint32_t n = u32();
    if (n > most || !take(n)) return ok_ = false, std::string_view();
    return in_.substr(at_ - n, n);
  }
  bool ok() const { return ok_; }
  /// Returns whether every byte is read. Bytes left after the last field mean a corrupt section.
  bool at_end() const { return at_ == in_.size(); }
  /// Reads a count of elements that take at least `size` bytes each. A count above `most`, or above what the
  /// bytes left can hold, is a failure.
  uint32_t count(size_t size, size_t most = SIZE_MAX) {
    uint32_t n = u32();
    if (n > most || n > (in_.size() - at_) / size) ok_ = false;
    return ok_ ? n : 0;
  }

 private:
  /// Moves past the next `n` bytes if there are as many; otherwise fails for good.
  bool take(size_t n) {
    if (!ok_ || n > in_.size() - at_) return ok_ = false;
    at_ += n;
    return true;
  }
  uint64_t fixed(size_t n) {
    if (!take(n)) return 0;
    uint64_t v = 0;
    for (size_t i = 0; i < n; ++i)
      v |= static_cast<uint64_t>(static_cast<uint8_t>(in_[at_ - n + i])) << (8 * i);
    return v;
  }
  std::string_view in_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace kw
