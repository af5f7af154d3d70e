// Tokens of Python source. The lexer makes them, the parser reads them; they own no text beyond string
// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/loc.h"

namespace kw {

enum class TokenKind : uint8_t {
  name,
  integer,
  real,
  imaginary,
  string,
  fstring,
  bytes,
  op,
  newline,
  indent,
  dedent,
  end
};

struct Token {
  TokenKind kind;
  Loc loc;
  std::string_view text;  ///< the characters in the source
  std::string value;      ///< string: the decoded value

  bool is(std::string_view word) const {
    return (kind == TokenKind::op || kind == TokenKind::name) && text == word;
  }
};

}  // namespace kw
