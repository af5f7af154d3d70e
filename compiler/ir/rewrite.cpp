// The order of a rewrite: children before the node, the heads of a chain in source order, its links from the
// innermost outwards. Decides no replacement.
#include "ir/rewrite.h"

#include <optional>

namespace kw::detail {

namespace {

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

using Statement = decltype(StmtNode::v);

/// The copy of a kind in which one operand after the other takes the place of what it was; nothing until one
/// has changed.
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

/// A statement with everything below it mapped but its chain continuation; nothing when that changed nothing.
std::optional<Statement> with_new_heads(const Stmt &s, Rebuild &f) {
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
      [&](const For &n) { return one(n, &For::lo, &For::hi, &For::body); },
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

void set_next(Statement &v, const Stmt &next) {
  if (auto *let = std::get_if<Let>(&v)) let->body = next;
  if (auto *alloc = std::get_if<Alloc>(&v)) alloc->body = next;
  if (auto *seq = std::get_if<Seq>(&v)) seq->items.back() = next;
}

/// Items that became sequences are spliced in: no Seq stands directly in another.
Stmt remake(Loc loc, Statement v) {
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
  for (; s && *s; s = next_in_block(*s->p)) {
    if (const Stmt *found = s->p.use_count() > 1 ? stmts_.find(s->p.get()) : nullptr) {
      tail = *found;
      break;
    }
    chain.push_back(s);
  }
  std::vector<std::optional<Statement>> changed;
  changed.reserve(chain.size());
  for (const Stmt *link : chain) changed.push_back(with_new_heads(*link, *this));
  for (size_t i = chain.size(); i-- > 0;) {
    std::optional<Statement> &now = changed[i];
    if (const Stmt *old = next_in_block(*chain[i]->p); old && old->p != tail.p)
      set_next(now ? *now : now.emplace(chain[i]->p->v), tail);
    Stmt rebuilt = now ? remake(chain[i]->loc(), std::move(*now)) : *chain[i];
    bool dissolved = as<Seq>(*chain[i]) && !as<Seq>(rebuilt);  // its one item has met the rules already
    tail = dissolved ? rebuilt : apply(rebuilt, *chain[i]);
    bool is_shared = chain[i]->p.use_count() > 1;
    if (is_shared && stmts_.insert(chain[i]->p.get(), tail)) keep_stmts_.push_back(*chain[i]);
  }
  return tail;
}

}  // namespace kw::detail
