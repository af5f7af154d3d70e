// Source text → tokens: indentation, comments, line joining, numbers, strings, UTF-8 names. Accepts every
// text that CPython's tokenizer accepts; the parser decides whether a token belongs to the language.
#pragma once

#include <vector>

#include "frontend/token.h"
#include "support/diagnostic.h"

namespace kw {

/// The tokens of one text. They view the text, which must outlive them.
struct TokenList {
  std::vector<Token> tokens;  ///< always ends with newline, dedents, end
  bool ir_mode = false;       ///< the first line is "# kw-ir 2"
};

/// The most characters of a kernel's text. Chosen: 20,000 lines, which take seconds to compile.
inline constexpr size_t max_text = 1'000'000;

/// Splits a text into tokens. Text that begins indented (a method's source) is read relative to its first
/// line's indentation. Throws CompileError E100 at the first character that starts no token, and E122 if the
/// text is too long.
TokenList tokenize(const SourceMap &sources, uint32_t source);

/// Returns the number of lines of the definition that `text` begins with: its decorators, its header and its
/// block. Throws CompileError E100 like tokenize.
uint32_t definition_lines(std::string_view text);

}  // namespace kw
