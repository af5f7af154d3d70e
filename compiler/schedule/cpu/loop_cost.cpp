// Estimates all loops in one walk. Assumes unknown_trips for each extent, and for each outer iterator the
// middle of its range.
#include "schedule/cpu/loop_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "analysis/cost.h"
#include "analysis/cost_model.h"
#include "analysis/vector/vectorization.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "ir/limits.h"
#include "ir/walk.h"
#include "schedule/cpu/register_model.h"

namespace kw {

namespace {

/// Counts the work of the statements of one loop, inner loops excluded. `lanes` is the vector loop that
/// executes them, the loop itself or one around it; null if there is none.
class Body {
 public:
  Body(const For &loop, const For *lanes) : loop_(loop), lanes_(lanes) {
    if (lanes_) view_.emplace(*lanes_);
  }

  /// Adds the cost of an expression that is evaluated `times` times in each iteration.
  void value(const Expr &e, double times) {
    std::unordered_set<const void *> index;  // expressions in subscripts, which are not counted
    walk(e, [&](const Load &n, const Expr &) {
      for (const Expr &i : n.index) walk(i, [&](const auto &, const Expr &x) { index.insert(x.p.get()); });
      load(n, times);
    });
    auto count = [&](const Expr &at, int64_t cost, int64_t done) {
      if (index.count(at.p.get())) return;
      operations_ += times * static_cast<double>(cost), done_ += times * static_cast<double>(done);
    };
    walk(
        e, [&](const Binary &n, const Expr &at) { count(at, cost_of(n).time, cost_of(n).time); },
        [&](const Unary &, const Expr &at) { count(at, 1, 1); },
        [&](const Select &, const Expr &at) { count(at, 1, 1); },
        [&](const Call &n, const Expr &at) {
          count(at, cost_of(n.fn).time, n.fn == Fn::fma ? 2 : cost_of(n.fn).time);
        });
  }

  void store(const Store &n, double times) {
    value(n.value, times);
    if (n.order == Order::lanes) return;  // partial sums stay in registers until the sum is complete
    if (n.buf->space == Space::registers || !moves(n.index)) {
      // An accumulation into one element waits for the accumulation of the iteration before.
      waits_ |= static_cast<bool>(accumulation_of(n).term);
      return;
    }
    bytes_ += times * item_size(n.buf->dtype);
    stores_ += times * (apart(n.buf, n.index) ? width() : 1);
  }

  void define(const Sym &sym) { own_.insert(sym.get()); }

  /// Turns the counts into costs of one iteration. Cycles are those of a vector of iterations, divided by its
  /// width.
  void finish(const Target &target, LoopCost &out) const {
    double vectors = 1;
    if (view_) {
      uint32_t widest = std::max({view_->widest_element(), view_->widest_value(), 8U});
      vectors = std::max(1.0, width() * widest / 8 / target.vector_bytes());
      out.sum_registers = view_->lane_sum_bits() * sum_lanes / 8 / target.vector_bytes();
    }
    auto whole = [](double n) { return static_cast<int64_t>(n + 0.5); };
    bool waits = waits_ || out.sum_registers > 0;
    BodyWork work{whole(rows_), whole(singles_), whole(stores_), whole(operations_), waits ? 1 : 0, 0};
    out.bytes = bytes_, out.operations = done_;
    // Without work the latency of a sum must not count either.
    bool idle = rows_ + singles_ + stores_ + operations_ == 0;
    out.cycles = idle ? 0 : cycles_of(target.machine(), work, static_cast<int64_t>(vectors)) / width();
  }

 private:
  double width() const { return lanes_ ? lanes_->how.vector_width : 1; }

  void load(const Load &n, double times) {
    if (n.buf->space == Space::registers) return;
    bool known = std::any_of(seen_.begin(), seen_.end(), [&](const Load *o) {
      return o->buf == n.buf && std::equal(o->index.begin(), o->index.end(), n.index.begin(), n.index.end(),
                                           [](const Expr &a, const Expr &b) { return equal(a, b); });
    });
    if (known || !moves(n.index)) return;  // the value stays in a register
    seen_.push_back(&n);
    bytes_ += times * item_size(n.buf->dtype);
    if (!view_ || !varies(n.index))
      singles_ += times;
    else
      (apart(n.buf, n.index) ? singles_ : rows_) += times * (apart(n.buf, n.index) ? width() : 1);
  }

  /// Returns whether the accessed element changes from one iteration of the loop to the next.
  bool moves(const std::vector<Expr> &index) const {
    bool found = false;
    for (const Expr &i : index)
      walk(
          i, [&](const Ref &r, const Expr &) { found |= r.sym == loop_.iter || own_.count(r.sym.get()) > 0; },
          [&](const Load &, const Expr &) { found = true; });
    return found;
  }

  bool varies(const std::vector<Expr> &index) {
    return std::any_of(index.begin(), index.end(), [&](const Expr &i) { return view_->is_divergent(i); });
  }

  /// Returns whether the lanes access elements that are not contiguous in memory.
  bool apart(const Buf &b, const std::vector<Expr> &index) {
    if (!view_ || !varies(index)) return false;
    for (size_t d = 0; d + 1 < index.size(); ++d)
      if (view_->is_divergent(index[d])) return true;
    auto step = view_->lane_stride(index.back());
    bool unit = b->strides.empty() || as_int(b->strides.back()) == 1;
    return !unit || !step || (*step != 1 && *step != -1);
  }

  const For &loop_;
  const For *lanes_;
  std::optional<VectorizationAnalysis> view_;
  std::unordered_set<const SymNode *> own_;  ///< symbols that the statements of the loop define
  std::vector<const Load *> seen_;
  double bytes_ = 0, operations_ = 0, done_ = 0, rows_ = 0, singles_ = 0, stores_ = 0;
  bool waits_ = false;  ///< the next iteration continues a sum
};

/// Visits each loop with the number of times that a call enters it. Estimates trip counts from assumed
/// extents.
class Costs {
 public:
  explicit Costs(const Target &target) : target_(target) {}

  std::unordered_map<const For *, LoopCost> run(const Func &f) {
    statements(f.body, nullptr, 1, 1);
    return std::move(out_);
  }

 private:
  /// Adds the statements of a block to `body`. `runs`: executions of the loop body per call. `times`:
  /// executions of the block per iteration of that loop.
  void statements(const Stmt &root, Body *body, double runs, double times) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Let *n = as<Let>(s)) {
        if (body) body->value(n->value, times), body->define(n->sym);
        values_[n->sym.get()] = evaluate(n->value);
      }
      if (const Store *n = as<Store>(s); n && body) body->store(*n, times);
      if (const If *n = as<If>(s)) {
        if (body) body->value(n->cond, times);
        statements(n->yes, body, runs, times), statements(n->no, body, runs, times);
      }
      if (const While *n = as<While>(s)) {
        if (body) body->value(n->cond, times * while_trips);
        statements(n->body, body, runs, times * while_trips);
      }
      if (const For *n = as<For>(s)) loop(*n, runs * times);
    });
  }

  void loop(const For &n, double entries) {
    auto lo = evaluate(n.lo), hi = evaluate(n.hi);
    double trips = unknown_trips, step = static_cast<double>(n.step);
    if (lo && hi) trips = std::max(0.0, std::ceil((*hi - *lo) / step));
    std::optional<double> middle;
    if (lo) middle = *lo + std::max(0.0, trips - 1) / 2 * step;
    values_[n.iter.get()] = middle;
    // A loop inside a vector loop executes for all lanes of the vector loop.
    const For *before = lanes_;
    if (n.how.vector_width >= 2) lanes_ = &n;
    Body body(n, lanes_);
    LoopCost cost;
    cost.runs = entries * trips;
    statements(n.body, &body, cost.runs, 1);
    body.finish(target_, cost);
    out_[&n] = cost;
    lanes_ = before;
  }

  /// Evaluates a bound with unknown_trips for each extent and the middle of its range for each iterator.
  std::optional<double> evaluate(const Expr &e) const {
    if (auto n = as_int(e)) return static_cast<double>(*n);
    if (const Ref *r = as<Ref>(e)) {
      if (r->sym->kind == SymKind::extent) return unknown_trips;
      auto found = values_.find(r->sym.get());
      return found == values_.end() ? std::nullopt : found->second;
    }
    if (const Cast *c = as<Cast>(e)) return evaluate(c->a);
    const Binary *b = as<Binary>(e);
    if (!b) return std::nullopt;
    auto x = evaluate(b->a), y = evaluate(b->b);
    return x && y ? result(b->op, *x, *y) : std::nullopt;
  }

  static std::optional<double> result(BinOp op, double x, double y) {
    switch (op) {
      case BinOp::add: return x + y;
      case BinOp::sub: return x - y;
      case BinOp::mul: return x * y;
      case BinOp::min: return std::min(x, y);
      case BinOp::max: return std::max(x, y);
      case BinOp::floor_div: return y > 0 ? std::optional(x / y) : std::nullopt;
      default: return std::nullopt;
    }
  }

  const Target &target_;
  std::unordered_map<const SymNode *, std::optional<double>> values_;
  const For *lanes_ = nullptr;  ///< the vector loop around the current place, or null
  std::unordered_map<const For *, LoopCost> out_;
};

}  // namespace

std::unordered_map<const For *, LoopCost> cost_of_loops(const Func &f, const Target &target) {
  return Costs(target).run(f);
}

}  // namespace kw
