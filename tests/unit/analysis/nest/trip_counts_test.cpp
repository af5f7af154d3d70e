// How often loops run at most, as far as their bounds tell.
#include "analysis/nest/trip_counts.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

std::optional<uint64_t> most(std::string_view range) {
  Func f =
      unit::ir(cat("def f(v: inout(f32, (n,))):\n  fp('default')\n  dims(n)\n  for k in serial(0, n, 1):\n",
                   "    for i in serial(", range, "):\n      v[k] = f32(0.0)\n  return v\n"));
  return most_trips(*as<For>(unit::find_loop(f, "i").loop));
}

TEST(Ranges, most_trips_are_those_of_the_closest_bounds) {
  EXPECT_EQ(most("2, 9, 1"), 7u);
  EXPECT_EQ(most("9, 2, -2"), 4u);
  EXPECT_EQ(most("max(k, 0), min(k + 1, n), 1"), 1u);
  EXPECT_EQ(most("k, min(n, k + 16384), 1"), 16384u);
  EXPECT_EQ(most("k + 3, k, 1"), 0u);
  EXPECT_EQ(most("min(k + 4, n), max(k, 1), -1"), 4u);
}

TEST(Ranges, others_are_not_known) {
  EXPECT_EQ(most("0, n, 1"), std::nullopt);
  EXPECT_EQ(most("k, n, 1"), std::nullopt);
  EXPECT_EQ(most("min(k, 0), max(k + 1, n), 1"), std::nullopt);
}

}  // namespace
}  // namespace kw
