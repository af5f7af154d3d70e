// Traverses IR without changing it. `walk` calls every lambda for the kinds it takes as f(kind, handle),
// parents before children, each shared node once. `for_each_…` visits the parts of one node, for traversals
// that keep a scope of their own. Skips the extents of buffers: they belong to the declaration, see ir/func.
#pragma once

#include <tuple>

#include "ir/match.h"
#include "support/pointer_map.h"

namespace kw {

/// The condition for evaluating an operand: none, or that `cond` beside it has the value `holds`.
struct OperandGuard {
  const Expr *cond = nullptr;
  bool holds = true;
};

/// Calls f(operand, guard) for each operand of an expression in the order of evaluation.
template <class F>
void for_each_guarded_operand(const Expr &e, F &&f) {
  auto all = [&](const std::vector<Expr> &list) {
    for (const Expr &operand : list) f(operand, OperandGuard{});
  };
  match(
      e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &n) { all(n.index); },
      [&](const Unary &n) { f(n.a, OperandGuard{}); },
      [&](const Binary &n) { f(n.a, OperandGuard{}), f(n.b, OperandGuard{}); },
      [&](const Logic &n) { f(n.a, OperandGuard{}), f(n.b, OperandGuard{&n.a, n.is_and}); },
      [&](const Select &n) {
        f(n.cond, OperandGuard{}), f(n.yes, OperandGuard{&n.cond, true}),
            f(n.no, OperandGuard{&n.cond, false});
      },
      [&](const Cast &n) { f(n.a, OperandGuard{}); }, [&](const Call &n) { all(n.args); });
}

/// Calls f(operand) for each operand of an expression.
template <class F>
void for_each_operand(const Expr &e, F &&f) {
  for_each_guarded_operand(e, [&](const Expr &operand, const OperandGuard &) { f(operand); });
}

/// Calls f(operand) for the operands that the expression evaluates in any case.
template <class F>
void for_each_certain_operand(const Expr &e, F &&f) {
  for_each_guarded_operand(e, [&](const Expr &operand, const OperandGuard &guard) {
    if (!guard.cond) f(operand);
  });
}

/// Calls visit(e) for an expression and those below it that evaluating it evaluates in any case; the operands
/// of e are left out if visit returns false.
template <class F>
void for_each_certain(const Expr &e, const F &visit) {
  if (visit(e)) for_each_certain_operand(e, [&](const Expr &operand) { for_each_certain(operand, visit); });
}

/// Calls f(e) for each expression that a statement itself evaluates, subscripts before the value. Skips the
/// expressions in its blocks.
template <class F>
void for_each_expression(const Stmt &s, F &&f) {
  match(
      s,
      [&](const Store &n) {
        for (const Expr &i : n.index) f(i);
        f(n.value);
      },
      [&](const Let &n) { f(n.value); }, [](const Alloc &) {},
      [&](const For &n) {
        f(n.lo), f(n.hi);
        if (n.most_threads) f(n.most_threads);
      },
      [&](const While &n) { f(n.cond); }, [](const Jump &) {}, [&](const If &n) { f(n.cond); },
      [&](const Check &n) { f(n.cond); }, [](const Seq &) {});
}

/// Calls f(block) for the body of a loop and the branches of a conditional.
template <class F>
void for_each_block(const Stmt &s, F &&f) {
  match(
      s, [](const Store &) {}, [](const Let &) {}, [](const Alloc &) {}, [&](const For &n) { f(n.body); },
      [&](const While &n) { f(n.body); }, [](const Jump &) {},
      [&](const If &n) {
        f(n.yes);
        if (n.no) f(n.no);
      },
      [](const Check &) {}, [](const Seq &) {});
}

/// Calls f(s) for each statement of a block in source order; a sequence counts as its items.
template <class F>
void for_each_in_block(const Stmt &root, F &&f) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    const Seq *n = as<Seq>(*s);
    if (!n) f(*s);
    for (size_t i = 0; n && i + 1 < n->items.size(); ++i) for_each_in_block(n->items[i], f);
  }
}

/// Calls visit(s) for each statement below a root in source order, also in loops and branches. A loop or
/// branch comes before its blocks, which are skipped if visit returns false. Unlike `walk` it does not look
/// at expressions, and it visits shared statements each time.
template <class F>
void for_each_statement(const Stmt &root, F &&visit) {
  for_each_in_block(root, [&](const Stmt &s) {
    if (visit(s)) for_each_block(s, [&](const Stmt &block) { for_each_statement(block, visit); });
  });
}

namespace detail {

/// Traverses the nodes; this part is the same for all lambdas.
class Traversal {
 public:
  void visit(const Expr &e);
  void visit(const Stmt &root);

 protected:
  explicit Traversal(bool meets_expressions) : meets_expressions_(meets_expressions) {}
  ~Traversal() = default;

 private:
  virtual void meet(const Expr &e) = 0;
  virtual void meet(const Stmt &s) = 0;

  bool meets_expressions_;  ///< most walks need only statements, which are a fraction of the nodes
  PointerSet seen_;
};

template <class... Fs>
class Walker final : public Traversal {
 public:
  explicit Walker(Fs &...fs) : Traversal((accepts_expression<Fs> || ...)), f_{fs...} {}

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

/// Calls visit(e) for each expression that a statement below evaluates. An expression that several statements
/// share comes once for each of them, whereas `walk` visits its nodes once in all.
template <class F>
void for_each_evaluated(const Stmt &root, F &&visit) {
  auto each = [&](const auto &, const Stmt &s) { for_each_expression(s, visit); };
  walk(root, each);
}

}  // namespace kw
