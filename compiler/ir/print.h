// Prints IR as canonical text, in kernel syntax under the line "# kw-ir 2". Equal functions print equal text
// in every process; the front end's IR mode parses it back. If an expression would be long as a tree, its
// repeated parts get names on lines before its statement, `share(1, x * x)`. Prints no colours and no source
// lines.
#pragma once

#include <string>

#include "ir/func.h"

namespace kw {

std::string print(const Func &f);
/// Prints one expression with the plain names of its symbols, for messages.
std::string print(const Expr &e);

std::string_view op_text(BinOp op);
std::string_view kind_text(ForKind kind);
std::string_view hint_text(Hint hint);
std::string_view value_text(SiteMessage::Value value);
std::string_view space_text(Space space);
std::string_view order_text(Order order);
std::string_view tail_text(Tail tail);
std::string_view fill_text(Fill fill);

}  // namespace kw
