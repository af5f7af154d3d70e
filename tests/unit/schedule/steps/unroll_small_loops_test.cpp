// Which loops are written out.
#include "schedule/steps/steps.h"

#include <gtest/gtest.h>

#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

using unit::loops_after;

void unroll(LoopNest &nest) { unroll_small_loops(nest); }

TEST(UnrollSmallLoops, the_taps_of_a_window_are_written_out) {
  EXPECT_EQ(
      loops_after("for i in range(a.shape[0] - 2):\n  for j in range(a.shape[1] - 2):\n    s = 0.0\n"
                  "    for p in range(3):\n      for q in range(3):\n        s += b[p, q] * a[i + p, j + q]\n"
                  "    a[i, j] = s",
                  unroll),
      "i .j");
}

TEST(UnrollSmallLoops, windows_that_step_by_two_are_too) {
  EXPECT_EQ(loops_after("for j in range(v.shape[0]):\n  m = a[0, 2 * j]\n  for q in range(2):\n"
                        "    m = max(m, a[0, 2 * j + q])\n  v[j] = m",
                        unroll),
            "j");
}

TEST(UnrollSmallLoops, long_loops_and_loops_outside_rows_stay) {
  EXPECT_EQ(loops_after("for i in range(v.shape[0]):\n  for q in range(8):\n    v[i] += 1.0", unroll),
            "i .q");
  EXPECT_EQ(loops_after("for i in range(3):\n  v[i] = 1.0", unroll), "i");
  EXPECT_EQ(loops_after("for i in range(w.shape[0]):\n  for q in serial(3):\n    w[i] += q", unroll), "i .q");
}

}  // namespace
}  // namespace kw
