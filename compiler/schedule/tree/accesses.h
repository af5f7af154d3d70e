// Which statements access a buffer, and in which order. Looks at the text of a tree only: nothing is said of
// dependences.
#pragma once

#include <functional>

#include "ir/node.h"

namespace kw {

/// Returns whether an expression is the iterator and nothing else.
bool is_iterator(const Expr &e, const Sym &iter);

bool loads(const Expr &e, const Buf &b);
/// Return whether a statement, or one in it, accesses a buffer.
bool stores_to(const Stmt &s, const Buf &b);
bool accesses(const Stmt &s, const Buf &b);

/// Calls f(e) for what one statement of a block evaluates, with all that is in it. A name or an allocation
/// goes on with the statements behind it, which count for themselves.
void for_each_own(const Stmt &s, const std::function<void(const Expr &)> &f);

/// Returns whether the first statement of a block that accesses a buffer only stores to it, in all runs.
bool is_stored_first(const Stmt &block, const Buf &b);

}  // namespace kw
