// Source text → tokens: indentation, comments, line joining, numbers, strings, UTF-8 names. Accepts whatever
// CPython's tokenizer accepts; whether a token belongs to the language is the parser's question.
#pragma once

#include <vector>

#include "frontend/token.h"
#include "support/diagnostic.h"

namespace kw {

/// The tokens of one text, which they view.
struct TokenList {
  std::vector<Token> tokens;  ///< always ends with newline, dedents, end
  bool ir_mode = false;       ///< the first line is "# kw-ir 2"
};

/// The most characters of a kernel's text; chosen: 20,000 lines, for which a compilation takes seconds.
inline constexpr size_t max_text = 1'000'000;

/// Throws CompileError E100 at the first character that starts no token, and E122 for a text that is too
/// long. Text that begins indented (a method's source) is read relative to its first line's indentation.
TokenList tokenize(const SourceMap &sources, uint32_t source);

/// Number of lines of the definition that `text` begins with: its decorators, its header and its block.
/// Throws CompileError E100 like tokenize.
uint32_t definition_lines(std::string_view text);

}  // namespace kw
