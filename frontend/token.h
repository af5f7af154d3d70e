// Tokens of Python source, made by the lexer and read by the parser. They own no text except the values of
// strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/loc.h"

namespace kw {

/// The kinds of tokens that the parser distinguishes. A newline ends a logical line; joined lines have one.
enum class TokenKind : uint8_t {
  name,     ///< an identifier or a keyword
  integer,  ///< of any radix
  real,
  imaginary,  ///< refused by the parser
  string,
  fstring,  ///< also a t-string; refused by the parser
  bytes,    ///< refused by the parser
  op,       ///< an operator, a bracket or a delimiter
  newline,  ///< the end of a logical line
  indent,   ///< the beginning of a block
  dedent,   ///< the end of a block
  end       ///< always the last token
};

/// One token. `text` views the source text, which must outlive the token.
struct Token {
  TokenKind kind;
  Loc loc;
  std::string_view text;  ///< the characters in the source
  std::string value;      ///< string: the decoded value

  /// Returns whether the token is this operator, keyword or name. A string of the same text is none of them.
  bool is(std::string_view word) const {
    return (kind == TokenKind::op || kind == TokenKind::name) && text == word;
  }
};

}  // namespace kw
