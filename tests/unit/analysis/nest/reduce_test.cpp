// Recognition of accumulating stores, and which accesses relax each other.
#include "analysis/nest/reduce.h"

#include <gtest/gtest.h>

#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The kinds of all stores of a body over a: buf(T, (n, m)), s: inout(T, (n,)), with "*" where any order
/// does.
std::string kinds_of(std::string_view body, std::string_view dtype = "f32") {
  std::string text = cat("def f(a: buf(", dtype, ", (n, m)), s: inout(", dtype,
                         ", (n,)), w: inout(i64, (n,))):\n", "  fp('default')\n  dims(n, m)\n");
  for (const std::string &line : split_text(body, '\n')) text += cat("  ", line, "\n");
  Func f = unit::ir(text + "  return s, w\n");
  std::string out;
  walk(f.body, [&](const Store &n, const Stmt &) {
    static constexpr const char *names[] = {"none", "sum", "product", "min", "max", "and", "or", "xor"};
    AccumulatingStore found = reduction_of(n, {});
    EXPECT_EQ(found.read != nullptr, static_cast<bool>(found.mark));
    out += cat(out.empty() ? "" : " ", names[static_cast<size_t>(found.mark.kind)],
               found.mark.any_order ? "*" : "");
  });
  return out;
}

TEST(ReductionKind, kinds_of_stores) {
  EXPECT_EQ(kinds_of("s[0] = s[0] + a[0, 1]\ns[0] = a[0, 1] + s[0]\ns[0] = s[0] - a[0, 1]"), "sum sum sum");
  EXPECT_EQ(kinds_of("s[0] = a[0, 1] * s[0]\ns[0] = max(s[0], a[0, 0])\ns[0] = min(a[0, 0], s[0])"),
            "product max* min*");
  EXPECT_EQ(kinds_of("s[0] = s[0] + a[0, 1]\ns[0] = s[0] & a[0, 0]\ns[0] = s[0] ^ a[0, 0]", "i32"),
            "sum* and* xor*");
}

TEST(ReductionKind, other_stores_are_none) {
  EXPECT_EQ(kinds_of("s[0] = a[0, 1] - s[0]\ns[0] = s[1] + a[0, 1]\ns[0] = s[0] / a[0, 1]"),
            "none none none");
  EXPECT_EQ(kinds_of("s[0] = s[0] + s[0] * a[0, 1]\ns[0] = s[0] + s[0]"), "none none");
  EXPECT_EQ(kinds_of("s[0] = s[0] + s[1] * a[0, 1]"), "sum");  // the other read keeps its dependences
}

TEST(ReductionKind, marks_of_one_kind_relax_each_other) {
  ReductionMark sum{ReductionKind::sum, nullptr, {}, false},
      product{ReductionKind::product, nullptr, {}, false}, none;
  int here = 0, there = 0;
  ReductionMark one{ReductionKind::arg_reduction, &here, {}, false},
      other{ReductionKind::arg_reduction, &there, {}, false};
  EXPECT_TRUE(relaxable(sum, sum));
  EXPECT_FALSE(relaxable(sum, product));
  EXPECT_FALSE(relaxable(none, none));
  EXPECT_TRUE(relaxable(one, one));
  EXPECT_FALSE(relaxable(one, other));
}

}  // namespace
}  // namespace kw
