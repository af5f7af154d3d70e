// Copies of statements in which every bound symbol is a new one, so that a copy may stand beside its
// original, and symbols that are free in them get values. What is copied keeps its Locs. Decides nothing
// about where a copy goes.
#pragma once

#include <unordered_map>

#include "ir/node.h"

namespace kw {

/// What stands for the free symbols and buffers of a tree.
struct Substitution {
  std::unordered_map<const SymNode *, Expr> values{};
  std::unordered_map<const BufNode *, Buf> buffers{};
  /// The loops that run the iterations of a loop that went, outermost first: what marks of sums name now.
  std::unordered_map<const SymNode *, std::vector<Sym>> loops{};
};

/// The tree with its own loops, definitions and buffers under new identities of the same names; no statement
/// is shared with the original.
Stmt copy_of(const Stmt &root, Substitution with = {});

/// The same tree with free symbols replaced; its own symbols stay, so it must take the place of `root`.
Stmt substituted(const Stmt &root, const Substitution &with);
Expr substituted(const Expr &e, const Substitution &with);

}  // namespace kw
