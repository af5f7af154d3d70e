// Names before typing: assignments, homes, and what is returned.
#include "frontend/sema/resolve.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "frontend/parser.h"
#include "support/text.h"

namespace kw {
namespace {

struct Parsed {
  ast::Function function;
  Names names;
};

Parsed resolved(std::string_view lines) {
  std::string text = "def f(a):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  SourceMap sources;
  uint32_t s = sources.add_text("k.py", 1, text);
  Sink sink;
  TokenList tokens = tokenize(sources, s);
  Parsed out{parse_function(tokens, sink), {}};
  sink.throw_if_errors();
  out.names = resolve_names(out.function);
  return out;
}

TEST(Resolve, counts_the_statements_that_assign) {
  Names n = resolved("x = 1\nx += 2\nif x:\n  x, y = 3, 4\na[0] = x").names;
  EXPECT_EQ(n.locals["x"].assignments, 3u);
  EXPECT_EQ(n.locals["y"].assignments, 1u);
  EXPECT_EQ(n.locals["a"].assignments, 0u);  // its elements are assigned, not the name
}

TEST(Resolve, marks_loop_variables) {
  Names n = resolved("for i, j in grid(s):\n  x = i").names;
  EXPECT_TRUE(n.locals["i"].loop_variable && n.locals["j"].loop_variable);
  EXPECT_FALSE(n.locals["x"].loop_variable || n.locals["s"].loop_variable);
}

TEST(Resolve, the_home_of_a_name_is_the_innermost_block_around_all_its_uses) {
  Parsed r = resolved("for i in s:\n  x = 1\n  y = x\nz = y");
  const ast::Block *body = &r.function.body;
  const ast::Block *loop = std::get<ast::ForStmt>((*body)[0].v).body.get();
  EXPECT_EQ(r.names.locals["x"].home, loop);
  EXPECT_EQ(r.names.locals["y"].home, body);
  EXPECT_EQ(r.names.locals["z"].home, body);
}

TEST(Resolve, knows_what_is_assigned_in_a_block_or_below_it) {
  Parsed r = resolved("w = 0\nwhile w:\n  if w:\n    x = 1\n  else:\n    y = 2");
  const ast::Block *loop = std::get<ast::WhileStmt>(r.function.body[1].v).body.get();
  EXPECT_EQ(r.names.assigned[loop], (std::set<std::string>{"x", "y"}));
  EXPECT_EQ(r.names.assigned[&r.function.body], (std::set<std::string>{"w", "x", "y"}));
}

TEST(Resolve, collects_returned_names) {
  EXPECT_EQ(resolved("return b, c").names.returned, (std::set<std::string>{"b", "c"}));
}

TEST(ForEachName, finds_names_everywhere_in_an_expression) {
  Parsed r = resolved("x = f(a[i, j:k], key=b.c) if not p and q < r else -(s ** t)");
  std::string found;
  for_each_name(std::get<ast::Assign>(r.function.body[0].v).value, [&](const std::string &name, Loc loc) {
    EXPECT_TRUE(loc.known());
    found += name;
  });
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, "abfijkpqrst");
}

}  // namespace
}  // namespace kw
