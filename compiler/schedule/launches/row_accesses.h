// Arrays through which a loop goes element by element, at one place in each iteration: copies of parts of
// them can stand in for them.
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"
#include "schedule/tree/accesses.h"

namespace kw {

/// An array whose elements a loop accesses at one place only.
struct RowAccess {
  Buf buf;
  std::vector<Expr> index;
  bool is_loaded = false;  ///< before the iteration itself has stored it
  bool is_stored = false;
};

/// Returns the arrays whose subscripts `is_place` accepts and that are safe to copy: where an iteration
/// stores, it always does, and what it loads exists in every iteration.
std::vector<RowAccess> row_accesses(const For &loop,
                                    const std::function<bool(const std::vector<Expr> &)> &is_place);

/// Returns whether copies of what a loop loads can be under way while a thread goes on: of four bytes or
/// more.
bool can_copy_ahead(const RowAccess &r);

/// Returns whether statements neither loop nor jump, check nothing and make no arrays.
bool is_straight(const Stmt &s);

}  // namespace kw
