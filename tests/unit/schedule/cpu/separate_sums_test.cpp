// Which loops are cut between their sums, and which stay.
#include "schedule/cpu/steps.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

using unit::loops_after;

void separate(LoopNest &nest) { separate_sums(nest, unit::avx512_machine()); }

/// A product of two rows keeps the order of the source as contractions do; the other sum has 64 lanes.
std::string kernel_with(std::string_view second, std::string_view end) {
  return cat(
      "h = allocate((b.shape[0],), 'float32')\nfor t in range(a.shape[0]):\n"
      "  for j in range(b.shape[0]):\n"
      "    s = 0.0\n    for k in range(a.shape[1]):\n      s += b[j, k] * a[t, k]\n",
      second, end);
}

constexpr std::string_view in_lanes = "    r = 0.0\n    for k in range(v.shape[0]):\n      r += v[k] * j\n";

TEST(SeparateSums, each_sum_gets_a_loop_over_a_stretch) {
  std::string lines = kernel_with(in_lanes, "    h[j] = s + r");
  EXPECT_EQ(loops_after(lines, separate), "t .j0 ..j ..j#2 ...k ..j#3 ..j#4 ...k#2 ..j#5");
  std::string text = unit::text_after(lines, separate);
  EXPECT_NE(text.find("alloc(f32, (64,), 'stack')"), std::string::npos) << text;
}

TEST(SeparateSums, what_gains_no_vectors_stays) {
  std::string one = kernel_with("", "    h[j] = s");
  EXPECT_EQ(loops_after(one, separate), "t .j ..k");
  std::string_view top = "    r = v[0]\n    for k in range(v.shape[0]):\n      r = max(r, v[k] * j)\n";
  EXPECT_EQ(loops_after(kernel_with(top, "    h[j] = s + r"), separate), "t .j ..k ..k#2");
}

TEST(SeparateSums, iterations_that_depend_on_each_other_stay) {
  std::string lines = kernel_with(in_lanes, "    v[j] = s + r");
  EXPECT_EQ(loops_after(lines, separate), "t .j ..k ..k#2");
}

}  // namespace
}  // namespace kw
