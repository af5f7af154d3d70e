// The expression half of the parser: a cursor over tokens and precedence climbing. Statements are in
// parser.cpp.
#pragma once

#include <algorithm>

#include "frontend/ast.h"
#include "frontend/lexer.h"

namespace kw {

/// A position in a list of tokens, which must outlive the cursor. The position never passes the last token,
/// so no caller needs to test for the end of the list.
class TokenCursor {
 public:
  explicit TokenCursor(const TokenList &list) : tokens_(list.tokens) {}

  const Token &peek(size_t ahead = 0) const { return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)]; }
  const Token &next() {
    const Token &t = peek();
    if (pos_ + 1 < tokens_.size()) ++pos_;
    return t;
  }
  bool accept(std::string_view word) { return peek().is(word) && (next(), true); }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  const Token &previous() const { return tokens_[pos_ ? pos_ - 1 : 0]; }

 private:
  const std::vector<Token> &tokens_;
  size_t pos_ = 0;
};

/// Throws a CompileError with one diagnostic; an empty help is omitted.
[[noreturn]] void parse_error(Code code, Loc loc, std::string message, std::string help = {});

/// Reads expressions by recursive descent. Each function begins at the first token of its construct and ends
/// after the last. It throws CompileError at the first error.
class ExprParser {
 public:
  explicit ExprParser(TokenCursor &cursor) : c_(cursor) {}

  /// Reads a ternary or a tighter expression.
  ast::ExprPtr expression();
  /// Reads an expression, or a tuple without parentheses.
  ast::ExprPtr expression_list();
  /// Reads an operand of a comparison: any expression tighter than `in`.
  ast::ExprPtr operand() { return arithmetic(1); }
  /// Throws E101 if the `as` of a with statement follows.
  void refuse_as();
  /// Consumes `word`, or throws E100: "expected WORD WHERE, found …".
  void expect(std::string_view word, std::string_view where);

 private:
  // The levels of the grammar, the loosest first; each reads its operands by the next one.
  //   expression     a if c else b
  //   logic_or       a or b
  //   logic_and      a and b
  //   logic_not      not a
  //   comparison     a < b <= c
  //   arithmetic     a | b, …, a + b, a * b
  //   factor         -a, a ** b
  //   postfix        a.b, a[i], a(b)
  //   atom           a, 1, "text", (a), [a, b]
  ast::ExprPtr logic_or();
  ast::ExprPtr logic_and();
  ast::ExprPtr logic_not();
  ast::ExprPtr comparison();
  ast::ExprPtr arithmetic(int min_level);
  ast::ExprPtr factor();
  ast::ExprPtr postfix();
  ast::ExprPtr atom();
  ast::ExprPtr literal(const Token &t);
  ast::ExprPtr display(const Token &open, std::string_view close);
  ast::ExprPtr subscript(ast::ExprPtr value);
  ast::ExprPtr slice_or_expression();
  ast::ExprPtr call(ast::ExprPtr callee);
  void refuse_comprehension();

  struct Guard;
  TokenCursor &c_;
  uint32_t expressions_ = 0, signs_ = 0;  // current nesting
};

}  // namespace kw
