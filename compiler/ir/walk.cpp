// Fixes the order of a walk: a node, then the nodes below it; follows a chain without recursion.
// Calls no lambda itself.
#include "ir/walk.h"

namespace kw::detail {

void Traversal::visit(const Expr &e) {
  if (!meets_expressions_ || !e || (e.p.use_count() > 1 && !seen_.insert(e.p.get()))) return;
  meet(e);
  for_each_operand(e, [&](const Expr &operand) { visit(operand); });
}

void Traversal::visit(const Stmt &root) {
  const Stmt *s = &root;
  while (s && *s) {
    if (s->p.use_count() > 1 && !seen_.insert(s->p.get())) return;
    meet(*s);
    for_each_expression(*s, [&](const Expr &e) { visit(e); });
    for_each_block(*s, [&](const Stmt &block) { visit(block); });
    if (const Seq *n = as<Seq>(*s))
      for (size_t i = 0; i + 1 < n->items.size(); ++i) visit(n->items[i]);
    s = next_in_block(*s->p);
  }
}

}  // namespace kw::detail
