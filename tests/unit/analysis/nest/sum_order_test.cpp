// The order of sums (language.md 3): which accumulating stores are marked as lanes, decided from subscripts
// only.
#include "analysis/nest/sum_order.h"

#include <gtest/gtest.h>

#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// Order words of the stores of a kernel over a, b: f32 matrices, v, w: f32 vectors and an output c: f32[n]
/// or, with two indices, d: f32[n, m]; `lines` begin with one level of indentation.
std::string orders_of(std::string_view lines, FpMode fp = FpMode::normal, DType dtype = DType::f32) {
  std::string text =
      "def f(a, b, v, w):\n  c = output_tensor((a.shape[0],), a.dtype)\n  d = output_tensor(a.shape, "
      "a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  text += "  return c, d\n";
  CodegenOptions options;
  options.fp = fp;
  Func f = unit::kernel(text,
                        unit::signature({unit::tensor(2, dtype), unit::tensor(2, dtype),
                                         unit::tensor(1, dtype), unit::tensor(1, dtype)}),
                        options);
  std::string out;
  for (Order o : unit::orders(f))
    out += cat(out.empty() ? "" : " ", o == Order::lanes ? "lanes" : o == Order::any ? "any" : "source");
  return out;
}

constexpr std::string_view dot = "c[0] = 0.0\nfor k in range(v.shape[0]):\n  c[0] += v[k] * w[k]";
constexpr std::string_view matmul =
    "for i in range(a.shape[0]):\n  for j in range(b.shape[1]):\n    for k in range(a.shape[1]):\n"
    "      d[i, j] += a[i, k] * b[k, j]";

TEST(SumOrder, a_dot_product_runs_in_lanes) {
  EXPECT_EQ(orders_of(dot), "source lanes");
  EXPECT_EQ(orders_of(dot, FpMode::normal, DType::f64), "source lanes");
}

TEST(SumOrder, strict_mode_keeps_every_source_order) {
  EXPECT_EQ(orders_of(dot, FpMode::strict), "source source");
  EXPECT_EQ(orders_of(matmul, FpMode::strict), "source");
}

TEST(SumOrder, fast_mode_takes_lanes_where_default_does_and_any_order_elsewhere) {
  EXPECT_EQ(orders_of(dot, FpMode::fast), "source lanes");
  EXPECT_EQ(orders_of(matmul, FpMode::fast), "any");
}

TEST(SumOrder, integer_sums_need_no_mark) {
  EXPECT_EQ(orders_of(dot, FpMode::normal, DType::i64), "source source");
  EXPECT_EQ(orders_of(dot, FpMode::fast, DType::i32), "source source");
}

TEST(SumOrder, a_matrix_product_is_summed_in_source_order) {
  EXPECT_EQ(orders_of(matmul), "source");   // j, which is not reduced, occurs in a last subscript
  for (std::string_view op : {"+=", "-="})  // transposed: i only in the first factor, j only in the second
    EXPECT_EQ(orders_of(cat("for i in range(a.shape[0]):\n  for j in range(b.shape[0]):\n"
                            "    for k in range(a.shape[1]):\n      d[i, j] ",
                            op, " a[i, k] * b[j, k]")),
              "source");
}

TEST(SumOrder, row_sums_and_matrix_vector_products_run_in_lanes) {
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[i] += a[i, k]"),
            "lanes");
  EXPECT_EQ(
      orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[i] += a[i, k] * v[k]"),
      "lanes");
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[i] *= a[i, k]"),
            "lanes");
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[i] -= a[i, k]"),
            "lanes");
}

TEST(SumOrder, a_local_of_the_loop_counts_as_its_value) {
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    t = a[i, k] - v[i]\n"
                      "    u = t * t\n    c[i] += u"),
            "source");  // v[i]: another loop
  std::string_view spread =
      "m = 0.5\nfor i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    t = a[i, k] - m\n"
      "    c[i] += t * t";
  EXPECT_EQ(orders_of(spread), "lanes");
  EXPECT_EQ(orders_of(spread, FpMode::strict), "source");
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  m = v[i]\n  for k in range(a.shape[1]):\n"
                      "    c[i] += a[i, k] * m"),
            "lanes");  // evaluated outside of the sum
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for j in range(b.shape[0]):\n"
                      "    for k in range(a.shape[1]):\n      t = a[i, k]\n      u = b[j, k]\n"
                      "      d[i, j] += t * u"),
            "source");  // a matrix product
}

TEST(SumOrder, column_sums_keep_the_source_order) {
  EXPECT_EQ(orders_of("for j in range(a.shape[0]):\n  for k in range(a.shape[0]):\n    c[j] += a[k, j]"),
            "source");
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[i] += a[k, 0]"),
            "source");
}

TEST(SumOrder, sums_over_whole_matrices_run_in_lanes) {
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[0] += a[i, k]"),
            "lanes");
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(i):\n    c[0] += a[i, k]"), "lanes");
}

TEST(SumOrder, of_a_triangle_only_the_inner_loop_is_reduced) {
  // the outer loop then is another loop, and it occurs in a last subscript
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(i):\n    c[0] += a[k, i] * v[k]"),
            "source");
  EXPECT_EQ(
      orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[0] += a[k, i] * v[k]"),
      "lanes");
}

TEST(SumOrder, a_local_accumulator_counts_as_well) {
  EXPECT_EQ(orders_of("s = float32(0.0)\nfor k in range(v.shape[0]):\n  s += v[k]\nc[0] = s"),
            "source lanes source");
  EXPECT_EQ(orders_of("s = float32(0.0)\nfor k in range(v.shape[0]):\n  s = v[k] * w[k] + s\nc[0] = s"),
            "source lanes source");
}

TEST(SumOrder, an_accumulator_that_is_read_elsewhere_keeps_its_order) {
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] += v[k]\n  d[0, k] = c[0]"), "source source");
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] += v[k]\n  if c[0] > 9.0:\n    d[0, k] = 1.0"),
            "source source");
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] += v[k] * c[0]"), "source");
}

TEST(SumOrder, an_accumulator_that_is_written_elsewhere_keeps_its_order) {
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] += v[k]\n  c[0] += w[k]"), "source source");
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  if w[k] > 9.0:\n    c[0] = 0.0\n  c[0] += v[k]"),
            "source source");
}

TEST(SumOrder, a_read_outside_of_the_band_does_no_harm) {
  EXPECT_EQ(orders_of("for i in range(a.shape[0]):\n  for k in range(a.shape[1]):\n    c[i] += a[i, k]\n  "
                      "d[i, 0] = c[i]"),
            "lanes source");
}

TEST(SumOrder, a_guard_around_the_sum_changes_nothing) {
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  if v[k] > 0.0:\n    c[0] += v[k]"), "lanes");
}

TEST(SumOrder, what_does_not_accumulate_is_not_marked) {
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[k] = v[k] + w[k]"), "source");
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] = max(c[0], v[k])"), "source");
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] = v[k] - c[0]"), "source");
  EXPECT_EQ(orders_of("c[0] += v[0]"), "source");  // no loop
}

TEST(SumOrder, strides_and_extents_do_not_matter) {
  std::string text =
      "def f(v):\n  c = output_tensor((1,), v.dtype)\n  for k in range(3):\n    c[0] += v[k]\n  return c\n";
  for (StrideClass c : {StrideClass::contiguous, StrideClass::inner_unit, StrideClass::general}) {
    Func f = unit::kernel(text, unit::signature({unit::tensor(1, DType::f32, c)}));
    EXPECT_EQ(unit::orders(f), std::vector<Order>{Order::lanes});
  }
}

TEST(SumOrder, loops_that_end_early_keep_the_source_order) {
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  if w[k] > 1.0:\n    continue\n  c[0] += v[k] * w[k]"),
            "source");
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  c[0] += v[k]\n  if w[k] > 1.0:\n    break"), "source");
  EXPECT_EQ(
      orders_of("for i in range(a.shape[0]):\n  if v[i] > 1.0:\n    continue\n  for k in range(a.shape[1]):\n"
                "    c[i] += a[i, k]"),
      "lanes");  // the jump is outside of the sum
}

/// The loops of the bands of a kernel over w: f32[n], a: f32[n, m], idx: i64[n] and sums h, c: f32[n], one
/// text for each marked store.
std::string bands_of(std::string_view lines, FpMode fp = FpMode::normal) {
  std::string text = "def f(w, a, idx, h, c, p):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  text += "  return h, c, p\n";
  CodegenOptions options;
  options.fp = fp;
  auto vector = unit::tensor(1, DType::f32);
  Func f = unit::kernel(text,
                        unit::signature({vector, unit::tensor(2, DType::f32), unit::tensor(1, DType::i64),
                                         vector, vector, unit::tensor(1, DType::i64)}),
                        options);
  std::string out;
  walk(f.body, [&](const Store &n, const Stmt &) {
    if (n.order == Order::source) return;
    std::vector<std::string> names;
    for (const Sym &s : n.order.band) names.push_back(s->name);
    out += cat(out.empty() ? "" : " ", "(", join_text(names, ", "), ")");
  });
  return out;
}

TEST(Bands, end_where_a_loop_chooses_the_element_through_a_local) {
  for (std::string_view b : {"idx[i]", "min(idx[i], h.shape[0] - 1)", "int(w[i] * 3.0)", "idx[i] % 3",
                             "abs(idx[i])", "idx[i] if w[i] > 0.0 else 0", "i // 2"})
    EXPECT_EQ(bands_of(cat("for i in range(w.shape[0]):\n  b = ", b, "\n  h[b] += w[i]")), "") << b;
  EXPECT_EQ(bands_of("for i in range(w.shape[0]):\n  b = idx[i]\n  d = b + 1\n  h[d] += w[i]"), "");
  EXPECT_EQ(bands_of("for i in range(a.shape[0]):\n  s = idx[i]\n  for j in range(a.shape[1]):\n"
                     "    h[s] += a[i, j]"),
            "(j)");
}

TEST(Bands, end_where_a_loop_changes_a_scalar_of_the_subscript) {
  EXPECT_EQ(bands_of("for i in range(w.shape[0]):\n  b = idx[i]\n  if b == 3:\n    b = 2\n  h[b] += w[i]"),
            "");
  EXPECT_EQ(bands_of("g = 0\nfor i in range(w.shape[0]):\n  if w[i] > 1.0:\n    g += 1\n  h[g] += w[i]"), "");
  EXPECT_EQ(bands_of("g = 0\nfor i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n"
                     "    h[g] += a[i, j]\n  g += 1"),
            "(j)");
}

TEST(Bands, end_where_a_loop_writes_memory_that_the_subscript_reads) {
  EXPECT_EQ(bands_of("for i in range(w.shape[0]):\n  h[p[0]] += w[i]\n  if w[i] > 1.0:\n    p[0] += 1"), "");
  EXPECT_EQ(bands_of("for i in range(w.shape[0]):\n  p[1] = i % 3\n  h[p[1]] += w[i]"), "");
  EXPECT_EQ(bands_of("for i in range(w.shape[0]):\n  h[p[0]] += w[i]"), "(i)");
}

TEST(Bands, go_on_over_locals_that_are_the_same_in_each_iteration) {
  EXPECT_EQ(bands_of("for i in range(w.shape[0]):\n  b = h.shape[0] // 2\n  h[b] += w[i]"), "(i)");
  EXPECT_EQ(bands_of("for i in range(a.shape[0]):\n  b = idx[0]\n  for j in range(a.shape[1]):\n"
                     "    h[b] += a[i, j]"),
            "(i, j)");
}

TEST(Bands, of_overlapping_arguments_are_none_where_a_term_may_be_a_partial_sum) {
  std::string text =
      "def f(s, x):\n  t = 0.0\n  for i in range(x.shape[0]):\n    s[0] += x[i]\n    t += x[i]\n"
      "  s[1] = t\n  return s\n";
  auto vector = unit::tensor(1, DType::f64);
  for (Body body : {Body::main, Body::plain, Body::overlapping}) {
    CodegenOptions options;
    options.body = body;
    Func f = unit::kernel(text, unit::signature({vector, vector}), options);
    Order into_argument = body == Body::overlapping ? Order::source : Order::lanes;
    std::vector<Order> found = unit::orders(f);
    std::erase(found, Order::source);
    std::vector<Order> expected{Order::lanes};  // the sum in a local
    if (into_argument == Order::lanes) expected.push_back(into_argument);
    EXPECT_EQ(found, expected);
  }
}

TEST(SumOrder, a_while_is_no_loop_of_a_sum) {
  EXPECT_EQ(orders_of("for k in range(v.shape[0]):\n  x = k\n  while x > 0:\n    x -= 1\n    c[0] += v[k]"),
            "source source source");
  EXPECT_EQ(orders_of("x = 3\nwhile x > 0:\n  x -= 1\n  for k in range(v.shape[0]):\n    c[0] += v[k]"),
            "source source lanes");
}

}  // namespace
}  // namespace kw
