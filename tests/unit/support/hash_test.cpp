// Content hashes: known vectors of XXH3-128 and their text.
#include "support/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace kw {
namespace {

TEST(Hash, has_the_known_vectors_of_xxh3) {
  EXPECT_EQ(hash_bytes("").text(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_bytes("a").text(), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(hash_bytes("abc").text(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, text_is_the_high_word_first_with_leading_zeros) {
  EXPECT_EQ((Hash128{0x1, 0xAB}).text(), "00000000000000ab0000000000000001");
}

TEST(Hash, differs_for_every_single_byte_change) {
  std::string bytes(100, 'x');
  std::set<std::string> seen = {hash_bytes(bytes).text()};
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = '\0';
    EXPECT_TRUE(seen.insert(hash_bytes(other).text()).second) << i;
  }
  EXPECT_TRUE(seen.insert(hash_bytes(bytes + '\0').text()).second);
}

}  // namespace
}  // namespace kw
