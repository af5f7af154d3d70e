// Which nests get another order, and what keeps theirs.
#include "schedule/steps/steps.h"

#include <gtest/gtest.h>

#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

using unit::loops_after;

void order(LoopNest &nest) { permute_loops(nest); }

TEST(PermuteLoops, elements_side_by_side_come_innermost) {
  EXPECT_EQ(
      loops_after("for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    a[i, j] += 1.0", order),
      "i .j");
  EXPECT_EQ(
      loops_after("for j in range(a.shape[1]):\n  for i in range(a.shape[0]):\n    a[i, j] += v[j]", order),
      "i .j");
}

TEST(PermuteLoops, sums_in_memory_run_along_rows) {
  EXPECT_EQ(loops_after("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n"
                        "    for k in range(v.shape[0]):\n      a[i, j] += b[i, k] * b[k, j]",
                        order),
            "i .k ..j");
}

TEST(PermuteLoops, a_body_is_taken_apart_for_it) {
  EXPECT_EQ(loops_after("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = 0.0\n"
                        "    for k in range(v.shape[0]):\n      a[i, j] += b[i, k] * b[k, j]",
                        order),
            "i .j .k ..j#2");
}

TEST(PermuteLoops, a_part_that_does_nothing_is_none) {
  EXPECT_EQ(loops_after("for i in range(a.shape[1]):\n  for j in range(0):\n    u = v[0] == 0.0\n  u = v[0]",
                        order),
            "i .j");
}

TEST(PermuteLoops, a_loop_for_the_threads_comes_outermost) {
  EXPECT_EQ(loops_after("for k in range(v.shape[0]):\n  for i in range(a.shape[0]):\n"
                        "    for j in range(a.shape[1]):\n      a[i, j] += b[i, k] * b[k, j]",
                        order),
            "i .k ..j");
}

TEST(PermuteLoops, what_threads_run_stays_outermost) {
  EXPECT_EQ(loops_after("for j in range(a.shape[1]):\n  for i in range(1, a.shape[0]):\n"
                        "    a[i, j] += a[i - 1, j]",
                        order),
            "j .i");
}

TEST(PermuteLoops, dependences_and_hints_keep_an_order) {
  EXPECT_EQ(loops_after("for j in range(1, a.shape[1] - 1):\n  for i in range(1, a.shape[0]):\n"
                        "    a[i, j] += a[i - 1, j + 1]",
                        order),
            "j .i");
  EXPECT_EQ(
      loops_after("for j in serial(a.shape[1]):\n  for i in range(a.shape[0]):\n    a[i, j] += 1.0", order),
      "j .i");
}

TEST(PermuteLoops, what_lies_well_stays) {
  EXPECT_EQ(
      loops_after("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = b[j, i]", order),
      "i .j");
  EXPECT_EQ(
      loops_after("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += 1.0", order),
      "i .j");
}

}  // namespace
}  // namespace kw
