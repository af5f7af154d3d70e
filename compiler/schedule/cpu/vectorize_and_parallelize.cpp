// Threads from the outermost loops inwards, lanes from the innermost outwards: the first loop of a path that
// may and gains by it does. Code generation decides at run time how many threads a loop's work is worth.
#include "schedule/cpu/vectorize_and_parallelize.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/cost.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "analysis/nest/value_bounds.h"
#include "analysis/perfect_reduction.h"
#include "analysis/register_transpose.h"
#include "analysis/vectorization.h"
#include "ir/accumulation.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/cpu/register_model.h"
#include "schedule/directives/legal.h"
#include "schedule/steps/split_index_sets.h"
#include "support/text.h"

namespace kw {

namespace {

class LoopChooser {
 public:
  LoopChooser(const Func &f, const Target &target) : f_(f), target_(target) {}

  Func run() {
    statements(f_.body);
    if (widths_.empty() && parallel_.empty()) return f_;
    Func out = f_;
    out.body = rewrite(f_.body, [&](const For &n, const Stmt &s, const Stmt &original) {
      auto width = widths_.find(original.p.get());
      bool threads = parallel_.count(original.p.get()) > 0;
      if (width == widths_.end() && !threads) return s;
      For loop = n;
      bool one_sum = threads && width != widths_.end() && is_sum_on_threads(original);
      if (width == widths_.end() || one_sum) {
        loop.kind = ForKind::parallel, loop.how.vector_width = one_sum ? width->second : 0;
        return for_loop(std::move(loop), s.loc());
      }
      loop.kind = ForKind::vector, loop.how.vector_width = width->second;
      return threads ? in_blocks(std::move(loop), s.loc()) : for_loop(std::move(loop), s.loc());
    });
    return out;
  }

 private:
  /// Iterations of a vector loop that stay on one thread.
  int64_t block_of(const For &loop) const {
    bool nested = false;
    walk(loop.body, [&](const For &, const Stmt &) { nested = true; });
    return nested ? loop.how.vector_width
                  : std::max<int64_t>(target_.work_per_thread() >> 5, loop.how.vector_width);
  }

  /// A loop over blocks on threads around the vector loop over one of them.
  Stmt in_blocks(For loop, Loc loc) const {
    Sym first = make_sym(SymKind::iter, DType::i64, cat(loop.iter->name, "0"), loop.iter->loc);
    int64_t block = block_of(loop) * loop.step;
    For blocks{first, loop.lo, loop.hi, block, ForKind::parallel, Hint::none, {}, {}};
    loop.lo = kw::ref(first);
    loop.hi = binary(loop.step > 0 ? BinOp::min : BinOp::max, loop.hi, add(loop.lo, const_int(block)));
    blocks.body = for_loop(std::move(loop), loc);
    return for_loop(std::move(blocks), loc);
  }

  /// True when the places where blocks begin cannot leave 64 bits.
  bool can_run_in_blocks(const For &n) const {
    ValueBounds limits(f_, scope_);
    bool up = n.step > 0;
    return step_size(n) < 1 << 10 && limits.bounded(n.lo, !up) && limits.bounded(n.hi, up);
  }

  /// True when some loop in it runs in lanes.
  bool statements(const Stmt &root) {
    size_t before = scope_.size();
    bool found = false;
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
      if (const Let *n = as<Let>(*s)) scope_.push_back({nullptr, n->sym, n->value});
      if (const For *n = as<For>(*s)) found |= loop(*s, *n);
      if (const While *n = as<While>(*s)) found |= inside({}, n->body);
      if (const If *n = as<If>(*s)) {
        found |= inside({nullptr, {}, n->cond, true}, n->yes);
        found |= inside({nullptr, {}, n->cond, false}, n->no);
      }
      if (const Seq *n = as<Seq>(*s))
        for (size_t i = 0; i + 1 < n->items.size(); ++i) found |= statements(n->items[i]);
    }
    scope_.resize(before);
    return found;
  }

  bool inside(ScopeItem item, const Stmt &body) {
    scope_.push_back(std::move(item));
    bool found = statements(body);
    scope_.pop_back();
    return found;
  }

  bool loop(const Stmt &s, const For &n) {
    if (loops_.empty()) outermost_.reset(), outermost_loop_ = &s, scope_of_outermost_ = scope_.size();
    bool before = on_threads_, threads = (!on_threads_ || &n == next_) && may_run_on_threads(s, n);
    if (threads) parallel_.insert(s.p.get());
    std::unordered_set<const StmtNode *> parallel_before = parallel_;
    next_ = !before && threads ? next_in(n) : nullptr;
    on_threads_ = before || threads || n.kind == ForKind::parallel;
    loops_.push_back(&n);
    bool found = inside({&n, {}, {}}, n.body);
    loops_.pop_back();
    on_threads_ = before;
    if (!found && n.kind != ForKind::serial) return true;
    uint32_t width = found || n.hint == Hint::serial ? 0 : lanes_of(s, n);
    if (width >= 2) {
      widths_[s.p.get()] = width;
      parallel_ = std::move(parallel_before);  // loops in lanes run on the thread of these
      if (threads && !can_run_in_blocks(n)) parallel_.erase(s.p.get());
    }
    bool lanes = found || width >= 2;
    if (lanes && !threads && !on_threads_ && may_sum_on_threads(s, n))
      parallel_.insert(s.p.get()), sums_on_threads_.insert(s.p.get());
    return lanes;
  }

  /// The loop that is all a parallel one does: where that has few iterations, threads share this one's too.
  static const For *next_in(const For &n) {
    const Stmt *s = &n.body;
    while (as<Let>(*s)) s = &as<Let>(*s)->body;
    const For *inner = as<For>(*s);
    return inner && !as_int(inner->hi) ? inner : nullptr;
  }

  /// Whether a sum in lanes counts the iterations of the loop.
  static bool sums_over(const For &n) {
    bool found = false;
    walk(n.body,
         [&](const Store &s, const Stmt &) { found |= s.order == Order::lanes && s.order.names(n.iter); });
    return found;
  }

  bool is_sum_on_threads(const Stmt &s) const { return sums_on_threads_.count(s.p.get()) > 0; }

  /// True when nothing but sums in lanes begins here: their blocks can run at the same time. Not under a
  /// condition: the call makes room for their sums before it knows.
  bool may_sum_on_threads(const Stmt &s, const For &n) {
    bool conditional = std::any_of(scope_.begin(), scope_.end(),
                                   [](const ScopeItem &i) { return !i.loop && !i.sym && i.expr; });
    if (n.kind != ForKind::serial || n.hint == Hint::serial || conditional) return false;
    std::vector<const For *> band = perfect_reduction_at(n, loops_);
    if (band.empty() || !has_call_constant_bounds(band)) return false;
    if (is_surely_short(n, target_)) return false;
    return allows(s, n, Directive::Verb::parallel, [](const Verdict &v) {
      return std::all_of(v.shared.begin(), v.shared.end(), [](const SharedReduction &r) { return r.free; });
    });
  }

  /// Not with checks inside: which of several faults is told would depend on the threads.
  bool may_run_on_threads(const Stmt &s, const For &n) {
    auto trips = most_trips(n);
    if (jumps_of(n.body).any()) return false;  // a parallel loop takes no jumps (ir/verify)
    if (n.kind != ForKind::serial || n.hint == Hint::serial || (trips && *trips < 2)) return false;
    if (is_surely_short(n, target_)) return false;
    if (writes_outer_scalar(n.body) || has_check(n.body) || has_cut_inside(n)) return false;
    if (sums_over(n)) return false;  // not even when nothing runs: threads share the blocks of such a sum
    return allows(s, n, Directive::Verb::parallel, [](const Verdict &v) { return v.shared.empty(); });
  }

  /// True when a directive on the loop is legal with a verdict that `suits`. Most are asked of the outermost
  /// nest, which is read once; one that it refuses is asked of the loop's own, which sees less around it.
  template <class F>
  bool allows(const Stmt &s, const For &n, Directive::Verb verb, F &&suits) {
    auto fine = [&](const Nest &nest, uint32_t loop) {
      Verdict v = legal(f_, nest, {verb, loop}, false);
      return v.ok() && suits(v);
    };
    if (!outermost_) {
      NestScope around(scope_.begin(), scope_.begin() + static_cast<std::ptrdiff_t>(scope_of_outermost_));
      outermost_ = extract_nest(*outermost_loop_, around, Reads::of_written);
    }
    for (uint32_t l = 0; l < outermost_->loops.size(); ++l)
      if (outermost_->loops[l].loop == &n && fine(*outermost_, l)) return true;
    if (loops_.empty()) return false;
    return fine(extract_nest(s, scope_, Reads::of_written), 0);
  }

  uint32_t lanes_of(const Stmt &s, const For &n) {
    VectorizationAnalysis view(n);
    if (!view.is_vectorizable() || (view.has_lane_sums() && !sums_only_here(n))) return 0;
    uint32_t width = lanes_of_loop(target_, n, view);
    if (width < 2) return 0;
    bool legal = allows(s, n, Directive::Verb::vectorize, [&](const Verdict &v) {
      bool may_meet =
          std::any_of(v.shared.begin(), v.shared.end(), [](const SharedReduction &r) { return r.in_memory; });
      return !(may_meet && stores_apart(n, view));
    });
    return legal ? width : 0;
  }

  /// True when it stores in memory at places that may differ from lane to lane. Of two lanes that accumulate
  /// at one place, as by i // 2, one would be lost.
  static bool stores_apart(const For &n, VectorizationAnalysis &view) {
    bool found = false;
    walk(n.body, [&](const Store &s, const Stmt &) {
      if (s.buf->space == Space::registers) return;
      for (const Expr &i : s.index) found |= view.is_divergent(i);
    });
    return found;
  }

  /// True when the sums in lanes of this loop run over no other loop, or over loops that do nothing else.
  bool sums_only_here(const For &n) {
    bool fine = true;
    std::vector<const For *> band;
    std::vector<const For *> around = loops_;
    around.push_back(&n);
    for_each_store(n.body, [&](const Stmt &, const Store &store, const std::vector<const For *> &inner) {
      if (store.order != Order::lanes) return;
      std::vector<const For *> all = around;
      all.insert(all.end(), inner.begin(), inner.end());
      std::vector<const For *> theirs = band_of(store, all);
      fine = fine && theirs.front() == &n && (band.empty() || theirs == band);
      band = std::move(theirs);
    });
    if (!fine || band.size() < 2) return fine;
    auto outer = static_cast<std::ptrdiff_t>(band.size()) - 1;
    return is_perfect_reduction(band, {loops_.begin(), loops_.end() - outer});
  }

  const Func &f_;
  const Target &target_;
  NestScope scope_;
  std::vector<const For *> loops_;        ///< around the place
  const Stmt *outermost_loop_ = nullptr;  ///< the first of these
  size_t scope_of_outermost_ = 0;         ///< so many entries of the scope stand around it
  std::optional<Nest> outermost_;         ///< once something was asked of it
  bool on_threads_ = false;               ///< the place is inside a parallel loop
  const For *next_ = nullptr;             ///< the loop directly in it
  std::unordered_map<const StmtNode *, uint32_t> widths_;
  std::unordered_set<const StmtNode *> parallel_;
  std::unordered_set<const StmtNode *> sums_on_threads_;
};

}  // namespace

bool is_surely_short(const For &loop, const Target &target) {
  if (!most_trips(loop)) return false;
  WorkEstimate work = estimate_work(loop);
  auto operations = as_int(work.operations);
  return operations && work.bounded && *operations < 2 * target.work_per_thread();
}

Func vectorize_and_parallelize(const Func &f, const Target &target) { return LoopChooser(f, target).run(); }

}  // namespace kw
