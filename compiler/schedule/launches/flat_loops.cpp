// The innermost iterator is the remainder of a division by its trip count, the next one that of the quotient.
#include "schedule/launches/flat_loops.h"

#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"

namespace kw {

Expr iterations_of(const std::vector<const For *> &loops) {
  Expr out = const_int(1);
  for (const For *n : loops) out = mul(out, trips_of(*n));
  return out;
}

Stmt innermost_body(const std::vector<const For *> &loops, Loc loc) {
  Stmt out = loops.back()->body;
  for (size_t d = loops.size() - 1; d-- > 0;) {
    std::vector<const Let *> names;
    for (const Stmt *s = &loops[d]->body; as<Let>(*s); s = &as<Let>(*s)->body) names.push_back(as<Let>(*s));
    for (size_t i = names.size(); i-- > 0;) out = let(names[i]->sym, names[i]->value, out, loc);
  }
  return out;
}

std::vector<Expr> iterators_at(const std::vector<const For *> &loops, const Expr &k) {
  std::vector<Expr> out(loops.size());
  Expr rest = k;
  for (size_t d = loops.size(); d-- > 0;) {
    const For &n = *loops[d];
    Expr trips = cast(k.dtype(), trips_of(n));
    Expr number = cast(DType::i64, d ? binary(BinOp::floor_mod, rest, trips) : rest);
    out[d] = add(n.lo, mul(number, const_int(n.step)));
    if (d) rest = binary(BinOp::floor_div, rest, trips);
  }
  return out;
}

Stmt flat_iteration(const std::vector<const For *> &loops, const Sym &k, const Stmt &body) {
  Substitution with;
  std::vector<Expr> iterators = iterators_at(loops, kw::ref(k));
  for (size_t d = 0; d < loops.size(); ++d) {
    with.values[loops[d]->iter.get()] = iterators[d];
    with.loops[loops[d]->iter.get()] = d ? std::vector<Sym>{} : std::vector<Sym>{k};
  }
  return copy_of(body, std::move(with));
}

}  // namespace kw
