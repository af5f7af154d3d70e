// Small helpers that build and measure text. There is no formatting language: `cat(a, b, …)` appends
// printable values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kw {

namespace detail {
inline void append(std::string &out, std::string_view s) { out += s; }
inline void append(std::string &out, const char *s) { out += s; }
inline void append(std::string &out, char c) { out += c; }
inline void append(std::string &out, bool b) { out += b ? "True" : "False"; }
template <class T>
  requires std::is_integral_v<T>
void append(std::string &out, T v) {
  out += std::to_string(v);
}
}  // namespace detail

/// Concatenates strings, characters, booleans (Python spelling) and integers.
template <class... A>
std::string cat(const A &...a) {
  std::string out;
  (detail::append(out, a), ...);
  return out;
}

/// Joins parts with a separator.
std::string join_text(std::span<const std::string> parts, std::string_view separator);
/// Splits at every `separator`; keeps empty parts.
std::vector<std::string> split_text(std::string_view text, char separator);
std::string_view trim(std::string_view text);
bool starts_with(std::string_view text, std::string_view prefix);

/// Returns the number of Unicode code points in UTF-8 text (continuation bytes do not count).
uint32_t count_code_points(std::string_view text);
/// Returns the code points of UTF-8 text, as many as `count_code_points` counts.
std::u32string decode_utf8(std::string_view text);
/// Returns the terminal columns of a code point: 2 for East Asian wide ones and emoji, 0 for combining ones,
/// else 1.
uint32_t display_width(char32_t point);

/// Returns the shortest decimal text that reads back as the same double, always with a '.', an exponent,
/// "inf" or "nan".
std::string float_text(double v);
/// Likewise for float, with float's shorter digits.
std::string float_text(float v);
std::string hex_text(uint64_t v);
/// Returns the two hexadecimal digits of a byte.
std::string hex_digits(uint8_t byte);

/// Returns the number with its noun: "1 dimension", "2 dimensions".
std::string counted(size_t n, std::string_view noun);
/// Returns the noun with its article, "a list", "an int". Goes by the first letter, which is right for the
/// words in use.
std::string with_article(std::string_view noun);

/// Returns the candidate nearest to `word` in edit distance (at most a third of its length), or "".
std::string closest(std::string_view word, std::span<const std::string> candidates);

/// Returns whether `text` matches `pattern`, where `*` stands for any run of characters.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace kw
