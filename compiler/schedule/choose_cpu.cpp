// From the innermost loops outwards: the first loop of a path that may run in lanes and gains by it does.
#include "schedule/choose_cpu.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/lane_view.h"
#include "ir/accumulation.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/legal.h"

namespace kw {

namespace {

/// The number of iterations, where it is constant.
std::optional<int64_t> constant_trips(const For &n) {
  auto lo = as_int(n.lo), hi = as_int(n.hi);
  int64_t span = 0;
  if (!lo || !hi || __builtin_sub_overflow(n.step > 0 ? *hi : *lo, n.step > 0 ? *lo : *hi, &span))
    return std::nullopt;
  return span <= 0 ? 0 : (span - 1) / step_size(n) + 1;
}

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
    if (widths_.empty()) return f_;
    Func out = f_;
    out.body = rewrite(f_.body, [&](const For &n, const Stmt &s, const Stmt &original) {
      auto chosen = widths_.find(original.p.get());
      if (chosen == widths_.end()) return s;
      For loop = n;
      loop.kind = ForKind::vector, loop.width = chosen->second;
      return for_loop(std::move(loop), s.loc());
    });
    return out;
  }

 private:
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
    loops_.push_back(&n);
    bool found = inside({&n, {}, {}}, n.body);
    loops_.pop_back();
    if (found || n.kind != ForKind::serial) return true;
    uint32_t width = n.hint == Hint::serial ? 0 : lanes_of(s, n);
    if (width >= 2) widths_[s.p.get()] = width;
    return width >= 2;
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
  std::unordered_map<const StmtNode *, uint32_t> widths_;
};

}  // namespace

Func choose_cpu(const Func &f, const Target &target) { return LoopChooser(f, target).run(); }

}  // namespace kw
