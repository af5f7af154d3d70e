// Which sums of a copy for short rows are in source order.
#include "schedule/tree/short_rows.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel with a copy of its loop over rows for short rows `j`, as text.
std::string with_copy(std::string_view lines) {
  std::string text = "def f(a: inout(f32, (n, m)), s: inout(f32, (n,))):\n  fp('default')\n  dims(n, m)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Func f = unit::ir(text + "  return a, s\n");
  const For *row = nullptr;
  walk(f.body, [&](const For &n, const Stmt &) { row = n.iter->name == "j" ? &n : row; });
  Stmt loop = f.body;
  f.body = with_short_rows(loop, *row);
  return print(f);
}

TEST(ShortRows, sums_over_them_are_in_source_order) {
  std::string text = with_copy(
      "for i in serial(0, n, 1):\n  for j in serial(0, m, 1):\n    s[i] = (s[i] + a[i, j]) @ lanes(j)\n"
      "  for k in serial(0, m, 1):\n    s[i] = (s[i] + a[i, k]) @ lanes(k)\n"
      "  for l in serial(1, m, 1):\n    s[i] = (s[i] + a[i, l]) @ lanes(l)");
  std::string copy = text.substr(0, text.find("  else:"));
  EXPECT_NE(copy.find("  if m < 64:\n"), std::string::npos) << text;
  EXPECT_EQ(copy.find("lanes(j"), std::string::npos) << text;
  EXPECT_EQ(copy.find("lanes(k"), std::string::npos) << text;
  EXPECT_NE(copy.find("lanes(l"), std::string::npos) << text;  // another range
  std::string rest = text.substr(copy.size());
  for (const char *sum : {"lanes(j", "lanes(k", "lanes(l"})
    EXPECT_NE(rest.find(sum), std::string::npos) << text;
}

}  // namespace
}  // namespace kw
