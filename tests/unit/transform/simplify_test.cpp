// Dead scalars vanish.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(cat("def f(a: buf(f64, (n,)), c: out(f64, (n,))):\n  fp('default')\n  dims(n)\n", body,
                      "  return c\n"));
}
std::string simplified(std::string_view body) { return print(simplify(with_body(body), unit::with_fma())); }

TEST(Simplify, a_scalar_that_is_never_read_vanishes_with_its_stores) {
  EXPECT_EQ(simplified("  t = alloc(f64, (), 'registers')\n  t[()] = 0.0\n  c[0] = a[0]\n  t[()] = 1.0\n"),
            print(with_body("  c[0] = a[0]\n")));
}

TEST(Simplify, an_element_that_is_read_for_nothing_is_still_read) {
  EXPECT_EQ(simplified("  t = alloc(f64, (), 'registers')\n  t[()] = a[1] * 2.0\n  c[0] = a[0]\n"),
            print(with_body("  with let(unread, f64, a[1] * 2.0):\n    pass\n  c[0] = a[0]\n")));
}

TEST(Simplify, removal_makes_others_dead) {
  EXPECT_EQ(simplified("  u = alloc(f64, (), 'registers')\n  t = alloc(f64, (), 'registers')\n  t[()] = 0.0\n"
                       "  u[()] = t[()]\n  c[0] = a[0]\n"),
            print(with_body("  c[0] = a[0]\n")));
}

TEST(Simplify, what_is_read_stays) {
  std::string_view body = "  t = alloc(f64, (), 'registers')\n  t[()] = 0.0\n  c[0] = t[()]\n";
  EXPECT_EQ(simplified(body), print(with_body(body)));
  body = "  t = alloc(f64, (4,), 'heap')\n  t[0] = 0.0\n  c[0] = a[0]\n";  // only scalars in registers are
                                                                           // looked at
  EXPECT_EQ(simplified(body), print(with_body(body)));
}

TEST(Simplify, without_dead_scalars_the_body_is_shared) {
  Func f = with_body("  c[0] = a[0]\n");
  EXPECT_EQ(simplify(f, unit::with_fma()).body.p, f.body.p);
}

}  // namespace
}  // namespace kw
