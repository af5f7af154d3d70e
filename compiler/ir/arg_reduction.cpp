// Matches the pattern of an arg-reduction.
#include "ir/arg_reduction.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/walk.h"

namespace kw {

namespace {

bool loads_from(const Expr &e, const Buf &buf) {
  bool found = false;
  walk(e, [&](const Load &n, const Expr &) { found |= n.buf == buf; });
  return found;
}

/// Returns whether the subscripts are equal or all constant: a better iteration then overwrites what was
/// kept.
bool same_element(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  auto constants = [](const std::vector<Expr> &list) {
    return std::all_of(list.begin(), list.end(), [](const Expr &e) { return as<Const>(e) != nullptr; });
  };
  return (constants(a) && constants(b)) || equal(a, b);
}

/// Returns the stores of a block; empty if it holds any other statement.
std::vector<const Store *> stores_of(const Stmt &body) {
  std::vector<const Store *> stores;
  bool plain = true;
  for_each_in_block(body, [&](const Stmt &s) {
    const Store *store = as<Store>(s);
    plain = plain && store;
    if (store) stores.push_back(store);
  });
  return plain ? stores : std::vector<const Store *>{};
}

}  // namespace

ArgReductionForm match_arg_reduction(const If &n) {
  const Binary *c = as<Binary>(n.cond);
  if (!c || (c->op != BinOp::lt && c->op != BinOp::le) || n.no) return {};
  std::vector<const Store *> stores = stores_of(n.yes);
  for (const Store *s : stores)  // no stored value reads a buffer that is kept
    for (const Store *other : stores)
      if (loads_from(other->value, s->buf) || !same_element(s->index, stores[0]->index)) return {};
  for (const Store *s : stores)
    for (bool left : {true, false}) {
      const Expr &best = left ? c->a : c->b, &value = left ? c->b : c->a;
      const Load *l = as<Load>(best);
      bool reads_kept = std::any_of(stores.begin(), stores.end(),
                                    [&](const Store *o) { return loads_from(value, o->buf); });
      if (!l || !same_place(*l, *s) || !equal(s->value, value) || reads_kept) continue;
      ArgReductionForm out{best.p.get(), s->buf, value, c->op, left};
      for (const Store *o : stores) out.kept.push_back(o->buf);
      return out;
    }
  return {};
}

}  // namespace kw
