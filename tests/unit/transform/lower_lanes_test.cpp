// What the lowering of ordered sums leaves: plain loops without marks. What they compute is compared with the
// order of language.md in codegen/lanes_test.
#include "transform/lower_lanes.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(cat("def f(a: buf(f32, (n,)), s: inout(f32, (n,))):\n  fp('default')\n  dims(n)\n", body,
                      "  return s\n"));
}

size_t count_lanes(const Func &f) {
  std::vector<Order> all = unit::orders(f);
  return static_cast<size_t>(std::count(all.begin(), all.end(), Order::lanes));
}

TEST(LowerLanes, no_mark_is_left) {
  for (std::string_view body :
       {"  for k in serial(0, n, 1):\n    s[0] = (s[0] + a[k]) @ lanes\n",
        "  for i in serial(0, n, 1):\n    for k in serial(0, i, 1):\n      s[i] = (s[i] * a[k]) @ lanes\n"}) {
    Func f = with_body(body), lowered = lower_lanes(f, unit::with_fma());
    EXPECT_EQ(count_lanes(f), 1u);
    EXPECT_EQ(count_lanes(lowered), 0u);
    EXPECT_EQ(verify(lowered), "") << print(lowered);
    EXPECT_FALSE(equal(f, lowered));
  }
}

TEST(LowerLanes, sums_in_source_order_stay_as_they_are) {
  Func f = with_body("  for k in serial(0, n, 1):\n    s[0] = s[0] + a[k]\n");
  EXPECT_EQ(lower_lanes(f, unit::with_fma()).body.p, f.body.p);
}

}  // namespace
}  // namespace kw
