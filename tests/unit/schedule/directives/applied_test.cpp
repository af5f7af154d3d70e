// The text of applied directives, and the prefixes that replay reads.
#include "schedule/directives/applied.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(AppliedDirective, the_text_says_which_nest_it_is_for) {
  AppliedDirective step{Parallel{0}, "parallel i"};
  EXPECT_EQ(step.text(), "parallel i");
  step.alone = {3, 0};
  EXPECT_EQ(step.text(), "loop 3: loop 0: parallel i");
  step.in_short_sums = true;
  EXPECT_EQ(step.text(), "short_sums: loop 3: loop 0: parallel i");
}

TEST(AppliedDirective, prefixes_are_dropped_one_by_one) {
  std::string_view line = "short_sums: loop 12: parallel i";
  EXPECT_EQ(drop_loop_alone(line), std::nullopt);
  EXPECT_TRUE(drop_short_sums(line));
  EXPECT_FALSE(drop_short_sums(line));
  EXPECT_EQ(drop_loop_alone(line), 12u);
  EXPECT_EQ(line, "parallel i");
  for (std::string_view other : {"loop : parallel i", "loop -1: parallel i", "loop 1 parallel i",
                                 "loop 99999999999: x", "loop 1", ""}) {
    line = other;
    EXPECT_EQ(drop_loop_alone(line), std::nullopt) << other;
    EXPECT_EQ(line, other);
  }
}

}  // namespace
}  // namespace kw
