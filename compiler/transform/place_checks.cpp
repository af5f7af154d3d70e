// Inserts all statements in one rewrite.
#include "transform/place_checks.h"

#include "ir/rewrite.h"

namespace kw {

Stmt under_path(const Access &a, Stmt s) {
  // The last condition is put around the statement first, so the first one ends up outermost:
  //     path (p, true), (q, false)   →   if p: if not q: s
  for (auto cond = a.path.rbegin(); cond != a.path.rend(); ++cond) {
    Expr holds = cond->second ? cond->first : unary(UnOp::logical_not, cond->first, a.loc);
    s = if_else(holds, s, {}, a.loc);
  }
  return s;
}

// Rewriting gives parents new nodes, so the maps are keyed by the original nodes.
Stmt place_checks(const Stmt &body, const Placed &before, const Placed &after) {
  return rewrite(body, [&](const auto &, const Stmt &s, const Stmt &original) {
    auto first = before.find(original.p.get()), last = after.find(original.p.get());
    if (first == before.end() && last == after.end()) return s;
    std::vector<Stmt> items;
    if (first != before.end()) items = first->second;
    if (const While *loop = as<While>(s)) {  // its condition is evaluated before each iteration
      Stmt leave = make_stmt(s.loc(), Jump{JumpKind::break_loop});
      items.push_back(if_else(unary(UnOp::logical_not, loop->cond, s.loc()), leave, {}, s.loc()));
      items.push_back(loop->body);
      return make_stmt(s.loc(), While{const_bool(true, s.loc()), seq(std::move(items))});
    }
    items.push_back(s);
    if (last != after.end()) items.insert(items.end(), last->second.begin(), last->second.end());
    return seq(std::move(items), s.loc());
  });
}

}  // namespace kw
