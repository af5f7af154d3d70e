// Counts of kernels whose operations and bytes are known by hand.
#include "driver/work_count.h"

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
  EXPECT_EQ(n.unknown_operations + n.at_most, "");
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
  EXPECT_EQ(n.bytes_written, 4.0 * 998);
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
  EXPECT_EQ(n.at_most, "");
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
  EXPECT_EQ(gather.at_most, "where the data decide on a subscript, all of 't' is counted");
  WorkCount branch = counted(
      "def f(a):\n  for i in range(a.shape[0]):\n    if a[i] > 0:\n      a[i] = a[i] * 2 + 1\n  return a\n",
      {unit::tensor(1)}, {100});
  EXPECT_EQ(branch.float32, 200);
  EXPECT_EQ(branch.at_most, "of branches that depend on the data the longer one is counted");
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

TEST(WorkCount, empty_loops_count_nothing) {
  WorkCount n = counted(matmul, {unit::tensor(2), unit::tensor(2)}, {0, 5, 5, 7});
  EXPECT_EQ(n.float32 + n.bytes_read + n.bytes_written, 0);
}

}  // namespace

}  // namespace kw
