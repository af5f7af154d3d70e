// Dispatches exhaustively on the kind of a node: `match(e, [](const Load &) {…}, …)`. A missing kind is a
// compile error.
#pragma once

#include <utility>

#include "ir/node.h"

namespace kw {

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

template <class... Fs>
decltype(auto) match(const Expr &e, Fs &&...fs) {
  return std::visit(Overload{std::forward<Fs>(fs)...}, e.p->v);
}
template <class... Fs>
decltype(auto) match(const Stmt &s, Fs &&...fs) {
  return std::visit(Overload{std::forward<Fs>(fs)...}, s.p->v);
}

/// Returns the node as kind K, or null.
template <class K>
const K *as(const Expr &e) {
  return e ? std::get_if<K>(&e.p->v) : nullptr;
}
template <class K>
const K *as(const Stmt &s) {
  return s ? std::get_if<K>(&s.p->v) : nullptr;
}

namespace detail {
template <class F, class H, class V>
struct AcceptsAny;
template <class F, class H, class... Ks>
struct AcceptsAny<F, H, std::variant<Ks...>> {
  static constexpr bool value = ((std::is_invocable_v<F &, const Ks &, const H &> ||
                                  std::is_invocable_v<F &, const Ks &, const H &, const H &>) ||
                                 ...);
};
/// F can be called as f(kind, handle) or f(kind, handle, original) for a kind of Expr.
template <class F>
inline constexpr bool accepts_expression = AcceptsAny<F, Expr, decltype(ExprNode::v)>::value;
/// Likewise for a kind of Expr or of Stmt.
template <class F>
inline constexpr bool accepts_some_kind =
    accepts_expression<F> || AcceptsAny<F, Stmt, decltype(StmtNode::v)>::value;
}  // namespace detail

}  // namespace kw
