// The jumps that belong to a loop, and the statements that control surely leaves by one.
#include "ir/jumps.h"

#include <gtest/gtest.h>

#include "ir/match.h"
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

}  // namespace
}  // namespace kw
