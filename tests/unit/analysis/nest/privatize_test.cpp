// Scalars that each iteration writes before it reads them, and that nobody else reads.
#include "analysis/nest/privatize.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The private scalars of a loop among t and u, which begin as 0, in the nest at i.
std::string private_in(std::string_view lines, uint32_t loop = 0) {
  std::string text =
      "def f(v: inout(f64, (n,))):\n  fp('default')\n  dims(n)\n"
      "  t = alloc(f64, (), 'registers')\n  t[()] = 0.0\n  u = alloc(f64, (), 'registers')\n  u[()] = 0.0\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Func f = unit::ir(text + "  return v\n");
  unit::FoundLoop found = unit::find_loop(f, "i");
  std::vector<std::string> names;
  for (const BufNode *b : private_scalars(f, extract_nest(found.loop, found.scope), loop))
    names.push_back(b->sym->name);
  return join_text(names, " ");
}

TEST(Privatize, what_every_iteration_writes_first_is_private) {
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  t[()] = v[i]\n  v[i] = t[()] + t[()]"), "t");
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  t[()] = v[i]\n  u[()] = t[()]\n  v[i] = u[()]"), "t u");
}

TEST(Privatize, what_is_read_first_or_written_under_a_condition_is_not) {
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  v[i] = t[()]\n  t[()] = v[i]"), "");
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  t[()] = t[()] + v[i]\n  v[i] = t[()]"), "");
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  if 0.0 < v[i]:\n    t[()] = v[i]\n  v[i] = t[()]"), "");
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  if i < 5:\n    t[()] = v[i]\n  v[i] = t[()]"), "");
}

TEST(Privatize, what_is_read_outside_the_loop_is_not) {
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  t[()] = v[i]\nv[0] = t[()]"), "");
  EXPECT_EQ(private_in("while t[()] < 9.0:\n  for i in serial(0, n, 1):\n    t[()] = v[i]"), "");
  EXPECT_EQ(private_in("for i in serial(0, n, 1):\n  t[()] = v[i]\nt[()] = 1.0"), "t");
}

TEST(Privatize, each_loop_is_asked_for_itself) {
  std::string_view inner =
      "for i in serial(0, n, 1):\n  for j in serial(0, n, 1):\n    t[()] = v[j]\n    v[j] = t[()]";
  EXPECT_EQ(private_in(inner, 1), "t");
  EXPECT_EQ(private_in(inner, 0), "");  // the inner loop may have no iteration, as far as this looks
  std::string_view outer =
      "for i in serial(0, n, 1):\n  t[()] = v[i]\n  for j in serial(0, n, 1):\n    v[j] = t[()]";
  EXPECT_EQ(private_in(outer, 0), "t");
  EXPECT_EQ(private_in(outer, 1), "");
}

TEST(Privatize, arrays_are_not_looked_at) {
  EXPECT_EQ(
      private_in("x = alloc(f64, (1,), 'heap')\nfor i in serial(0, n, 1):\n  x[0] = v[i]\n  v[i] = x[0]"),
      "");
}

}  // namespace
}  // namespace kw
