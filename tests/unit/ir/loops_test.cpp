// The jumps that belong to a loop, the statements that control surely leaves by one, and what a loop changes,
// also through the definitions of locals and through memory.
#include "ir/loops.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The body of a loop over i that holds these lines.
Stmt body_of(std::string_view lines) {
  std::string text = "def f(c: inout(i64, (n,))):\n  fp('default')\n  dims(n)\n  for i in serial(0, n, 1):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("    ", line, "\n");
  return as<For>(unit::find_loop(unit::ir(text + "  return c\n"), "i").loop)->body;
}

/// "b", "c", "bc" or "": what jumps_of finds.
std::string found(std::string_view lines) {
  Jumps jumps = jumps_of(body_of(lines));
  EXPECT_EQ(jumps.any(), jumps.breaks || jumps.continues);
  return cat(jumps.breaks ? "b" : "", jumps.continues ? "c" : "");
}

TEST(Jumps, those_under_conditions_belong_to_the_loop) {
  EXPECT_EQ(found("c[i] = 1"), "");
  EXPECT_EQ(found("if c[i] < 2:\n  break\nc[i] = 1"), "b");
  EXPECT_EQ(found("c[i] = 1\nif c[i] < 2:\n  c[i] = 2\nelse:\n  if i < 3:\n    continue\nc[i] = 3"), "c");
  EXPECT_EQ(found("if c[i] < 2:\n  break\nif c[i] < 1:\n  continue"), "bc");
}

TEST(Jumps, those_of_inner_loops_do_not) {
  EXPECT_EQ(found("for j in serial(0, n, 1):\n  if c[j] < 2:\n    break"), "");
  EXPECT_EQ(found("while c[i] < 2:\n  c[i] = 3\n  continue\nif c[i] < 9:\n  continue"), "c");
}

TEST(Jumps, the_first_break_of_the_text_is_named) {
  Stmt body = body_of("if c[i] < 1:\n  continue\nif c[i] < 2:\n  break\nif c[i] < 3:\n  break");
  Loc first = jumps_of(body).first_break;
  const Seq *items = as<Seq>(body);
  ASSERT_TRUE(items && items->items.size() == 3);
  EXPECT_EQ(first.begin, as<If>(items->items[1])->yes.loc().begin);
}

TEST(Jumps, control_surely_leaves_when_every_way_does) {
  EXPECT_TRUE(always_jumps(body_of("c[i] = 1\nbreak")));
  EXPECT_TRUE(always_jumps(body_of("if c[i] < 1:\n  break\nelse:\n  c[i] = 2\n  continue")));
  EXPECT_FALSE(always_jumps(body_of("if c[i] < 1:\n  break")));
  EXPECT_FALSE(always_jumps(body_of("if c[i] < 1:\n  break\nelse:\n  c[i] = 2")));
  EXPECT_FALSE(always_jumps(body_of("while c[i] < 1:\n  break")));
  EXPECT_FALSE(always_jumps(body_of("c[i] = 1")));
}

/// The index of the first store to s in the body of the loop over i, and what the loop says of it.
struct Asked {
  Func f;
  const For *loop = nullptr;
  std::vector<Expr> index;

  explicit Asked(std::string_view body) {
    std::string text =
        "def f(s: inout(f32, (n,)), p: inout(i64, (n,)), w: buf(i64, (n,)), q: weak(i64)):\n  fp('default')\n"
        "  dims(n)\n  c = alloc(i64, (), 'registers')\n  c[()] = 0\n  for i in serial(0, n, 1):\n";
    for (const std::string &line : split_text(body, '\n')) text += cat("    ", line, "\n");
    f = unit::ir(text + "  return s, p\n");
    walk(
        f.body, [&](const For &n, const Stmt &) { loop = loop ? loop : &n; },
        [&](const Store &n, const Stmt &) {
          if (n.buf->sym->name == "s" && index.empty()) index = n.index;
        });
  }
  bool holds(Overlap overlap = Overlap::none) const { return LoopInvariance(*loop, overlap).holds(index); }
};

TEST(LoopInvariance, follows_locals_to_the_loop_variable) {
  EXPECT_FALSE(Asked("s[i] = f32(0.0)").holds());
  EXPECT_FALSE(Asked("b: i64 = w[i]\nd: i64 = b + 1\ns[d] = f32(0.0)").holds());
  EXPECT_FALSE(Asked("b: i64 = q\nfor k in serial(0, 3, 1):\n  s[b + k] = f32(0.0)").holds());
  EXPECT_TRUE(Asked("b: i64 = n // 2\nd: i64 = b + q\ns[d] = f32(0.0)").holds());
  EXPECT_TRUE(Asked("b: i64 = w[q]\ns[b] = f32(0.0)").holds());
}

TEST(LoopInvariance, takes_memory_that_the_body_writes_for_changing) {
  EXPECT_FALSE(Asked("s[p[0]] = f32(0.0)\np[1] = i").holds());
  EXPECT_FALSE(Asked("s[c[()]] = f32(0.0)\nc[()] = c[()] + 1").holds());
  EXPECT_FALSE(Asked("b = alloc(i64, (), 'registers')\nb[()] = 1\ns[b[()]] = f32(0.0)").holds());
  EXPECT_FALSE(Asked("b = alloc(i64, (2,), 'stack', fill='zero')\ns[b[0]] = f32(0.0)").holds());
  EXPECT_TRUE(Asked("s[p[0]] = f32(0.0)").holds());
  EXPECT_TRUE(Asked("s[c[()]] = f32(0.0)").holds());
}

TEST(LoopInvariance, takes_all_arguments_for_changing_where_they_may_overlap) {
  std::string_view other_argument = "b: i64 = w[0]\ns[b] = f32(0.0)\np[1] = i";
  EXPECT_TRUE(Asked(other_argument).holds());
  EXPECT_FALSE(Asked(other_argument).holds(Overlap::possible));
  EXPECT_FALSE(Asked("s[w[0]] = f32(0.0)").holds(Overlap::possible));  // s is an argument too
  EXPECT_TRUE(Asked("s[q] = f32(0.0)").holds(Overlap::possible));
}

TEST(LoopInvariance, asks_of_inner_loops_at_one_place_only_where_told) {
  Asked asked("for k in serial(0, 3, 1):\n  b: i64 = k + q\n  s[b] = f32(0.0)");
  EXPECT_FALSE(asked.holds());
  EXPECT_TRUE(LoopInvariance(*asked.loop).holds_at_one_place(asked.index));
}

TEST(LoopInvariance, says_a_value_in_terms_of_what_stands_before_the_loop) {
  Asked asked("b: i64 = n // 2\nd: i64 = b + q\ns[d + b] = f32(0.0)");
  EXPECT_EQ(print(LoopInvariance(*asked.loop).without_locals(asked.index[0])), "((n // 2) + q) + (n // 2)");
}

TEST(Trips, are_counted_for_all_bounds) {
  auto trips = [](int64_t lo, int64_t hi, int64_t step) {
    return as_int(trips_between(const_int(lo), const_int(hi), step)).value_or(-1);
  };
  EXPECT_EQ(trips(0, 7, 1), 7);
  EXPECT_EQ(trips(0, 7, 3), 3);
  EXPECT_EQ(trips(7, 0, -3), 3);
  EXPECT_EQ(trips(7, 0, 1), 0);
  EXPECT_EQ(trips(3, 3, -2), 0);
  EXPECT_EQ(trips(INT64_MIN, INT64_MAX, INT64_MAX), 3);
  EXPECT_EQ(trips(INT64_MAX, INT64_MIN, INT64_MIN), 2);
  Expr n = kw::ref(make_sym(SymKind::extent, DType::i64, "n"));
  EXPECT_EQ(trips_between(const_int(0), n, 1).p, n.p);  // no extent is negative
  EXPECT_EQ(print(trips_between(const_int(0), sub(n, const_int(2)), 1)), "(n - 2) if (0 < (n - 2)) else 0");
}

TEST(NumberLoops, counts_the_loops_of_the_source_in_the_order_of_the_text) {
  Signature signature = unit::signature({unit::tensor(1)});
  Func f = unit::kernel(
      "def f(v):\n  for k in const_range(2):\n    for i in range(v.shape[0]):\n      v[i] += k\n"
      "  for j in range(v.shape[0]):\n    v[j] = 0.0\n  return v\n",
      signature);
  std::vector<std::string> found;
  walk(f.body, [&](const For &n, const Stmt &) { found.push_back(cat(n.iter->name, " ", n.id)); });
  EXPECT_EQ(found, (std::vector<std::string>{"i 1", "i 1", "j 2"}));  // two copies of one loop
}

}  // namespace
}  // namespace kw
