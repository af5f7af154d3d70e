// XXH3 behind our own type; the only user of xxhash.
#include "support/hash.h"

#include <xxhash.h>

namespace kw {

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
