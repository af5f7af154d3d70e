// Copies statements with new identities for every bound symbol, so that a copy may stand beside its original,
// and substitutes free symbols. The copy keeps the Locs. Decides nothing about where a copy goes.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/node.h"

namespace kw {

/// The replacements for the free symbols and buffers of a tree.
struct Substitution {
  std::unordered_map<const SymNode *, Expr> values{};
  std::unordered_map<const BufNode *, Buf> buffers{};
  /// For a removed loop: the loops that execute its iterations now, outermost first. Marks of sums name them.
  std::unordered_map<const SymNode *, std::vector<Sym>> loops{};
};

/// Returns the tree with new identities, of the same names, for its loops, definitions and buffers. Shares no
/// statement with the original.
Stmt copy_of(const Stmt &root, Substitution with = {});

/// Returns the tree with free symbols replaced. It keeps its bound symbols, so it must replace `root`.
Stmt substituted(const Stmt &root, const Substitution &with);
Expr substituted(const Expr &e, const Substitution &with);

/// Replaces a Let by a cell: stores its value, then `rest` of the body, in which loads of the cell stand for
/// the name.
///     v = x[i]; y[i] = v   →   v[] = x[i]; y[i] = v[]
Stmt with_cell(const Let &n, const Loc &loc, const std::function<Stmt(const Stmt &)> &rest);

}  // namespace kw
