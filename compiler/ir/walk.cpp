// The order of a walk: a node, then what stands below it; the continuation of a chain without recursion.
// Calls no lambda itself.
#include "ir/walk.h"

namespace kw::detail {

void Traversal::visit(const Expr &e) {
  if (!e || (e.p.use_count() > 1 && !seen_.insert(e.p.get()))) return;
  meet(e);
  match(
      e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &n) { visit_all(n.index); },
      [&](const Unary &n) { visit(n.a); }, [&](const Binary &n) { visit(n.a), visit(n.b); },
      [&](const Logic &n) { visit(n.a), visit(n.b); },
      [&](const Select &n) { visit(n.cond), visit(n.yes), visit(n.no); }, [&](const Cast &n) { visit(n.a); },
      [&](const Call &n) { visit_all(n.args); });
}

void Traversal::visit(const Stmt &root) {
  const Stmt *s = &root;
  while (s && *s) {
    if (s->p.use_count() > 1 && !seen_.insert(s->p.get())) return;
    meet(*s);
    visit_heads(*s);
    s = next_in_block(*s->p);
  }
}

void Traversal::visit_all(const std::vector<Expr> &list) {
  for (const Expr &e : list) visit(e);
}

/// Everything below a statement except the continuation of its chain.
void Traversal::visit_heads(const Stmt &s) {
  match(
      s, [&](const Store &n) { visit_all(n.index), visit(n.value); }, [&](const Let &n) { visit(n.value); },
      [](const Alloc &) {},
      [&](const For &n) { visit(n.lo), visit(n.hi), visit(n.most_threads), visit(n.body); },
      [&](const While &n) { visit(n.cond), visit(n.body); }, [](const Jump &) {},
      [&](const If &n) { visit(n.cond), visit(n.yes), visit(n.no); }, [&](const Check &n) { visit(n.cond); },
      [&](const Seq &n) {
        for (size_t i = 0; i + 1 < n.items.size(); ++i) visit(n.items[i]);
      });
}

}  // namespace kw::detail
