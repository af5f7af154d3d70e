// Copies of bodies, in sequence or interleaved.
#include "schedule/tree/apply_copies.h"

#include "ir/build.h"
#include "ir/match.h"
#include "schedule/tree/copy.h"

namespace kw {

std::vector<Stmt> copies_of(const Stmt &body, const Sym &iter, const std::vector<Expr> &values) {
  std::vector<Stmt> out;
  for (const Expr &value : values) {
    Substitution with;
    with.values[iter.get()] = value;
    out.push_back(copy_of(body, std::move(with)));
  }
  return out;
}

Chain one_after_another(const std::vector<Stmt> &bodies) {
  Chain out;
  for (const Stmt &body : bodies) append(out, chain_of(body));
  return out;
}

Chain side_by_side(const std::vector<Stmt> &bodies) {
  std::vector<Chain> chains;
  for (const Stmt &body : bodies) chains.push_back(chain_of(body));
  Chain out;
  for (size_t i = 0; i < chains[0].size(); ++i) {
    const For *first = chains[0][i].opens ? nullptr : as<For>(chains[0][i].s);
    if (!first) {
      for (const Chain &chain : chains) out.push_back(chain[i]);
      continue;
    }
    std::vector<Stmt> inner;
    for (const Chain &chain : chains) {
      const For *n = as<For>(chain[i].s);
      Substitution with;
      if (n != first) with.values[n->iter.get()] = kw::ref(first->iter);
      inner.push_back(substituted(n->body, with));
    }
    For merged = *first;
    merged.body = statement_of(side_by_side(inner));
    out.push_back({loop_like(chains[0][i].s, std::move(merged))});
  }
  return out;
}

}  // namespace kw
