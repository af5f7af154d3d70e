// Estimates work and plans the workspace.
#include "analysis/cost.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "analysis/affine.h"
#include "analysis/cost_model.h"
#include "analysis/interval.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the operations of one statement. Each element of memory that is read or written counts as `access`
/// operations.
int64_t weight(const Stmt &s, int64_t access) {
  auto moves = [&](const Buf &b) { return b->space == Space::registers ? 1 : access; };
  int64_t n = as<Store>(s) ? moves(as<Store>(s)->buf) : 1;
  auto count = [&](const Expr &e) {
    walk(
        e, [&](const Binary &b, const Expr &) { n += cost_of(b).time; },
        [&](const Load &l, const Expr &) { n += moves(l.buf); },
        [&](const Call &c, const Expr &) { n += cost_of(c.fn).time; });
  };
  if (const Store *x = as<Store>(s)) count(x->value);
  if (const Let *x = as<Let>(s)) count(x->value);
  if (const If *x = as<If>(s)) count(x->cond);
  return n;
}

/// Finds extents that bound the trip count of a loop: each iteration accesses another element, at an index of
/// the form multiple of the iterator plus invariant.
class VisitedExtents {
 public:
  explicit VisitedExtents(const For &n) : loop_(n) {
    if (jumps_of(n.body).any()) return;
    walk(n.body, [&](const Let &let, const Stmt &) { own_.insert(let.sym.get()); });
    walk(n.body, [&](const For &inner, const Stmt &) { own_.insert(inner.iter.get()); });
    visit(n.body);
  }
  std::vector<Expr> found;

 private:
  void visit(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Let *n = as<Let>(s)) loads(n->value);
      if (const Store *n = as<Store>(s)) {
        loads(n->value);
        for (const Expr &i : n->index) loads(i);
        note(n->buf, n->index);
      }
    });
  }

  /// Skips operands that a lazy operator may not evaluate.
  void loads(const Expr &e) {
    for_each_certain_operand(e, [&](const Expr &operand) { loads(operand); });
    if (const Load *n = as<Load>(e)) note(n->buf, n->index);
  }

  void note(const Buf &buf, const std::vector<Expr> &index) {
    for (size_t d = 0; d < index.size(); ++d) {
      auto form = affine_of(index[d]);
      if (!form) continue;
      bool moves = false, fixed = true;
      for (const AffineTerm &t : form->terms) {
        const Ref *r = as<Ref>(t.atom);
        moves |= r && r->sym == loop_.iter;
        fixed = fixed && r && !own_.count(r->sym.get());
      }
      if (moves && fixed) found.push_back(buf->extents[d]);
    }
  }

  const For &loop_;
  std::unordered_set<const SymNode *> own_;  ///< the symbols that the loop defines
};

/// A sum whose terms are added in pairs: the sum of thousands of loops nests hardly deeper than that of a
/// dozen.
class Sum {
 public:
  void add(Expr e) {
    if (as_int(e))
      constant_ = kw::add(constant_, e);
    else
      terms_.push_back(std::move(e));
  }
  Expr total() const { return terms_.empty() ? constant_ : kw::add(constant_, of(0, terms_.size())); }

 private:
  Expr of(size_t first, size_t last) const {
    if (last - first == 1) return terms_[first];
    size_t middle = first + (last - first + 1) / 2;
    return kw::add(of(first, middle), of(middle, last));
  }
  Expr constant_ = const_int(0);
  std::vector<Expr> terms_;
};

/// Sums up the operations as an expression. If a trip count has to be assumed, `bounded_` becomes false.
class Estimator {
 public:
  WorkEstimate run(const Func &f) {
    Expr operations = statements(f.body);
    return {operations, bounded_};
  }
  WorkEstimate run(const For &n) {
    walk(n.body, [&](const For &inner, const Stmt &) { inside_.insert(inner.iter.get()); });
    walk(n.body, [&](const Let &inner, const Stmt &) { inside_.insert(inner.sym.get()); });
    inside_.insert(n.iter.get());
    is_known_before_ = true;
    Expr operations = mul(trips(n), body(n));
    return {operations, bounded_};
  }

 private:
  Expr statements(const Stmt &root) {
    Sum sum;
    add_statements(root, sum);
    return sum.total();
  }

  void add_statements(const Stmt &root, Sum &sum) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Let *n = as<Let>(s)) values_[n->sym.get()] = n->value;
      add_statement(s, sum);
    });
  }

  void add_statement(const Stmt &s, Sum &sum) {
    if (const If *n = as<If>(s)) {
      sum.add(const_int(weight_of(s)));
      add_statements(n->yes, sum);
      if (n->no && !holds_versions(*n)) add_statements(n->no, sum);
      return;
    }
    if (const For *n = as<For>(s)) {
      Expr work = mul(trips(*n), body(*n));
      bool at_once = n->kind == ForKind::vector && n->how.vector_width >= vector_speedup && !is_known_before_;
      return sum.add(at_once ? binary(BinOp::floor_div, work, const_int(vector_speedup)) : work);
    }
    if (const While *n = as<While>(s)) {
      bounded_ = false;
      return sum.add(mul(const_int(while_trips), add(const_int(1), statements(n->body))));
    }
    sum.add(const_int(weight_of(s)));
  }

  /// Estimates of one loop decide about threads, so they count accesses: a loop of few operations waits for
  /// memory.
  int64_t weight_of(const Stmt &s) const { return weight(s, is_known_before_ ? time_of_access : 1); }

  /// Returns whether both branches execute one loop with different plans: its work is the same in both.
  static bool holds_versions(const If &n) {
    const For *loop = as<For>(n.yes);
    bool found = false;
    if (loop && loop->id) walk(n.no, [&](const For &other, const Stmt &) { found |= other.id == loop->id; });
    return found;
  }

  Expr body(const For &n) {
    if (n.step > 0) begins_[n.iter.get()] = n.lo;
    context_.enter_loop(n);
    Expr inner = add(const_int(1), statements(n.body));
    context_.leave_loop();
    return inner;
  }

  Expr trips(const For &n) {
    auto lo = as_int(n.lo), hi = as_int(n.hi);
    int64_t wide;
    bool wraps = lo && hi && __builtin_sub_overflow(n.step > 0 ? *hi : *lo, n.step > 0 ? *lo : *hi, &wide);
    Expr bound = wraps ? Expr{} : n.step > 0 ? largest_span(n.hi, n.lo) : largest_span(n.lo, n.hi);
    if (!bound && !is_known_before_) bound = most_visited(n);
    if (!bound) {
      bounded_ = false;
      return const_int(unknown_trips);
    }
    int64_t step = step_size(n);
    if (step != 1) bound = add(binary(BinOp::floor_div, bound, const_int(step)), const_int(1));
    return binary(BinOp::max, bound, const_int(0));
  }

  /// Returns the lesser of two bounds, either of which may be null.
  static Expr lesser(const Expr &a, const Expr &b) { return a && b ? binary(BinOp::min, a, b) : a ? a : b; }

  /// Returns an upper bound of high - low, through minima and maxima of either, or null.
  Expr largest_span(const Expr &high, const Expr &low) {
    auto choose = [&](const Expr &e, BinOp op) {
      const Binary *n = as<Binary>(e);
      return n && n->op == op ? n : nullptr;
    };
    auto both = [](const Expr &a, const Expr &b) { return a && b ? binary(BinOp::max, a, b) : Expr{}; };
    if (const Binary *n = choose(high, BinOp::min))
      return lesser(largest_span(n->a, low), largest_span(n->b, low));
    if (const Binary *n = choose(low, BinOp::max))
      return lesser(largest_span(high, n->a), largest_span(high, n->b));
    if (const Binary *n = choose(high, BinOp::max))
      return both(largest_span(n->a, low), largest_span(n->b, low));
    if (const Binary *n = choose(low, BinOp::min))
      return both(largest_span(high, n->a), largest_span(high, n->b));
    Expr bound = largest(sub(high, low));
    return !bound && is_nonnegative(low) ? most(high) : bound;
  }

  /// Returns an upper bound over extents and parameters, through definitions, selects, sums and shifts, or
  /// null.
  Expr most(const Expr &e) {
    if (const Ref *r = as<Ref>(e))
      if (auto known = values_.find(r->sym.get()); known != values_.end()) {
        if (auto [at, is_new] = bounds_.try_emplace(r->sym.get()); !is_new) return at->second;
        return bounds_[r->sym.get()] = most(known->second);
      }
    if (Expr bound = largest(e)) return bound;
    auto of_both = [&](BinOp op, const Expr &a, const Expr &b) {
      Expr x = most(a), y = x ? most(b) : Expr{};
      return y ? binary(op, x, y) : Expr{};
    };
    if (const Select *n = as<Select>(e)) return of_both(BinOp::max, n->yes, n->no);
    const Binary *n = as<Binary>(e);
    if (!n) return {};
    if (n->op == BinOp::add || n->op == BinOp::max) return of_both(n->op, n->a, n->b);
    if (n->op == BinOp::min) return lesser(most(n->a), most(n->b));
    auto count = n->op == BinOp::shr ? as_int(n->b) : std::nullopt;
    // an extent is below 2^46 (ir/limits.h)
    Expr a = count && *count >= 0 && *count < 46 ? most(n->a) : Expr{};
    return a ? binary(BinOp::floor_div, a, const_int(int64_t{1} << *count)) : Expr{};
  }

  bool is_nonnegative(const Expr &e) const {
    if (auto value = as_int(e)) return *value >= 0;
    if (const Ref *r = as<Ref>(e)) {
      if (auto known = values_.find(r->sym.get()); known != values_.end())
        return is_nonnegative(known->second);
      auto begin = begins_.find(r->sym.get());
      return begin != begins_.end() && is_nonnegative(begin->second);
    }
    const Binary *n = as<Binary>(e);
    return n && (n->op == BinOp::shl || n->op == BinOp::shr) && is_nonnegative(n->a);
  }

  /// Bounds the trip count of a loop over data by the smallest extent that its iterations stay in; null if
  /// none is known.
  Expr most_visited(const For &n) const {
    Expr out;
    for (const Expr &extent : VisitedExtents(n).found) out = lesser(out, largest(extent));
    return out;
  }

  /// Returns an upper bound over extents and parameters, or null.
  Expr largest(const Expr &e) const {
    if (const Cast *n = as<Cast>(e); n && n->a.dtype() == DType::u64) {
      const Binary *least = as<Binary>(n->a);
      const Const *most = least && least->op == BinOp::min ? as<Const>(least->b) : nullptr;
      if (most && most->bits < uint64_t{max_extent}) return const_int(static_cast<int64_t>(most->bits));
    }
    Expr bound = context_.upper_bound(e);
    if (bound || !is_known_before_ || !is_moderate_before(e)) return bound;
    bool inside = false;  // `e` mentions iterators that cancel
    walk(e, [&](const Ref &r, const Expr &) { inside |= inside_.count(r.sym.get()) > 0; });
    return inside ? to_expr(*affine_of(e)) : e;
  }

  /// Returns whether `e` is a small sum of extents and of iterators of loops around the estimated one.
  bool is_moderate_before(const Expr &e) const {
    auto form = affine_of(e);
    return form && std::abs(form->constant) < max_extent &&
           std::all_of(
               form->terms.begin(), form->terms.end(),
               [&](const AffineTerm &t) {
                 const Ref *r = as<Ref>(t.atom);
                 return r && std::abs(t.coefficient) < 1 << 10 && !inside_.count(r->sym.get()) &&
                        (r->sym->kind == SymKind::extent || r->sym->kind == SymKind::iter);
               });
  }

  BoundsContext context_{false};
  std::unordered_map<const SymNode *, Expr> values_;  ///< of the Lets seen so far
  std::unordered_map<const SymNode *, Expr> bounds_;  ///< upper bounds of `values_`, null if there is none
  std::unordered_map<const SymNode *, Expr> begins_;  ///< first values of the upward loops seen so far
  std::unordered_set<const SymNode *> inside_;        ///< symbols that the estimated loop defines
  bool is_known_before_ = false;                      ///< the iterators of enclosing loops have values
  bool bounded_ = true;
};

/// Collects the heap temporaries with upper bounds of their sizes.
class WorkspacePlanner {
 public:
  std::vector<WorkspaceSlot> run(const Func &f) {
    visit(f.body);
    return std::move(slots_);
  }

 private:
  void visit(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Alloc *n = as<Alloc>(s); n && n->buf->space == Space::heap)
        slots_.push_back({n->buf, where_reached(size_of(*n->buf)), parallel_loops_ > 0});
      if (const If *n = as<If>(s)) {
        visit_where(n->cond, n->yes);
        visit_where(unary(UnOp::logical_not, n->cond), n->no);
      }
      if (const While *n = as<While>(s)) visit(n->body);
      if (const For *n = as<For>(s)) {
        parallel_loops_ += n->kind == ForKind::parallel;
        context_.enter_loop(*n);
        visit(n->body);
        context_.leave_loop();
        parallel_loops_ -= n->kind == ForKind::parallel;
      }
    });
  }

  void visit_where(const Expr &cond, const Stmt &branch) {
    bool known = is_size_of_call(cond);
    if (known) conditions_.push_back(cond);
    visit(branch);
    if (known) conditions_.pop_back();
  }
  /// Returns 0 bytes if the call does not take the branch of the temporary. Only the nearest conditions
  /// count: a long chain of branches would make each size as long as the chain.
  Expr where_reached(Expr bytes) const {
    // Chosen: size expressions stay short, and deeper branches only reserve memory that they do not use.
    constexpr size_t asked = 4;
    size_t first = conditions_.size() - std::min(conditions_.size(), asked);
    for (size_t i = conditions_.size(); i-- > first;)
      bytes = select(wrapping(conditions_[i]), std::move(bytes), const_int(0));
    return bytes;
  }
  /// Returns a condition as the kernel computes it. Arithmetic in which the entry program would report an
  /// overflow uses unsigned words, which wrap.
  static Expr wrapping(const Expr &cond) {
    auto word = [](const Expr &e) { return cast(DType::u64, e); };
    return rewrite(
        cond,
        [&](const Binary &n, const Expr &e) {
          bool wraps = n.op == BinOp::add || n.op == BinOp::sub || n.op == BinOp::mul;
          if (!wraps || e.dtype() != DType::i64) return e;
          return cast(DType::i64, binary(n.op, word(n.a), word(n.b)));
        },
        [&](const Unary &n, const Expr &e) {
          if (n.op != UnOp::neg || e.dtype() != DType::i64) return e;
          return cast(DType::i64, binary(BinOp::sub, word(const_int(0)), word(n.a)));
        });
  }

  Expr size_of(const BufNode &b) {
    Expr bytes = const_int(item_size(b.dtype));
    check_size(b);
    for (const Expr &extent : b.extents) {
      Expr bound = context_.upper_bound(extent);
      if (!bound)
        throw CompileError(
            Diagnostic{Code::E102,
                       b.sym->loc,
                       cat("the size of '", b.sym->name, "' depends on data, which is not available yet"),
                       {},
                       {"allocate it with a size that follows from shapes and scalar arguments"}});
      bytes = mul(bytes, binary(BinOp::max, bound, const_int(0)));
    }
    const Expr line = const_int(cache_line);
    return mul(binary(BinOp::floor_div, add(bytes, const_int(cache_line - 1)), line), line);
  }

  /// Checks the product of constant extents, whose overflow nothing else would notice.
  static void check_size(const BufNode &b) {
    int64_t bytes = item_size(b.dtype);
    bool wide = false, empty = false;
    for (const Expr &extent : b.extents) {
      int64_t n = as_int(extent).value_or(1);
      empty |= n == 0;
      wide |= n > 0 && (__builtin_mul_overflow(bytes, n, &bytes) || bytes >= max_extent);
    }
    if (wide && !empty)
      throw CompileError(Diagnostic{
          Code::E224, b.sym->loc, cat("the temporary '", b.sym->name, "' exceeds 2^46 bytes"), {}, {}});
  }

  BoundsContext context_{false};
  std::vector<Expr> conditions_;  ///< of the enclosing branches: those over sizes and scalar arguments
  int parallel_loops_ = 0;
  std::vector<WorkspaceSlot> slots_;
};

}  // namespace

WorkEstimate estimate_work(const Func &f) { return Estimator().run(f); }
WorkEstimate estimate_work(const For &loop) { return Estimator().run(loop); }
std::vector<WorkspaceSlot> plan_workspace(const Func &f) { return WorkspacePlanner().run(f); }

}  // namespace kw
