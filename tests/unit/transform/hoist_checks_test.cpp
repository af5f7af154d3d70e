// Checks before the kernel, checks in front of loops, and those that must stay where they are.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "codegen/interp/interp.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel over x: f32[n, m], idx: int64[k], a written table w: int64[l] and a Python int p, with an output
/// y.
Func hoisted(std::string_view lines) {
  std::string text = "def f(x, idx, w, p):\n  y = output_tensor(x.shape, x.dtype)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature of = unit::signature(
      {unit::tensor(2), unit::tensor(1, DType::i64), unit::tensor(1, DType::i64), unit::weak(DType::i64)});
  Func f = hoist_checks(guard_bounds(unit::kernel(text + "  return y, w\n", of), unit::with_fma()),
                        unit::with_fma());
  EXPECT_EQ(verify(f), "") << print(f);
  return f;
}

/// The loops around each check and its condition, outermost loop first, in order: "i k: cond".
std::vector<std::string> places(const Func &f) {
  std::vector<std::string> out;
  std::function<void(const Stmt &, std::string)> visit = [&](const Stmt &root, std::string loops) {
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
      if (const Seq *n = as<Seq>(*s))
        for (size_t i = 0; i + 1 < n->items.size(); ++i) visit(n->items[i], loops);
      if (const If *n = as<If>(*s)) visit(n->yes, loops + "? "), visit(n->no, loops + "! ");
      if (const While *n = as<While>(*s)) visit(n->body, loops + "while ");
      if (const For *n = as<For>(*s)) visit(n->body, cat(loops, n->iter->name, " "));
      if (const Check *n = as<Check>(*s)) out.push_back(cat(loops, ": ", print(n->cond)));
    }
  };
  visit(f.body, "");
  return out;
}

using Places = std::vector<std::string>;

TEST(HoistChecks, an_index_array_is_checked_by_blocks_before_the_loops) {
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  y[idx[i], 0] = 1.0")),
            (Places{"i ? k : cast(u64, idx[i + k]) < cast(u64, x_0)"}));
}

TEST(HoistChecks, loops_that_the_index_does_not_depend_on_are_left_out) {
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  r = idx[i]\n  for j in range(x.shape[1]):\n"
                           "    y[i % (x.shape[0] - 9), j] = x[r, j]")),
            (Places{"i ? k : cast(u64, idx[i + k]) < cast(u64, x_0)",
                    "i : cast(u64, i % (x_0 - 9)) < cast(u64, x_0)"}));
  EXPECT_EQ(places(hoisted("for j in range(p):\n  y[idx[0], 0] = 1.0")).back(),
            "? : cast(u64, idx[0]) < cast(u64, x_0)");
}

TEST(HoistChecks, a_loop_without_a_body_is_left_alone) {
  EXPECT_EQ(places(hoisted("for i in range(p):\n  pass\ny[idx[0], 0] = 1.0")),
            (Places{": cast(u64, idx[0]) < cast(u64, x_0)"}));
}

TEST(HoistChecks, equal_checks_run_once) {
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  y[idx[i], 0] += x[idx[i], 0]")).size(), 1u);
}

TEST(HoistChecks, a_check_is_not_left_out_for_an_equal_one_that_may_not_run) {
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  for j in range(p):\n    y[idx[i], 0] = 1.0\n"
                           "  y[idx[i], 0] = 2.0")),
            (Places{"i ? k ? : cast(u64, idx[i + k]) < cast(u64, x_0)",
                    "i ? k : cast(u64, idx[i + k]) < cast(u64, x_0)"}));
}

TEST(HoistChecks, what_a_guard_or_a_jump_may_pass_by_stays) {
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  if i > p:\n    y[idx[i], 0] = 1.0")),
            (Places{"i ? : cast(u64, idx[i]) < cast(u64, x_0)"}));
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  if i == p:\n    break\n  y[idx[i], 0] = 1.0")),
            (Places{"i : cast(u64, idx[i]) < cast(u64, x_0)"}));
}

TEST(HoistChecks, a_guard_of_the_call_moves_along) {
  std::string_view either =
      "for i in range(x.shape[0]):\n  if p > 3:\n    y[i, 0] = idx[i]\n  else:\n    y[i, 0] = w[i]";
  Places found = places(hoisted(either));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], "? i ? k ? : cast(u64, i + k) < cast(u64, idx_0)");  // around the loops: either
  EXPECT_EQ(found[1], "? i ? k ? : cast(u64, i + k) < cast(u64, w_0)");
}

/// Where it does not hold, the loop may have more iterations than anyone waits for.
TEST(HoistChecks, a_guard_of_all_checks_stands_around_their_loops) {
  EXPECT_EQ(places(hoisted("if p > 3:\n  for i in range(p, x.shape[0]):\n    y[i, 0] = idx[i]")),
            (Places{"? i ? k : cast(u64, i + k) < cast(u64, idx_0)"}));
  EXPECT_EQ(places(hoisted("for i in range(idx.shape[0]):\n  for j in range(p):\n    y[idx[i], 0] += 1.0")),
            (Places{"? i ? k : cast(u64, idx[i + k]) < cast(u64, x_0)"}));
}

TEST(HoistChecks, a_table_that_the_kernel_writes_is_checked_where_it_is_read) {
  EXPECT_EQ(places(hoisted("for i in range(w.shape[0]):\n  w[i] = i\n  y[w[i], 0] = 1.0")),
            (Places{"i : cast(u64, w[i]) < cast(u64, x_0)"}));
  EXPECT_EQ(places(hoisted("for i in range(p):\n  y[w[0], 0] = 1.0\n  w[0] = i\n  y[0, 0] = 2.0")),
            (Places{"i : cast(u64, w[0]) < cast(u64, x_0)"}));
  EXPECT_EQ(places(hoisted("w[0] = 1\nfor i in range(w.shape[0]):\n  for j in range(x.shape[1]):\n"
                           "    y[w[i], j] = 1.0")),
            (Places{"i : cast(u64, w[i]) < cast(u64, x_0)"}));  // in front of the inner loop
}

TEST(HoistChecks, a_subscript_within_a_subscript_is_checked_first) {
  Places got =
      places(hoisted("for i in range(w.shape[0]):\n  y[idx[i], 0] = 1.0\n  y[idx[idx[i]], 0] = 2.0"));
  Places order;
  for (const std::string &p : got) order.push_back(p.substr(p.find(": ") + 2));
  EXPECT_EQ(order,
            (Places{"cast(u64, idx[i + k]) < cast(u64, x_0)", "cast(u64, idx[i + k]) < cast(u64, idx_0)",
                    "cast(u64, idx[idx[i + k]]) < cast(u64, x_0)"}));
}

/// Every early check of what another check protects comes behind it.
TEST(HoistChecks, what_a_check_that_stays_protects_is_not_read_early) {
  // the protecting check stays in a loop of step 2, which no block scans
  Places got =
      places(hoisted("for i in range(0, idx.shape[0], 2):\n  for j in range(p):\n"
                     "    y[idx[idx[i]] + j, 0] = 1.0"));
  for (const std::string &p : got) EXPECT_EQ(p.find("i "), 0u) << p;
  // it stands outside of every loop
  got = places(hoisted("r = idx[idx[0]]\nfor i in range(p):\n  y[r + i, 0] = 1.0"));
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0], ": cast(u64, idx[0]) < cast(u64, idx_0)");
}

TEST(HoistChecks, a_range_is_checked_at_its_ends) {
  Places got = places(hoisted("for i in range(idx[0], idx[1]):\n  y[i + p, 0] = 1.0"));
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0], "? : cast(u64, idx[0] + p) < cast(u64, x_0)");
  EXPECT_EQ(got[1],
            "? : cast(u64, (idx[0] + p) + cast(i64, min(cast(u64, (idx[1] - idx[0]) - 1), cast(u64, x_0) - "
            "cast(u64, idx[0] + p)))) < cast(u64, x_0)");
  // the elements between may be outside, or not the same when the loop comes there
  for (std::string_view body : {"for i in range(idx[0], idx[1], 2):\n  y[i, 0] = 1.0",
                                "for i in range(idx[0], idx[1]):\n  y[2 * i, 0] = 1.0",
                                "for i in range(w[0], w[1]):\n  y[i + w[2], 0] = 1.0\n  w[2] = i"})
    EXPECT_EQ(places(hoisted(body)).back().find("i : "), 0u) << body;
}

TEST(HoistChecks, a_range_with_a_constant_first_index_tells_it) {
  Places found = places(hoisted("t = allocate((1,), float32)\nfor i in range(idx[0]):\n  t[i - 1] = 1.0"));
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[found.size() - 2], "? : u64(18446744073709551615) < u64(1)");
}

TEST(HoistChecks, bounds_at_the_ends_of_the_integers_are_scanned_whole) {
  for (std::string_view range : {"range(p, 9223372036854775807)", "range(-9223372036854775807, p)"}) {
    Func f = hoisted(cat("for i in ", range, ":\n  y[i, 0] = 1.0"));
    float x[4] = {}, y[4] = {};
    int64_t idx[1] = {}, w[1] = {};
    void *data[] = {x, idx, w, y};
    int64_t dims[] = {2, 2, 1, 1};
    bool upwards = range[6] == 'p';
    uint64_t scalars[] = {static_cast<uint64_t>(upwards ? INT64_MAX - 3 : INT64_MIN + 3)};
    EXPECT_EQ(interpret(f, {data, dims, scalars}).status, 1) << print(f);
  }
}

}  // namespace
}  // namespace kw
