// Vector loops without a vector form become serial ones, and one warning says so.
#include "transform/lowering/passes.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "support/options.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

struct Settled {
  std::string loops;  ///< of the text
  size_t warnings;
};

Settled settled(std::string_view body) {
  unit::Unverified some_have_no_vector_form;
  Func f = settle_vector_loops(
      unit::ir(cat("def f(w: inout(i64, (n, n))):\n  fp('strict')\n  dims(n)\n  site('E303', w, 0)\n", body,
                   "  return w\n")),
      unit::with_fma());
  std::string loops;
  for (const std::string &line : split_text(print(f), '\n'))
    if (size_t at = line.find("for "); at != std::string::npos) loops += cat(line.substr(at), "\n");
  return {loops, f.warnings.size()};
}

TEST(SettleVectorLoops, keeps_those_with_a_vector_form) {
  std::string_view nested =
      "  for i in vector(0, n, 1, vector_width=8):\n    for j in serial(0, n, 1):\n      w[j, i] = j\n";
  Settled out = settled(nested);
  EXPECT_EQ(out.loops, "for i in vector(0, n, 1, vector_width=8):\nfor j in serial(0, n, 1):\n");
  EXPECT_EQ(out.warnings, 0u);
}

TEST(SettleVectorLoops, runs_others_serially_and_says_so_once) {
  Settled out = settled(
      "  for i in vector(0, n, 1, vector_width=8):\n    check(w[i, 0] < n, site=0)\n"
      "  for i in vector(0, n, 1, vector_width=6):\n    w[i, 0] = i\n");
  EXPECT_EQ(out.loops, "for i in serial(0, n, 1):\nfor i_1 in serial(0, n, 1):\n");
  EXPECT_EQ(out.warnings, 1u);
}

}  // namespace
}  // namespace kw
