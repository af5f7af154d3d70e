// Which loops become tiles, of how many iterations, and that their copies read shared elements once.
#include "schedule/cpu/steps.h"

#include <gtest/gtest.h>

#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

using unit::loops_after;
using unit::text_after;

void jam(LoopNest &nest) { unroll_and_jam(nest, unit::avx512_machine()); }

size_t count(const std::string &text, std::string_view what) {
  size_t out = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

constexpr std::string_view product =
    "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    s = 0.0\n    for k in "
    "range(v.shape[0]):\n"
    "      s += v[k] * b[k, j]\n    a[i, j] = s";

TEST(UnrollAndJam, rows_of_a_product_share_the_rows_of_its_right_factor) {
  std::string lines =
      "for i in range(v.shape[0]):\n  for j in range(a.shape[1]):\n    s = 0.0\n    for k in range(4, 400):\n"
      "      s += b[i, k] * b[k, j]\n    a[i, j] = s";
  EXPECT_EQ(loops_after(lines, jam), "i0 .j ..k i .j#2 ..k#2");
  std::string text = text_after(lines, jam);
  EXPECT_EQ(count(text, "b[k, j]"), 1u) << text;
  EXPECT_EQ(count(text, "= fma("), 9u) << text;  // 8 rows and the rest
}

TEST(UnrollAndJam, fewer_rows_fit_into_fewer_registers) {
  std::string lines =
      "for i in range(v.shape[0]):\n  for j in range(a.shape[1]):\n    s = 0.0\n    for k in range(4, 400):\n"
      "      s += b[i, k] * b[k, j]\n    a[i, j] = s";
  std::string text = text_after(lines, [](LoopNest &nest) { unroll_and_jam(nest, unit::avx2_machine()); });
  EXPECT_EQ(count(text, "= fma("), 5u) << text;
}

TEST(UnrollAndJam, rows_that_add_to_one_row_keep_it_in_registers) {
  std::string lines = "for i in range(b.shape[0]):\n  for j in range(v.shape[0]):\n    v[j] += b[i, j]";
  EXPECT_EQ(loops_after(lines, jam), "i0 .j i .j#2");
  std::string text = text_after(lines, jam);
  EXPECT_EQ(count(text, "v[j] ="), 1u) << text;
  EXPECT_EQ(count(text, "= v[j]\n"), 1u) << text;
}

TEST(UnrollAndJam, what_gains_nothing_stays) {
  EXPECT_EQ(
      loops_after("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += 1.0", jam),
      "i .j");
  EXPECT_EQ(
      loops_after("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] += v[j]", jam),
      "i .j");
  EXPECT_EQ(loops_after("for i in range(v.shape[0]):\n  v[i] = 1.0", jam), "i");
  std::string serial(product);
  serial.replace(serial.find("for i in range"), 14, "for i in serial");
  EXPECT_EQ(loops_after(serial, jam), "i .j ..k");
}

TEST(UnrollAndJam, iterations_that_depend_on_each_other_stay_apart) {
  std::string lines =  // row i - 1 is finished before row i reads it further to the right
      "for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1] - 9):\n    s = 0.0\n"
      "    for k in range(v.shape[0]):\n      s += v[k] * b[k, j]\n    a[i, j] = s + a[i - 1, j + 9]";
  EXPECT_EQ(loops_after(lines, jam), "i .j ..k");
}

}  // namespace
}  // namespace kw
