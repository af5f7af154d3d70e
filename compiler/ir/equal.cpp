// Compares with a one-to-one map between the symbols of both sides.
#include "ir/equal.h"

#include <algorithm>
#include <unordered_map>

#include "ir/match.h"

namespace kw {

namespace {

/// Compares two trees node by node. For functions, symbols correspond in the order in which they are met. For
/// expressions (`free_must_match`), each symbol must be the same on both sides.
class Comparer {
 public:
  explicit Comparer(bool free_must_match) : free_must_match_(free_must_match) {}

  bool same(const Func &a, const Func &b);
  bool same(const Expr &a, const Expr &b);
  bool same(const Stmt &a, const Stmt &b);

 private:
  bool same_kind(const Expr &a, const Expr &b);
  bool same(const Sym &a, const Sym &b);
  bool same(const Buf &a, const Buf &b);
  bool same(const Param &a, const Param &b);
  bool same(const RowLength &a, const RowLength &b) { return a.length == b.length && same(a.buf, b.buf); }
  bool same(const Site &a, const Site &b) {
    return a.code == b.code && a.dim == b.dim && a.rank == b.rank && a.from_end == b.from_end &&
           a.is_unsigned == b.is_unsigned && a.message == b.message && same_of_site(a.buf, b.buf);
  }
  /// Compares the buffers of two sites. If the bodies no longer contain the buffers, the sites only keep
  /// names.
  bool same_of_site(const Buf &a, const Buf &b) {
    bool lost = a && b && !left_.count(a->sym.get()) && !right_.count(b->sym.get());
    return lost || same(a, b);
  }
  template <class T>
  bool same(const std::vector<T> &a, const std::vector<T> &b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i])) return false;
    return true;
  }
  /// Compares heads only: the caller follows the chain.
  bool same_head(const StmtNode &a, const StmtNode &b);

  bool free_must_match_;  ///< symbols are compared by identity
  std::unordered_map<const SymNode *, const SymNode *> left_, right_;
  std::unordered_map<const ExprNode *, const ExprNode *> found_same_;  ///< shared nodes are compared once
};

bool Comparer::same(const Sym &a, const Sym &b) {
  if (!a || !b) return !a && !b;
  if (free_must_match_) return a == b;
  if (a->dtype != b->dtype) return false;
  // both directions are recorded: two symbols of one side never correspond to the same one of the other
  auto l = left_.try_emplace(a.get(), b.get()).first->second;
  auto r = right_.try_emplace(b.get(), a.get()).first->second;
  return l == b.get() && r == a.get();
}

bool Comparer::same(const Buf &a, const Buf &b) {
  if (!a || !b) return !a && !b;
  if (a == b) return true;
  return same(a->sym, b->sym) && a->space == b->space && a->data == b->data && same(a->extents, b->extents) &&
         same(a->strides, b->strides);
}

bool Comparer::same(const Param &a, const Param &b) {
  return a.mode == b.mode && a.weak == b.weak && a.fill == b.fill && same(a.sym, b.sym) && same(a.buf, b.buf);
}

bool Comparer::same(const Func &a, const Func &b) {
  // extents and parameters come first: they relate the symbols that the rest uses
  return a.name == b.name && a.fp == b.fp && a.tuple_of_one == b.tuple_of_one && same(a.extents, b.extents) &&
         same(a.params, b.params) && same(a.facts, b.facts) && same(a.results, b.results) &&
         same(a.body, b.body) && same(a.sites, b.sites);
}

bool Comparer::same(const Expr &a, const Expr &b) {
  if (!a || !b) return !a && !b;
  // under a renaming a node may differ from itself: its symbol may correspond to another one
  if (a.p == b.p && free_must_match_) return true;
  if (a.dtype() != b.dtype() || a->v.index() != b->v.index()) return false;
  // shared nodes are remembered, because the expression as a tree can be exponentially large
  bool shared = a.p.use_count() > 1;
  if (shared)
    if (auto known = found_same_.find(a.p.get()); known != found_same_.end() && known->second == b.p.get())
      return true;
  if (!same_kind(a, b)) return false;
  if (shared) found_same_[a.p.get()] = b.p.get();
  return true;
}

bool Comparer::same_kind(const Expr &a, const Expr &b) {
  return match(
      a, [&](const Const &n) { return n.bits == as<Const>(b)->bits; },
      [&](const Ref &n) { return same(n.sym, as<Ref>(b)->sym); },
      [&](const Load &n) { return same(n.buf, as<Load>(b)->buf) && same(n.index, as<Load>(b)->index); },
      [&](const Unary &n) { return n.op == as<Unary>(b)->op && same(n.a, as<Unary>(b)->a); },
      [&](const Binary &n) {
        const Binary &m = *as<Binary>(b);
        return n.op == m.op && same(n.a, m.a) && same(n.b, m.b);
      },
      [&](const Logic &n) {
        const Logic &m = *as<Logic>(b);
        return n.is_and == m.is_and && same(n.a, m.a) && same(n.b, m.b);
      },
      [&](const Select &n) {
        const Select &m = *as<Select>(b);
        return n.eager_yes == m.eager_yes && n.eager_no == m.eager_no && same(n.cond, m.cond) &&
               same(n.yes, m.yes) && same(n.no, m.no);
      },
      [&](const Cast &n) { return n.in_range == as<Cast>(b)->in_range && same(n.a, as<Cast>(b)->a); },
      [&](const Call &n) { return n.fn == as<Call>(b)->fn && same(n.args, as<Call>(b)->args); });
}

bool Comparer::same(const Stmt &a, const Stmt &b) {
  // a loop follows the chains of Let, Alloc and Seq, which may be longer than the stack allows
  const Stmt *x = &a, *y = &b;
  for (;;) {
    if (!x || !y || !*x || !*y) return (!x || !*x) && (!y || !*y);
    if ((*x)->v.index() != (*y)->v.index() || !same_head(*x->p, *y->p)) return false;
    const Stmt *next_x = next_in_block(*x->p), *next_y = next_in_block(*y->p);
    if (!next_x || !next_y) return !next_x && !next_y;
    x = next_x, y = next_y;
  }
}

bool Comparer::same_head(const StmtNode &a, const StmtNode &b) {
  return std::visit(Overload{[&](const Store &n) {
                               const auto &m = std::get<Store>(b.v);
                               return n.order == m.order.order && same(n.order.band, m.order.band) &&
                                      same(n.buf, m.buf) && same(n.index, m.index) && same(n.value, m.value);
                             },
                             [&](const Let &n) {
                               const auto &m = std::get<Let>(b.v);
                               return same(n.value, m.value) && same(n.sym, m.sym);
                             },
                             [&](const Alloc &n) {
                               const auto &m = std::get<Alloc>(b.v);
                               return n.fill == m.fill && n.in_vector == m.in_vector && same(n.buf, m.buf);
                             },
                             [&](const For &n) {
                               const auto &m = std::get<For>(b.v);
                               // `id` is left out: it is no part of the meaning (LoopId)
                               return n.step == m.step && n.kind == m.kind && n.how == m.how &&
                                      n.hint == m.hint && same(n.iter, m.iter) && same(n.lo, m.lo) &&
                                      same(n.hi, m.hi) && same(n.most_threads, m.most_threads) &&
                                      same(n.row_lengths, m.row_lengths) && same(n.atomics, m.atomics) &&
                                      same(n.body, m.body);
                             },
                             [&](const While &n) {
                               const auto &m = std::get<While>(b.v);
                               return same(n.cond, m.cond) && same(n.body, m.body);
                             },
                             [&](const Jump &n) { return n.kind == std::get<Jump>(b.v).kind; },
                             [&](const If &n) {
                               const auto &m = std::get<If>(b.v);
                               return n.predicated == m.predicated && same(n.cond, m.cond) &&
                                      same(n.yes, m.yes) && same(n.no, m.no);
                             },
                             [&](const Check &n) {
                               const auto &m = std::get<Check>(b.v);
                               return n.site == m.site && same(n.cond, m.cond);
                             },
                             [&](const Seq &n) {
                               const auto &m = std::get<Seq>(b.v);
                               if (n.items.size() != m.items.size()) return false;
                               // the last item continues the chain, and the caller compares it
                               for (size_t i = 0; i + 1 < n.items.size(); ++i)
                                 if (!same(n.items[i], m.items[i])) return false;
                               return true;
                             }},
                    a.v);
}

}  // namespace

bool equal(const Func &a, const Func &b) { return Comparer(false).same(a, b); }
bool equal(const Expr &a, const Expr &b) { return Comparer(true).same(a, b); }
bool equal(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  auto same = [](const Expr &x, const Expr &y) { return equal(x, y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

}  // namespace kw
