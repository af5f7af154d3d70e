// Which loops get a bound, and which keep the one they have.
#include "transform/lowering/passes.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

int64_t bound_of(std::string_view loop) {
  Func f = unit::ir(cat("def f(w: inout(i64, (n,)), p: weak(i64)):\n  fp('strict')\n  dims(n)\n  for i in ",
                        loop, ":\n    w[0] = i\n  return w\n"));
  return as<For>(bound_trips(f, unit::with_fma()).body)->how.max_trips;
}

TEST(BoundTrips, comes_from_the_bounds) {
  EXPECT_EQ(bound_of("serial(0, 9, 1)"), 9);
  EXPECT_EQ(bound_of("serial(0, 9, 2)"), 5);
  EXPECT_EQ(bound_of("serial(p, min(n, p + 64), 1)"), 64);
  EXPECT_EQ(bound_of("vector(0, min(n, 8), 1, vector_width=8)"), 8);
}

TEST(BoundTrips, is_left_out_where_it_says_nothing) {
  for (std::string_view loop : {"serial(0, n, 1)", "serial(0, min(n, p), 1)", "serial(0, 1048577, 1)"})
    EXPECT_EQ(bound_of(loop), 0) << loop;
}

TEST(BoundTrips, a_bound_of_the_plan_stays) {
  EXPECT_EQ(bound_of("serial(0, 3, 1, max_trips=4)"), 4);
  EXPECT_EQ(bound_of("serial(0, n, 1, max_trips=4)"), 4);
}

}  // namespace
}  // namespace kw
