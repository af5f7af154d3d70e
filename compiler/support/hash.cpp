// Wraps XXH3 in our own type; the only user of xxhash.
#include "support/hash.h"

#include <charconv>

#include <xxhash.h>

namespace kw {

std::optional<Hash128> Hash128::parse(std::string_view digits) {
  if (digits.size() != 32) return std::nullopt;
  Hash128 h;
  const char *middle = digits.data() + 16;
  auto high = std::from_chars(digits.data(), middle, h.high, 16);
  auto low = std::from_chars(middle, middle + 16, h.low, 16);
  bool whole =
      high.ec == std::errc{} && high.ptr == middle && low.ec == std::errc{} && low.ptr == middle + 16;
  return whole ? std::optional(h) : std::nullopt;
}

Hash128 hash_bytes(std::string_view bytes) {
  XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

std::string Hash128::text() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (uint64_t word : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[(word >> shift) & 15];
  return out;
}

}  // namespace kw
