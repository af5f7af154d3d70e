// The tokenizer: indentation, joined lines, comments, numbers, strings, UTF-8 and errors with their columns.
#include "frontend/lexer.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

std::string shown(const Token &t) {
  switch (t.kind) {
    case TokenKind::newline: return "NL";
    case TokenKind::indent: return "IN";
    case TokenKind::dedent: return "OUT";
    case TokenKind::end: return "END";
    case TokenKind::integer: return cat("int:", t.text);
    case TokenKind::real: return cat("real:", t.text);
    case TokenKind::imaginary: return cat("imag:", t.text);
    case TokenKind::string: return cat("str:", t.value);
    case TokenKind::fstring: return cat("fstr:", t.text);
    case TokenKind::bytes: return cat("bytes:", t.text);
    default: return std::string(t.text);
  }
}

std::string tokens_of(std::string_view text) {
  SourceMap sources;
  std::vector<std::string> out;
  for (const Token &t : tokenize(sources, sources.add_text("k.py", 1, std::string(text))).tokens)
    out.push_back(shown(t));
  return join_text(out, " ");
}

/// "line:column message" of the error.
std::string error_of(std::string_view text) {
  SourceMap sources;
  try {
    tokenize(sources, sources.add_text("k.py", 1, std::string(text)));
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E100);
    Position p = sources.position(error.found()[0].loc);
    return cat(p.line, ":", p.column, " ", error.what());
  }
  return "none";
}

TEST(Lexer, indentation_opens_and_closes_blocks) {
  EXPECT_EQ(tokens_of("if a:\n  b\n  if c:\n      d\ne\n"),
            "if a : NL IN b NL if c : NL IN d NL OUT OUT e NL END");
  EXPECT_EQ(tokens_of("if a:\n  b"), "if a : NL IN b NL OUT END");
}

TEST(Lexer, blank_lines_and_comments_have_no_indentation) {
  EXPECT_EQ(tokens_of("if a:\n\n# left\n        # right\n  b  # behind\n   \n  c\n"),
            "if a : NL IN b NL c NL OUT END");
  EXPECT_EQ(tokens_of("# only\n\n"), "END");
  EXPECT_EQ(tokens_of(""), "END");
}

TEST(Lexer, tabs_reach_the_next_multiple_of_eight) {
  EXPECT_EQ(tokens_of("if a:\n\tb\n        c\n"), "if a : NL IN b NL c NL OUT END");
  EXPECT_EQ(tokens_of("if a:\n    \tb\n\tc\n"), "if a : NL IN b NL c NL OUT END");
}

TEST(Lexer, a_text_that_begins_indented_is_read_relative_to_its_first_line) {
  EXPECT_EQ(tokens_of("    def f():\n        a\n"), "def f ( ) : NL IN a NL OUT END");
}

TEST(Lexer, lines_join_in_brackets_and_behind_backslashes) {
  EXPECT_EQ(tokens_of("f(a,  # one\n      b)\nc\n"), "f ( a , b ) NL c NL END");
  EXPECT_EQ(tokens_of("a[\n0\n]\n"), "a [ int:0 ] NL END");
  EXPECT_EQ(tokens_of("a = \\\n    b\n"), "a = b NL END");
  EXPECT_EQ(tokens_of("a = \\\r\n    b\r\nc\r\n"), "a = b NL c NL END");
}

TEST(Lexer, windows_line_ends_are_line_ends) {
  EXPECT_EQ(tokens_of("if a:\r\n  b\r\n\r\n# x\r\nc\r\n"), "if a : NL IN b NL OUT c NL END");
}

TEST(Lexer, numbers_of_all_forms) {
  EXPECT_EQ(tokens_of("0 12 1_000 0xFF 0X1_f 0o17 0b1_01\n"),
            "int:0 int:12 int:1_000 int:0xFF int:0X1_f int:0o17 int:0b1_01 NL END");
  EXPECT_EQ(tokens_of("1. .5 1.5 1e5 1E+5 1.5e-3 1_0.0_1e1_0\n"),
            "real:1. real:.5 real:1.5 real:1e5 real:1E+5 real:1.5e-3 real:1_0.0_1e1_0 NL END");
  EXPECT_EQ(tokens_of("1j 1.5J 1e3j\n"), "imag:1j imag:1.5J imag:1e3j NL END");
  EXPECT_EQ(tokens_of("x.y 1..real\n"), "x . y real:1. . real NL END");
  EXPECT_EQ(tokens_of("-1-1\n"), "- int:1 - int:1 NL END");
}

TEST(Lexer, a_keyword_may_follow_a_number_directly) {
  EXPECT_EQ(tokens_of("a = 1if b else 2\n"),
            "a = int:1 if b else int:2 NL END");  // CPython takes it, with a warning
}

TEST(Lexer, strings_of_all_quotes) {
  EXPECT_EQ(tokens_of("'a' \"b\" '''c''' \"\"\"d\"\"\"\n"), "str:a str:b str:c str:d NL END");
  EXPECT_EQ(tokens_of("'it\"s' \"it's\"\n"), "str:it\"s str:it's NL END");
  EXPECT_EQ(tokens_of("'''two\nlines''' x\n"), "str:two\nlines x NL END");
  EXPECT_EQ(tokens_of("''''a''''' ''\n"), "str:'a str: str: NL END");
}

TEST(Lexer, string_prefixes_in_both_cases) {
  EXPECT_EQ(tokens_of("u'a' R'\\n' f'{x}' F\"\" b'a' rb'x' Br'y' fR'z'\n"),
            "str:a str:\\n fstr:f'{x}' fstr:F\"\" bytes:b'a' bytes:rb'x' bytes:Br'y' fstr:fR'z' NL END");
  EXPECT_EQ(tokens_of("f b r\n"), "f b r NL END");
}

TEST(Lexer, simple_escapes_are_decoded) {
  EXPECT_EQ(tokens_of(R"('a\n\t\\\'\"b')"), "str:a\n\t\\'\"b NL END");
  EXPECT_EQ(tokens_of("'a\\\nb'"), "str:ab NL END");
  EXPECT_EQ(tokens_of(R"('\q')"), "str:\\q NL END");
  EXPECT_EQ(tokens_of(R"(r'\'')"), "str:\\' NL END");
}

TEST(Lexer, numeric_escapes_are_decoded) {
  EXPECT_EQ(tokens_of(R"('\x66loat32')"), "str:float32 NL END");
  EXPECT_EQ(tokens_of(R"('\u00e4\101\r')"),
            "str:\xC3\xA4"
            "A\r NL END");
}

TEST(Lexer, operators_are_taken_longest_first) {
  EXPECT_EQ(tokens_of("a**=b//=c>>=d<<=e\n"), "a **= b //= c >>= d <<= e NL END");
  EXPECT_EQ(tokens_of("a<=b>=c==d!=e->f:=g\n"), "a <= b >= c == d != e -> f := g NL END");
  EXPECT_EQ(tokens_of("a+=1;b-=1;c@=d\n"), "a += int:1 ; b -= int:1 ; c @= d NL END");
  EXPECT_EQ(tokens_of("...\n"), "... NL END");
  EXPECT_EQ(tokens_of("a- -b<-c\n"), "a - - b < - c NL END");
}

TEST(Lexer, names_may_be_unicode_and_a_byte_order_mark_is_skipped) {
  EXPECT_EQ(tokens_of("gr\xC3\xB6\xC3\x9F"
                      "e = \xCE\xB1_1\n"),
            "gr\xC3\xB6\xC3\x9F"
            "e = \xCE\xB1_1 NL END");
  EXPECT_EQ(tokens_of("\xEF\xBB\xBF"
                      "a\n"),
            "a NL END");
}

TEST(Lexer, tokens_know_their_place) {
  SourceMap sources;
  uint32_t s = sources.add_text("k.py", 1, "\xC3\xA4 = b\n  # x\nccc\n");
  TokenList list = tokenize(sources, s);
  ASSERT_EQ(list.tokens.size(), 7u);
  EXPECT_EQ(list.tokens[2].loc, (Loc{s, 5, 6}));
  EXPECT_EQ(sources.position(list.tokens[2].loc).column, 5u);
  EXPECT_EQ(sources.position(list.tokens[4].loc).line, 3u);
  EXPECT_EQ(list.tokens[4].loc.end - list.tokens[4].loc.begin, 3u);
}

TEST(Lexer, the_first_line_tells_ir_mode) {
  SourceMap sources;
  auto mode = [&](std::string text) {
    return tokenize(sources, sources.add_text("k.py", 1, std::move(text))).ir_mode;
  };
  EXPECT_TRUE(mode("# kw-ir 2\ndef f():\n  pass\n"));
  EXPECT_FALSE(mode("def f():\n  # kw-ir 2\n  pass\n"));
  EXPECT_FALSE(mode("# kw-ir\n"));
}

TEST(Lexer, errors_point_at_their_cause) {
  EXPECT_EQ(error_of("a = 'x\n"), "1:5 unterminated string literal");
  EXPECT_EQ(error_of("a = '''x\n\n"), "1:5 unterminated string literal");
  EXPECT_EQ(error_of("a\nb = $c\n"), "2:5 invalid character '$'");
  EXPECT_EQ(error_of("a = ?\n"), "1:5 invalid character '?'");
  EXPECT_EQ(error_of("\xC3\xA4 \x01\n"), "1:3 invalid character '0x1'");
  EXPECT_EQ(error_of("a)\n"), "1:2 unmatched ')'");
  EXPECT_EQ(error_of("(a]\n"), "1:3 unmatched ']'");
  EXPECT_EQ(error_of("a = 1x\n"), "1:5 invalid number");
  EXPECT_EQ(error_of("a = 0xg\n"), "1:5 invalid number");
  EXPECT_EQ(error_of("if a:\n    b\n  c\n"), "3:3 unindent does not match any outer indentation level");
  EXPECT_EQ(error_of("  a\nb\n"), "2:1 unindent does not match any outer indentation level");
}

TEST(Lexer, an_open_bracket_at_the_end_is_an_error) {
  EXPECT_NE(error_of("f(a,\n").find("'(' was never closed"), std::string::npos);
  EXPECT_NE(error_of("{[a}\n").find("unmatched '}'"), std::string::npos);
  EXPECT_EQ(error_of(std::string(200, '(') + std::string(200, ')')), "none");
  EXPECT_EQ(error_of(std::string(201, '(')), "1:201 too many nested parentheses");
}

TEST(Lexer, any_bytes_give_tokens_or_e100) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  constexpr std::string_view pieces[] = {"def ", "f",    "(",        ")",  "[", "]",  ":",  "\n", "  ", "\t",
                                         "'",    "\"",   "'''",      "\\", "#", "0x", "1e", ".",  "r",  "b",
                                         "\r\n", "\xC3", "\xF0\x9F", "\0", "{", "}",  "1_", "$"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (uint64_t n = random() % 20; n > 0; --n) text += pieces[random() % std::size(pieces)];
    SourceMap sources;
    uint32_t s = sources.add_text("k.py", 1, text);
    try {
      TokenList list = tokenize(sources, s);
      ASSERT_EQ(list.tokens.back().kind, TokenKind::end) << text;
      for (const Token &t : list.tokens)
        ASSERT_TRUE(t.loc.begin <= t.loc.end && t.loc.end <= text.size()) << text;
    } catch (const CompileError &error) {
      ASSERT_EQ(error.found()[0].code, Code::E100) << text;
    }
  }
}

TEST(DefinitionLines, count_decorators_header_and_block) {
  EXPECT_EQ(definition_lines("def f(a):\n    return a\n\nx = 1\n"), 2u);
  EXPECT_EQ(definition_lines("@kw.kernel\n@other(\n  1)\ndef f(a,\n      b):\n    x\n    y\ndef g(): pass\n"),
            7u);
  EXPECT_EQ(definition_lines("    def f(a):\n        x\n        y\n    def g(a):\n        z\n"), 3u);
  EXPECT_EQ(definition_lines("def f(a): return a\nx = 1\n"), 1u);
  EXPECT_EQ(definition_lines("def f(a):\n    return a"), 2u);
  EXPECT_EQ(definition_lines("def f(a):\n    '''text\nmore\n'''\n    return a\nx\n"), 5u);
}

TEST(DefinitionLines, malformed_text_is_e100) {
  try {
    definition_lines("def f(:\n    'open\n");
    FAIL() << "accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E100);
  }
}

}  // namespace
}  // namespace kw
