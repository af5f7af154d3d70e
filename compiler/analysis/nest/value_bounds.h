// Whether the end of a loop stays far from the ends of 64 bits, so that sums over it cannot wrap. Sizes do,
// and iterators between such ends; a scalar argument does where it is one, or a fact ties it to one.
#pragma once

#include "analysis/nest/nest.h"
#include "ir/func.h"

namespace kw {

/// What is known at one place of a function. Refers to both, which must outlive it.
class ValueBounds {
 public:
  ValueBounds(const Func &f, const NestScope &scope) : f_(f), scope_(scope) {}

  /// True when the value is at most (`above`) or at least some 2^60 in size.
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
