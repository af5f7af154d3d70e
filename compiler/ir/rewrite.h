// Bottom-up rewriting: every lambda is called as f(kind, rebuilt handle) and returns the replacement (or the
// handle). Unchanged parts are shared: when nothing matched the same pointer comes back. Each shared node is
// rewritten once. A lambda that takes a third argument gets the handle as it was before its children were
// rebuilt.
#pragma once

#include <tuple>
#include <unordered_map>

#include "ir/build.h"
#include "ir/match.h"

namespace kw {

namespace detail {

template <class H, class F>
bool map_list(std::vector<H> &list, F &f) {
  bool changed = false;
  for (H &h : list) {
    H mapped = f(h);
    changed |= mapped.p != h.p;
    h = std::move(mapped);
  }
  return changed;
}
template <class H, class F>
bool map_one(H &h, F &f) {
  if (!h) return false;
  H mapped = f(h);
  bool changed = mapped.p != h.p;
  h = std::move(mapped);
  return changed;
}

template <class F>
bool map_fields(decltype(ExprNode::v) &v, F &f) {
  return std::visit(
      Overload{[](Const &) { return false; }, [](Ref &) { return false; },
               [&](Load &n) { return map_list(n.index, f); }, [&](Unary &n) { return map_one(n.a, f); },
               [&](Binary &n) { return bool(int(map_one(n.a, f)) | int(map_one(n.b, f))); },
               [&](Logic &n) { return bool(int(map_one(n.a, f)) | int(map_one(n.b, f))); },
               [&](Select &n) {
                 return bool(int(map_one(n.cond, f)) | int(map_one(n.yes, f)) | int(map_one(n.no, f)));
               },
               [&](Cast &n) { return map_one(n.a, f); }, [&](Call &n) { return map_list(n.args, f); }},
      v);
}

/// Maps everything below a statement but its chain continuation.
template <class F>
bool map_heads(decltype(StmtNode::v) &v, F &f) {
  return std::visit(
      Overload{[&](Store &n) { return bool(int(map_list(n.index, f)) | int(map_one(n.value, f))); },
               [&](Let &n) { return map_one(n.value, f); }, [](Alloc &) { return false; },
               [&](For &n) {
                 return bool(int(map_one(n.lo, f)) | int(map_one(n.hi, f)) | int(map_one(n.body, f)));
               },
               [&](While &n) { return bool(int(map_one(n.cond, f)) | int(map_one(n.body, f))); },
               [](Jump &) { return false; },
               [&](If &n) {
                 return bool(int(map_one(n.cond, f)) | int(map_one(n.yes, f)) | int(map_one(n.no, f)));
               },
               [&](Check &n) { return map_one(n.cond, f); },
               [&](Seq &n) {
                 bool changed = false;
                 for (size_t i = 0; i + 1 < n.items.size(); ++i) changed |= map_one(n.items[i], f);
                 return changed;
               }},
      v);
}

template <class... Fs>
class Rewriter {
 public:
  explicit Rewriter(Fs &...fs) : rules_(fs...) {}

  Expr operator()(const Expr &e) {
    if (auto found = exprs_.find(e.p.get()); found != exprs_.end()) return found->second;
    auto v = e.p->v;
    Expr rebuilt = map_fields(v, *this) ? make_expr(e.dtype(), e.loc(), std::move(v)) : e;
    Expr out = apply(rebuilt, e);
    if (e.p.use_count() > 1) exprs_.emplace(e.p.get(), out), keep_exprs_.push_back(e);
    return out;
  }

  Stmt operator()(const Stmt &root) {
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
    // heads in source order, then the links from the innermost outwards
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

 private:
  static void set_next(decltype(StmtNode::v) &v, const Stmt &next) {
    if (auto *let = std::get_if<Let>(&v)) let->body = next;
    if (auto *alloc = std::get_if<Alloc>(&v)) alloc->body = next;
    if (auto *seq = std::get_if<Seq>(&v)) seq->items.back() = next;
  }

  /// Items that became sequences are spliced in: no Seq stands directly in another.
  static Stmt remake(Loc loc, decltype(StmtNode::v) v) {
    if (auto *items = std::get_if<Seq>(&v)) return seq(std::move(items->items), loc);
    return make_stmt(loc, std::move(v));
  }

  template <class H>
  H apply(const H &h, const H &original) {
    return std::visit([&](const auto &kind) { return apply_rules<0>(kind, h, original); }, h.p->v);
  }
  /// The first rule that takes this kind decides.
  template <size_t I, class K, class H>
  H apply_rules(const K &kind, const H &h, const H &original) {
    if constexpr (I == sizeof...(Fs)) {
      return h;
    } else {
      using F = std::tuple_element_t<I, std::tuple<Fs...>>;
      if constexpr (std::is_invocable_v<F &, const K &, const H &>)
        return std::get<I>(rules_)(kind, h);
      else if constexpr (std::is_invocable_v<F &, const K &, const H &, const H &>)
        return std::get<I>(rules_)(kind, h, original);
      else
        return apply_rules<I + 1>(kind, h, original);
    }
  }

  std::tuple<Fs &...> rules_;
  std::unordered_map<const void *, Expr> exprs_;
  std::unordered_map<const void *, Stmt> stmts_;
  std::vector<Expr> keep_exprs_;  // memo keys stay alive, so an address is never reused
  std::vector<Stmt> keep_stmts_;
};

}  // namespace detail

template <class H, class... Fs>
H rewrite(const H &root, Fs &&...fs) {
  static_assert((detail::accepts_some_kind<Fs> && ...),
                "a lambda that can never be called: check its node and handle types");
  detail::Rewriter<std::remove_reference_t<Fs>...> rewriter(fs...);
  return root ? rewriter(root) : root;
}

}  // namespace kw
