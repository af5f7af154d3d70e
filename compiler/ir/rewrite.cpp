// Fixes the order of a rewrite: children before the node, the heads of a chain in source order, its links
// from the innermost outwards. Chooses no replacement.
#include "ir/rewrite.h"

#include <optional>

namespace kw::detail {

namespace {

/// Returns the list after the rewrite; empty if nothing changed.
template <class F>
std::vector<Expr> new_list(const std::vector<Expr> &list, F &f) {
  std::vector<Expr> out;
  for (size_t i = 0; i < list.size(); ++i) {
    Expr mapped = f(list[i]);
    if (out.empty() && mapped.p == list[i].p) continue;
    if (out.empty()) out = list;  // earlier items have not changed
    out[i] = std::move(mapped);
  }
  return out;
}

using Statement = decltype(StmtNode::v);

/// Copies a node kind and replaces its operands one by one; holds nothing until an operand has changed.
template <class K>
class Changed {
 public:
  explicit Changed(const K &old) : old_(old) {}
  template <class H>
  void set(H K::*member, H now) {
    if (now.p != (old_.*member).p) copy().*member = std::move(now);
  }
  void set(std::vector<Expr> K::*member, std::vector<Expr> now) {
    if (!now.empty()) copy().*member = std::move(now);
  }
  K &copy() {
    if (!new_) new_.emplace(old_);
    return std::get<K>(*new_);
  }
  std::optional<Statement> take() { return std::move(new_); }

 private:
  const K &old_;
  std::optional<Statement> new_;
};

/// Maps everything below a statement except its chain continuation; returns nothing if that changed nothing.
template <class F>
std::optional<Statement> with_new_heads(const Stmt &s, F &f) {
  auto one = [&](const auto &n, auto... members) {
    Changed out(n);
    (out.set(members, n.*members ? f(n.*members) : n.*members), ...);
    return out.take();
  };
  return match(
      s,
      [&](const Store &n) {
        Changed out(n);
        out.set(&Store::index, new_list(n.index, f));
        out.set(&Store::value, f(n.value));
        return out.take();
      },
      [&](const Let &n) { return one(n, &Let::value); },
      [](const Alloc &) { return std::optional<Statement>(); },
      [&](const For &n) { return one(n, &For::lo, &For::hi, &For::most_threads, &For::body); },
      [&](const While &n) { return one(n, &While::cond, &While::body); },
      [](const Jump &) { return std::optional<Statement>(); },
      [&](const If &n) { return one(n, &If::cond, &If::yes, &If::no); },
      [&](const Check &n) { return one(n, &Check::cond); },
      [&](const Seq &n) {
        Changed out(n);
        for (size_t i = 0; i + 1 < n.items.size(); ++i)
          if (Stmt now = f(n.items[i]); now.p != n.items[i].p) out.copy().items[i] = std::move(now);
        return out.take();
      });
}

/// Replaces the rest of a chain; the counterpart of next_in_block.
void set_next(Statement &v, const Stmt &next) {
  if (auto *let = std::get_if<Let>(&v)) let->body = next;
  if (auto *alloc = std::get_if<Alloc>(&v)) alloc->body = next;
  if (auto *seq = std::get_if<Seq>(&v)) seq->items.back() = next;
}

/// Rebuilds a statement. Splices in items that became sequences: no Seq may be an item of another.
Stmt remake(Loc loc, Statement v) {
  if (auto *items = std::get_if<Seq>(&v)) return seq(std::move(items->items), loc);
  return make_stmt(loc, std::move(v));
}

}  // namespace

/// Maps the operands of a node. Most nodes stay as they are, so nothing is copied before an operand has
/// changed. Each kind has a function of its own, so that the frames of a deep recursion hold the temporaries
/// of one kind only.
template <class F>
class Operands {
 public:
  explicit Operands(F &f) : f_(f) {}

  static Expr in(const Expr &e, const Const &) { return e; }
  static Expr in(const Expr &e, const Ref &) { return e; }
  [[gnu::noinline]] Expr in(const Expr &e, const Load &n) {
    std::vector<Expr> index = new_list(n.index, f_);
    return index.empty() ? e : made(e, Load{n.buf, std::move(index)});
  }
  [[gnu::noinline]] Expr in(const Expr &e, const Unary &n) {
    Expr a = f_(n.a);
    return a.p == n.a.p ? e : made(e, Unary{n.op, std::move(a)});
  }
  [[gnu::noinline]] Expr in(const Expr &e, const Binary &n) {
    Expr a = f_(n.a), b = f_(n.b);
    return a.p == n.a.p && b.p == n.b.p ? e : made(e, Binary{n.op, std::move(a), std::move(b)});
  }
  [[gnu::noinline]] Expr in(const Expr &e, const Logic &n) {
    Expr a = f_(n.a), b = f_(n.b);
    return a.p == n.a.p && b.p == n.b.p ? e : made(e, Logic{n.is_and, std::move(a), std::move(b)});
  }
  [[gnu::noinline]] Expr in(const Expr &e, const Select &n) {
    Expr cond = f_(n.cond), yes = f_(n.yes), no = f_(n.no);
    bool same = cond.p == n.cond.p && yes.p == n.yes.p && no.p == n.no.p;
    if (same) return e;
    return made(e, Select{std::move(cond), std::move(yes), std::move(no), n.eager_yes, n.eager_no});
  }
  [[gnu::noinline]] Expr in(const Expr &e, const Cast &n) {
    Expr a = f_(n.a);
    return a.p == n.a.p ? e : made(e, Cast{std::move(a), n.in_range});
  }
  [[gnu::noinline]] Expr in(const Expr &e, const Call &n) {
    std::vector<Expr> args = new_list(n.args, f_);
    return args.empty() ? e : made(e, Call{n.fn, std::move(args)});
  }

 private:
  template <class K>
  [[gnu::noinline]] static Expr made(const Expr &e, K n) {
    return make_expr(e.dtype(), e.loc(), std::move(n));
  }

  F &f_;
};

/// Applies one function to the expressions of a statement and another to the statements below it.
struct PartsMap {
  const std::function<Expr(const Expr &)> &expr;
  const std::function<Stmt(const Stmt &)> &stmt;
  Expr operator()(const Expr &e) const { return expr(e); }
  Stmt operator()(const Stmt &s) const { return stmt(s); }
};

Expr Rebuild::with_new_operands(const Expr &e) {
  return std::visit([&](const auto &n) { return Operands(*this).in(e, n); }, e->v);
}

Expr Rebuild::operator()(const Expr &e) {
  if (!changes_expressions_) return e;
  // a node with one owner is visited once: only shared nodes need the table
  bool is_shared = e.p.use_count() > 1;
  if (const Expr *found = is_shared ? exprs_.find(e.p.get()) : nullptr) return *found;
  Expr out = apply(with_new_operands(e), e);
  if (is_shared && exprs_.insert(e.p.get(), out)) keep_exprs_.push_back(e);
  return out;
}

Stmt Rebuild::operator()(const Stmt &root) {
  // follows the chain to its end, or to a shared statement that is rebuilt already
  std::vector<const Stmt *> chain;
  const Stmt *s = &root;
  Stmt tail;
  for (; s && *s; s = next_in_block(*s->p)) {
    if (const Stmt *found = s->p.use_count() > 1 ? stmts_.find(s->p.get()) : nullptr) {
      tail = *found;
      break;
    }
    chain.push_back(s);
  }
  std::vector<std::optional<Statement>> changed;
  changed.reserve(chain.size());
  // heads in source order: rules see a definition before its uses
  for (const Stmt *link : chain) changed.push_back(with_new_heads(*link, *this));
  // then the links from the last to the first: each one holds its rebuilt successor
  for (size_t i = chain.size(); i-- > 0;) {
    std::optional<Statement> &now = changed[i];
    if (const Stmt *old = next_in_block(*chain[i]->p); old && old->p != tail.p)
      set_next(now ? *now : now.emplace(chain[i]->p->v), tail);
    Stmt rebuilt = now ? remake(chain[i]->loc(), std::move(*now)) : *chain[i];
    bool dissolved = as<Seq>(*chain[i]) && !as<Seq>(rebuilt);  // the rules have seen its one item
    tail = dissolved ? rebuilt : apply(rebuilt, *chain[i]);
    bool is_shared = chain[i]->p.use_count() > 1;
    if (is_shared && stmts_.insert(chain[i]->p.get(), tail)) keep_stmts_.push_back(*chain[i]);
  }
  return tail;
}

}  // namespace kw::detail

namespace kw {

Expr map_operands(const Expr &e, const std::function<Expr(const Expr &)> &f) {
  return std::visit([&](const auto &n) { return detail::Operands(f).in(e, n); }, e->v);
}

Stmt map_parts(const Stmt &s, const std::function<Expr(const Expr &)> &of_expr,
               const std::function<Stmt(const Stmt &)> &of_stmt) {
  const detail::PartsMap f{of_expr, of_stmt};
  std::optional<decltype(StmtNode::v)> changed = detail::with_new_heads(s, f);
  if (const Stmt *rest = next_in_block(*s.p); rest && *rest)
    if (Stmt now = of_stmt(*rest); now.p != rest->p)
      detail::set_next(changed ? *changed : changed.emplace(s->v), now);
  return changed ? detail::remake(s.loc(), std::move(*changed)) : s;
}

}  // namespace kw
