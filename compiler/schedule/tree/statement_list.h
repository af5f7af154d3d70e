// Chains of statements as lists, and the place of a loop in them: what the rewrites of schedules take apart
// and put together. Knows nothing of directives or dependences.
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

namespace kw {

/// One statement of a chain. A Let or an Alloc that `opens` stands for its head: its scope is the rest.
struct ListItem {
  Stmt s;
  bool opens = false;
};
using StatementList = std::vector<ListItem>;

StatementList statements_of(const Stmt &root);
/// Null for an empty chain. What opens a scope for nothing is left out.
Stmt statement_of(const StatementList &chain);
void append(StatementList &to, const StatementList &more);

/// The tree with the link that is this loop replaced by others; the loop must be in it.
Stmt replace_loop(const Stmt &root, const For *loop, const std::function<StatementList(const Stmt &)> &by);
/// The same for `first` and for `second`, which stands behind it in one chain: both go.
Stmt replace_pair(const Stmt &root, const For *first, const For *second,
                  const std::function<StatementList(const Stmt &, const Stmt &)> &by);
/// True when they are neighbours in one chain, in this order.
bool are_neighbours(const Stmt &root, const For *first, const For *second);

/// The tree with one statement (by identity) replaced by another.
Stmt replace_statement(const Stmt &root, const Stmt &old, const Stmt &by);

/// A loop of the same Loc with another body or head.
Stmt loop_like(const Stmt &original, For changed);

}  // namespace kw
