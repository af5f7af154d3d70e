// Maps and sets keyed by addresses against those of the library.
#include "support/pointer_map.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tests/unit/helpers.h"

namespace kw {

TEST(PointerMap, holds_what_a_map_of_the_library_holds) {
  SCOPED_TRACE("seed " + std::to_string(unit::seed()));
  unit::Random random(unit::seed());
  static char memory[4096];
  PointerMap<int> map;
  std::unordered_map<const void *, int> expected;
  EXPECT_EQ(map.find(memory), nullptr);
  for (int i = 0; i < 5000; ++i) {
    const void *key = memory + random() % sizeof memory;
    EXPECT_EQ(map.insert(key, i), expected.emplace(key, i).second);
    const void *other = memory + random() % sizeof memory;
    const int *found = map.find(other);
    auto known = expected.find(other);
    ASSERT_EQ(found != nullptr, known != expected.end());
    if (found) {
      EXPECT_EQ(*found, known->second);
    }
  }
  EXPECT_EQ(map.size(), expected.size());
}

TEST(PointerSet, tells_what_is_new) {
  int a = 0, b = 0;
  PointerSet set;
  EXPECT_TRUE(set.insert(&a));
  EXPECT_TRUE(set.insert(&b));
  EXPECT_FALSE(set.insert(&a));
}

TEST(PointerSet, holds_what_a_set_of_the_library_holds) {
  SCOPED_TRACE("seed " + std::to_string(unit::seed()));
  unit::Random random(unit::seed());
  static char memory[1024];
  for (size_t keys : {8, 24, 25, 96, 97, 1024}) {
    PointerSet set;
    std::unordered_set<const void *> expected;
    for (int i = 0; i < 3000; ++i) {
      const void *key = memory + random() % keys;
      ASSERT_EQ(set.insert(key), expected.insert(key).second) << keys << " keys, turn " << i;
    }
  }
}

}  // namespace kw
