// Tokens → syntax tree, by recursive descent. Reads every construct of the language and names every other
// construct of Python that it meets (E101, with the help to mend it); never crashes on any text. Knows no
// types.
#pragma once

#include "frontend/ast.h"
#include "frontend/lexer.h"

namespace kw {

/// Parses the first function definition of the text; decorators before it are skipped. Errors go to the sink;
/// the statements that had errors are left out. Throws CompileError when there is no function to speak of.
ast::Function parse_function(const TokenList &tokens, Sink &sink);

}  // namespace kw
