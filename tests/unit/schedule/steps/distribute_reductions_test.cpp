// Which loops are parted by the orders of their sums.
#include "schedule/steps/steps.h"

#include <gtest/gtest.h>

#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

using unit::loops_after;

std::string parted(const std::string &sums) {
  return loops_after(
      "for i in range(a.shape[0]):\n  for j in range(b.shape[0]):\n    s = 0.0\n    t = 0.0\n"
      "    for k in range(a.shape[1]):\n" +
          sums + "    a[i, j] = s / t",
      distribute_reductions);
}

TEST(DistributeReductions, each_order_has_a_loop) {
  EXPECT_EQ(parted("      s += a[i, k] * b[j, k]\n      t += b[j, k] * b[j, k]\n"), "i .j ..k ..k#2");
}

TEST(DistributeReductions, sums_of_one_order_stay_together) {
  EXPECT_EQ(parted("      s += b[j, k]\n      t += b[j, k] * b[j, k]\n"), "i .j ..k");
}

TEST(DistributeReductions, what_else_is_in_the_loop_keeps_it_whole) {
  EXPECT_EQ(parted("      s += a[i, k] * b[j, k]\n      v[k] = 1.0\n      t += b[j, k] * b[j, k]\n"),
            "i .j ..k");
}

}  // namespace
}  // namespace kw
