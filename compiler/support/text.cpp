// Text helpers: splitting, number printing, edit distance, globbing.
#include "support/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace kw {

std::string join_text(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> split_text(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    size_t at = text.find(separator);
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

uint32_t count_code_points(std::string_view text) {
  return static_cast<uint32_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) == 0x80) {
      if (!out.empty()) out.back() = out.back() << 6 | (byte & 0x3F);
    } else {
      out += byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0x0F : byte & 0x07;
    }
  }
  return out;
}

namespace {
struct PointRange {
  char32_t first, last;
};

constexpr PointRange combining[] = {
    {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0x302A, 0x302D},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};
constexpr PointRange wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD},
};

bool is_in(std::span<const PointRange> ranges, char32_t point) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [point](PointRange r) { return r.first <= point && point <= r.last; });
}
}  // namespace

uint32_t display_width(char32_t point) { return is_in(combining, point) ? 0 : is_in(wide, point) ? 2 : 1; }

namespace {
template <class T>
std::string shortest(T v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[64];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, v);
  (void)error;
  std::string out(buffer, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}
}  // namespace

std::string float_text(double v) { return shortest(v); }
std::string float_text(float v) { return shortest(v); }

std::string hex_digits(uint8_t byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {digits[byte >> 4], digits[byte & 15]};
}

std::string hex_text(uint64_t v) {
  char buffer[32];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, v, 16);
  (void)error;
  return cat("0x", std::string_view(buffer, static_cast<size_t>(end - buffer)));
}

/// Counts letters to insert, leave out or replace, and neighbours to exchange (optimal string alignment).
static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, last, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string counted(size_t n, std::string_view noun) { return cat(n, " ", noun, n == 1 ? "" : "s"); }

std::string with_article(std::string_view noun) {
  constexpr std::string_view vowels = "aeioAEIO";  // a uint8 is pronounced with a consonant
  bool an = !noun.empty() && (vowels.find(noun[0]) != std::string_view::npos || noun == "unroll");
  return cat(an ? "an " : "a ", noun);
}

std::string closest(std::string_view word, std::span<const std::string> candidates) {
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  std::string found;
  for (const std::string &c : candidates) {
    size_t d = edit_distance(word, c);
    if (d < best) best = d, found = c;
  }
  return found;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    for (size_t skip = 0; skip <= text.size(); ++skip)
      if (glob_match(pattern.substr(1), text.substr(skip))) return true;
    return false;
  }
  return !text.empty() && pattern.front() == text.front() && glob_match(pattern.substr(1), text.substr(1));
}

}  // namespace kw
