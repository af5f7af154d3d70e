// Makes copies of bodies, in sequence or merged.
#include "schedule/tree/apply_copies.h"

#include "ir/build.h"
#include "ir/match.h"
#include "schedule/tree/load_cse.h"
#include "transform/copy.h"

namespace kw {

std::vector<Stmt> copies_of(const Stmt &body, const Sym &iter, const std::vector<Expr> &values) {
  std::vector<Stmt> out;
  for (const Expr &value : values) {
    Substitution with;
    with.values[iter.get()] = value;
    // Each copy has symbols of its own, so that several can stand in one block.
    out.push_back(copy_of(body, std::move(with)));
  }
  return out;
}

StatementList one_after_another(const std::vector<Stmt> &bodies) {
  StatementList out;
  for (const Stmt &body : bodies) append(out, statements_of(body));
  return out;
}

///     t = a[i]; for k: s[i] += b[i, k]       (copies for i and i + 1)
///       →   t = a[i]; u = a[i + 1]; for k: s[i] += b[i, k]; s[i + 1] += b[i + 1, k]
/// The bodies are copies of one body: statement number i has the same form in all of them.
StatementList side_by_side(const std::vector<Stmt> &bodies,
                           const std::unordered_set<const BufNode *> &apart) {
  std::vector<StatementList> chains;
  for (const Stmt &body : bodies) chains.push_back(statements_of(body));
  auto is_loop = [&](size_t i) { return !chains[0][i].opens && as<For>(chains[0][i].s); };
  StatementList out;
  for (size_t i = 0; i < chains[0].size(); ++i) {
    if (!is_loop(i)) {
      // All statements up to the next loop are merged together, so that they can share loads.
      size_t end = i + 1;
      while (end < chains[0].size() && !is_loop(end)) ++end;
      std::vector<StatementList> parts;
      for (const StatementList &chain : chains)
        parts.emplace_back(chain.begin() + static_cast<std::ptrdiff_t>(i),
                           chain.begin() + static_cast<std::ptrdiff_t>(end));
      append(out, eliminate_common_loads(parts, apart));
      i = end - 1;
      continue;
    }
    // The merged loop has the iterator and the bounds of the first copy. Bounds are equal in all copies
    // (directives/preconditions).
    const For *first = as<For>(chains[0][i].s);
    std::vector<Stmt> inner;
    for (const StatementList &chain : chains) {
      const For *n = as<For>(chain[i].s);
      Substitution with;
      if (n != first) with.values[n->iter.get()] = kw::ref(first->iter);
      inner.push_back(substituted(n->body, with));
    }
    For merged = *first;
    merged.body = statement_of(side_by_side(inner, apart));
    out.push_back({loop_like(chains[0][i].s, std::move(merged))});
  }
  return out;
}

}  // namespace kw
