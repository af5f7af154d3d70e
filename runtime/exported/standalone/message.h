// The text of an error, written into memory of the caller. Cuts what does not fit; allocates and throws
// nothing.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/versions/fault_pattern.h"

namespace kw {

class Message {
 public:
  /// `room` counts the 0 at the end; without room nothing is written.
  Message(char *out, size_t room) : out_(out), room_(out ? room : 0) { put(""); }

  Message &put(const char *text) {
    for (; *text; ++text) put_char(*text);
    return end();
  }
  Message &put(int64_t v) {
    if (v < 0) put_char('-');
    return put_digits(v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
  }
  void clear() { at_ = 0, end(); }
  /// Writes a shape as NumPy shows it: "(3,)", "(2, 4)".
  Message &put_shape(const int64_t *extents, size_t rank) {
    put("(");
    for (size_t d = 0; d < rank; ++d) put(d ? ", " : "").put(extents[d]);
    return put(rank == 1 ? ",)" : ")");
  }
  /// Writes a pattern with the numbers of a fault.
  Message &put_pattern(const char *pattern, const KwFault &fault) {
    for (; *pattern; ++pattern) {
      if (!is_fault_field(*pattern)) {
        put_char(*pattern);
        continue;
      }
      auto field = static_cast<FaultField>(*pattern);
      if (field == FaultField::real)
        put_real(fault.value);
      else if (is_unsigned_field(field))
        put_digits(static_cast<uint64_t>(integer_of(field, fault)));
      else
        put(integer_of(field, fault));
    }
    return end();
  }

 private:
  void put_char(char c) {
    if (at_ + 1 < room_) out_[at_++] = c;
  }
  Message &end() {
    if (room_) out_[at_] = 0;
    return *this;
  }
  Message &put_digits(uint64_t v) {
    char digits[20];
    size_t n = 0;
    do digits[n++] = static_cast<char>('0' + v % 10);
    while (v /= 10);
    while (n) put_char(digits[--n]);
    return end();
  }
  /// Writes the fewest digits that read back as the same float64, and always a point, an exponent, "inf" or
  /// "nan", as support/text does.
  void put_real(int64_t bits) {
    double v = __builtin_bit_cast(double, bits);
    char text[40];
    for (int digits = 1; digits <= 17; ++digits) {
      std::snprintf(text, sizeof text, "%.*g", digits, v);
      if (std::strtod(text, nullptr) == v) break;
    }
    if (v == v) set_point(text);
    put(v != v ? "nan" : text);
    if (v == v && !std::strpbrk(text, ".en")) put(".0");
  }

  /// Replaces the decimal point of the program's language, of one or more bytes, by that of C.
  static void set_point(char *text) {
    char *to = text;
    for (const char *c = text; *c; ++c) {
      bool is_point = (*c < '0' || *c > '9') && (*c < 'a' || *c > 'z') && *c != '-' && *c != '+';
      if (is_point && to != text && to[-1] == '.') continue;
      *to++ = is_point ? '.' : *c;
    }
    *to = 0;
  }

  char *out_;
  size_t room_, at_ = 0;
};

}  // namespace kw
