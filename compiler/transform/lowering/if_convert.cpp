// Follows the order in which code generation evaluates the expressions of a statement. Expressions evaluated
// before cost nothing. Expressions that one side of a branch evaluates are not available after it.
#include "transform/lowering/if_convert.h"

#include <memory>
#include <unordered_map>

#include "analysis/cost_model.h"
#include "analysis/vector/vectorization.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

// Most operations that are executed in any case rather than behind a branch. Chosen: a mispredicted branch
// costs some 15 cycles. In a vector loop a branch saves less: it is taken if any lane takes it.
constexpr int budget_of_value = 8, budget_of_vector = 32, budget_of_store = 2, budget_of_predicated = 16;

/// The expressions that a statement has evaluated so far, each with its converted form.
using Evaluated = std::unordered_map<const ExprNode *, Expr>;

/// The rest of a budget of operations after evaluating expressions; negative if they exceed it or load from
/// memory.
class Budget {
 public:
  Budget(const Evaluated &known, int budget) : known_(known), left_(budget) {}

  Budget &spend(const Expr &e) {
    if (left_ < 0 || known_.count(e.p.get()) || !counted_.insert(e.p.get()).second) return *this;
    // a load from memory may be out of bounds where the condition is false, so it must stay behind the branch
    if (const Load *n = as<Load>(e)) {
      left_ = n->buf->space == Space::registers ? left_ : -1;
      return *this;
    }
    if (const Binary *n = as<Binary>(e)) left_ -= static_cast<int>(cost_of(*n).code);
    if (const Call *n = as<Call>(e)) left_ -= static_cast<int>(cost_of(n->fn).code);
    for_each_operand(e, [&](const Expr &operand) { spend(operand); });
    return *this;
  }
  bool holds() const { return left_ >= 0; }
  int left() const { return left_; }

 private:
  const Evaluated &known_;
  std::unordered_set<const ExprNode *> counted_;
  int left_;
};

/// Converts the expressions of one statement.
class StatementConverter {
 public:
  /// `view` analyses the vector loop around the statement; null outside.
  explicit StatementConverter(VectorizationAnalysis *view) : view_(view) {}

  /// Returns the converted form. A shared node is converted once for each place that sees its value.
  Expr operator()(const Expr &e) {
    if (auto found = known_.find(e.p.get()); found != known_.end()) return found->second;
    Expr out = converted(e);
    known_.emplace(e.p.get(), out);
    return out;
  }

  std::vector<Expr> all(const std::vector<Expr> &list) {
    std::vector<Expr> out;
    for (const Expr &e : list) out.push_back((*this)(e));
    return out;
  }

  /// Returns whether executing `e` in any case costs at most `budget` operations and reads no memory.
  bool may_execute(const Expr &e, int budget) const { return Budget(known_, budget).spend(e).holds(); }

  /// Converts the condition of a `while`: in a vector loop, each operand of an `and` narrows the lane mask of
  /// the next.
  Expr condition(const Expr &e) {
    const Logic *n = view_ ? as<Logic>(e) : nullptr;
    if (!n || !n->is_and) return (*this)(e);
    Expr a = condition(n->a), b = condition(n->b);
    return remade(e, Logic{true, a, b}, a.p == n->a.p && b.p == n->b.p);
  }

  /// Returns the rest of a budget after executing a statement in all lanes. Negative if the statement does
  /// more than set mutable scalars to values that are safe to compute.
  int after_predicated(const Stmt &root, int budget) const {
    for_each_in_block(root, [&](const Stmt &s) {
      if (budget < 0) return;
      for_each_expression(s, [&](const Expr &e) { budget = Budget(known_, budget).spend(e).left(); });
      const Store *to = as<Store>(s);
      if (to) budget = to->buf->space == Space::registers && to->buf->rank() == 0 ? budget - 1 : -1;
      if (!to && !as<Let>(s) && !as<If>(s)) budget = -1;
      for_each_block(s, [&](const Stmt &block) { budget = after_predicated(block, budget); });
    });
    return budget;
  }

 private:
  static Expr remade(const Expr &e, decltype(ExprNode::v) v, bool same) {
    return same ? e : make_expr(e.dtype(), e.loc(), std::move(v));
  }
  bool is_eager(const Expr &e) const { return may_execute(e, view_ ? budget_of_vector : budget_of_value); }

  Expr converted(const Expr &e) {
    if (const Logic *n = as<Logic>(e)) return logic(e, *n);
    if (const Select *n = as<Select>(e)) return select(e, *n);
    return map_operands(e, [&](const Expr &operand) { return (*this)(operand); });
  }

  Expr logic(const Expr &e, const Logic &n) {
    Expr a = (*this)(n.a);
    if (is_eager(n.b)) {
      Expr b = (*this)(n.b);
      return make_expr(DType::b1, e.loc(), Binary{n.is_and ? BinOp::bit_and : BinOp::bit_or, a, b});
    }
    Expr b = on_one_side(n.b);
    return remade(e, Logic{n.is_and, a, b}, a.p == n.a.p && b.p == n.b.p);
  }

  /// Converts a select. In a vector loop, each side of a divergent select is decided by itself.
  Expr select(const Expr &e, const Select &n) {
    Expr cond = (*this)(n.cond), yes, no;
    bool eager_yes = is_eager(n.yes), eager_no = is_eager(n.no);
    if (view_ && view_->is_divergent(e)) {
      if (!eager_yes || !eager_no) evaluate_common(n.yes, n.no);
      eager_yes = is_eager(n.yes);
      yes = eager_yes ? (*this)(n.yes) : on_one_side(n.yes);
      eager_no = is_eager(n.no);
      no = eager_no ? (*this)(n.no) : on_one_side(n.no);
    } else if (eager_yes && eager_no) {
      yes = (*this)(n.yes), no = (*this)(n.no);
    } else {
      eager_yes = eager_no = false;
      evaluate_common(n.yes, n.no);
      yes = on_one_side(n.yes), no = on_one_side(n.no);
    }
    bool same = !eager_yes && !eager_no && cond.p == n.cond.p && yes.p == n.yes.p && no.p == n.no.p;
    return remade(e, Select{cond, yes, no, eager_yes, eager_no}, same);
  }

  /// Converts an expression that one side of a branch evaluates, and that is not available after it.
  Expr on_one_side(const Expr &e) {
    Evaluated before = known_;
    Expr out = (*this)(e);
    known_ = std::move(before);
    return out;
  }

  /// Converts what both sides evaluate: code generation evaluates it in front of the branch.
  void evaluate_common(const Expr &yes, const Expr &no) {
    std::unordered_set<const ExprNode *> of_yes, visited;
    for_each_certain(
        yes, [&](const Expr &e) { return !known_.count(e.p.get()) && of_yes.insert(e.p.get()).second; });
    for_each_certain(no, [&](const Expr &e) {
      if (of_yes.count(e.p.get())) return (*this)(e), false;
      return visited.insert(e.p.get()).second;
    });
  }

  VectorizationAnalysis *view_;
  Evaluated known_;
};

class IfConverter {
 public:
  explicit IfConverter(Stmt body) : body_(std::move(body)), in_vectors_(cells_in_vectors(body_)) {
    for_each_statement(body_, [&](const Stmt &s) {
      const For *n = as<For>(s);
      if (n && n->kind == ForKind::vector) note_vector_loop(*n);
      return !n || n->kind != ForKind::vector;
    });
  }

  Stmt run() {
    return rewrite(
        body_,
        [&](const Store &n, const Stmt &s, const Stmt &o) {
          StatementConverter convert(view_of(o));
          Store now{n.buf, {}, convert(n.value), n.order};
          now.index = convert.all(n.index);
          return remade(s, std::move(now), now_same(n, now));
        },
        [&](const Let &n, const Stmt &s, const Stmt &o) {
          Expr value = StatementConverter(view_of(o))(n.value);
          return remade(s, Let{n.sym, value, n.body}, value.p == n.value.p);
        },
        [&](const While &n, const Stmt &s, const Stmt &o) {
          Expr cond = StatementConverter(view_of(o)).condition(n.cond);
          return remade(s, While{cond, n.body}, cond.p == n.cond.p);
        },
        [&](const Check &n, const Stmt &s, const Stmt &o) {
          Expr cond = StatementConverter(view_of(o))(n.cond);
          return remade(s, Check{cond, n.site}, cond.p == n.cond.p);
        },
        [&](const For &n, const Stmt &s, const Stmt &o) {
          StatementConverter convert(view_of(o));
          For loop = n;
          loop.lo = convert(n.lo), loop.hi = convert(n.hi);
          bool same = loop.lo.p == n.lo.p && loop.hi.p == n.hi.p;
          return remade(s, std::move(loop), same);
        },
        [&](const If &n, const Stmt &s, const Stmt &o) { return branch(n, s, o); });
  }

 private:
  template <class K>
  static Stmt remade(const Stmt &s, K now, bool same) {
    return same ? s : make_stmt(s.loc(), std::move(now));
  }
  static bool now_same(const Store &n, const Store &now) {
    for (size_t i = 0; i < n.index.size(); ++i)
      if (n.index[i].p != now.index[i].p) return false;
    return n.value.p == now.value.p;
  }

  Stmt branch(const If &n, const Stmt &s, const Stmt &original) {
    VectorizationAnalysis *view = view_of(original);
    StatementConverter convert(view);
    Expr cond = convert(n.cond);
    const Store *store = view ? nullptr : store_to_select(*as<If>(original), in_vectors_);
    if (store) {
      Expr before = load(store->buf, {}, s.loc());
      Expr value = convert(store->value);
      Expr chosen = make_expr(value.dtype(), s.loc(), Select{cond, value, before, true, true});
      return make_stmt(s.loc(), Store{store->buf, {}, chosen, store->order});
    }
    bool predicated = view && may_be_predicated(*as<If>(original), convert);
    return remade(s, If{cond, n.yes, n.no, predicated}, cond.p == n.cond.p && !predicated);
  }

  static bool may_be_predicated(const If &n, const StatementConverter &convert) {
    return convert.after_predicated(n.yes, budget_of_predicated) >= 0 &&
           (!n.no || convert.after_predicated(n.no, budget_of_predicated) >= 0);
  }

  /// Analyses a vector loop for its statements that could be converted: they depend on how values differ by
  /// lane.
  void note_vector_loop(const For &n) {
    bool any = false;
    walk(
        n.body, [&](const Select &, const Expr &) { any = true; },
        [&](const Logic &, const Expr &) { any = true; }, [&](const If &, const Stmt &) { any = true; });
    if (!any) return;
    views_.push_back(std::make_unique<VectorizationAnalysis>(n));
    for_each_statement(n.body, [&](const Stmt &s) {
      view_of_[s.p.get()] = views_.back().get();
      return true;
    });
  }
  VectorizationAnalysis *view_of(const Stmt &s) const {
    auto found = view_of_.find(s.p.get());
    return found == view_of_.end() ? nullptr : found->second;
  }

  Stmt body_;
  std::unordered_set<const BufNode *> in_vectors_;
  std::vector<std::unique_ptr<VectorizationAnalysis>> views_;
  std::unordered_map<const StmtNode *, VectorizationAnalysis *> view_of_;
};

}  // namespace

std::unordered_set<const BufNode *> cells_in_vectors(const Stmt &body) {
  std::unordered_set<const BufNode *> out;
  walk(body, [&](const Alloc &n, const Stmt &) {
    if (n.in_vector) out.insert(n.buf.get());
  });
  return out;
}

const Store *store_to_select(const If &n, const std::unordered_set<const BufNode *> &in_vectors) {
  const Store *store = n.no ? nullptr : as<Store>(n.yes);
  bool is_cell = store && store->buf->space == Space::registers && store->buf->rank() == 0 &&
                 !in_vectors.count(store->buf.get());
  if (!is_cell) return nullptr;
  StatementConverter convert(nullptr);
  convert(n.cond);
  return convert.may_execute(store->value, budget_of_store) ? store : nullptr;
}

Func if_convert(const Func &f, const Target &) {
  bool any = false;
  walk(
      f.body, [&](const Select &, const Expr &) { any = true; },
      [&](const Logic &, const Expr &) { any = true; }, [&](const If &, const Stmt &) { any = true; });
  if (!any) return f;
  Func out = f;
  out.body = if_convert(f.body);
  return out;
}

Expr if_convert(const Expr &e) { return StatementConverter(nullptr)(e); }

Stmt if_convert(const Stmt &s) { return IfConverter(s).run(); }

}  // namespace kw
