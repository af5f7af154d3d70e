// Tokens → syntax tree, by recursive descent. Reads every construct of the language. Refuses every other
// construct of Python by name (E101, with advice). Never crashes on any text. Knows no types.
#pragma once

#include "frontend/ast.h"
#include "frontend/lexer.h"

namespace kw {

/// Parses the first function definition of the text; decorators before it are skipped. Errors go to the sink,
/// and statements with errors are left out. Throws CompileError if the text has no usable function.
ast::Function parse_function(const TokenList &tokens, Sink &sink);

}  // namespace kw
