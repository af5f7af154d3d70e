// The order of a rewrite: children before the node, the heads of a chain in source order, its links from the
// innermost outwards. Decides no replacement.
#include "ir/rewrite.h"

namespace kw::detail {

namespace {

template <class H>
bool map_list(std::vector<H> &list, Rebuild &f) {
  bool changed = false;
  for (H &h : list) {
    H mapped = f(h);
    changed |= mapped.p != h.p;
    h = std::move(mapped);
  }
  return changed;
}

template <class H>
bool map_one(H &h, Rebuild &f) {
  if (!h) return false;
  H mapped = f(h);
  bool changed = mapped.p != h.p;
  h = std::move(mapped);
  return changed;
}

/// One after the other, all of them.
template <class... Hs>
bool map_each(Rebuild &f, Hs &...hs) {
  bool changed = false;
  ((changed |= map_one(hs, f)), ...);
  return changed;
}

bool map_fields(decltype(ExprNode::v) &v, Rebuild &f) {
  return std::visit(
      Overload{[](Const &) { return false; }, [](Ref &) { return false; },
               [&](Load &n) { return map_list(n.index, f); }, [&](Unary &n) { return map_one(n.a, f); },
               [&](Binary &n) { return map_each(f, n.a, n.b); },
               [&](Logic &n) { return map_each(f, n.a, n.b); },
               [&](Select &n) { return map_each(f, n.cond, n.yes, n.no); },
               [&](Cast &n) { return map_one(n.a, f); }, [&](Call &n) { return map_list(n.args, f); }},
      v);
}

/// Maps everything below a statement but its chain continuation.
bool map_heads(decltype(StmtNode::v) &v, Rebuild &f) {
  return std::visit(
      Overload{[&](Store &n) {
                 bool changed = map_list(n.index, f);
                 return map_one(n.value, f) || changed;
               },
               [&](Let &n) { return map_one(n.value, f); }, [](Alloc &) { return false; },
               [&](For &n) { return map_each(f, n.lo, n.hi, n.body); },
               [&](While &n) { return map_each(f, n.cond, n.body); }, [](Jump &) { return false; },
               [&](If &n) { return map_each(f, n.cond, n.yes, n.no); },
               [&](Check &n) { return map_one(n.cond, f); },
               [&](Seq &n) {
                 bool changed = false;
                 for (size_t i = 0; i + 1 < n.items.size(); ++i) changed |= map_one(n.items[i], f);
                 return changed;
               }},
      v);
}

void set_next(decltype(StmtNode::v) &v, const Stmt &next) {
  if (auto *let = std::get_if<Let>(&v)) let->body = next;
  if (auto *alloc = std::get_if<Alloc>(&v)) alloc->body = next;
  if (auto *seq = std::get_if<Seq>(&v)) seq->items.back() = next;
}

/// Items that became sequences are spliced in: no Seq stands directly in another.
Stmt remake(Loc loc, decltype(StmtNode::v) v) {
  if (auto *items = std::get_if<Seq>(&v)) return seq(std::move(items->items), loc);
  return make_stmt(loc, std::move(v));
}

}  // namespace

Expr Rebuild::operator()(const Expr &e) {
  if (auto found = exprs_.find(e.p.get()); found != exprs_.end()) return found->second;
  auto v = e.p->v;
  Expr rebuilt = map_fields(v, *this) ? make_expr(e.dtype(), e.loc(), std::move(v)) : e;
  Expr out = apply(rebuilt, e);
  if (e.p.use_count() > 1) exprs_.emplace(e.p.get(), out), keep_exprs_.push_back(e);
  return out;
}

Stmt Rebuild::operator()(const Stmt &root) {
  std::vector<Stmt> chain;
  const Stmt *s = &root;
  Stmt tail;
  for (; s && *s; s = chain_next(*s->p)) {
    if (auto found = stmts_.find(s->p.get()); found != stmts_.end()) {
      tail = found->second;
      break;
    }
    chain.push_back(*s);
  }
  std::vector<std::pair<decltype(StmtNode::v), bool>> parts;
  for (const Stmt &link : chain) {
    auto v = link.p->v;
    bool changed = map_heads(v, *this);
    parts.emplace_back(std::move(v), changed);
  }
  for (size_t i = chain.size(); i-- > 0;) {
    auto &[v, changed] = parts[i];
    if (const Stmt *old = chain_next(*chain[i].p)) {
      changed |= old->p != tail.p;
      set_next(v, tail);
    }
    Stmt rebuilt = changed ? remake(chain[i].loc(), std::move(v)) : chain[i];
    bool dissolved = as<Seq>(chain[i]) && !as<Seq>(rebuilt);  // its one item has met the rules already
    tail = dissolved ? rebuilt : apply(rebuilt, chain[i]);
    if (chain[i].p.use_count() > 1) stmts_.emplace(chain[i].p.get(), tail), keep_stmts_.push_back(chain[i]);
  }
  return tail;
}

}  // namespace kw::detail
