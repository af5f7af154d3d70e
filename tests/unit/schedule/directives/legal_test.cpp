// Verdicts on hinted loops of known kernels, with the witness of each refusal.
#include "schedule/directives/legal.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "legal", or the reason with the pair of iterations, "conflict v 1 -> 2", of loop i of a kernel over
/// a: f32[n, m], v: f32[k], w: i64[l], h: i32[g] and a Python int p.
std::string verdict_of(std::string_view verb, std::string_view lines, FpMode fp = FpMode::normal) {
  std::string text = "def f(a, v, w, h, p):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s = unit::signature({unit::tensor(2), unit::tensor(1), unit::tensor(1, DType::i64),
                                 unit::tensor(1, DType::i32), unit::weak(DType::i64)});
  CodegenOptions options;
  options.fp = fp;
  Func f = unit::kernel(text + "  return a, v, h\n", s, options);
  unit::FoundLoop found = unit::find_loop(f, "i");
  Nest nest = extract_nest(found.loop, found.scope);
  Claim claim = Claim::parallel;
  while (claim_name(claim) != verb) claim = static_cast<Claim>(static_cast<int>(claim) + 1);
  Verdict v = legal(f, nest, claim, 0);
  static constexpr const char *reasons[] = {"legal", "conflict", "repeated", "ordered", "unproved", "jump"};
  std::string out = reasons[static_cast<size_t>(v.reason)];
  if (v.dependence)
    out += cat(" ", nest.statements[v.dependence->source].accesses[v.dependence->from].buf->sym->name);
  if (v.witness)
    out += cat(" ", v.witness->source[0], " -> ", v.witness->sink[0], v.witness->certain ? "" : "?");
  return out;
}

TEST(Legal, independent_iterations) {
  for (const char *verb : {"parallel", "vectorize", "reduce"}) {
    EXPECT_EQ(verdict_of(verb, "for i in range(v.shape[0]):\n  v[i] = 2.0 * v[i]"), "legal");
    EXPECT_EQ(verdict_of(verb,
                         "for i in range(a.shape[0]):\n  for j in range(1, a.shape[1]):\n"
                         "    a[i, j] += a[i, j - 1]"),
              "legal");
  }
}

TEST(Legal, a_value_of_an_earlier_iteration) {
  std::string_view scan = "for i in range(1, v.shape[0]):\n  v[i] += v[i - 1]";
  for (const char *verb : {"parallel", "vectorize", "reduce"})
    EXPECT_EQ(verdict_of(verb, scan), "conflict v 1 -> 2");
}

TEST(Legal, a_far_distance_is_a_dependence_too) {
  EXPECT_EQ(verdict_of("vectorize", "for i in range(100, v.shape[0]):\n  v[i] += v[i - 100]"),
            "conflict v 100 -> 200");
}

TEST(Legal, lanes_read_before_they_write) {
  std::string_view shift = "for i in range(v.shape[0] - 1):\n  v[i] = v[i + 1]";
  EXPECT_EQ(verdict_of("parallel", shift), "conflict v 0 -> 1");
  EXPECT_EQ(verdict_of("vectorize", shift), "legal");
  std::string_view two = "for i in range(v.shape[0] - 1):\n  v[i + 1] = a[0, i]\n  a[1, i] = v[i]";
  EXPECT_EQ(verdict_of("parallel", two), "conflict v 0 -> 1");
  EXPECT_EQ(verdict_of("vectorize", two), "legal");
  EXPECT_EQ(
      verdict_of("vectorize", "for i in range(v.shape[0] - 1):\n  a[1, i] = v[i]\n  v[i + 1] = a[0, i]"),
      "conflict v 0 -> 1");
}

TEST(Legal, lanes_of_an_outer_loop_share_the_inner_iteration) {
  EXPECT_EQ(verdict_of("vectorize",
                       "for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1]):\n"
                       "    a[i - 1, j - 1] = a[i, j]"),
            "legal");
  EXPECT_EQ(verdict_of("vectorize",
                       "for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1]):\n"
                       "    a[i - 1, j] = a[i, j - 1]"),
            "conflict a 1 -> 2");
}

TEST(Legal, sums_by_their_order) {
  std::string_view row = "s = float32(0.0)\nfor i in range(v.shape[0]):\n  s += v[i]\na[0, 0] = s";
  EXPECT_EQ(verdict_of("reduce", row, FpMode::strict), "legal");
  EXPECT_EQ(verdict_of("parallel", row, FpMode::strict), "ordered s 0 -> 1");
  EXPECT_EQ(verdict_of("parallel", row), "legal");  // in lanes, whatever the threads
  EXPECT_EQ(verdict_of("parallel", row, FpMode::fast), "legal");
  std::string_view columns =
      "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    v[j] += a[i, j]";
  EXPECT_EQ(verdict_of("parallel", columns), "ordered v 0 -> 1");
  EXPECT_EQ(verdict_of("reduce", columns), "legal");
}

TEST(Legal, integers_and_extremes_come_in_any_order) {
  EXPECT_EQ(verdict_of("parallel", "for i in range(w.shape[0]):\n  h[0] += 2", FpMode::strict), "legal");
  EXPECT_EQ(verdict_of("parallel", "for i in range(w.shape[0]):\n  h[0] += 2\n  h[0] -= 1", FpMode::strict),
            "legal");
  EXPECT_EQ(verdict_of("parallel", "for i in range(w.shape[0]):\n  h[0] += 2\n  h[0] *= 3"),
            "conflict h 0 -> 1");
  EXPECT_EQ(verdict_of("vectorize", "for i in range(v.shape[0]):\n  a[0, 0] = max(a[0, 0], v[i])"), "legal");
}

TEST(Legal, a_minimum_over_what_it_writes_is_no_reduction) {
  std::string_view floyd =
      "for i in range(a.shape[0]):\n  for j in range(a.shape[0]):\n    for k in range(a.shape[0]):\n"
      "      a[j, k] = min(a[j, k], a[j, i] + a[i, k])";
  for (const char *verb : {"parallel", "reduce"}) EXPECT_EQ(verdict_of(verb, floyd).substr(0, 8), "conflict");
}

TEST(Legal, selections_keep_their_order) {
  std::string_view pick =
      "best = v[0]\nat = 0\nfor i in range(v.shape[0]):\n  if v[i] > best:\n    best = v[i]\n    at = i\n"
      "a[0, 0] = best + at";
  EXPECT_EQ(verdict_of("reduce", pick), "legal");
  EXPECT_EQ(verdict_of("parallel", pick), "ordered best 0 -> 1?");
  EXPECT_EQ(verdict_of("vectorize", pick), "legal");  // lanes know which of them came first
  EXPECT_EQ(verdict_of("vectorize", "for i in range(v.shape[0]):\n  if v[i] > a[0, 0]:\n    a[0, 0] = v[i]"),
            "ordered a 0 -> 1?");
  EXPECT_EQ(verdict_of("reduce",
                       "for i in range(v.shape[0]):\n  if v[i] > a[0, 0]:\n    a[0, 0] = v[i]\n"
                       "    h[i // 2] = 1"),
            "conflict a 0 -> 1?");  // what is marked on the way depends on the order
}

TEST(Legal, scattered_writes) {
  std::string_view scatter = "for i in range(w.shape[0]):\n  v[w[i]] = 1.0";
  EXPECT_EQ(verdict_of("parallel", scatter), "repeated v 0 -> 1?");
  EXPECT_EQ(verdict_of("reduce", "for i in range(w.shape[0]):\n  v[w[i]] += a[0, i]"), "legal");
  EXPECT_EQ(verdict_of("parallel", "for i in range(w.shape[0]):\n  h[w[i]] += 1"), "repeated h 0 -> 1?");
  EXPECT_EQ(verdict_of("", "for i in range(w.shape[0]):\n  h[w[i]] += 1"), "legal");  // atomic operations
  EXPECT_EQ(verdict_of("", "for i in range(w.shape[0]):\n  h[w[i]] = 1"), "repeated h 0 -> 1?");
  EXPECT_EQ(verdict_of("", "for i in range(w.shape[0]):\n  v[w[i]] += 1.0"), "repeated v 0 -> 1?");
  EXPECT_EQ(verdict_of("parallel", "for i in range(w.shape[0]):\n  a[i, w[i]] = 1.0"), "legal");
  EXPECT_EQ(verdict_of("parallel", "for i in range(w.shape[0]):\n  v[i] = v[w[i]]"), "unproved v 0 -> 1?");
  EXPECT_EQ(verdict_of("parallel", "for i in range(v.shape[0]):\n  v[i * p] = 1.0"), "unproved v");
}

TEST(Legal, scalars_of_an_iteration) {
  EXPECT_EQ(
      verdict_of("parallel", "t = float32(0.0)\nfor i in range(v.shape[0]):\n  t = v[i]\n  v[i] = t * t"),
      "legal");
  EXPECT_EQ(
      verdict_of("parallel",
                 "t = float32(0.0)\nfor i in range(v.shape[0]):\n  t = v[i]\n  v[i] = t * t\na[0, 0] = t"),
      "conflict t 0 -> 1");  // the last one is read
  EXPECT_EQ(
      verdict_of("parallel",
                 "t = float32(0.0)\nfor i in range(v.shape[0]):\n  if v[i] > 0:\n    t = v[i]\n  v[i] = t"),
      "conflict t 0 -> 1?");
}

TEST(Legal, jumps) {
  EXPECT_EQ(verdict_of("parallel", "for i in range(v.shape[0]):\n  if v[i] > 0:\n    break\n  v[i] = 1.0"),
            "jump");
  EXPECT_EQ(verdict_of("parallel", "for i in range(v.shape[0]):\n  if v[i] > 0:\n    continue\n  v[i] = 1.0"),
            "legal");
  EXPECT_EQ(verdict_of("parallel",
                       "for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n"
                       "    if a[i, j] > 0:\n      break\n    a[i, j] = 1.0"),
            "legal");
  EXPECT_EQ(
      verdict_of("parallel",
                 "for i in range(a.shape[0]):\n  n = 0\n  while n < p:\n    a[i, 0] += 1.0\n    n += 1"),
      "legal");
}

TEST(Legal, the_loops_around_a_loop_say_when_it_runs) {
  EXPECT_EQ(verdict_of("parallel",
                       "for t in range(2, a.shape[0]):\n  for i in range(t):\n    a[t, i] = a[t - 1, i + 1]"),
            "legal");
  EXPECT_EQ(verdict_of("parallel",
                       "for t in range(p):\n  if t > 0:\n    for i in range(t, v.shape[0]):\n"
                       "      v[i] = v[i - t]"),
            "conflict v 1 -> 2");
}

TEST(Legal, hints_that_claim_something_name_it) {
  EXPECT_EQ(claim_name(claim_of(Hint::parallel).value()), "parallel");
  EXPECT_EQ(claim_name(claim_of(Hint::vectorize).value()), "vectorize");
  EXPECT_EQ(claim_name(claim_of(Hint::reduce).value()), "reduce");
}

TEST(Legal, other_hints_claim_nothing) {
  for (Hint hint : {Hint::none, Hint::serial, Hint::unroll}) EXPECT_FALSE(claim_of(hint).has_value());
}

}  // namespace
}  // namespace kw
