// 128-bit content hashes (XXH3), for cache keys and artifact checksums.
// Not cryptographic: they guard against accidents, not against an attacker who can write the cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kw {

struct Hash128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Hash128 &, const Hash128 &) = default;
  /// Returns 32 lower-case hexadecimal digits, high word first.
  std::string text() const;
  /// Parses the result of text(); returns nothing for other strings.
  static std::optional<Hash128> parse(std::string_view digits);
};

Hash128 hash_bytes(std::string_view bytes);

}  // namespace kw
