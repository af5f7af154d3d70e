// Diagnostics: line marks, resolution, the exact layout of a rendering, and the sink.
#include "support/diagnostic.h"

#include <gtest/gtest.h>

#include "support/text.h"

namespace kw {
namespace {

Diagnostic error_at(Loc loc, std::string message) { return {Code::E301, loc, std::move(message), {}, {}}; }

TEST(Marks, relative_lines_become_absolute) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 0, "a\nb\nc\n");
  std::string text = cat("see line ", line_mark(m, {s, 4, 5}), ", not ", line_mark(m, {s, 0, 1}), ".");
  EXPECT_EQ(expand_marks(text, 40), "see line 42, not 40.");
  EXPECT_EQ(expand_marks("no marks 7", 40), "no marks 7");
  EXPECT_EQ(expand_marks("", 40), "");
}

TEST(Resolve, holds_relative_lines_columns_and_the_line) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 0, "def f(a):\n  \xC3\xA4 = a[7]\n");
  Resolved r = resolve(error_at({s, 17, 21}, "out"), m);
  EXPECT_EQ(r.line, 1);
  EXPECT_EQ(r.column, 7u);
  EXPECT_EQ(r.end_column, 11u);
  EXPECT_EQ(r.line_text, "  \xC3\xA4 = a[7]");
}

TEST(Resolve, a_range_of_several_lines_ends_with_its_first_line) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 0, "f(a,\n  b)\n");
  Resolved r = resolve(error_at({s, 0, 9}, "x"), m);
  EXPECT_EQ(r.column, 1u);
  EXPECT_EQ(r.end_column, 5u);
}

TEST(Resolve, without_a_place_the_line_is_negative) {
  EXPECT_LT(resolve(error_at({}, "x"), SourceMap{}).line, 0);
}

TEST(Resolve, inlined_code_names_its_calls) {
  SourceMap m;
  uint32_t caller = m.add_text("a.py", 0, "x\ny = f(x)\n"), callee = m.add_text("b.py", 0, "def f(x):\n");
  uint32_t copy = m.add_inlined(callee, {caller, 6, 10});
  Resolved r = resolve(error_at({copy, 4, 5}, "x"), m);
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_EQ(expand_marks(r.notes[0], 20), "inlined by the call at line 21");
}

TEST(Render, has_the_layout_of_the_language_page) {
  SourceMap m;
  uint32_t s = m.add_text("kernels.py", 0, "for j in x:\n        c[i, j] = a[i, j + 1]\n");
  Diagnostic d = error_at({s, 35, 40}, "index 1 of 'a' reaches n");
  d.notes = {cat("'j' is the loop variable of line ", line_mark(m, {s, 0, 3})), "second"};
  d.help = {"shorten the loop"};
  EXPECT_EQ(render(resolve(d, m), "kernels.py", 11),
            "kernels.py:12:24: error[E301]: index 1 of 'a' reaches n\n"
            "   12 |         c[i, j] = a[i, j + 1]\n"
            "      |                        ^~~~~\n"
            "      = note: 'j' is the loop variable of line 11\n"
            "      = note: second\n"
            "      = help: shorten the loop\n");
}

TEST(Render, a_warning_says_so_and_wide_line_numbers_move_the_gutter) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 0, "y = x\n");
  EXPECT_EQ(render(resolve({Code::W301, {s, 4, 5}, "read", {}, {}}, m), "k.py", 1234567),
            "k.py:1234567:5: warning[W301]: read\n"
            "1234567 | y = x\n"
            "        |     ^\n");
}

TEST(Render, an_empty_range_still_has_a_caret) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 0, "ab\n");
  EXPECT_EQ(render(resolve(error_at({s, 2, 2}, "end"), m), "k.py", 1),
            "k.py:1:3: error[E301]: end\n"
            "    1 | ab\n"
            "      |   ^\n");
}

TEST(Render, carets_never_run_past_the_line) {
  SourceMap m;
  uint32_t s = m.add_text("k.py", 0, "abcd\nef\n");
  EXPECT_EQ(render(resolve(error_at({s, 2, 7}, "x"), m), "k.py", 1),
            "k.py:1:3: error[E301]: x\n"
            "    1 | abcd\n"
            "      |   ^~\n");
}

std::string caret_below(const char *line, uint32_t column, uint32_t end_column) {
  Resolved r = resolve(error_at({}, "x"), SourceMap{});
  r.line = 0, r.column = column, r.end_column = end_column, r.line_text = line;
  std::string text = render(r, "k.py", 1);
  return split_text(text, '\n')[2].substr(8);
}

TEST(Render, tabs_before_the_caret_are_copied) {
  EXPECT_EQ(caret_below("\t\tx = ab", 7, 9), "\t\t    ^~");
  EXPECT_EQ(caret_below("\tx =\tab", 6, 8), "\t   \t^~");
  EXPECT_EQ(caret_below("\t", 1, 2), "^");
}

TEST(Render, wide_characters_take_two_columns_and_combining_ones_none) {
  EXPECT_EQ(caret_below("\xE5\xB9\x85 = a", 5, 6), "     ^");                // a CJK ideograph before
  EXPECT_EQ(caret_below("x = \xE5\xB9\x85\xE5\xB9\x85", 5, 7), "    ^~~~");  // two below the caret
  EXPECT_EQ(caret_below("'\xF0\x9F\x98\x80' + a", 7, 8), "       ^");        // an emoji
  EXPECT_EQ(caret_below("e\xCC\x81 = a", 6, 7), "    ^");                    // e and a combining acute
  EXPECT_EQ(caret_below("\xC3\xA4 = a", 5, 6), "    ^");
}

TEST(Render, without_a_place_only_the_path_leads) {
  Resolved r = resolve({Code::E502, {}, "no library", {}, {"install it"}}, SourceMap{});
  EXPECT_EQ(render(r, "k.py", 5), "k.py: error[E502]: no library\n      = help: install it\n");
  EXPECT_EQ(render(r, "", 5), "error[E502]: no library\n      = help: install it\n");
}

TEST(Sink, throws_at_the_twentieth_error_with_all_of_them) {
  Sink sink;
  for (uint32_t i = 0; i < 19; ++i) ASSERT_NO_THROW(sink.add(error_at({1, i, i + 1}, "x")));
  try {
    sink.add(error_at({1, 50, 51}, "last"));
    FAIL() << "the twentieth error was accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found().size(), 20u);
    EXPECT_EQ(error.found().back().message, "last");
  }
}

TEST(Sink, warnings_do_not_count_and_are_not_thrown) {
  Sink sink;
  for (uint32_t i = 0; i < 100; ++i) sink.add({Code::W301, {1, i, i + 1}, "w", {}, {}});
  EXPECT_NO_THROW(sink.throw_if_errors());
  EXPECT_NO_THROW(sink.throw_if_errors());
  sink.add(error_at({1, 1, 2}, "x"));
  try {
    sink.throw_if_errors();
    FAIL() << "an error was not thrown";
  } catch (const CompileError &error) {
    ASSERT_EQ(error.found().size(), 1u);
    EXPECT_EQ(error.found()[0].message, "x");
    EXPECT_STREQ(error.what(), "x");
  }
  EXPECT_EQ(sink.warnings().size(), 100u);
}

TEST(Sink, the_same_diagnostic_is_kept_once) {
  Sink sink;
  for (int i = 0; i < 30; ++i) sink.add(error_at({1, 1, 2}, "x"));
  sink.add(error_at({1, 1, 3}, "x"));
  EXPECT_EQ(sink.all().size(), 2u);
}

TEST(Ensure, names_the_line_of_the_caller) {
  EXPECT_NO_THROW(ensure(true, "fine"));
  try {
    ensure(false, "broken", "/src/compiler/ir/x.cpp", 17);
    FAIL() << "a false condition was accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E503);
    EXPECT_EQ(error.found()[0].message, "broken (x.cpp:17)");
    ASSERT_EQ(error.found()[0].help.size(), 1u);
    EXPECT_NE(error.found()[0].help[0].find("dump:after=all"), std::string::npos);
  }
}

TEST(Codes, rows_are_complete_and_named_as_their_code) {
  for (const CodeRow &row : code_table()) {
    EXPECT_EQ(&row, &row_of(row.code));
    EXPECT_TRUE(row.name.size() == 4 && (row.name[0] == 'E' || row.name[0] == 'W')) << row.name;
    EXPECT_FALSE(row.title.empty()) << row.name;
    EXPECT_TRUE(row.test.starts_with("test_")) << row.name;
    EXPECT_FALSE(class_name(row.error_class).empty()) << row.name;
    EXPECT_EQ(Diagnostic({row.code, {}, {}, {}, {}}).is_warning(), row.name[0] == 'W');
  }
  EXPECT_EQ(class_name(row_of(Code::E100).error_class), "KernelSyntaxError");
  EXPECT_EQ(class_name(row_of(Code::E303).error_class), "KernelIndexError");
  EXPECT_EQ(class_name(row_of(Code::W301).error_class), "UninitializedReadWarning");
}

}  // namespace
}  // namespace kw
