// Read-only traversal: every lambda names the kinds it wants and is called as f(kind, handle), parents before
// children, each shared node once. Buffers' extents are not visited: they belong to the declaration, see
// ir/func.
#pragma once

#include <tuple>

#include "ir/match.h"
#include "support/pointer_map.h"

namespace kw {

namespace detail {

/// The way through the nodes, which is the same for all lambdas.
class Traversal {
 public:
  void visit(const Expr &e);
  void visit(const Stmt &root);

 protected:
  ~Traversal() = default;

 private:
  virtual void meet(const Expr &e) = 0;
  virtual void meet(const Stmt &s) = 0;
  void visit_all(const std::vector<Expr> &list);
  void visit_heads(const Stmt &s);

  PointerSet seen_;
};

template <class... Fs>
class Walker final : public Traversal {
 public:
  explicit Walker(Fs &...fs) : f_{fs...} {}

 private:
  void meet(const Expr &e) override { call(e, e.p->v); }
  void meet(const Stmt &s) override { call(s, s.p->v); }

  template <class H, class V>
  void call(const H &h, const V &v) {
    std::visit([&](const auto &kind) { call_each(kind, h, std::index_sequence_for<Fs...>{}); }, v);
  }
  template <class K, class H, size_t... I>
  void call_each(const K &kind, const H &h, std::index_sequence<I...>) {
    (call_one(std::get<I>(f_), kind, h), ...);
  }
  template <class F, class K, class H>
  void call_one(F &f, const K &kind, const H &h) {
    if constexpr (std::is_invocable_v<F &, const K &, const H &>) f(kind, h);
  }

  std::tuple<Fs &...> f_;
};

}  // namespace detail

template <class H, class... Fs>
void walk(const H &root, Fs &&...fs) {
  static_assert((detail::accepts_some_kind<Fs> && ...),
                "a lambda that can never be called: check its node and handle types");
  detail::Walker<std::remove_reference_t<Fs>...> walker(fs...);
  walker.visit(root);
}

/// Calls visit(s) for each statement below a root in source order, those in loops and branches too: a loop or
/// branch comes before its blocks, which are left out if visit returns false. Unlike `walk` it does not look
/// at expressions and meets shared statements each time.
template <class F>
void for_each_statement(const Stmt &root, F &&visit) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    if (!visit(*s)) continue;
    if (const For *n = as<For>(*s)) for_each_statement(n->body, visit);
    if (const While *n = as<While>(*s)) for_each_statement(n->body, visit);
    if (const If *n = as<If>(*s)) for_each_statement(n->yes, visit), for_each_statement(n->no, visit);
    if (const Seq *n = as<Seq>(*s))
      for (size_t i = 0; i + 1 < n->items.size(); ++i) for_each_statement(n->items[i], visit);
  }
}

/// Calls visit(e) for each expression that a statement below evaluates: one that statements share comes once
/// for each of them, where `walk` meets its nodes once in all.
template <class F>
void for_each_evaluated(const Stmt &root, F &&visit) {
  walk(
      root,
      [&](const Store &n, const Stmt &) {
        for (const Expr &e : n.index) visit(e);
        visit(n.value);
      },
      [&](const Let &n, const Stmt &) { visit(n.value); },
      [&](const For &n, const Stmt &) { visit(n.lo), visit(n.hi); },
      [&](const While &n, const Stmt &) { visit(n.cond); }, [&](const If &n, const Stmt &) { visit(n.cond); },
      [&](const Check &n, const Stmt &) { visit(n.cond); });
}

}  // namespace kw
