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

/// The list after the rewrite; empty when nothing changed.
std::vector<Expr> new_list(const std::vector<Expr> &list, Rebuild &f) {
  std::vector<Expr> out;
  for (size_t i = 0; i < list.size(); ++i) {
    Expr mapped = f(list[i]);
    if (out.empty() && mapped.p == list[i].p) continue;
    if (out.empty()) out = list;  // those before it have not changed
    out[i] = std::move(mapped);
  }
  return out;
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

/// Most nodes stay as they are: nothing is copied before an operand has changed.
Expr Rebuild::with_new_operands(const Expr &e) {
  auto made = [&](decltype(ExprNode::v) v) { return make_expr(e.dtype(), e.loc(), std::move(v)); };
  auto one = [&](const Expr &a, auto make) {
    Expr x = (*this)(a);
    return x.p == a.p ? e : made(make(std::move(x)));
  };
  auto two = [&](const Expr &a, const Expr &b, auto make) {
    Expr x = (*this)(a), y = (*this)(b);
    return x.p == a.p && y.p == b.p ? e : made(make(std::move(x), std::move(y)));
  };
  auto several = [&](const std::vector<Expr> &list, auto make) {
    std::vector<Expr> changed = new_list(list, *this);
    return changed.empty() ? e : made(make(std::move(changed)));
  };
  return match(
      e, [&](const Const &) { return e; }, [&](const Ref &) { return e; },
      [&](const Load &n) {
        return several(n.index, [&](std::vector<Expr> index) { return Load{n.buf, std::move(index)}; });
      },
      [&](const Unary &n) { return one(n.a, [&](Expr a) { return Unary{n.op, std::move(a)}; }); },
      [&](const Binary &n) {
        return two(n.a, n.b, [&](Expr a, Expr b) { return Binary{n.op, std::move(a), std::move(b)}; });
      },
      [&](const Logic &n) {
        return two(n.a, n.b, [&](Expr a, Expr b) { return Logic{n.is_and, std::move(a), std::move(b)}; });
      },
      [&](const Select &n) {
        Expr cond = (*this)(n.cond), yes = (*this)(n.yes), no = (*this)(n.no);
        bool same = cond.p == n.cond.p && yes.p == n.yes.p && no.p == n.no.p;
        return same ? e : made(Select{std::move(cond), std::move(yes), std::move(no)});
      },
      [&](const Cast &n) { return one(n.a, [](Expr a) { return Cast{std::move(a)}; }); },
      [&](const Call &n) {
        return several(n.args, [&](std::vector<Expr> args) { return Call{n.fn, std::move(args)}; });
      });
}

Expr Rebuild::operator()(const Expr &e) {
  bool is_shared = e.p.use_count() > 1;
  if (const Expr *found = is_shared ? exprs_.find(e.p.get()) : nullptr) return *found;
  Expr out = apply(with_new_operands(e), e);
  if (is_shared && exprs_.insert(e.p.get(), out)) keep_exprs_.push_back(e);
  return out;
}

Stmt Rebuild::operator()(const Stmt &root) {
  std::vector<const Stmt *> chain;
  const Stmt *s = &root;
  Stmt tail;
  for (; s && *s; s = chain_next(*s->p)) {
    if (const Stmt *found = stmts_.find(s->p.get())) {
      tail = *found;
      break;
    }
    chain.push_back(s);
  }
  std::vector<std::pair<decltype(StmtNode::v), bool>> parts;
  for (const Stmt *link : chain) {
    auto v = link->p->v;
    bool changed = map_heads(v, *this);
    parts.emplace_back(std::move(v), changed);
  }
  for (size_t i = chain.size(); i-- > 0;) {
    auto &[v, changed] = parts[i];
    if (const Stmt *old = chain_next(*chain[i]->p)) {
      changed |= old->p != tail.p;
      set_next(v, tail);
    }
    Stmt rebuilt = changed ? remake(chain[i]->loc(), std::move(v)) : *chain[i];
    bool dissolved = as<Seq>(*chain[i]) && !as<Seq>(rebuilt);  // its one item has met the rules already
    tail = dissolved ? rebuilt : apply(rebuilt, *chain[i]);
    bool is_shared = chain[i]->p.use_count() > 1;
    if (is_shared && stmts_.insert(chain[i]->p.get(), tail)) keep_stmts_.push_back(*chain[i]);
  }
  return tail;
}

}  // namespace kw::detail
