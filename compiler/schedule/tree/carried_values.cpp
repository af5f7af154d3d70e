// Examines the statements of the loop in their order.
#include "schedule/tree/carried_values.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/affine.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// The subscripts of the element that a store wrote one iteration before. Empty if a subscript is not linear
/// in the iterator and loop-invariant values.
class PriorElement {
 public:
  PriorElement(const For &loop, const Store &n) {
    std::unordered_set<const SymNode *> own;
    walk(loop.body, [&](const Let &let, const Stmt &) { own.insert(let.sym.get()); });
    for (const Expr &i : n.index) {
      auto form = affine_of(i);
      if (form) form = shifted(*form, loop);
      bool fixed = form && std::all_of(form->terms.begin(), form->terms.end(), [&](const AffineTerm &t) {
                     const Ref *r = as<Ref>(t.atom);
                     return r && !own.count(r->sym.get());
                   });
      if (!fixed) {
        forms_.clear();
        return;
      }
      forms_.push_back(std::move(*form));
    }
  }
  bool known() const { return !forms_.empty(); }
  /// Returns whether the subscripts name this element in every iteration.
  bool is(const std::vector<Expr> &index) const {
    for (size_t d = 0; d < index.size(); ++d) {
      auto form = affine_of(index[d]);
      auto apart = form ? add_scaled(*form, forms_[d], -1) : std::nullopt;
      if (!apart || !apart->is_constant() || apart->constant != 0) return false;
    }
    return true;
  }
  /// Returns the subscripts in the first iteration.
  std::vector<Expr> at_first(const For &loop) const {
    std::vector<Expr> out;
    for (const Affine &form : forms_) {
      Expr first = rewrite(to_expr(form),
                           [&](const Ref &r, const Expr &e) { return r.sym == loop.iter ? loop.lo : e; });
      auto folded = affine_of(first);
      out.push_back(folded ? to_expr(*folded) : first);
    }
    return out;
  }

 private:
  /// Returns the form in terms of the iteration before: the iterator minus the step.
  static std::optional<Affine> shifted(Affine form, const For &loop) {
    for (const AffineTerm &t : form.terms) {
      const Ref *r = as<Ref>(t.atom);
      int64_t by;
      if (!r || r->sym != loop.iter) continue;
      if (__builtin_mul_overflow(t.coefficient, loop.step, &by)) return std::nullopt;
      if (__builtin_sub_overflow(form.constant, by, &form.constant)) return std::nullopt;
    }
    return form;
  }

  std::vector<Affine> forms_;
};

/// Finds the values that a loop carries through memory. Loops that are not innermost, or can end early, have
/// none.
class LoopSummary {
 public:
  explicit LoopSummary(const For &loop) : loop_(loop) {
    bool plain = loop.kind == ForKind::serial;
    walk(
        loop.body, [&](const For &, const Stmt &) { plain = false; },
        [&](const While &, const Stmt &) { plain = false; },
        [&](const Jump &, const Stmt &) { plain = false; },
        [&](const Check &, const Stmt &) { plain = false; });
    if (!plain) return;
    walk(
        loop.body, [&](const Store &n, const Stmt &) { ++stores_[n.buf.get()]; },
        [&](const Alloc &n, const Stmt &) { own_.insert(n.buf.get()); });
    find_stores(loop.body);
  }
  std::vector<CarriedValue> found;

 private:
  /// Notes the stores that every iteration executes.
  void find_stores(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Store *n = as<Store>(s)) note(*n, s);
    });
  }

  /// Notes a store if some read of the prior element is certain and no such read follows the store. After it,
  /// the scalar holds the value of the present iteration.
  void note(const Store &n, const Stmt &s) {
    if (n.index.empty() || n.order == Order::lanes || stores_[n.buf.get()] != 1) return;
    if (n.buf->space == Space::registers || own_.count(n.buf.get())) return;
    PriorElement earlier(loop_, n);
    if (!earlier.known()) return;
    CarriedValue out{s.p.get(), n.buf, earlier.at_first(loop_)};
    store_ = s.p.get(), earlier_ = &earlier, certain_ = late_ = stored_ = false;
    look(loop_.body, out, true);
    if (certain_ && !late_) found.push_back(std::move(out));
  }

  /// Visits the reads of a block in order. `certain`: every iteration executes the block.
  void look(const Stmt &root, CarriedValue &out, bool certain) {
    for_each_in_block(root, [&](const Stmt &s) {
      for_each_expression(s, [&](const Expr &e) { reads(e, out, certain); });
      for_each_block(s, [&](const Stmt &block) { look(block, out, false); });
      stored_ = stored_ || s.p.get() == store_;
    });
  }

  void reads(const Expr &e, CarriedValue &out, bool certain) {
    // Operands that may not be evaluated prove nothing. The load before the loop needs one read that is sure
    // to execute in the first iteration.
    std::unordered_set<const ExprNode *> lazy;
    auto skip = [&](const Expr &part) {
      walk(part, [&](const Load &, const Expr &l) { lazy.insert(l.p.get()); });
    };
    walk(
        e, [&](const Logic &n, const Expr &) { skip(n.b); },
        [&](const Select &n, const Expr &) { skip(n.yes), skip(n.no); },
        [&](const Load &n, const Expr &l) {
          if (n.buf != out.buf || !earlier_->is(n.index)) return;
          late_ = late_ || stored_;
          certain_ = certain_ || (certain && !lazy.count(l.p.get()));
          out.reads.insert(l.p.get());
        });
  }

  const For &loop_;
  std::unordered_map<const BufNode *, int> stores_;
  std::unordered_set<const BufNode *> own_;  ///< buffers that each iteration makes anew
  const StmtNode *store_ = nullptr;
  const PriorElement *earlier_ = nullptr;
  bool certain_ = false, late_ = false, stored_ = false;
};

}  // namespace

std::vector<CarriedValue> carried_values(const For &loop) { return std::move(LoopSummary(loop).found); }

Stmt with_carried_scalar(const Stmt &s, const CarriedValue &c) {
  const For &loop = *as<For>(s);
  DType t = c.buf->dtype;
  Buf last = make_buf(make_sym(SymKind::buffer, t, "last"), {}, Space::registers);
  Sym value = make_sym(SymKind::local, t, "value");
  For out = loop;
  out.body = rewrite(
      loop.body,
      [&](const Load &, const Expr &e, const Expr &original) {
        return c.reads.count(original.p.get()) ? load(last, {}) : e;
      },
      [&](const Store &n, const Stmt &same, const Stmt &original) {
        if (original.p.get() != c.store) return same;
        Expr v = kw::ref(value);
        return let(value, n.value, seq({store(n.buf, n.index, v, same.loc()), store(last, {}, v)}));
      });
  bool up = loop.step > 0;
  Expr runs = binary(BinOp::lt, up ? loop.lo : loop.hi, up ? loop.hi : loop.lo);
  Expr none = constant(Value{t, 0});
  // Without an iteration the element may not exist, so the first load is conditional.
  Stmt before = store(last, {}, select(runs, load(c.buf, c.first), none));
  return alloc(last, Fill::none, seq({before, for_loop(std::move(out), s.loc())}));
}

}  // namespace kw
