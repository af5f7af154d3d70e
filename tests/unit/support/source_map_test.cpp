// Lines and columns of byte offsets, with UTF-8 text and inlined copies.
#include "support/source_map.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

Loc at(uint32_t source, uint32_t begin, uint32_t end) { return {source, begin, end}; }

TEST(SourceMap, source_zero_is_nowhere) {
  SourceMap m;
  EXPECT_EQ(m.text(0), "");
  EXPECT_EQ(m.path(0), "");
  EXPECT_FALSE(Loc{}.known());
  EXPECT_FALSE(m.inlined_at(0).known());
  EXPECT_EQ(m.text(99), "");  // an index that was never given out
}

TEST(SourceMap, positions_count_lines_from_the_first_line_and_columns_from_one) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 10, "ab\ncd\n");
  Position p = m.position(at(s, 0, 1));
  EXPECT_EQ(p.line, 10u);
  EXPECT_EQ(p.column, 1u);
  p = m.position(at(s, 4, 5));
  EXPECT_EQ(p.line, 11u);
  EXPECT_EQ(p.column, 2u);
  p = m.end_position(at(s, 3, 5));
  EXPECT_EQ(p.line, 11u);
  EXPECT_EQ(p.column, 3u);
}

TEST(SourceMap, a_newline_belongs_to_the_line_that_it_ends) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 1, "ab\ncd");
  EXPECT_EQ(m.position(at(s, 2, 3)).line, 1u);
  EXPECT_EQ(m.position(at(s, 2, 3)).column, 3u);
  EXPECT_EQ(m.line_text(at(s, 2, 3)), "ab");
  EXPECT_EQ(m.line_text(at(s, 3, 4)), "cd");
}

TEST(SourceMap, columns_are_code_points) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 1, "x\n\xC3\xA4\xF0\x9F\x98\x80 = b\n");
  Position p = m.position(at(s, 11, 12));  // the b behind a two-byte and a four-byte character
  EXPECT_EQ(p.line, 2u);
  EXPECT_EQ(p.column, 6u);
  EXPECT_EQ(m.line_text(at(s, 11, 12)), "\xC3\xA4\xF0\x9F\x98\x80 = b");
}

TEST(SourceMap, offsets_behind_the_text_stand_at_its_end) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 1, "ab\nc");
  Position p = m.position(at(s, 100, 200));
  EXPECT_EQ(p.line, 2u);
  EXPECT_EQ(p.column, 2u);
  EXPECT_EQ(m.line_text(at(s, 100, 200)), "c");
}

TEST(SourceMap, an_inlined_copy_has_the_text_of_its_callee_and_knows_its_call) {
  SourceMap m;
  uint32_t caller = m.add_text("a.py", 1, "f(x)\n"), callee = m.add_text("b.py", 7, "def f(x):\n");
  Loc call = at(caller, 0, 4);
  uint32_t copy = m.add_inlined(callee, call);
  uint32_t nested = m.add_inlined(copy, at(copy, 4, 5));
  EXPECT_EQ(m.text(copy), "def f(x):\n");
  EXPECT_EQ(m.path(nested), "b.py");
  EXPECT_EQ(m.position(at(nested, 4, 5)).line, 7u);
  EXPECT_EQ(m.inlined_at(copy), call);
  EXPECT_EQ(m.inlined_at(nested), at(copy, 4, 5));
  EXPECT_FALSE(m.inlined_at(callee).known());
}

TEST(Loc, join_covers_both_ranges_of_one_source) {
  EXPECT_EQ(join(at(1, 4, 6), at(1, 2, 5)), at(1, 2, 6));
  EXPECT_EQ(join(at(1, 4, 6), at(2, 0, 9)), at(1, 4, 6));
  EXPECT_EQ(join({}, at(1, 4, 6)), at(1, 4, 6));
  EXPECT_EQ(join(at(1, 4, 6), {}), at(1, 4, 6));
}

}  // namespace
}  // namespace kw
