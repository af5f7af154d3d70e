// Dependences of known kernels with their directions; the random ones are in tests/oracle.
#include "analysis/nest/dependence.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "(<, =)": a direction for each common loop.
std::string direction_text(const Dependence &d) {
  static constexpr const char *words[] = {"=", "<", ">", "<=", ">=", "<>", "*"};
  std::string out = "(";
  for (Direction way : d.directions)
    out += (out.size() > 1 ? ", " : "") + std::string(words[static_cast<size_t>(way)]);
  return out + ")";
}

/// "s access > t access (directions) [distances]" of each dependence of the nest at loop i of a kernel over
/// a: f32[n, m], v: f32[k], w: i64[l] and a Python int p.
std::string dependences_of(std::string_view lines, DependenceQuery query = {{}, true}) {
  std::string text = "def f(a, v, w, p):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s = unit::signature(
      {unit::tensor(2), unit::tensor(1), unit::tensor(1, DType::i64), unit::weak(DType::i64)});
  Func f = unit::kernel(text + "  return a, v\n", s);
  unit::FoundLoop found = unit::find_loop(f, "i");
  Nest nest = extract_nest(found.loop, found.scope);
  std::string out;
  Dependences dependences = find_dependences(nest, query);
  for (const Dependence &d : dependences.found) {
    auto end = [&](uint32_t statement, uint32_t access) {
      return cat(statement, nest.statements[statement].accesses[access].is_write ? "w" : "r");
    };
    out +=
        cat(out.empty() ? "" : ", ", end(d.source, d.from), ">", end(d.sink, d.to), " ", direction_text(d));
    for (const auto &distance : d.distances) out += distance ? cat(" ", *distance) : " ?";
  }
  if (!dependences.complete) out += out.empty() ? "unknown" : ", unknown";
  return out.empty() ? "none" : out;
}

TEST(Dependence, independent_iterations_have_none) {
  EXPECT_EQ(dependences_of("for i in range(v.shape[0]):\n  v[i] = a[i, 0]"), "none");
  EXPECT_EQ(dependences_of("for i in range(v.shape[0] // 2):\n  v[2 * i] = v[2 * i + 1]"), "none");
  EXPECT_EQ(dependences_of("for i in range(a.shape[0]):\n  for j in range(i):\n    a[i, j] = a[j, i]"),
            "none");
}

TEST(Dependence, distances_are_exact) {
  EXPECT_EQ(dependences_of("for i in range(2, v.shape[0]):\n  v[i] = v[i - 2] + 1.0"), "0w>0r (<) 2");
  EXPECT_EQ(dependences_of("for i in range(v.shape[0] - 3):\n  v[i] = v[i + 3] + 1.0"), "0r>0w (<) 3");
  EXPECT_EQ(dependences_of("for i in range(v.shape[0] - 2, 0, -1):\n  v[i] = v[i + 1] + 1.0"),
            "0w>0r (<) -1");
}

TEST(Dependence, every_level_that_carries_is_named) {
  EXPECT_EQ(dependences_of("for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1] - 1):\n"
                           "    a[i, j] = a[i - 1, j + 1] + a[i, j - 1]"),
            "0w>0r (<, >) 1 -1, 0w>0r (=, <) 0 1");
}

TEST(Dependence, statements_in_one_iteration) {
  EXPECT_EQ(dependences_of("for i in range(v.shape[0]):\n  v[i] = 1.0\n  a[0, i] = v[i]"), "0w>1r (=) 0");
}

TEST(Dependence, a_sum_goes_round_in_its_loops) {
  EXPECT_EQ(dependences_of("for i in range(v.shape[0]):\n  for j in range(a.shape[1]):\n    v[i] += a[i, j]"),
            "0r>0w (=, <) 0 ?, 0r>0w (=, =) 0 0, 0w>0r (=, <) 0 ?, 0w>0w (=, <) 0 ?");
}

TEST(Dependence, directions_of_other_loops) {
  EXPECT_EQ(dependences_of(
                "for i in range(1, a.shape[0]):\n  for j in range(a.shape[1]):\n    a[i, j] = a[i - 1, 0]"),
            "0w>0r (<, <=) 1 ?");
  EXPECT_EQ(
      dependences_of("for i in range(1, a.shape[0]):\n  for j in range(i):\n    a[i, j] = a[i - 1, i - 1]"),
      "none");
}

TEST(Dependence, index_arrays_are_functions_of_their_loops) {
  EXPECT_EQ(
      dependences_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    a[w[i], j] = 1.0"),
      "0w>0w (<, =) ? 0");
  EXPECT_EQ(dependences_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    v[w[j]] = 1.0"),
            "0w>0w (<, *) ? ?, 0w>0w (=, <) 0 ?");
}

TEST(Dependence, buffers_of_an_iteration_carry_nothing) {
  EXPECT_EQ(
      dependences_of("for i in range(v.shape[0]):\n  t = allocate((2,))\n  t[0] = v[i]\n  a[0, i] = t[0]"),
      "0w>1r (=) 0");
}

TEST(Dependence, blocks_are_apart_until_they_overlap) {
  auto blocks = [](int size, std::string_view step) {
    return dependences_of(cat("for i in range(a.shape[0]):\n  for j in range(", size, "):\n    v[", step,
                              " * i + j] = a[i, j]"));
  };
  EXPECT_EQ(blocks(4, "4"), "none");
  EXPECT_EQ(blocks(4, "(-4)"), "none");
  EXPECT_EQ(blocks(5, "4"), "0w>0w (<, >) 1 -4");
  EXPECT_EQ(blocks(5, "(-4)"), "0w>0w (<, <) 1 4");
}

TEST(Dependence, one_loop_can_be_asked_for) {
  EXPECT_EQ(dependences_of("for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1]):\n"
                           "    a[i, j] = a[i - 1, j] + a[i, j - 1]",
                           {1, true}),
            "0w>0r (=, <) 0 1");
}

TEST(Dependence, the_search_ends_with_its_work) {
  std::string_view kernel = "for i in range(v.shape[0]):\n  v[2 * i] = v[2 * i + 1]\n  v[0] = 1.0";
  EXPECT_EQ(dependences_of(kernel, {0, false, 0}), "unknown");
  std::string some = dependences_of(kernel, {0, false, 60});
  EXPECT_EQ(some.substr(some.size() - 9), ", unknown");
}

}  // namespace
}  // namespace kw
