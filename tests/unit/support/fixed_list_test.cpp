// Lists in place.
#include "support/fixed_list.h"

#include <gtest/gtest.h>

#include <array>

namespace kw {
namespace {

TEST(FixedList, HoldsWhatWasPushed) {
  FixedList<int, 4> list;
  EXPECT_TRUE(list.empty());
  list.push_back(7);
  list.append(std::array{8, 9});
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(std::span<const int>(list).back(), 9);
  *list.data() = 1;
  EXPECT_EQ(list[0], 1);
  EXPECT_EQ(list.end() - list.begin(), 3);
}

TEST(FixedList, TakesNoMoreThanFits) {
  FixedList<int, 2> list;
  list.append(std::array{1, 2});
  EXPECT_THROW(list.push_back(3), CompileError);
  EXPECT_EQ(list.size(), 2u);
}

}  // namespace
}  // namespace kw
