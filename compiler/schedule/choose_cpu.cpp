// Threads from the outermost loops inwards, lanes from the innermost outwards: the first loop of a path that
// may and gains by it does. Code generation decides at run time how many threads a loop's work is worth.
#include "schedule/choose_cpu.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <unordered_set>

#include "analysis/affine.h"
#include "analysis/cost.h"
#include "analysis/lane_view.h"
#include "ir/accumulation.h"
#include "ir/jumps.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/legal.h"
#include "schedule/privatise.h"
#include "schedule/tree/ranges.h"
#include "support/text.h"

namespace kw {

namespace {

/// Lanes at once, from the size of the registers and of what they hold.
class WidthModel {
 public:
  explicit WidthModel(const Target &target) : target_(target) {}

  /// 0 when the loop gains nothing.
  uint32_t width(const For &n, const LaneView &view) const {
    const LaneView::Work &work = view.work();
    uint32_t apart = work.gathers + 2 * work.scatters;
    if (apart * (target_.has_gather() ? 4 : 8) > work.operations) return 0;
    if (work.rows + work.operations == 0) return 0;
    uint32_t widest = std::max({view.widest_element(), view.widest_value(), 8u});
    uint32_t lanes = std::min(target_.vector_bytes() * 8 / widest, most);
    auto trips = constant_trips(n);
    if (trips && *trips < 4) return 0;
    uint32_t wanted = std::min(lanes * registers(work), most);
    while (trips && wanted > lanes && wanted > *trips) wanted /= 2;
    return wanted;
  }

 private:
  static constexpr uint32_t most = 64;

  /// Registers per value: independent work hides latencies, as long as all values have a register.
  uint32_t registers(const LaneView::Work &work) const {
    if (work.gathers + work.scatters > 0) return 1;
    uint32_t few = target_.vector_registers() / 8;
    return work.operations <= few ? 4 : work.operations <= 3 * few ? 2 : 1;
  }

  const Target &target_;
};

class LoopChooser {
 public:
  LoopChooser(const Func &f, const Target &target) : f_(f), model_(target) {}

  Func run() {
    statements(f_.body);
    if (widths_.empty() && parallel_.empty()) return f_;
    Func out = f_;
    out.body = rewrite(f_.body, [&](const For &n, const Stmt &s, const Stmt &original) {
      auto width = widths_.find(original.p.get());
      bool threads = parallel_.count(original.p.get()) > 0;
      if (width == widths_.end() && !threads) return s;
      For loop = n;
      if (width == widths_.end()) {
        loop.kind = ForKind::parallel;
        return for_loop(std::move(loop), s.loc());
      }
      loop.kind = ForKind::vector, loop.width = width->second;
      return threads && n.step == 1 && is_moderate(n.lo) && is_moderate(n.hi)
                 ? in_blocks(std::move(loop), s.loc())
                 : for_loop(std::move(loop), s.loc());
    });
    return out;
  }

 private:
  static constexpr int64_t block = 1 << 14;  ///< iterations of a vector loop that stay on one thread

  /// A loop over blocks on threads around the vector loop over one of them.
  static Stmt in_blocks(For loop, Loc loc) {
    Sym first = make_sym(SymKind::iter, DType::i64, cat(loop.iter->name, "_first"), loop.iter->loc);
    For blocks{first, loop.lo, loop.hi, block, ForKind::parallel, 0, Hint::none, {}};
    loop.lo = kw::ref(first);
    loop.hi = binary(BinOp::min, loop.hi, add(loop.lo, const_int(block)));
    blocks.body = for_loop(std::move(loop), loc);
    return for_loop(std::move(blocks), loc);
  }

  /// True when `end` is far from the ends of 64 bits: over sizes and other iterators.
  static bool is_moderate(const Expr &end) {
    auto form = affine_of(end);
    return form && std::abs(form->constant) < int64_t{1} << 46 &&
           std::all_of(
               form->terms.begin(), form->terms.end(),
               [](const AffineTerm &t) {
                 const Ref *r = as<Ref>(t.atom);
                 return r && std::abs(t.coefficient) < 1 << 10 &&
                        (r->sym->kind == SymKind::extent || r->sym->kind == SymKind::iter);
               });
  }

  /// True when some loop in it runs in lanes.
  bool statements(const Stmt &root) {
    size_t before = scope_.size();
    bool found = false;
    for (const Stmt *s = &root; s && *s; s = chain_next(*s->p)) {
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
    bool threads = !on_threads_ && may_run_on_threads(s, n);
    if (threads) parallel_.insert(s.p.get()), on_threads_ = true;
    loops_.push_back(&n);
    bool found = inside({&n, {}, {}}, n.body);
    loops_.pop_back();
    if (threads) on_threads_ = false;
    if (found || n.kind != ForKind::serial) return true;
    uint32_t width = n.hint == Hint::serial ? 0 : lanes_of(s, n);
    if (width >= 2) widths_[s.p.get()] = width;
    return width >= 2;
  }

  /// Not with checks inside: which of several faults is told would depend on the threads.
  bool may_run_on_threads(const Stmt &s, const For &n) {
    auto trips = constant_trips(n);
    if (jumps_of(n.body).any()) return false;
    if (n.kind != ForKind::serial || n.hint == Hint::serial || (trips && *trips < 2)) return false;
    WorkEstimate work = estimate_work(n);
    if (auto constant = as_int(work.operations); constant && *constant < 2 * work_per_thread) return false;
    bool fine = !writes_outer_scalar(n.body);
    walk(n.body, [&](const Check &, const Stmt &) { fine = false; });
    if (!fine) return false;
    Nest nest = extract_nest(s, scope_);
    Verdict v = legal(f_, nest, {Directive::Verb::parallel, 0});
    return v.ok() && v.shared.empty();
  }

  uint32_t lanes_of(const Stmt &s, const For &n) {
    LaneView view(n);
    if (!view.widens() || (view.has_lane_sums() && !sums_only_here(n))) return 0;
    uint32_t width = model_.width(n, view);
    if (width < 2) return 0;
    Nest nest = extract_nest(s, scope_);
    return legal(f_, nest, {Directive::Verb::vectorize, 0}).ok() ? width : 0;
  }

  /// True when the sums in lanes of this loop run over no other loop.
  bool sums_only_here(const For &n) {
    bool fine = true;
    std::vector<const For *> around = loops_;
    around.push_back(&n);
    for_each_store(n.body, [&](const Stmt &, const Store &store, const std::vector<const For *> &inner) {
      if (store.order != Order::lanes) return;
      std::vector<const For *> all = around;
      all.insert(all.end(), inner.begin(), inner.end());
      std::vector<const For *> band = reduced_band(store, all);
      fine = fine && band.size() == 1 && band.front() == &n;
    });
    return fine;
  }

  const Func &f_;
  WidthModel model_;
  NestScope scope_;
  std::vector<const For *> loops_;  ///< around the place
  bool on_threads_ = false;         ///< the place is inside a parallel loop
  std::unordered_map<const StmtNode *, uint32_t> widths_;
  std::unordered_set<const StmtNode *> parallel_;
};

}  // namespace

Func choose_cpu(const Func &f, const Target &target) { return LoopChooser(f, target).run(); }

}  // namespace kw
