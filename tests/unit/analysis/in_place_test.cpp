// Which inputs an output may be written over.
#include "analysis/in_place.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The names of the inputs of a kernel over x, z: f32[n, m] that may be its output y: f32[n, m].
std::string inputs_of(std::string_view lines) {
  std::string text = "def f(x, z):\n  y = output_tensor(x.shape, x.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Func f = unit::kernel(text + "  return y\n", unit::signature({unit::tensor(2), unit::tensor(2)}));
  std::vector<std::string> names;
  for (const Buf &b : inputs_to_overwrite(f, f.results[0])) names.push_back(b->sym->name);
  return join_text(names, " ");
}

constexpr std::string_view each = "for i in range(x.shape[0]):\n  for j in range(x.shape[1]):\n    ";

TEST(InPlace, elements_that_are_read_where_they_are_written) {
  EXPECT_EQ(inputs_of(cat(each, "y[i, j] = x[i, j] * x[i, j] + z[i, j]")), "x z");
  EXPECT_EQ(inputs_of(cat(each, "t = x[i, j]\n    y[i, j] = t if t > 0.0 else z[i, j]")), "x z");
}

TEST(InPlace, rows_that_are_read_before_they_are_written) {
  EXPECT_EQ(
      inputs_of("for i in range(x.shape[0]):\n  s = 0.0\n  for j in range(x.shape[1]):\n    s += x[i, j]\n"
                "  for j in range(x.shape[1]):\n    y[i, j] = x[i, j] / s"),
      "x z");
  EXPECT_EQ(inputs_of(cat(each, "y[i, j] = z[i, j]\nfor i in range(x.shape[0]):\n  y[i, 0] = x[i, 1]")), "z");
}

TEST(InPlace, elements_that_another_iteration_wrote) {
  EXPECT_EQ(inputs_of(cat(each, "y[i, j] = x[i, j - 1] + z[i, j]")), "z");
  EXPECT_EQ(inputs_of(cat(each, "y[i, j] = x[j, i] + z[i, j]")), "z");
  EXPECT_EQ(inputs_of(cat("for t in range(2):\n  for i in range(x.shape[0]):\n    y[i, 0] = x[i, 0]")), "z");
  EXPECT_EQ(inputs_of("k = 0\nwhile k < 2:\n  y[0, 0] = x[0, 0]\n  k += 1"), "z");
}

TEST(InPlace, inputs_of_another_shape_or_dtype_never) {
  Func f = unit::kernel(
      "def f(x, z):\n  y = output_tensor(x.shape, x.dtype)\n  y[0, 0] = x[0, 0] + z[0]\n  return y\n",
      unit::signature({unit::tensor(2, DType::f32), unit::tensor(1, DType::f32)}));
  EXPECT_EQ(inputs_to_overwrite(f, f.results[0]).size(), 1u);
}

}  // namespace
}  // namespace kw
