// Lowering: kernels become this IR. Types merge at control flow, faults are told where names are read.
#include "frontend/lower/lower.h"
#include "frontend/sema/check.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The lines of the printed body between the header and the return, of a kernel over a: f32[n, m] and p: a
/// Python int with an output c: f32[n, m].
unit::Lowered lowered(std::string_view lines, const Captures &captures = {}) {
  std::string text = "def f(a, p):\n  c = output_tensor(a.shape, a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return unit::lower_text(text + "  return c\n", unit::signature({unit::tensor(2), unit::weak(DType::i64)}),
                          {}, captures);
}

std::string body_of(std::string_view lines, const Captures &captures = {}) {
  unit::Lowered l = lowered(lines, captures);
  if (!l.errors.empty())
    return cat(row_of(l.errors[0].code).name, " ", l.errors[0].line, ":", l.errors[0].column);
  EXPECT_EQ(verify(l.func), "") << print(l.func);
  std::string text = print(l.func), begin = "  dims(a_0, a_1)\n", end = "  return c\n";
  size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.size() - end.size() - from);
}

TEST(Lower, a_whole_function) {
  Func f = unit::kernel(
      "def add(a, b):\n  c = output_tensor(a.shape, a.dtype)\n  for i in range(a.shape[0]):\n"
      "    c[i] = a[i] + b[i]\n  return c\n",
      unit::signature({unit::tensor(1), unit::tensor(1, DType::f64, StrideClass::general)}));
  EXPECT_EQ(print(f),
            "# kw-ir 2\n"
            "def add(a: buf(f32, (a_0,)), b: buf(f64, (b_0,), strides=(b_s0,)), c: out(f32, (a_0,), "
            "fill='zero')):\n"
            "  fp('default')\n"
            "  dims(a_0, b_0, b_s0)\n"
            "  for i in serial(0, a_0, 1):\n"
            "    c[i] = cast(f32, cast(f64, a[i]) + b[i])\n"
            "  return c\n");
}

TEST(Lower, loops_carry_their_hints_and_steps) {
  EXPECT_EQ(body_of("for i in parallel(2, p, 3):\n  c[i, 0] = 1.0"),
            "  for i in serial(2, p, 3, hint='parallel'):\n    c[i, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("for i in range(p, -1, -1):\n  c[i, 0] = 1.0"),
            "  for i in serial(p, -1, -1):\n    c[i, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("for i, j in grid(a.shape):\n  c[i, j] = a[i, j]"),
            "  for i in serial(0, a_0, 1):\n    for j in serial(0, a_1, 1):\n      c[i, j] = a[i, j]\n");
}

TEST(Lower, names_assigned_once_are_values_and_others_are_cells) {
  EXPECT_EQ(body_of("x = a[0, 0]\nc[0, 0] = x + x"), "  x: f32 = a[0, 0]\n  c[0, 0] = x + x\n");
  EXPECT_EQ(body_of("x = a[0, 0]\nx = x + 1.0\nc[0, 0] = x"),
            "  x = alloc(f32, (), 'registers')\n  x[()] = a[0, 0]\n  x[()] = x[()] + f32(1.0)\n  c[0, 0] = "
            "x[()]\n");
  EXPECT_EQ(body_of("n, m = a.shape\nc[n - 1, m - 1] = p"), "  c[a_0 - 1, a_1 - 1] = cast(f32, p)\n");
}

TEST(Lower, stores_convert_as_the_cast_of_their_dtype) {
  EXPECT_EQ(body_of("c[0, 0] = 1"), "  c[0, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("c[0, 0] = a[0, 0] < 1.0"), "  c[0, 0] = cast(f32, a[0, 0] < f32(1.0))\n");
  EXPECT_EQ(body_of("c[0, 0] += p"), "  c[0, 0] = c[0, 0] + cast(f32, p)\n");
}

TEST(Lower, constant_negative_indices_count_from_the_end) {
  EXPECT_EQ(body_of("c[-1, 0] = a[0, -2]"), "  c[a_0 + (-1), 0] = a[0, a_1 + (-2)]\n");
  EXPECT_EQ(body_of("c[p - 1, 0] = 1.0"), "  c[p - 1, 0] = f32(1.0)\n");
}

TEST(Lower, lazy_operators_stay_lazy) {
  EXPECT_EQ(body_of("if p > 0 and a[p, 0] > 0.0:\n  c[0, 0] = 1.0"),
            "  if (0 < p) and (f32(0.0) < a[p, 0]):\n    c[0, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("c[0, 0] = a[0, 0] if p else 2.0"), "  c[0, 0] = a[0, 0] if cast(b1, p) else f32(2.0)\n");
  EXPECT_EQ(body_of("if 0 < p < 3:\n  c[0, 0] = 1.0"), "  if (0 < p) and (p < 3):\n    c[0, 0] = f32(1.0)\n");
}

TEST(Lower, conditions_known_at_compile_time_drop_their_dead_branch) {
  EXPECT_EQ(body_of("if a.dtype == 'float32':\n  c[0, 0] = 1.0\nelse:\n  c[0, 0] = a[0]"),
            "  c[0, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("if a.ndim == 3:\n  c[0, 0, 0] = 1.0\nelse:\n  c[0, 0] = 2.0"), "  c[0, 0] = f32(2.0)\n");
  EXPECT_EQ(body_of("if False and a[0]:\n  c[0, 0] = 1.0"), "  pass\n");
}

TEST(Lower, fma_is_left_to_its_pass) {
  EXPECT_EQ(body_of("c[0, 0] = a[0, 0] * a[0, 1] + 1.0"), "  c[0, 0] = (a[0, 0] * a[0, 1]) + f32(1.0)\n");
}

TEST(Lower, temporaries_are_small_on_the_stack_and_else_on_the_heap) {
  EXPECT_EQ(body_of("t = allocate((4, 4), float64)\nt[0, 0] = 1"),
            "  t = alloc(f64, (4, 4), 'stack', fill='zero')\n  t[0, 0] = 1.0\n");
  EXPECT_EQ(body_of("t = allocate(a.shape)\nt[0, 0] = 1"),
            "  t = alloc(f32, (a_0, a_1), 'heap', fill='zero')\n  t[0, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("t = allocate((1025,), float32)\nt[0] = 1"),
            "  t = alloc(f32, (1025,), 'heap', fill='zero')\n  t[0] = f32(1.0)\n");
}

TEST(LowerMerge, weak_and_strong_merge_to_strong) {
  EXPECT_EQ(
      body_of("x = 0.0\nfor i in range(p):\n  x += a[0, i]\nc[0, 0] = x"),
      "  x = alloc(f64, (), 'registers')\n  x_1 = alloc(f32, (), 'registers')\n  x[()] = 0.0\n"
      "  x_1[()] = f32(0.0)\n  for i in serial(0, p, 1):\n    x_1[()] = (x_1[()] + a[0, i]) @ lanes(i)\n"
      "  c[0, 0] = x_1[()]\n");
}

TEST(LowerMerge, weak_kinds_merge_to_the_wider) {
  EXPECT_EQ(
      body_of("x = 1\nif p > 0:\n  x = 2.5\nc[0, 0] = x"),
      "  x = alloc(i64, (), 'registers')\n  x_1 = alloc(f64, (), 'registers')\n  x[()] = 1\n  if 0 < p:\n"
      "    x_1[()] = 2.5\n  else:\n    x_1[()] = 1.0\n  c[0, 0] = cast(f32, x_1[()])\n");
}

TEST(LowerMerge, two_strong_types_are_an_error_only_where_the_name_is_read) {
  std::string_view merge = "x = int64(p)\nif p > 0:\n  x = a[0, 0]\n";
  EXPECT_EQ(body_of(cat(merge, "c[0, 0] = 1.0")).substr(0, 1), " ");
  EXPECT_EQ(body_of(cat(merge, "c[0, 0] = x")), "E210 6:13");
  EXPECT_EQ(body_of(cat(merge, "x = 3.0\nc[0, 0] = x")).substr(0, 1), " ");
}

TEST(LowerMerge, in_a_loop_too) {
  std::string_view loop = "x = int64(p)\nfor i in range(p):\n  x = a[i, 0]\n";
  EXPECT_EQ(body_of(cat(loop, "  c[i, 0] = x")).substr(0, 1), " ");  // assigned again before each read
  EXPECT_EQ(body_of(cat(loop, "c[0, 0] = x")), "E210 6:13");
  EXPECT_EQ(body_of("x = int64(p)\nfor i in range(p):\n  x = float32(x)\nc[0, 0] = 1.0"), "E210 5:17");
}

TEST(LowerMerge, a_weak_float_does_not_fit_a_strong_integer) {
  EXPECT_EQ(body_of("x = int32(p)\nif p > 0:\n  x = 2.5\nc[0, 0] = x"), "E211 6:13");
}

TEST(LowerMerge, names_assigned_on_some_paths_only) {
  EXPECT_EQ(body_of("if p > 0:\n  x = 1.0\nc[0, 0] = x"), "E302 5:13");
  EXPECT_EQ(body_of("for i in range(p):\n  x = 1.0\nc[0, 0] = x"), "E302 5:13");
  EXPECT_EQ(body_of("c[0, 0] = x\nx = 1.0"), "E302 3:13");
  EXPECT_EQ(body_of("if p > 0:\n  x = 1.0\nelse:\n  x = 2.0\nc[0, 0] = x").substr(0, 1), " ");
}

TEST(LowerMerge, two_widths_of_one_kind_merge_to_the_promoted_one) {
  EXPECT_EQ(body_of("x = float64(p)\nif p > 0:\n  x = a[0, 0]\nc[0, 0] = x"),
            "  x = alloc(f64, (), 'registers')\n  x_1 = alloc(f32, (), 'registers')\n"
            "  x[()] = cast(f64, p)\n  if 0 < p:\n    x_1[()] = a[0, 0]\n    x[()] = cast(f64, x_1[()])\n"
            "  c[0, 0] = cast(f32, x[()])\n");
  EXPECT_EQ(body_of("c[0, 0] = a[0, 0] if p > 0 else float64(p)"),
            "  c[0, 0] = cast(f32, cast(f64, a[0, 0]) if (0 < p) else cast(f64, p))\n");
}

TEST(LowerMerge, ternaries_merge_and_select_promotes) {
  EXPECT_EQ(body_of("c[0, 0] = a[0, 0] if p > 0 else int64(p)"), "E210 3:13");
  EXPECT_EQ(body_of("c[0, 0] = select(p > 0, a[0, 0], float64(p))"),
            "  unread: f64 = cast(f64, a[0, 0])\n"
            "  c[0, 0] = cast(f32, cast(f64, a[0, 0]) if (0 < p) else cast(f64, p))\n");
}

Captured integer(int64_t v) {
  Captured c;
  c.kind = Captured::Kind::integer;
  c.integer = v;
  return c;
}

TEST(LowerCaptures, constants_are_weak_and_folded) {
  Captured tuple, real, flag;
  tuple.kind = Captured::Kind::tuple;
  tuple.items = {integer(3), integer(4)};
  real.kind = Captured::Kind::real;
  real.real = 0.5;
  flag.kind = Captured::Kind::boolean;
  flag.integer = 1;
  Captures captures = {{"K", integer(7)}, {"T", tuple}, {"R", real}, {"B", flag}};
  EXPECT_EQ(body_of("c[K, T[1]] = a[0, 0] * R", captures), "  c[7, 4] = a[0, 0] * f32(0.5)\n");
  EXPECT_EQ(body_of("if B:\n  c[len(T), 0] = K + 1", captures), "  c[2, 0] = f32(8.0)\n");
}

TEST(LowerCaptures, words_and_modules_name_intrinsics) {
  Captured word, module, pi;
  word.kind = Captured::Kind::word;
  word.text = "sqrt";
  pi.kind = Captured::Kind::real;
  pi.real = 3.0;
  module.kind = Captured::Kind::module;
  module.text = "numpy";
  module.attributes = {{"root", word}, {"pi", pi}};
  Captures captures = {{"np", module}, {"my_root", word}};
  EXPECT_EQ(body_of("c[0, 0] = np.root(a[0, 0]) + np.pi", captures),
            "  c[0, 0] = sqrt(a[0, 0]) + f32(3.0)\n");
  EXPECT_EQ(body_of("c[0, 0] = my_root(a[0, 0])", captures), "  c[0, 0] = sqrt(a[0, 0])\n");
  EXPECT_EQ(body_of("c[0, 0] = np.cbrt(a[0, 0])", captures), "E103 3:13");
  EXPECT_EQ(body_of("c[0, 0] = np", captures), "E117 3:13");
}

TEST(LowerCaptures, a_global_that_shadows_a_word_wins_and_is_w101) {
  Captured other;
  other.kind = Captured::Kind::other;
  other.text = "function reduce";
  unit::Lowered l = lowered("for i in reduce(p):\n  c[i, 0] = 1.0", {{"reduce", other}});
  ASSERT_FALSE(l.errors.empty());
  EXPECT_EQ(l.errors[0].code, Code::E117);
}

TEST(LowerCaptures, locals_win_over_captures) {
  EXPECT_EQ(body_of("K = 2\nc[K, 0] = 1.0", {{"K", integer(7)}}), "  c[2, 0] = f32(1.0)\n");
  EXPECT_EQ(body_of("c[p, 0] = 1.0", {{"p", integer(7)}}), "  c[p, 0] = f32(1.0)\n");
}

TEST(LowerInput, an_input_that_is_written_and_returned_is_inout) {
  Func f = unit::kernel("def f(a, b):\n  a[0] = b[0]\n  return a\n",
                        unit::signature({unit::tensor(1), unit::tensor(1)}));
  EXPECT_EQ(f.params[0].mode, ParamMode::inout);
  EXPECT_EQ(f.params[1].mode, ParamMode::in);
  EXPECT_EQ(f.results, std::vector<Buf>{f.params[0].buf});
}

TEST(LowerInput, unused_arguments_are_no_parameters) {
  Signature s =
      unit::signature({unit::tensor(1), {ArgKind::unused, DType::f32, 0, StrideClass::contiguous, 1}});
  EXPECT_EQ(unit::kernel("def f(a, flag):\n  a[0] = 1.0\n  return a\n", s).params.size(), 1u);
  unit::Lowered l = unit::lower_text("def f(a, flag):\n  a[0] = flag\n  return a\n", s);
  ASSERT_EQ(l.errors.size(), 1u);
  EXPECT_EQ(l.errors[0].code, Code::E117);
}

TEST(LowerInput, outputs_given_strided_have_stride_symbols) {
  Signature s = unit::signature({unit::tensor(1)});
  s.outs = {StrideClass::general};
  Func f = unit::kernel("def f(a):\n  c = output_tensor((3, 4), a.dtype)\n  c[0, 0] = 1\n  return c\n", s);
  EXPECT_NE(print(f).find("c: out(f32, (3, 4), strides=(c_s0, c_s1), fill='zero')"), std::string::npos)
      << print(f);
}

TEST(CheckSource, finds_names_without_types) {
  SourceMap sources;
  uint32_t s = sources.add_text(
      "k.py", 1, "def f(a, out):\n  for i in range(3):\n    a[i] = nothing + i + sqrt(other)\n");
  Sink sink;
  check_source(sources, s, {}, sink);
  std::string found;
  for (const Diagnostic &d : sink.all()) found += cat(row_of(d.code).name, " ");
  EXPECT_EQ(found, "E103 E103 E108 ");
}

TEST(Lower, jumps_and_whiles) {
  EXPECT_EQ(body_of("k = 0\nwhile k < p:\n  k += 1\n  if k == 3:\n    continue\n  c[0, 0] = k"),
            "  k = alloc(i64, (), 'registers')\n  k[()] = 0\n  while k[()] < p:\n    k[()] = k[()] + 1\n"
            "    if k[()] == 3:\n      continue\n    c[0, 0] = cast(f32, k[()])\n");
  EXPECT_EQ(body_of("while p < 0:\n  break\n  c[missing] = 1"), "  while p < 0:\n    break\n");
  EXPECT_EQ(body_of("while False:\n  c[missing] = 1"), "  pass\n");
}

TEST(Lower, a_break_leaves_all_loops_of_a_grid_and_a_continue_none) {
  EXPECT_EQ(body_of("for i, j in grid(a.shape):\n  if i == p:\n    continue\n  break"),
            "  left = alloc(b1, (), 'registers')\n  left[()] = False\n  for i in serial(0, a_0, 1):\n"
            "    for j in serial(0, a_1, 1):\n      if i == p:\n        continue\n      left[()] = True\n    "
            "  break\n"
            "    if left[()]:\n      break\n");
}

TEST(Lower, the_head_of_a_loop_keeps_its_types_when_a_break_brings_another) {
  EXPECT_EQ(
      body_of("x = 0\nfor i in range(p):\n  c[i, 0] = x\n  if i == 5:\n    x = 2.5\n    break\nc[0, 1] = x"),
      "  x = alloc(i64, (), 'registers')\n  x_1 = alloc(f64, (), 'registers')\n  x[()] = 0\n"
      "  left = alloc(b1, (), 'registers')\n  left[()] = False\n  for i in serial(0, p, 1):\n"
      "    c[i, 0] = cast(f32, x[()])\n    if i == 5:\n      x_1[()] = 2.5\n      left[()] = True\n      "
      "break\n"
      "  if not left[()]:\n    x_1[()] = cast(f64, x[()])\n  c[0, 1] = cast(f32, x_1[()])\n");
}

TEST(Lower, copies_of_a_const_range) {
  EXPECT_EQ(body_of("for k in const_range(2, -1, -2):\n  c[k, 0] = k * p"),
            "  c[2, 0] = cast(f32, 2 * p)\n  c[0, 0] = cast(f32, 0 * p)\n");
  EXPECT_EQ(body_of("for k in const_range(3, 3):\n  c[missing] = 1"), "  pass\n");
  EXPECT_EQ(body_of("for k in const_range(p):\n  pass"), "E116 3:24");
}

TEST(Lower, a_subscript_with_a_const_range_variable_does_not_count_from_the_end) {
  EXPECT_EQ(body_of("for k in const_range(1):\n  m = k - 1\n  c[k - 1, -1] = a[m, 0]"),
            "  c[-1, a_1 + (-1)] = a[-1, 0]\n");
}

TEST(Lower, a_point_of_a_grid_is_a_tuple_of_iterators) {
  EXPECT_EQ(
      body_of("for q in grid(a.shape):\n  c[q] = a[q[0], q[-1]]"),
      "  for q in serial(0, a_0, 1):\n    for q_1 in serial(0, a_1, 1):\n      c[q, q_1] = a[q, q_1]\n");
  EXPECT_EQ(body_of("for q in grid(()):\n  break"), "  for once in serial(0, 1, 1):\n    break\n");
}

TEST(Lower, asserts_are_checks_in_debug_mode_only) {
  CodegenOptions debug;
  debug.debug = true;
  constexpr std::string_view text = "def f(a):\n  assert a[0] > 0, 'why'\n  return a\n";
  Signature s = unit::signature({unit::tensor(1)});
  Func f = unit::kernel(text, s, debug);
  ASSERT_EQ(f.sites.size(), 1u);
  EXPECT_EQ(f.sites[0].code, Code::E305);
  EXPECT_EQ(f.sites[0].message.before, "why");
  EXPECT_NE(print(f).find("check(f32(0.0) < a[0], site=0)"), std::string::npos) << print(f);
  EXPECT_TRUE(unit::kernel(text, s).sites.empty());
}

}  // namespace
}  // namespace kw
