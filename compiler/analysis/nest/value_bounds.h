// Proves that a loop bound stays far from the limits of int64, so that sums over it cannot wrap. This holds
// for extents and for iterators between such bounds. It holds for a scalar argument if a fact relates it to
// an extent.
#pragma once

#include "analysis/nest/nest.h"
#include "ir/func.h"

namespace kw {

/// The bounds of values at one place of a function. Refers to `f` and `scope`, which must outlive it.
class ValueBounds {
 public:
  ValueBounds(const Func &f, const NestScope &scope) : f_(f), scope_(scope) {}

  /// Returns whether the value is at most 2^60 (`above`), or at least -2^60.
  bool bounded(const Expr &e, bool above) const;

 private:
  bool atom_bounded(const Expr &atom, bool above) const;
  bool name_bounded(const Sym &sym, bool above) const;
  bool iterator_bounded(const Sym &sym, bool above) const;
  bool is_size(const Sym &sym) const;
  bool argument_bounded(const Sym &sym, bool above) const;

  const Func &f_;
  const NestScope &scope_;
};

}  // namespace kw
