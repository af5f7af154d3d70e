// A block of statements as a list that rewrites can split and join. Knows nothing about directives or
// dependences.
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

namespace kw {

/// One statement of a block. With `opens`, a Let or an Alloc stands for its head, and the rest of the list is
/// its scope.
struct ListItem {
  Stmt s;
  bool opens = false;
};
using StatementList = std::vector<ListItem>;

StatementList statements_of(const Stmt &root);
/// Joins a list to one statement; null if the list is empty. Drops heads whose scope is empty.
Stmt statement_of(const StatementList &chain);
void append(StatementList &to, const StatementList &more);

/// Returns the tree with this loop, which must be in it, replaced by a list.
Stmt replace_loop(const Stmt &root, const For *loop, const std::function<StatementList(const Stmt &)> &by);
/// Returns the tree with two loops replaced by a list. `second` follows `first` in the same block.
Stmt replace_pair(const Stmt &root, const For *first, const For *second,
                  const std::function<StatementList(const Stmt &, const Stmt &)> &by);
/// Returns whether two loops are adjacent in one block, in this order.
bool are_neighbours(const Stmt &root, const For *first, const For *second);

/// Returns the tree with one statement (by identity) replaced by another.
Stmt replace_statement(const Stmt &root, const Stmt &old, const Stmt &by);

/// Returns a loop at the same Loc with another body or head.
Stmt loop_like(const Stmt &original, For changed);

}  // namespace kw
