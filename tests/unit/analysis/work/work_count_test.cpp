// Counts of kernels whose operations and bytes are known by hand.
#include "analysis/work/work_count.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {

namespace {

WorkCount counted(std::string_view text, std::vector<ArgSpec> args, std::vector<int64_t> dims,
                  std::vector<uint64_t> scalars = {}) {
  return count_work(unit::kernel(text, unit::signature(std::move(args))), dims, scalars);
}

constexpr std::string_view matmul =
    "def f(a, b):\n  c = output_tensor((a.shape[0], b.shape[1]), a.dtype)\n  for i in range(a.shape[0]):\n"
    "    for j in range(b.shape[1]):\n      for k in range(a.shape[1]):\n        c[i, j] += a[i, k] * b[k, "
    "j]\n"
    "  return c\n";

TEST(WorkCount, a_matrix_product) {
  WorkCount n = counted(matmul, {unit::tensor(2), unit::tensor(2)}, {100, 200, 200, 50});
  EXPECT_EQ(n.float32, 2.0 * 100 * 200 * 50);
  EXPECT_EQ(n.float64, 0);
  EXPECT_EQ(n.bytes_read, 4.0 * (100 * 200 + 200 * 50));
  EXPECT_EQ(n.bytes_written, 4.0 * 100 * 50);
  EXPECT_EQ(n.unknown_operations + n.at_most_operations + n.at_most_bytes, "");
  EXPECT_EQ(n.statements, 100.0 * 200 * 50);
}

TEST(WorkCount, float64_is_counted_apart) {
  WorkCount n = counted(matmul, {unit::tensor(2, DType::f64), unit::tensor(2, DType::f64)}, {3, 4, 4, 5});
  EXPECT_EQ(n.float64, 2.0 * 3 * 4 * 5);
  EXPECT_EQ(n.float32, 0);
  EXPECT_EQ(n.bytes_written, 8.0 * 3 * 5);
}

TEST(WorkCount, a_stencil_reads_and_writes_boxes) {
  WorkCount n = counted(
      "def f(u):\n  v = output_tensor(u.shape, u.dtype)\n  for i in range(1, u.shape[0] - 1):\n"
      "    v[i] = 0.5 * (u[i - 1] + u[i + 1])\n  return v\n",
      {unit::tensor(1)}, {1000});
  EXPECT_EQ(n.float32, 2.0 * 998);
  EXPECT_EQ(n.bytes_read, 4.0 * 1000);
  EXPECT_EQ(n.bytes_written, 4.0 * 1000);  // the borders are zeroed
  EXPECT_EQ(n.at_most_bytes, "");
}

/// Returns the number of elements read, and whether it is exact.
std::pair<double, bool> reads(std::string_view body, std::vector<int64_t> dims) {
  size_t rank = dims.size();
  WorkCount n = counted(
      cat("def f(x):\n  y = output_tensor((1,), x.dtype)\n  s = 0.0\n", body, "  y[0] = s\n  return y\n"),
      {unit::tensor(static_cast<uint8_t>(rank))}, std::move(dims));
  return {n.bytes_read / 4, n.at_most_bytes.empty()};
}

TEST(WorkCount, a_box_is_exact_if_every_element_of_it_is_used) {
  using Reads = std::pair<double, bool>;
  EXPECT_EQ(reads("  for i in range(100):\n    s += x[i, i]\n", {100, 100}), Reads(1e4, false));
  EXPECT_EQ(reads("  for i in range(10):\n    s += x[i * 10]\n", {100}), Reads(91, true));  // every line
  EXPECT_EQ(reads("  for i in range(10):\n    s += x[i * 100]\n", {1000}), Reads(901, false));
  EXPECT_EQ(reads("  for i in range(10):\n    s += x[i * 2, 0]\n", {20, 1}), Reads(19, false));
  EXPECT_EQ(reads("  for i in range(10):\n    for j in range(10):\n      s += x[i * 10 + j]\n", {100}),
            Reads(100, true));
  EXPECT_EQ(reads("  for i in range(10):\n    for j in range(5):\n      s += x[j * 20 + i]\n", {100}),
            Reads(90, true));
  EXPECT_EQ(reads("  for i in range(10):\n    s += x[i // 2] + x[i % 5]\n", {10}), Reads(5, true));
  EXPECT_EQ(reads("  s = x[0] + x[99]\n", {100}), Reads(100, false));
  EXPECT_EQ(reads("  for i in range(1, 9):\n    s += x[i - 1] + x[i + 1]\n", {10}), Reads(10, true));
  EXPECT_EQ(reads("  for i in range(10):\n    for j in range(i):\n      s += x[i, j]\n", {10, 10}),
            Reads(90, false));
}

TEST(WorkCount, triangles_and_conditions_on_iterators) {
  constexpr std::string_view triangle =
      "def f(a):\n  for i in range(a.shape[0]):\n    for j in range(i):\n      a[i, j] = a[i, j] + 1\n"
      "  return a\n";
  // few iterations are counted one by one, many by the midpoint rule, which is exact here
  EXPECT_EQ(counted(triangle, {unit::tensor(2)}, {10, 10}).float32, 45);
  EXPECT_NEAR(counted(triangle, {unit::tensor(2)}, {6400, 6400}).float32, 6400.0 * 6399 / 2, 6400);
  WorkCount n =
      counted("def f(a):\n  for i in range(a.shape[0]):\n    if i < 10:\n      a[i] = a[i] + 1\n  return a\n",
              {unit::tensor(1)}, {40});
  EXPECT_EQ(n.float32, 10);
  EXPECT_EQ(n.at_most_operations, "");
  EXPECT_EQ(n.bytes_read, n.bytes_written);
}

TEST(WorkCount, one_row_of_a_table) {
  WorkCount n = counted(
      "def f(x, i):\n  y = output_tensor((x.shape[1],), x.dtype)\n  for j in range(x.shape[1]):\n"
      "    y[j] = x[i, j]\n  return y\n",
      {unit::tensor(2), unit::weak(DType::i64)}, {1000, 30}, {7});
  EXPECT_EQ(n.bytes_read, 4.0 * 30);
  EXPECT_EQ(n.float32, 0);
}

TEST(WorkCount, what_depends_on_the_data_is_said) {
  WorkCount gather = counted(
      "def f(t, k):\n  y = output_tensor(k.shape, t.dtype)\n  for i in range(k.shape[0]):\n"
      "    y[i] = t[k[i]]\n  return y\n",
      {unit::tensor(1), unit::tensor(1, DType::i64)}, {1000, 10});
  EXPECT_EQ(gather.bytes_read, 4.0 * 1000 + 8.0 * 10);
  EXPECT_EQ(gather.at_most_bytes, "a call may use fewer elements of 't' than are counted");
  EXPECT_EQ(gather.at_most_operations, "");
  WorkCount branch = counted(
      "def f(a):\n  for i in range(a.shape[0]):\n    if a[i] > 0:\n      a[i] = a[i] * 2 + 1\n  return a\n",
      {unit::tensor(1)}, {100});
  EXPECT_EQ(branch.float32, 200);
  EXPECT_EQ(branch.at_most_operations, "of branches that depend on the data the longer one is counted");
  EXPECT_EQ(branch.at_most_bytes, "a call may use fewer elements of 'a' than are counted");  // that it writes
  WorkCount loop = counted(
      "def f(a, n):\n  for i in range(a.shape[0]):\n    for j in range(n[i]):\n      a[i] = a[i] + 1\n  "
      "return a\n",
      {unit::tensor(1), unit::tensor(1, DType::i64)}, {100, 100});
  EXPECT_EQ(loop.unknown_operations, "the loop over 'j' runs as often as the data say");
  WorkCount repeated =
      counted("def f(a):\n  x = a[0]\n  while x > 1:\n    x = x * 0.5\n  a[0] = x\n  return a\n",
              {unit::tensor(1)}, {1});
  EXPECT_EQ(repeated.unknown_operations, "a while loop runs as often as the data say");
}

TEST(WorkCount, a_loop_that_may_end_early_uses_an_unknown_part) {
  WorkCount n = counted(
      "def f(x):\n  y = output_tensor((1,), x.dtype)\n  for i in range(x.shape[0]):\n    if x[i] > 2:\n"
      "      break\n    y[0] = x[i]\n  return y\n",
      {unit::tensor(1)}, {1000});
  EXPECT_EQ(n.at_most_bytes, "a call may use fewer elements of 'x' than are counted");
  EXPECT_EQ(n.unknown_operations, "a loop that break or continue may leave runs as often as the data say");
}

TEST(WorkCount, both_sides_of_a_branch_are_sure) {
  WorkCount n = counted(
      "def f(x):\n  y = output_tensor(x.shape, x.dtype)\n  for i in range(x.shape[0]):\n    if x[i] > 2:\n"
      "      y[i] = 1\n    else:\n      y[i] = 2\n  return y\n",
      {unit::tensor(1)}, {1000});
  EXPECT_EQ(n.bytes_written, 4000);
  EXPECT_EQ(n.at_most_bytes, "");
}

TEST(WorkCount, zeroed_outputs_are_written) {
  WorkCount n = counted("def f(x):\n  y = output_tensor(x.shape, x.dtype)\n  y[0] = x[0]\n  return y\n",
                        {unit::tensor(1)}, {1000});
  EXPECT_EQ(n.bytes_written, 4000);
  EXPECT_EQ(n.bytes_read, 4);
}

TEST(WorkCount, empty_loops_count_nothing) {
  WorkCount n = counted(matmul, {unit::tensor(2), unit::tensor(2)}, {0, 5, 5, 7});
  EXPECT_EQ(n.float32 + n.bytes_read + n.bytes_written, 0);
}

}  // namespace

}  // namespace kw
