// Read-only traversal: every lambda names the kinds it wants and is called as f(kind, handle), parents before
// children, each shared node once. Buffers' extents are not visited: they belong to the declaration, see
// ir/func.
#pragma once

#include <tuple>
#include <unordered_set>

#include "ir/match.h"

namespace kw {

namespace detail {

template <class... Fs>
class Walker {
 public:
  explicit Walker(Fs &...fs) : f_{fs...} {}

  void visit(const Expr &e) {
    if (!e || (e.p.use_count() > 1 && !seen_.insert(e.p.get()).second)) return;
    call(e, e.p->v);
    match(
        e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &n) { visit_all(n.index); },
        [&](const Unary &n) { visit(n.a); }, [&](const Binary &n) { visit(n.a), visit(n.b); },
        [&](const Logic &n) { visit(n.a), visit(n.b); },
        [&](const Select &n) { visit(n.cond), visit(n.yes), visit(n.no); },
        [&](const Cast &n) { visit(n.a); }, [&](const Call &n) { visit_all(n.args); });
  }

  void visit(const Stmt &root) {
    const Stmt *s = &root;
    while (s && *s) {
      if (s->p.use_count() > 1 && !seen_.insert(s->p.get()).second) return;
      call(*s, s->p->v);
      visit_heads(*s);
      s = chain_next(*s->p);
    }
  }

 private:
  void visit_all(const std::vector<Expr> &list) {
    for (const Expr &e : list) visit(e);
  }

  /// Everything below a statement except the continuation of its chain.
  void visit_heads(const Stmt &s) {
    match(
        s, [&](const Store &n) { visit_all(n.index), visit(n.value); }, [&](const Let &n) { visit(n.value); },
        [](const Alloc &) {}, [&](const For &n) { visit(n.lo), visit(n.hi), visit(n.body); },
        [&](const While &n) { visit(n.cond), visit(n.body); }, [](const Jump &) {},
        [&](const If &n) { visit(n.cond), visit(n.yes), visit(n.no); },
        [&](const Check &n) { visit(n.cond); },
        [&](const Seq &n) {
          for (size_t i = 0; i + 1 < n.items.size(); ++i) visit(n.items[i]);
        });
  }

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
  std::unordered_set<const void *> seen_;
};

}  // namespace detail

template <class H, class... Fs>
void walk(const H &root, Fs &&...fs) {
  static_assert((detail::accepts_some_kind<Fs> && ...),
                "a lambda that can never be called: check its node and handle types");
  detail::Walker<std::remove_reference_t<Fs>...> walker(fs...);
  walker.visit(root);
}

}  // namespace kw
