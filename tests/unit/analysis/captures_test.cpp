// What a loop takes from outside: sizes of temporaries too, and nothing that it makes itself.
#include "analysis/captures.h"

#include <gtest/gtest.h>

#include "analysis/access.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

std::string text_of(std::string_view body) {
  Func f =
      unit::ir(cat("def f(a: inout(f64, (n, m)), q: weak(i64), x: weak(f64)):\n  fp('default')\n"
                   "  dims(n, m)\n  site('E303', a, 0)\n",
                   body));
  std::string out;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (!out.empty()) return;
    LoopCaptures found = captures_of(n);
    for (const Sym &s : found.symbols) out += s->name + " ";
    for (const Buf &b : found.buffers) out += "[" + b->sym->name + "] ";
    out += found.checks ? "checks" : "-";
  });
  return out;
}

TEST(Captures, in_the_order_of_the_program_and_each_once) {
  EXPECT_EQ(text_of("  for i in parallel(0, n, 1):\n    a[i, q] = a[i, q] * x + x\n"), "q x [a] -");
}

TEST(Captures, neither_iterators_nor_locals_nor_temporaries_of_the_loop) {
  EXPECT_EQ(text_of("  for i in parallel(0, n, 1):\n    t = alloc(f64, (m + q,), 'heap')\n"
                    "    for j in serial(0, 2, 1):\n      y: f64 = x\n      t[j] = y\n"),
            "x m q -");
}

TEST(Captures, checks_are_told) {
  EXPECT_EQ(text_of("  for i in parallel(0, n, 1):\n    check(i < q, site=0)\n    a[i, 0] = 1.0\n"),
            "q [a] checks");
}

TEST(Captures, a_mutable_scalar_is_read_from_outside_but_not_written) {
  std::string cell = "  c = alloc(f64, (), 'registers')\n  c[()] = 1.0\n  for i in parallel(0, n, 1):\n";
  EXPECT_EQ(text_of(cell + "    a[i, 0] = c[()]\n"), "[a] [c] -");
  EXPECT_THROW(text_of(cell + "    c[()] = a[i, 0]\n"), std::exception);
}

TEST(Strides, are_stated_or_follow_from_the_extents) {
  Func f = unit::ir(
      "def f(a: inout(f64, (n, m, 3)), b: inout(f64, (n, m), strides=(q, 1)), q: weak(i64)):\n"
      "  fp('default')\n  dims(n, m)\n  a[0, 0, 0] = 1.0\n");
  auto text = [](const Buf &b) {
    std::string out;
    for (const Expr &e : strides_of(*b)) out += print(e) + "; ";
    return out;
  };
  EXPECT_EQ(text(f.params[0].buf), "3 * m; 3; 1; ");
  EXPECT_EQ(text(f.params[1].buf), "q; 1; ");
}

}  // namespace
}  // namespace kw
