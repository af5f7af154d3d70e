// Statements put in front of and behind others, also of those that are not in the main line.
#include "transform/place_checks.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(cat("def f(c: inout(i64, (n,))):\n  fp('default')\n  dims(n)\n", body, "  return c\n"));
}

/// `c[0] = value`.
Stmt mark(const Func &f, int64_t value) { return store(f.results[0], {const_int(0)}, const_int(value)); }

/// Puts marks 77 before and, where asked for, 88 behind each statement of a kind, and prints the result.
template <class Kind>
std::string placed(std::string_view body, bool behind = true) {
  Func f = with_body(body);
  Placed before, after;
  walk(f.body, [&](const Kind &, const Stmt &s) {
    before[s.p.get()] = {mark(f, 77)};
    if (behind) after[s.p.get()] = {mark(f, 88)};
  });
  f.body = place_checks(f.body, before, after);
  EXPECT_EQ(verify(f), "");
  return print(f);
}

TEST(PlaceChecks, stand_right_before_and_behind) {
  EXPECT_EQ(placed<Store>("  c[1] = 1\n  for i in serial(0, n, 1):\n    if i < 3:\n      c[i] = 2\n"),
            print(with_body("  c[0] = 77\n  c[1] = 1\n  c[0] = 88\n  for i in serial(0, n, 1):\n"
                            "    if i < 3:\n      c[0] = 77\n      c[i] = 2\n      c[0] = 88\n")));
  EXPECT_EQ(placed<If>("  if c[2] < 3:\n    c[1] = 2\n"),
            print(with_body("  c[0] = 77\n  if c[2] < 3:\n    c[1] = 2\n  c[0] = 88\n")));
}

TEST(PlaceChecks, of_a_while_run_before_each_evaluation_of_its_condition) {
  EXPECT_EQ(
      placed<While>("  while c[1] < 3:\n    c[1] = c[1] + 1\n    if c[1] < 2:\n      continue\n", false),
      print(with_body("  while True:\n    c[0] = 77\n    if not c[1] < 3:\n      break\n"
                      "    c[1] = c[1] + 1\n    if c[1] < 2:\n      continue\n")));
}

TEST(PlaceChecks, nothing_to_place_changes_nothing) {
  Func f = with_body("  for i in serial(0, n, 1):\n    c[i] = 2\n");
  EXPECT_EQ(place_checks(f.body, {}).p, f.body.p);
}

TEST(PlaceChecks, a_lazy_access_is_checked_under_its_conditions) {
  Func f = with_body("  if c[2] < 5 and not (c[3] < 1 or c[4] < 6):\n    c[1] = 0\n");
  std::vector<std::string> found;
  for_each_access(f, true, [&](const Access &a, const BoundsContext &) {
    Func shown = f;
    shown.body = under_path(a, mark(f, 77));
    EXPECT_EQ(verify(shown), "");
    found.push_back(print(shown));
  });
  std::string bare = print(with_body("  c[0] = 77\n"));
  std::string second = print(with_body("  if c[2] < 5:\n    c[0] = 77\n"));
  std::string third = print(with_body("  if c[2] < 5:\n    if not c[3] < 1:\n      c[0] = 77\n"));
  EXPECT_EQ(found, (std::vector<std::string>{bare, second, third, bare}));  // the last is the store
}

}  // namespace
}  // namespace kw
