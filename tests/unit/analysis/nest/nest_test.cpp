// Nests of kernels: the forms of loops, guards and subscripts, and what becomes a variable of its own.
#include "analysis/nest/nest.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

struct Extracted {
  Func f;
  Nest nest;
};

/// The nest at a loop of a kernel over a: f32[a_0, a_1], v: f32[v_0], w: i64[w_0] and a Python int p.
Extracted nest_of(std::string_view lines, const std::string &iterator = "i", Reads reads = Reads::all) {
  std::string text = "def f(a, v, w, p):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s = unit::signature(
      {unit::tensor(2), unit::tensor(1), unit::tensor(1, DType::i64), unit::weak(DType::i64)});
  Extracted out{unit::kernel(text + "  return a, v\n", s), {}};
  unit::FoundLoop found = unit::find_loop(out.f, iterator);
  out.nest = extract_nest(found.loop, found.scope, reads);
  return out;
}

std::string form_text(const Nest &nest, const LinearForm &form) {
  std::string out;
  for (auto [v, c] : form.terms) {
    const NestVariable &x = nest.variables[v];
    out += cat(out.empty() ? "" : " + ", c == 1 ? "" : cat(c, " "), x.expr ? print(x.expr) : cat("q", v));
  }
  if (form.constant || out.empty()) out += cat(out.empty() ? "" : " + ", form.constant);
  return out;
}

std::string constraints_text(const Nest &nest, const std::vector<Constraint> &list) {
  std::string out;
  for (const Constraint &c : list)
    out += cat(out.empty() ? "" : ", ", form_text(nest, c.form), c.equality ? " = 0" : " >= 0");
  return out;
}

std::string range_text(const Nest &nest, size_t loop) {
  const NestLoop &l = nest.loops[loop];
  return cat(constraints_text(nest, l.range), l.exact ? "" : " and more");
}

/// "r a[i, j]; w v[2 i]" of one statement.
std::string accesses_text(const Nest &nest, size_t statement) {
  std::string out;
  for (const NestAccess &a : nest.statements[statement].accesses) {
    std::vector<std::string> parts;
    for (const LinearForm &s : a.subscripts) parts.push_back(form_text(nest, s));
    out += cat(out.empty() ? "" : "; ", a.is_write ? "w " : "r ", a.buf->sym->name, "[",
               join_text(parts, ", "), "]", a.may ? "?" : "");
  }
  return out;
}

TEST(Nest, may_leave_out_reads_of_what_is_never_written) {
  std::string_view lines = "for i in range(a.shape[0]):\n  a[i, 0] = a[i, 1] + v[w[i]]";
  auto [f, all] = nest_of(lines);
  EXPECT_NE(accesses_text(all, 0).find("r w[i]; r v["), std::string::npos) << accesses_text(all, 0);
  auto [g, written] = nest_of(lines, "i", Reads::of_written);
  EXPECT_EQ(accesses_text(written, 0), "r a[i, 1]; w a[i, 0]");
}

TEST(Nest, holds_the_ranges_of_its_loops) {
  auto [f, nest] = nest_of("for i in range(a.shape[0]):\n  for j in range(i + 1, p):\n    a[i, j] = 1.0");
  ASSERT_EQ(nest.loops.size(), 2u);
  EXPECT_EQ(range_text(nest, 0), "i >= 0, a_0 + -1 i + -1 >= 0");
  EXPECT_EQ(range_text(nest, 1), "j + -1 i + -1 >= 0, p + -1 j + -1 >= 0");
  EXPECT_EQ(accesses_text(nest, 0), "w a[i, j]");
  EXPECT_EQ(nest.statements[0].loops, (std::vector<uint32_t>{0, 1}));
}

TEST(Nest, steps_and_directions_are_in_the_range) {
  auto [f, nest] = nest_of("for i in range(9, 1, -2):\n  v[i] = 1.0");
  EXPECT_EQ(range_text(nest, 0), "-1 i + 9 >= 0, i + -2 >= 0, i + 2 q1 + -9 = 0");
}

TEST(Nest, a_lesser_bound_is_two_bounds) {
  auto [f, nest] = nest_of("for i in range(max(1, p), min(v.shape[0], a.shape[0])):\n  v[i] = 1.0");
  EXPECT_EQ(range_text(nest, 0), "i + -1 >= 0, i + -1 p >= 0, v_0 + -1 i + -1 >= 0, a_0 + -1 i + -1 >= 0");
}

TEST(Nest, bounds_from_memory_are_variables_of_their_own) {
  auto [f, nest] =
      nest_of("for i in range(v.shape[0]):\n  for j in range(w[i], w[i + 1]):\n    a[0, j] = 1.0");
  EXPECT_EQ(range_text(nest, 1), "j + -1 w[i] >= 0, w[i + 1] + -1 j + -1 >= 0");
  EXPECT_EQ(accesses_text(nest, 0), "r w[i]; r w[i + 1]");
  EXPECT_EQ(accesses_text(nest, 1), "w a[0, j]");
}

TEST(Nest, definitions_are_seen_through) {
  auto [f, nest] = nest_of("for i in range(v.shape[0]):\n  k = w[i]\n  v[k + 1] = 1.0\n  v[w[i]] = 2.0");
  EXPECT_EQ(accesses_text(nest, 1), "w v[w[i] + 1]");
  EXPECT_EQ(accesses_text(nest, 2), "r w[i]; w v[w[i]]");
}

TEST(Nest, quotients_and_remainders_are_exact) {
  auto [f, nest] = nest_of("for i in range(v.shape[0]):\n  v[i // 4] = 1.0\n  v[i % 4] = 1.0");
  EXPECT_EQ(accesses_text(nest, 0), "w v[q2]");
  EXPECT_EQ(accesses_text(nest, 1), "w v[i + -4 q2]");
  EXPECT_EQ(constraints_text(nest, nest.variables[2].known), "i + -4 q2 >= 0, -1 i + 4 q2 + 3 >= 0");
}

TEST(Nest, products_are_variables_of_their_own) {
  auto [f, nest] = nest_of("for i in range(v.shape[0]):\n  v[i * p] = 1.0\n  v[i * p + 1] = 2.0");
  EXPECT_EQ(accesses_text(nest, 0), "w v[i * p]");
  uint32_t product = nest.statements[0].accesses[0].subscripts[0].terms[0].first;
  EXPECT_EQ(nest.statements[1].accesses[0].subscripts[0].terms[0].first, product);
  EXPECT_TRUE(nest.variables[product].stable);
  EXPECT_FALSE(nest.variables[product].reads_data);
  EXPECT_TRUE(nest.variables[product].is_guess());
}

TEST(Nest, elements_of_an_array_that_the_nest_writes_are_new_each_time) {
  auto [f, nest] = nest_of(
      "k = allocate((4,), \"int64\")\nfor i in range(v.shape[0]):\n  k[0] = w[i]\n  v[k[0]] = 1.0\n"
      "  v[k[0]] = 2.0");
  EXPECT_EQ(accesses_text(nest, 1), "r k[0]; w v[k[0]]");
  EXPECT_EQ(accesses_text(nest, 2), "r k[0]; w v[k[0]]");
  uint32_t first = nest.statements[1].accesses[1].subscripts[0].terms[0].first;
  EXPECT_NE(nest.statements[2].accesses[1].subscripts[0].terms[0].first, first);
  EXPECT_FALSE(nest.variables[first].stable);
}

TEST(Nest, guards_are_constraints_where_they_can_be) {
  auto [f, nest] = nest_of(
      "for i in range(v.shape[0]):\n  if i > 2 and not i == p:\n    v[i] = 1.0\n  elif i < p:\n    v[i] = "
      "2.0");
  EXPECT_EQ(constraints_text(nest, nest.statements[0].guard), "i + -3 >= 0");
  EXPECT_TRUE(nest.statements[0].may);  // `!=` has two sides
  EXPECT_EQ(constraints_text(nest, nest.statements[1].guard), "p + -1 i + -1 >= 0");
  EXPECT_TRUE(nest.statements[1].may);
}

TEST(Nest, data_dependent_conditions_and_jumps_make_accesses_uncertain) {
  auto [f, nest] = nest_of(
      "for i in range(v.shape[0]):\n  v[i] = 0.0\n  if a[i, 0] > 0:\n    continue\n  v[i] = a[i, 1] if a[i, "
      "2] > 0 "
      "else 1.0");
  ASSERT_EQ(nest.statements.size(), 3u);
  EXPECT_FALSE(nest.statements[0].may);
  EXPECT_EQ(accesses_text(nest, 1), "r a[i, 0]");
  EXPECT_TRUE(nest.statements[2].may);
  EXPECT_EQ(accesses_text(nest, 2), "r a[i, 2]; r a[i, 1]?; w v[i]");
}

TEST(Nest, what_stands_around_the_root_is_its_context) {
  auto [f, nest] =
      nest_of("for t in range(a.shape[0]):\n  if t > p:\n    for i in range(t):\n      a[t, i] = 1.0");
  ASSERT_EQ(nest.loops.size(), 1u);
  ASSERT_EQ(nest.around.size(), 1u);
  EXPECT_EQ(constraints_text(nest, nest.variables[nest.around[0]].known), "t >= 0, a_0 + -1 t + -1 >= 0");
  EXPECT_EQ(constraints_text(nest, nest.context), "t + -1 p + -1 >= 0");
  EXPECT_TRUE(nest.exact);
}

TEST(Nest, buffers_of_an_iteration_know_their_home) {
  auto [f, nest] = nest_of("for i in range(v.shape[0]):\n  t = allocate((4,))\n  t[0] = v[i]\n  v[i] = t[0]");
  EXPECT_EQ(nest.statements[0].accesses[1].home, 1u);
  EXPECT_EQ(nest.statements[0].accesses[0].home, 0u);
}

TEST(Nest, a_form_that_could_wrap_is_no_form) {
  auto [f, nest] = nest_of("for i in range(v.shape[0]):\n  v[i + 2 * p] = 1.0\n  v[i + p] = 1.0");
  EXPECT_EQ(accesses_text(nest, 0), "w v[i + (2 * p)]");
  EXPECT_EQ(nest.statements[0].accesses[0].subscripts[0].terms.size(), 1u);
  EXPECT_EQ(nest.statements[1].accesses[0].subscripts[0].terms.size(), 2u);
}

}  // namespace
}  // namespace kw
