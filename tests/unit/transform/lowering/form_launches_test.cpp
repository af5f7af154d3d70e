// Values and conditions of the device around launches.
#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/lowering/passes.h"

namespace kw {
namespace {

/// The body of a kernel over f32 a[n], i64 p[n] and an integer k after the pass.
std::string formed(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n,)), p: inout(i64, (n,)), k: scalar(i64)):\n  fp('strict')\n  dims(n)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Func f = unit::ir(text + "  return a, p\n");
  Func out = form_launches(f, *target_of_class("sm_90"));
  EXPECT_EQ(verify(out), "");
  std::string printed = print(out), body;
  for (const std::string &line : split_text(printed, '\n'))
    if (line.starts_with("  ") && !line.starts_with("  fp(") && !line.starts_with("  dims(") &&
        !line.starts_with("  return"))
      body += cat(line.substr(2), "\n");
  return body;
}

TEST(FormLaunches, values_of_the_host_stay) {
  std::string_view lines = "x: i64 = n + k\nfor i in grid(0, x, 1):\n  p[i] = x\n";
  EXPECT_EQ(formed(lines), lines);
  std::string_view no_launch = "x: i64 = p[0]\np[1] = x\n";
  EXPECT_EQ(formed(no_launch), no_launch);
}

TEST(FormLaunches, a_value_of_the_device_becomes_a_cell) {
  EXPECT_EQ(formed("x: i64 = p[0]\nfor i in grid(0, n, 1):\n  p[i] = x"),
            "x = alloc(i64, (), 'registers')\nx[()] = p[0]\nfor i in grid(0, n, 1):\n  p[i] = x[()]\n");
}

TEST(FormLaunches, a_condition_of_the_device_moves_into_the_launches) {
  EXPECT_EQ(formed("if p[0] < k:\n  p[1] = 2\n  for t in serial(0, k, 1):\n    for i in grid(0, n, 1):\n"
                   "      p[i] = t\nelse:\n  for j in grid(0, n, 1):\n    p[j] = 7"),
            "runs = alloc(b1, (), 'registers')\nruns[()] = p[0] < k\nif runs[()]:\n  p[1] = 2\n"
            "for t in serial(0, k, 1):\n  for i in grid(0, n, 1):\n    if runs[()]:\n      p[i] = t\n"
            "for j in grid(0, n, 1):\n  if not runs[()]:\n    p[j] = 7\n");
}

TEST(FormLaunches, a_loop_in_a_branch_of_the_device_ends_at_once) {
  EXPECT_EQ(formed("if p[0] < k:\n  while p[1] < k:\n    for i in grid(0, n, 1):\n      p[i] = p[i] + 1"),
            "runs = alloc(b1, (), 'registers')\nruns[()] = p[0] < k\nwhile runs[()] and (p[1] < k):\n"
            "  for i in grid(0, n, 1):\n    p[i] = p[i] + 1\n");
}

TEST(FormLaunches, conditions_of_the_host_stay) {
  std::string_view lines = "if k < n:\n  for i in grid(0, n, 1):\n    p[i] = k\n";
  EXPECT_EQ(formed(lines), lines);
}

TEST(FormLaunches, a_side_that_no_call_takes_is_left_out) {
  constexpr std::string_view small = "  for i in grid(0, n, 1):\n    p[i] = 1\n";
  auto around = [&](std::string_view inner) {
    return cat("if n < 32:\n  if ", inner, ":\n    for i in grid(0, n, 1):\n      p[i] = 1\n",
               "  else:\n    for j in grid(0, n, 1):\n      p[j] = 2\n");
  };
  EXPECT_EQ(formed(around("n < 128")), cat("if n < 32:\n", small));
  EXPECT_EQ(formed(around("0 < n")), cat("if n < 32:\n", small));
  EXPECT_EQ(formed(around("n < 8")), around("n < 8"));
  EXPECT_EQ(formed(around("k < 8")), around("k < 8"));
}

}  // namespace
}  // namespace kw
