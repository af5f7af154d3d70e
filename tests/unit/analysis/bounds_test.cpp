// E301: accesses that are out of bounds in every run, and the many that must not be called so.
#include "analysis/bounds.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "line:column message / notes" of each E301 of a kernel over a: f32[n, m], v: f32[k] and a Python int p.
std::string errors_of(std::string_view lines) {
  std::string text = "def f(a, v, p):\n  c = output_tensor(a.shape, a.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  unit::Lowered l = unit::lower_text(
      text + "  return c\n", unit::signature({unit::tensor(2), unit::tensor(1), unit::weak(DType::i64)}));
  EXPECT_TRUE(l.errors.empty()) << l.errors[0].message;
  std::string out;
  for (const Diagnostic &d : find_bounds_errors(l.func, *l.sources)) {
    Resolved r = resolve(d, *l.sources);
    EXPECT_EQ(r.code, Code::E301);
    out += cat(out.empty() ? "" : " | ", r.line, ":", r.column, " ", r.message);
    for (const std::string &note : r.notes) out += cat(" / ", expand_marks(note, 0));
  }
  return out.empty() ? "none" : out;
}

TEST(StaticBounds, one_behind_the_end) {
  EXPECT_EQ(
      errors_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    c[i, j] = a[i, j + 1]"),
      "5:22 index 1 of 'a' reaches a.shape[1] (valid 0..a.shape[1] - 1) / "
      "'j' runs over range(a.shape[1]) at line 4");
}

TEST(StaticBounds, before_the_beginning) {
  EXPECT_EQ(errors_of("for i in range(v.shape[0]):\n  c[0, 0] = v[i - 1]"),
            "4:17 index 0 of 'v' reaches -1 (valid 0..v.shape[0] - 1) / "
            "'i' runs over range(v.shape[0]) at line 3 / "
            "a negative index counts from the end only where it is a constant");
}

TEST(StaticBounds, constant_extents_are_named) {
  EXPECT_EQ(
      errors_of("t = allocate((4,))\nfor i in range(5):\n  t[i] = 1.0"),
      "5:7 index 0 of 't' reaches 4, but t.shape[0] is 4 (valid 0..3) / 'i' runs over range(5) at line 4");
}

TEST(StaticBounds, a_literal_is_told_as_it_is_written) {
  EXPECT_EQ(errors_of("t = allocate((4,))\nt[-5] = 1.0"),
            "4:5 index 0 of 't' is -5, but t.shape[0] is 4 (valid -4..3)");
  EXPECT_EQ(errors_of("t = allocate((4,))\nt[4] = 1.0"),
            "4:5 index 0 of 't' is 4, but t.shape[0] is 4 (valid 0..3)");
  EXPECT_EQ(errors_of("t = allocate((4,))\nt[2 + 3] = 1.0"),
            "4:5 index 0 of 't' reaches 5, but t.shape[0] is 4 (valid 0..3)");
}

TEST(StaticBounds, stores_and_loads_are_both_looked_at) {
  EXPECT_NE(errors_of("for i in range(a.shape[0]):\n  c[i + 1, 0] = 1.0"), "none");
  EXPECT_NE(errors_of("for i in range(v.shape[0]):\n  c[0, 0] = v[i] + v[i + 2]"), "none");
}

TEST(StaticBounds, what_may_be_right_for_some_extents_is_no_error) {
  EXPECT_EQ(errors_of("for i in range(a.shape[0]):\n  c[i, 0] = v[i]"), "none");
  EXPECT_EQ(errors_of("for i in range(p):\n  c[i, 0] = v[i + 7]"), "none");
  EXPECT_EQ(errors_of("c[3, 0] = v[5]"), "none");
  EXPECT_EQ(errors_of("for i in range(2, v.shape[0]):\n  c[0, 0] = v[i - 3]"),
            "none");  // runs for 3 and more only
}

TEST(StaticBounds, guarded_accesses_impose_nothing) {
  EXPECT_EQ(errors_of("for i in range(v.shape[0]):\n  if i > 0:\n    c[0, 0] = v[i - 1]"), "none");
  EXPECT_EQ(errors_of("for i in range(v.shape[0]):\n  c[0, 0] = v[i + 1] if p > 0 else 0.0"), "none");
  EXPECT_EQ(errors_of("for i in range(v.shape[0]):\n  if p > 0 and v[i + 1] > 0.0:\n    c[0, 0] = 1.0"),
            "none");
}

TEST(StaticBounds, accesses_in_loops_that_do_not_run_impose_nothing) {
  EXPECT_EQ(errors_of("for i in range(0):\n  c[0, 0] = v[i - 1]"), "none");
  EXPECT_EQ(errors_of("for i in range(5, 2):\n  c[0, 0] = v[-1 - i]"), "none");
}

TEST(BoundText, names_extents_by_their_tensor) {
  Func f = unit::kernel("def f(a):\n  c = output_tensor(a.shape, a.dtype)\n  c[0, 0] = 1\n  return c\n",
                        unit::signature({unit::tensor(2)}));
  Expr n = f.params[0].buf->extents[0], m = f.params[0].buf->extents[1];
  EXPECT_EQ(bound_text(f, n), "a.shape[0]");
  EXPECT_EQ(bound_text(f, sub(m, const_int(1))), "a.shape[1] - 1");
  EXPECT_EQ(bound_text(f, add(mul(const_int(2), n), const_int(3))), "2 * a.shape[0] + 3");
  EXPECT_EQ(bound_text(f, sub(m, n)), "a.shape[1] - a.shape[0]");
  EXPECT_EQ(bound_text(f, unary(UnOp::neg, n)), "-a.shape[0]");
  EXPECT_EQ(bound_text(f, const_int(4)), "4");
}

TEST(BoundText, conditions_read_as_in_the_source) {
  Func f = unit::kernel("def f(a):\n  c = output_tensor(a.shape, a.dtype)\n  c[0, 0] = 1\n  return c\n",
                        unit::signature({unit::tensor(2)}));
  Expr n = f.params[0].buf->extents[0], m = f.params[0].buf->extents[1], size = const_int(64);
  auto both = [&](const Expr &e) {
    return cat(condition_text(f, e, true), "; ", condition_text(f, e, false));
  };
  Expr few = binary(BinOp::lt, n, size), many = binary(BinOp::le, size, m), same = binary(BinOp::eq, n, m);
  EXPECT_EQ(both(few), "a.shape[0] < 64; a.shape[0] >= 64");
  EXPECT_EQ(both(many), "a.shape[1] >= 64; a.shape[1] < 64");
  EXPECT_EQ(both(binary(BinOp::le, n, m)), "a.shape[0] <= a.shape[1]; a.shape[1] < a.shape[0]");
  EXPECT_EQ(both(same), "a.shape[0] == a.shape[1]; a.shape[0] != a.shape[1]");
  EXPECT_EQ(both(unary(UnOp::logical_not, few)), "a.shape[0] >= 64; a.shape[0] < 64");
  EXPECT_EQ(both(logic(false, few, many)),
            "a.shape[0] < 64 or a.shape[1] >= 64; a.shape[0] >= 64 and a.shape[1] < 64");
  EXPECT_EQ(both(logic(true, logic(false, few, many), same)),
            "(a.shape[0] < 64 or a.shape[1] >= 64) and a.shape[0] == a.shape[1]; "
            "a.shape[0] >= 64 and a.shape[1] < 64 or a.shape[0] != a.shape[1]");
  // the trip count of range(1, n)
  Expr trips = select(binary(BinOp::lt, const_int(1), n), sub(n, const_int(1)), const_int(0));
  EXPECT_EQ(condition_text(f, binary(BinOp::lt, trips, size), true), "a.shape[0] - 1 < 64");
  EXPECT_EQ(condition_text(f, binary(BinOp::lt, const_int(-1), trips), true),
            "((a.shape[0] - 1) if (1 < a.shape[0]) else 0) > -1");
  EXPECT_EQ(condition_text(f, logic(true, unary(UnOp::logical_not, logic(true, few, many)), same), true),
            "(a.shape[0] >= 64 or a.shape[1] < 64) and a.shape[0] == a.shape[1]");
  EXPECT_EQ(both(kw::ref(make_sym(SymKind::param, DType::b1, "deep"))), "deep; not deep");
  f.misaligned = make_sym(SymKind::param, DType::i64, "misaligned");
  EXPECT_EQ(both(binary(BinOp::eq, kw::ref(f.misaligned), const_int(0))),
            "all arrays are aligned to 16 bytes; an array is not aligned to 16 bytes");
}

TEST(StaticBounds, a_loop_that_a_jump_may_end_is_certain_of_nothing) {
  EXPECT_EQ(errors_of("for i in range(v.shape[0]):\n  c[0, 0] = v[i + 1]\n  if v[i] > 0:\n    break"),
            "none");
  EXPECT_EQ(
      errors_of("for i in range(v.shape[0]):\n  if i + 1 == v.shape[0]:\n    continue\n  c[0, 0] = v[i + 1]"),
      "none");
  EXPECT_EQ(errors_of("for i in range(v.shape[0]):\n  if v[i] > 0:\n    continue\n  c[0, 0] = v[i + 1]"),
            "none");
  EXPECT_EQ(errors_of("while p > 0:\n  c[0, 0] = v[v.shape[0]]\n  break"), "none");
  EXPECT_NE(errors_of("for i in range(v.shape[0]):\n  while p > 0:\n    break\n  c[0, 0] = v[i + 1]"),
            "none");
}

}  // namespace
}  // namespace kw
