// Which loops are cut where, and that others stay as they are.
#include "schedule/steps/steps.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "i(0, min(k, n))": the loops of the lines over a: f32[n, m] and v: f32[n] behind the step.
std::string pieces(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n, m)), v: inout(f32, (n,)), w: inout(i64, (n,))):\n  fp('strict')\n  dims(n, "
      "m)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  LoopNest nest(unit::ir(text + "  return a, v, w\n"));
  split_index_sets(nest);
  EXPECT_EQ(verify(nest.func()), "");
  std::string out;
  for (const std::string &line : split_text(print(nest.func()), '\n')) {
    size_t begin = line.find("for "), end = line.rfind(", 1)");
    if (begin == line.npos || end == line.npos) continue;
    std::string name = line.substr(begin + 4, line.find_first_of(" _", begin + 4) - begin - 4);
    size_t bounds = line.find("(") + 1;
    out += cat(out.empty() ? "" : " ", name, "[", line.substr(bounds, end - bounds), "]");
  }
  return out;
}

TEST(SplitIndexSets, short_loops_stay_whole) {
  EXPECT_EQ(pieces("for i in serial(0, 8, 1):\n  v[i] = v[i] + v[0]"), "i[0, 8]");
  EXPECT_EQ(pieces("for i in serial(0, 9, 1):\n  v[i] = v[i] + v[0]"), "i[0, 1] i[1, 9]");
}

TEST(SplitIndexSets, the_element_that_all_others_read) {
  EXPECT_EQ(pieces("for k in serial(0, m, 1):\n  for i in serial(0, n, 1):\n    v[i] = v[i] + v[min(k, 0)]"),
            "k[0, m] i[0, n]");  // no sum of sizes and iterators
  EXPECT_EQ(pieces("for k in serial(0, n, 1):\n  for i in serial(0, n, 1):\n    v[i] = v[i] + v[k]"),
            "k[0, n] i[0, min(k, n)] i[max(k, 0), min(k + 1, n)] i[max(k + 1, 0), n]");
  EXPECT_EQ(pieces("for i in serial(0, n, 1):\n  v[i] = v[i] + v[0]"), "i[0, min(1, n)] i[1, n]");
}

TEST(SplitIndexSets, rows_and_columns_of_shortest_paths) {
  std::string floyd = pieces(
      "for k in serial(0, n, 1):\n  for i in serial(0, n, 1):\n    for j in serial(0, n, 1):\n"
      "      a[i, j] = min(a[i, j], a[i, k] + a[k, j])");
  std::string rows = "j[0, k] j[k, k + 1] j[k + 1, n]";  // as 0 <= k < n
  EXPECT_EQ(floyd, cat("k[0, n] i[0, min(k, n)] ", rows, " i[max(k, 0), min(k + 1, n)] ", rows,
                       " i[max(k + 1, 0), n] ", rows));
}

TEST(SplitIndexSets, loops_that_gain_nothing_stay) {
  // no dependence; one to the iteration before; a place outside the loop; a place that lanes read in time
  for (const char *lines : {"for i in serial(0, n, 1):\n  v[i] = v[i] + a[i, 0]",
                            "for i in serial(1, n, 1):\n  v[i] = v[i - 1] + v[0]",
                            "for i in serial(1, n, 1):\n  v[i] = v[i] + v[0]",
                            "for i in serial(0, n, 1):\n  v[i] = v[i] + v[n - 1]",
                            "for i in serial(0, n, 2):\n  v[i] = v[i] + v[0]",
                            "for i in serial(0, n, 1, hint='serial'):\n  v[i] = v[i] + v[0]"}) {
    EXPECT_EQ(pieces(lines).find(" i["), std::string::npos) << lines;
  }
  EXPECT_EQ(pieces("for i in serial(0, n, 1):\n  for j in serial(i + 1, n, 1):\n    v[j] = v[j] - v[i]"),
            "i[0, n] j[i + 1, n]");
}

TEST(SplitIndexSets, a_place_that_data_name_is_no_plane) {
  EXPECT_EQ(pieces("for i in serial(0, n, 1):\n  v[i] = v[i] + v[w[0]]"), "i[0, n]");
}

}  // namespace
}  // namespace kw
