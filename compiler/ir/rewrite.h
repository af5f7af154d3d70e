// Rewrites bottom-up: calls the first lambda for the kind of each node as f(kind, rebuilt handle). The lambda
// returns the replacement, or the handle. Unchanged parts are shared: if nothing matched, the same pointer
// comes back. Each shared node is rewritten once. A lambda with a third argument gets the handle from before
// its children were rebuilt.
#pragma once

#include <functional>
#include <tuple>

#include "ir/build.h"
#include "ir/match.h"
#include "support/pointer_map.h"

namespace kw {

namespace detail {

/// Traverses and rebuilds nodes; this part is the same for all lambdas.
class Rebuild {
 public:
  Expr operator()(const Expr &e);
  Stmt operator()(const Stmt &root);

 protected:
  explicit Rebuild(bool changes_expressions) : changes_expressions_(changes_expressions) {}
  ~Rebuild() = default;

 private:
  Expr with_new_operands(const Expr &e);

  virtual Expr apply(const Expr &rebuilt, const Expr &original) = 0;
  virtual Stmt apply(const Stmt &rebuilt, const Stmt &original) = 0;

  bool changes_expressions_;  ///< some rule takes a kind of Expr
  PointerMap<Expr> exprs_;
  PointerMap<Stmt> stmts_;
  std::vector<Expr> keep_exprs_;  // memo keys stay alive, so an address is never reused
  std::vector<Stmt> keep_stmts_;
};

template <class... Fs>
class Rewriter final : public Rebuild {
 public:
  explicit Rewriter(Fs &...fs) : Rebuild((accepts_expression<Fs> || ...)), rules_(fs...) {}

 private:
  Expr apply(const Expr &e, const Expr &original) override { return choose(e, original); }
  Stmt apply(const Stmt &s, const Stmt &original) override { return choose(s, original); }

  template <class H>
  H choose(const H &h, const H &original) {
    return std::visit([&](const auto &kind) { return apply_rules<0>(kind, h, original); }, h.p->v);
  }
  /// Applies the first rule that takes this kind.
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
};

}  // namespace detail

template <class H, class... Fs>
H rewrite(const H &root, Fs &&...fs) {
  static_assert((detail::accepts_some_kind<Fs> && ...),
                "a lambda that can never be called: check its node and handle types");
  detail::Rewriter<std::remove_reference_t<Fs>...> rewriter(fs...);
  return root ? rewriter(root) : root;
}

/// Returns the expression with f(operand) for each operand, in the order of evaluation; the handle itself if
/// nothing changed.
Expr map_operands(const Expr &e, const std::function<Expr(const Expr &)> &f);

/// Returns the statement with the expressions that it evaluates, its blocks and the rest of its block
/// replaced; the handle itself if nothing changed.
Stmt map_parts(const Stmt &s, const std::function<Expr(const Expr &)> &of_expr,
               const std::function<Stmt(const Stmt &)> &of_stmt);

}  // namespace kw
