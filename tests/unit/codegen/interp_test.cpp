// The interpreter on hand-written functions: loops of every kind and direction, jumps, laziness, checks,
// buffers, strides and cancellation.
#include "codegen/interp/interp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/math/expand.h"

namespace kw {
namespace {

/// Runs a body over w: inout(i64, (n,)) and p: weak(i64) with w = 0…0 of `n` elements; gives w back.
std::vector<int64_t> run(std::string_view body, int64_t n = 6, int64_t p = 0,
                         InterpResult *result = nullptr) {
  Func f = unit::ir(
      cat("def f(w: inout(i64, (n,)), p: weak(i64)):\n  fp('default')\n  dims(n)\n  site('E303', w, 0)\n",
          body, "  return w\n"));
  std::vector<int64_t> w(static_cast<size_t>(n));
  void *data[] = {w.data()};
  int64_t dims[] = {n};
  auto scalar = static_cast<uint64_t>(p);
  InterpResult r = interpret(f, {data, dims, &scalar, nullptr});
  if (result)
    *result = r;
  else
    EXPECT_EQ(r.status, 0);
  return w;
}
using Words = std::vector<int64_t>;

TEST(Interp, loops_of_every_kind_run_in_source_order) {
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {{"serial", ", max_trips=4"},
                                                                     {"parallel", ", chunk=4"},
                                                                     {"vector", ", vector_width=4"},
                                                                     {"unroll", ", unroll=4"},
                                                                     {"grid", ", per_block=4"}};
  for (auto [kind, how] : kinds) {
    std::string body =
        cat("  for i in ", kind, "(1, n, 2", how, "):\n    w[i] = w[i - 1] + 1\n    w[i - 1] = i\n");
    EXPECT_EQ(run(body), (Words{1, 1, 3, 1, 5, 1})) << kind;
  }
  EXPECT_EQ(run("  for g in grid(0, 1, 1):\n    for i in block(1, n, 2, threads=4):\n"
                "      w[i] = w[i - 1] + 1\n      w[i - 1] = i\n"),
            (Words{1, 1, 3, 1, 5, 1}));
}

TEST(Interp, loops_run_up_down_and_not_at_all) {
  EXPECT_EQ(run("  for i in serial(n - 1, -1, -2):\n    w[i] = n - i\n"), (Words{0, 5, 0, 3, 0, 1}));
  EXPECT_EQ(run("  for i in serial(3, 3, 1):\n    w[0] = 9\n"), Words(6));
  EXPECT_EQ(run("  for i in serial(3, 5, -1):\n    w[0] = 9\n"), Words(6));
  EXPECT_EQ(run("  for i in serial(5, 3, 1):\n    w[0] = 9\n"), Words(6));
}

TEST(Interp, trip_counts_do_not_overflow) {
  EXPECT_EQ(run("  for i in serial(p, 9223372036854775807, 9223372036854775807):\n    w[0] = w[0] + 1\n", 6,
                INT64_MIN)[0],
            3);
  EXPECT_EQ(run("  for i in serial(9223372036854775807, p, -9223372036854775808):\n    w[0] = w[0] + 1\n", 6,
                INT64_MIN)[0],
            2);
}

TEST(Interp, jumps_leave_or_continue_the_innermost_loop) {
  EXPECT_EQ(
      run("  for i in serial(0, n, 1):\n    for j in serial(0, 9, 1):\n      if j == 2:\n        break\n"
          "      w[i] = w[i] + 1\n"),
      Words(6, 2));
  EXPECT_EQ(run("  for i in serial(0, n, 1):\n    if (i % 2) == 1:\n      continue\n    w[i] = 1\n"),
            (Words{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(run("  while w[0] < 100:\n    w[0] = w[0] + 7\n    if 20 < w[0]:\n      break\n")[0], 21);
  EXPECT_EQ(
      run("  while w[0] < 5:\n    w[0] = w[0] + 1\n    if w[0] == 3:\n      continue\n    w[1] = w[1] + 1\n")
          [1],
      4);
}

TEST(Interp, logic_and_select_are_lazy) {
  EXPECT_EQ(run("  if (p < 0) and (w[1000000000] == 0):\n    w[0] = 1\n  else:\n    w[0] = 2\n")[0], 2);
  EXPECT_EQ(run("  if (p == 0) or (w[1000000000] == 0):\n    w[0] = 1\n")[0], 1);
  EXPECT_EQ(run("  w[0] = w[1000000000] if (p < 0) else 5\n")[0], 5);
}

TEST(Interp, lets_bind_the_value_of_their_moment) {
  EXPECT_EQ(run("  w[0] = 1\n  x: i64 = w[0] + 1\n  w[0] = 10\n  w[1] = x\n"), (Words{10, 2, 0, 0, 0, 0}));
  EXPECT_EQ(run("  for i in serial(0, n, 1):\n    x: i64 = i * i\n    w[i] = x\n"),
            (Words{0, 1, 4, 9, 16, 25}));
}

TEST(Interp, a_zero_fill_holds_for_every_entry_of_the_scope) {
  EXPECT_EQ(run("  for i in serial(0, n, 1):\n    t = alloc(i64, (2,), 'heap', fill='zero')\n    t[1] = t[1] "
                "+ i\n    w[i] = t[1]\n"),
            (Words{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(run("  for i in serial(0, n, 1):\n    t = alloc(i64, (), 'registers', fill='zero')\n    t[()] = "
                "t[()] + i\n"
                "    w[i] = t[()]\n"),
            (Words{0, 1, 2, 3, 4, 5}));
}

TEST(Interp, buffers_have_any_extents_also_none) {
  EXPECT_EQ(run("  t = alloc(i64, (p, 3), 'heap')\n  w[0] = 4\n")[0], 4);
  EXPECT_EQ(run("  t = alloc(i64, (n, 2), 'heap')\n  for i in serial(0, n, 1):\n    t[i, 1] = i\n    t[i, 0] "
                "= neg(i)\n"
                "  for i in serial(0, n, 1):\n    w[i] = t[i, 1] - t[i, 0]\n"),
            (Words{0, 2, 4, 6, 8, 10}));
}

TEST(Interp, a_failing_check_ends_the_run_with_site_value_and_bound) {
  InterpResult r;
  Words w = run(
      "  for i in serial(0, 9, 1):\n    check(cast(u64, i - 2) < cast(u64, n), site=0)\n    w[i - 2] = 1\n",
      6, 0, &r);
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.site, 0u);
  EXPECT_EQ(r.value, -2);
  EXPECT_EQ(r.bound, 6);
  EXPECT_EQ(w, Words(6));
  run("  w[0] = 1\n  check(p == 1, site=0)\n  w[0] = 2\n", 6, 1);
}

TEST(Interp, a_cancelled_run_says_so) {
  Func f = unit::ir(
      "def f(w: inout(i64, (1,))):\n  fp('default')\n  dims()\n  for i in serial(0, 1000, 1):\n    w[0] = "
      "w[0] + 1\n"
      "  while True:\n    w[0] = w[0] + 1\n  return w\n");
  int64_t count = 0;
  void *data[] = {&count};
  volatile uint32_t cancel = 1;
  EXPECT_EQ(interpret(f, {data, nullptr, nullptr, &cancel}).status, 2);
  EXPECT_LE(count, 1);
}

TEST(Interp, elements_are_found_by_their_strides) {
  Func f = unit::ir(
      "def f(a: buf(f32, (n, m), strides=(s, t)), c: out(f32, (n, m))):\n  fp('default')\n  dims(n, m, s, "
      "t)\n"
      "  for i in serial(0, n, 1):\n    for j in serial(0, m, 1):\n      c[i, j] = a[i, j]\n  return c\n");
  std::vector<float> a(20), c(6);
  std::iota(a.begin(), a.end(), 0.0f);
  void *data[] = {a.data() + 10, c.data()};
  int64_t dims[] = {2, 3, 1, -4};
  interpret(f, {data, dims, nullptr, nullptr});
  EXPECT_EQ(c, (std::vector<float>{10, 6, 2, 11, 7, 3}));
}

/// One element of each dtype goes through memory: stored, loaded, widened.
TEST(Interp, memory_of_every_dtype) {
  for (int t = 0; t < static_cast<int>(DType::c64); ++t) {
    auto dtype = static_cast<DType>(t);
    std::string_view name = short_name(dtype);
    Func f = unit::ir(
        cat("def f(a: buf(", name, ", (2,)), c: out(", name,
            ", (2,)), d: out(f64, (2,))):\n  fp('default')\n  dims()\n",
            "  for i in serial(0, 2, 1):\n    c[1 - i] = a[i]\n    d[i] = cast(f64, a[i])\n  return c, d\n"));
    Value first = dtype == DType::b1 ? from_int(dtype, 1)
                  : is_float(dtype)  ? from_double(dtype, -1.5)
                                     : from_int(dtype, -3);
    Value second = is_float(dtype) ? from_double(dtype, 0.25) : from_int(dtype, 0);
    char a[16] = {}, c[16] = {};
    double d[2];
    std::memcpy(a, &first.bits, item_size(dtype));
    std::memcpy(a + item_size(dtype), &second.bits, item_size(dtype));
    void *data[] = {a, c, d};
    interpret(f, {data, nullptr, nullptr, nullptr});
    EXPECT_EQ(std::memcmp(c, a + item_size(dtype), item_size(dtype)), 0) << name;
    EXPECT_EQ(std::memcmp(c + item_size(dtype), a, item_size(dtype)), 0) << name;
    EXPECT_EQ(d[0], to_double(first)) << name;
    EXPECT_EQ(d[1], to_double(second)) << name;
  }
}

TEST(Interp, a_bool_byte_is_true_when_it_is_not_zero) {
  Func f = unit::ir(
      "def f(a: buf(b1, (1,)), c: out(i64, (1,))):\n  fp('default')\n  dims()\n  c[0] = cast(i64, a[0])\n  "
      "return c\n");
  uint8_t byte = 0x40;
  int64_t c = -1;
  void *data[] = {&byte, &c};
  interpret(f, {data, nullptr, nullptr, nullptr});
  EXPECT_EQ(c, 1);
}

TEST(Interp, elementary_functions_are_their_expansions) {
  Expr x = const_float(DType::f64, 1.25);
  Value once = evaluate(expand_call(Fn::exp, {x}, {}, host_target()));
  EXPECT_EQ(evaluate(call(Fn::exp, {x})).bits, once.bits);
  Expr nested = x;
  for (int i = 0; i < 6; ++i) nested = call(Fn::exp, {unary(UnOp::neg, nested)});
  EXPECT_TRUE(std::isfinite(to_double(evaluate(nested))));
}

TEST(Interp, shared_nodes_are_evaluated_once) {
  Sym x = make_sym(SymKind::local, DType::f64, "x");
  Expr e = kw::ref(x);
  for (int i = 0; i < 60; ++i) e = make_expr(DType::f64, {}, Binary{BinOp::mul, e, e});
  Func f = unit::ir("# kw-ir 2\ndef f(a: inout(f64, ())):\n  a[()] = a[()]\n  return a\n");
  Expr start = as<Store>(f.body)->value;
  f.body = let(x, start, store(as<Store>(f.body)->buf, {}, e));
  double value = 1.0;
  void *data[] = {&value};
  EXPECT_EQ(interpret(f, {data, nullptr, nullptr, nullptr}).status, 0);
  EXPECT_EQ(value, 1.0);
}

TEST(Evaluate, computes_without_symbols) {
  EXPECT_EQ(evaluate(make_expr(DType::i64, {}, Binary{BinOp::mul, const_int(6), const_int(7)})),
            from_int(DType::i64, 42));
  EXPECT_EQ(evaluate(make_expr(DType::f32, {}, Cast{const_int(3)})), from_float(3));
}

}  // namespace
}  // namespace kw
