// Which conditions stay branches, which become values or masks, and that the text tells them apart.
#include "transform/lowering/if_convert.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(
      cat("def f(w: inout(i64, (n, n)), v: inout(i64, (n,)), p: weak(i64), q: weak(i64)):\n"
          "  fp('default')\n  dims(n)\n",
          body, "  return w\n"));
}

/// The body after the pass, which reads back.
std::string converted(std::string_view body) {
  Func f = if_convert(with_body(body), unit::with_fma());
  EXPECT_EQ(verify(f), "");
  std::string out = print(f);
  EXPECT_TRUE(equal(unit::ir(out.substr(10)), f)) << out;
  size_t begin = out.find("  dims(n)\n") + 10, end = out.find("  return w\n");
  return out.substr(begin, end - begin);
}

/// `first`, multiplied by q so often.
std::string product(std::string_view first, int times) {
  std::string out(first);
  for (int k = 0; k < times; ++k) out += " * q";
  return out;
}

TEST(IfConvert, both_sides_of_a_cheap_choice_are_evaluated) {
  EXPECT_EQ(converted("  v[0] = p + 1 if (p < q) else p // q\n"), "  v[0] = select(p < q, p + 1, p // q)\n");
  EXPECT_EQ(converted("  for i in serial(0, p if (p < q) else q, 1):\n    v[i] = i\n"),
            "  for i in serial(0, select(p < q, p, q), 1):\n    v[i] = i\n");
  EXPECT_EQ(converted("  s = alloc(i64, (), 'registers')\n  s[()] = p\n  v[0] = s[()] if (p < q) else 3\n"),
            "  s = alloc(i64, (), 'registers')\n  s[()] = p\n  v[0] = select(p < q, s[()], 3)\n");
}

TEST(IfConvert, a_choice_with_a_costly_side_stays_a_branch) {
  EXPECT_EQ(converted("  v[0] = ((p // q) + 1) if (p < q) else q\n"),
            "  v[0] = ((p // q) + 1) if (p < q) else q\n");
  auto is_eager = [](int operations) {
    std::string text = converted(cat("  v[0] = (", product("p", operations), ") if (p < q) else 0\n"));
    return text.find("select(") != std::string::npos;
  };
  EXPECT_TRUE(is_eager(8));
  EXPECT_FALSE(is_eager(9));
}

TEST(IfConvert, a_load_stays_behind_its_condition) {
  std::string_view loads = "  v[0] = v[1] if (p < q) else 0\n",
                   twice = "  v[0] = v[1] if (v[1] < q) else 0\n";
  EXPECT_EQ(converted(loads), loads);
  EXPECT_EQ(converted(twice), twice);
}

TEST(IfConvert, what_the_statement_has_loaded_already_is_there) {
  EXPECT_EQ(converted("  share(1, v[1])\n  v[0] = shared(1) if (shared(1) < q) else 0\n"),
            "  v[0] = select(v[1] < q, v[1], 0)\n");
  std::string_view first = "(shared(1) if (p < q) else 0)", other = "(shared(1) if (q < p) else 0)";
  EXPECT_EQ(converted(cat("  share(1, v[1])\n  v[0] = ", first, " + ", other, "\n")),
            "  v[0] = (v[1] if (p < q) else 0) + (v[1] if (q < p) else 0)\n");
  std::string_view both = "((shared(1) + 1) if (p < q) else (shared(1) * 2))";
  EXPECT_EQ(converted(cat("  share(1, v[1])\n  v[0] = ", both, " + ", other, "\n")),
            "  v[0] = ((v[1] + 1) if (p < q) else (v[1] * 2)) + (select(q < p, v[1], 0))\n");
}

TEST(IfConvert, cheap_conditions_are_evaluated_together) {
  auto condition = [](std::string_view text) {
    std::string out = converted(cat("  if ", text, ":\n    v[0] = 1\n"));
    return out.substr(5, out.find(":\n") - 5);
  };
  EXPECT_EQ(condition("(p < q) and (q < 9)"), "(p < q) & (q < 9)");
  EXPECT_EQ(condition("(p < q) or (q < 9)"), "(p < q) | (q < 9)");
  EXPECT_EQ(condition("(p < q) and (v[0] < 9)"), "(p < q) and (v[0] < 9)");
  EXPECT_EQ(condition("(v[0] < 9) and (p < q)"), "(v[0] < 9) & (p < q)");
}

TEST(IfConvert, the_condition_of_a_while_in_lanes_keeps_its_parts) {
  std::string lines = "    while (i < p) and (p < q):\n      v[i] = v[i] + 1\n";
  std::string lanes = "  for i in vector(0, n, 1, vector_width=8):\n";
  EXPECT_EQ(converted(lanes + lines), lanes + lines);
  EXPECT_EQ(converted(cat("  for i in serial(0, n, 1):\n", lines)),
            "  for i in serial(0, n, 1):\n    while (i < p) & (p < q):\n      v[i] = v[i] + 1\n");
}

/// What becomes of a condition on a cell s.
std::string after_cell(std::string_view branch) {
  std::string head = "  s = alloc(i64, (), 'registers')\n  s[()] = 0\n", tail = "  v[0] = s[()]\n";
  std::string out = converted(cat(head, branch, tail));
  EXPECT_EQ(out.substr(0, head.size()), head);
  return out.substr(head.size(), out.size() - head.size() - tail.size());
}

TEST(IfConvert, a_cell_takes_a_cheap_value_without_a_branch) {
  EXPECT_EQ(after_cell("  if p < q:\n    s[()] = (s[()] + 1) * p\n"),
            "  s[()] = select(p < q, (s[()] + 1) * p, s[()])\n");
  EXPECT_EQ(after_cell("  share(1, v[1])\n  if shared(1) < q:\n    s[()] = shared(1)\n"),
            "  s[()] = select(v[1] < q, v[1], s[()])\n");
}

TEST(IfConvert, other_conditions_on_a_cell_stay_branches) {
  for (std::string_view branch :
       {"  if p < q:\n    s[()] = ((s[()] + 1) * p) + q\n", "  if p < q:\n    s[()] = v[1]\n",
        "  if p < q:\n    v[1] = 2\n", "  if p < q:\n    s[()] = 1\n  else:\n    s[()] = 2\n",
        "  if p < q:\n    s[()] = 1\n    s[()] = 2\n"})
    EXPECT_EQ(after_cell(branch), branch);
  std::string_view in_vector =
      "  s = alloc(i32, (), 'registers', in_vector=1)\n  if p < q:\n    s[()] = i32(1)\n";
  EXPECT_EQ(converted(in_vector), in_vector);
}

/// What becomes of a condition in a vector loop, with t = v[i].
std::string in_lanes(std::string_view branch) {
  std::string head =
      "  for i in vector(0, n, 1, vector_width=8):\n    t = alloc(i64, (), 'registers')\n    t[()] = v[i]\n";
  std::string tail = "    v[i] = t[()]\n";
  std::string out = converted(cat(head, branch, tail));
  EXPECT_EQ(out.substr(0, head.size()), head);
  return out.substr(head.size(), out.size() - head.size() - tail.size());
}

TEST(IfConvert, short_branches_of_lanes_run_under_masks) {
  EXPECT_EQ(in_lanes("    if t[()] < p:\n      t[()] = t[()] * q\n"),
            "    if predicated(t[()] < p):\n      t[()] = t[()] * q\n");
  EXPECT_EQ(in_lanes("    if t[()] < p:\n      t[()] = 1\n    else:\n      t[()] = 2\n"),
            "    if predicated(t[()] < p):\n      t[()] = 1\n    else:\n      t[()] = 2\n");
  EXPECT_EQ(in_lanes("    if t[()] < p:\n      if t[()] < q:\n        t[()] = 0\n"),
            "    if predicated(t[()] < p):\n      if predicated(t[()] < q):\n        t[()] = 0\n");
}

TEST(IfConvert, branches_of_lanes_that_use_memory_or_are_long_stay) {
  for (std::string_view branch :
       {"    if t[()] < p:\n      v[i] = 3\n", "    if t[()] < p:\n      t[()] = w[0, i]\n",
        "    if t[()] < p:\n      for j in serial(0, n, 1):\n        t[()] = j\n"})
    EXPECT_EQ(in_lanes(branch), branch);
  auto is_predicated = [](int operations) {
    std::string text = in_lanes(cat("    if t[()] < p:\n      t[()] = ", product("t[()]", operations), "\n"));
    return text.find("predicated(") != std::string::npos;
  };
  EXPECT_TRUE(is_predicated(15));  // and the store
  EXPECT_FALSE(is_predicated(16));
}

TEST(IfConvert, each_side_of_a_choice_between_lanes_is_decided_by_itself) {
  EXPECT_EQ(in_lanes("    t[()] = w[0, i] if (t[()] < p) else i + 1\n"),
            "    t[()] = select(t[()] < p, lazy(w[0, i]), i + 1)\n");
  EXPECT_EQ(in_lanes("    t[()] = i + 1 if (t[()] < p) else w[0, i]\n"),
            "    t[()] = select(t[()] < p, i + 1, lazy(w[0, i]))\n");
  std::string_view uniform = "    t[()] = w[0, 0] if (p < q) else 0\n";
  EXPECT_EQ(in_lanes(uniform), uniform);
  auto is_lazy = [](int operations) {
    std::string text =
        in_lanes(cat("    t[()] = (", product("t[()]", operations), ") if (t[()] < p) else 0\n"));
    return text.find("lazy(") != std::string::npos;
  };
  EXPECT_FALSE(is_lazy(32));
  EXPECT_TRUE(is_lazy(33));
}

TEST(IfConvert, its_forms_read_back) {
  constexpr std::string_view forms = R"(  s = alloc(i32, (), 'registers', in_vector=1)
  v[0] = select(p < 3, v[1], 2)
  v[0] = select(p < 3, lazy(v[1]), 2)
  v[0] = select(p < 3, 2, lazy(v[1]))
  v[0] = v[1] if (p < 3) else 2
  if (p < 3) & (4 < p):
    v[1] = 3
  for i in vector(0, n, 1, vector_width=8):
    if predicated(v[i] < p):
      v[i] = 1
    else:
      v[i] = 2
)";
  Func f = with_body(forms);
  EXPECT_NE(print(f).find(cat("  dims(n)\n", forms, "  return w\n")), std::string::npos) << print(f);
  EXPECT_TRUE(equal(unit::ir(print(f).substr(10)), f));
  Func eager = with_body("  v[0] = select(p < 3, v[1], 2)\n"),
       lazy = with_body("  v[0] = select(p < 3, lazy(v[1]), lazy(2))\n"),
       plain = with_body("  v[0] = v[1] if (p < 3) else 2\n");
  EXPECT_FALSE(equal(eager, lazy));
  EXPECT_TRUE(equal(lazy, plain));
  EXPECT_FALSE(
      equal(with_body("  if predicated(p < 3):\n    v[0] = 1\n"), with_body("  if p < 3:\n    v[0] = 1\n")));
}

TEST(IfConvert, a_function_without_conditions_stays_the_same) {
  Func f = with_body("  for i in vector(0, n, 1, vector_width=8):\n    v[i] = w[0, i]\n");
  EXPECT_EQ(if_convert(f, unit::with_fma()).body.p, f.body.p);
}

}  // namespace
}  // namespace kw
