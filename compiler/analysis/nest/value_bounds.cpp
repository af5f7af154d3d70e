// Derives bounds from the form of an expression: sums, minima, quotients, and names by their kind.
#include "analysis/nest/value_bounds.h"

#include <algorithm>

#include "analysis/affine.h"
#include "ir/build.h"
#include "ir/match.h"

namespace kw {

namespace {
constexpr int64_t most_factor = 1 << 10;
bool within(int64_t value, int64_t limit) { return -limit < value && value < limit; }
}  // namespace

bool ValueBounds::bounded(const Expr &e, bool above) const {
  auto form = affine_of(e);
  if (!form || form->terms.size() > 8 || !within(form->constant, max_extent)) return false;
  return std::all_of(form->terms.begin(), form->terms.end(), [&](const AffineTerm &t) {
    return within(t.coefficient, most_factor) && atom_bounded(t.atom, above == (t.coefficient > 0));
  });
}

bool ValueBounds::atom_bounded(const Expr &atom, bool above) const {
  if (const Ref *name = as<Ref>(atom)) return name_bounded(name->sym, above);
  const Binary *n = as<Binary>(atom);
  if (!n) return false;
  // one operand of a minimum bounds it from above; from below both operands must be bounded
  bool one_suffices = n->op == (above ? BinOp::min : BinOp::max);
  if (n->op == BinOp::min || n->op == BinOp::max)
    return one_suffices ? bounded(n->a, above) || bounded(n->b, above)
                        : bounded(n->a, above) && bounded(n->b, above);
  auto divisor = as_int(n->b);
  return n->op == BinOp::floor_div && divisor && *divisor > 0 && bounded(n->a, above);
}

bool ValueBounds::name_bounded(const Sym &sym, bool above) const {
  if (sym->kind == SymKind::extent) return true;
  if (sym->kind == SymKind::iter) return iterator_bounded(sym, above);
  auto value =
      std::find_if(scope_.begin(), scope_.end(), [&](const ScopeItem &item) { return item.sym == sym; });
  if (value != scope_.end()) return value->expr.dtype() == DType::i64 && bounded(value->expr, above);
  return is_size(sym) || argument_bounded(sym, above);
}

/// Returns whether the bounds of its loop bound the iterator.
bool ValueBounds::iterator_bounded(const Sym &sym, bool above) const {
  auto loop = std::find_if(scope_.begin(), scope_.end(),
                           [&](const ScopeItem &item) { return item.loop && item.loop->iter == sym; });
  if (loop == scope_.end()) return false;
  const For &n = *loop->loop;
  return bounded(above == (n.step > 0) ? n.hi : n.lo, above);
}

/// Returns whether the symbol is an extent of a result: its memory exists, which bounds the extent.
bool ValueBounds::is_size(const Sym &sym) const {
  return std::any_of(f_.params.begin(), f_.params.end(), [&](const Param &p) {
    if (!p.buf || p.mode != ParamMode::out) return false;
    return std::any_of(p.buf->extents.begin(), p.buf->extents.end(), [&](const Expr &e) {
      const Ref *name = as<Ref>(e);
      return name && name->sym == sym;
    });
  });
}

/// Returns whether a fact of the call, `low <= high` between the argument and sizes, bounds the argument.
bool ValueBounds::argument_bounded(const Sym &sym, bool above) const {
  return std::any_of(f_.facts.begin(), f_.facts.end(), [&](const Expr &fact) {
    const Binary *n = as<Binary>(fact);
    if (!n || n->op != BinOp::le) return false;
    auto low = affine_of(n->a), high = affine_of(n->b);
    auto room = low && high ? add_scaled(*high, *low, -1) : std::nullopt;
    bool tied = false, sizes = room && within(room->constant, max_extent);
    for (size_t i = 0; sizes && i < room->terms.size(); ++i) {
      const Ref *name = as<Ref>(room->terms[i].atom);
      bool is_argument = name && name->sym == sym;
      tied |= is_argument && above == (room->terms[i].coefficient < 0);
      sizes = is_argument || is_extent(room->terms[i].atom);
    }
    return tied && sizes;
  });
}

}  // namespace kw
