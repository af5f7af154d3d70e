// Directives have names and texts.
#include "schedule/directives/directives.h"

#include <gtest/gtest.h>

#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr std::string_view kernel = R"(def f(w: inout(i64, (n, m)), p: weak(i64)):
  fp('strict')
  dims(n, m)
  s = alloc(i64, (), 'registers')
  while w[0, 0] < 9:
    for i in serial(0, n, 1):
      for j in serial(0, m, 1):
        s[()] = j
        w[i, j] = s[()]
      for j in serial(0, m, 1):
        w[i, j] = 2
  return w
)";

TEST(Directives, loops_of_one_name_are_numbered_in_the_order_of_the_text) {
  Nest nest = extract_region(unit::ir(kernel).body, {});
  EXPECT_EQ(loop_names(nest), (std::vector<std::string>{"while", "i", "j", "j#2"}));
}

TEST(Directives, a_line_reads_back) {
  Func f = unit::ir(kernel);
  Nest nest = extract_region(f.body, {});
  for (std::string line : {"parallel i",
                           "parallel j#2 chunk 64",
                           "parallel j block 64 chunk 2",
                           "vectorize j by 8",
                           "split i by 150",
                           "reorder j i",
                           "tile i by 4, j by 8",
                           "tile i by 4, j by 8",
                           "contract s at j",
                           "unroll_and_jam i by 4",
                           "unroll j#2",
                           "unroll j by 2",
                           "fuse j j#2",
                           "distribute i after 0",
                           "peel i first 2",
                           "peel j last 1",
                           "split_index_set j at i",
                           "split_index_set j at 2 * i - n + 3",
                           "split_index_set i at -p - 1",
                           "split_index_set j#2 at 0",
                           "privatize s at j",
                           "replace_with_scalar w at j",
                           "expand s at j",
                           "specialize i below 2048",
                           "specialize i below 2048 or j from 1024",
                           "specialize i or j from 1024",
                           "split i by 8  # fits the cache: L1 # 2"}) {
    SourceMap sources;
    Loc all{sources.add_text("<schedule>", 1, line), 0, static_cast<uint32_t>(line.size())};
    EXPECT_EQ(print_directive(nest, parse_directive(f, nest, sources, all)), line);
  }
}

TEST(Directives, lines_without_a_directive_are_passed_over) {
  SourceMap sources;
  uint32_t text = sources.add_text("<schedule>", 1, "# why\n\n  split i by 2\n\t\nparallel i0");
  std::vector<Loc> lines = directive_lines(sources, text);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(sources.text(text).substr(lines[0].begin, lines[0].end - lines[0].begin), "split i by 2");
  EXPECT_EQ(sources.position(lines[1]).line, 5u);
}

}  // namespace
}  // namespace kw
