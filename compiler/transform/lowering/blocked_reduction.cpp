// Builds from the inside out: the iterations of a row, the rows of a run, the runs of a block, the blocks.
#include "transform/lowering/blocked_reduction.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/vector/vector_plan.h"
#include "analysis/vector/vectorization.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "transform/copy.h"

namespace kw {

namespace {

Sym local(const char *name) { return make_sym(SymKind::local, DType::i64, name); }
Expr at_most(Expr a, Expr b) { return binary(BinOp::min, std::move(a), std::move(b)); }
Expr at_least(Expr a, Expr b) { return binary(BinOp::max, std::move(a), std::move(b)); }
Expr shifted_down(Expr a, int64_t bits) { return binary(BinOp::shr, std::move(a), const_int(bits)); }
Expr shifted_up(Expr a, int64_t bits) { return binary(BinOp::shl, std::move(a), const_int(bits)); }

class RowBuilder {
 public:
  RowBuilder(const For &outermost, const std::vector<const ReductionPlan *> &sums, const Loc &loc,
             const Target &target)
      : loc_(loc), target_(target), loops_{&outermost} {
    for (const ReductionPlan *sum : sums) sums_.push_back(*sum);
    put_together();
    while (loops_.size() < sums_[0].band.size()) {
      const Stmt *s = &loops_.back()->body;
      for (; as<Let>(*s); s = &as<Let>(*s)->body) names_.push_back(as<Let>(*s));
      loops_.push_back(as<For>(*s));
    }
  }

  Stmt run() {
    const ReductionPlan &any = sums_[0];
    Expr count = kw::ref(any.count);
    Sym block = lane_iterator("block"), blocks = local("blocks");
    Stmt body = one_block(block, kw::ref(blocks));
    Expr all = shifted_down(add(count, const_int(sum_block - 1)), sum_block_bits);
    For loop{block, const_int(0), kw::ref(blocks), 1, ForKind::serial, Hint::none, {}, std::move(body)};
    loop.id = loops_.front()->id;
    if (any.how.on_threads) loop.kind = ForKind::parallel, loop.how.chunk = blocks_per_chunk();
    std::vector<Stmt> in_order, ends;
    if (any.how.on_threads)
      ends.push_back(for_each_sum([&](const ReductionPlan &s) { return fold_sums(s, kw::ref(blocks)); }));
    for (const ReductionPlan &sum : sums_) {
      if (!any.how.long_only) in_order.push_back(add_terms_in_order(sum));
      ends.push_back(add_carry(sum));
    }
    Stmt out = seq({for_loop(std::move(loop)), any.by_length(seq(in_order), seq(ends))});
    std::unordered_set<const BufNode *> done;
    for (const ReductionPlan &sum : sums_) {
      std::vector<Buf> buffers{sum.bufs.left, sum.bufs.right, sum.bufs.sums, sum.bufs.carry};
      if (!sum.how.on_threads) buffers.push_back(sum.bufs.partial);
      if (sum.guarded) {
        out = seq({store(sum.bufs.used, {}, const_int(0)), out});
        buffers.push_back(sum.bufs.used);
      }
      for (const Buf &b : buffers)
        if (b && done.insert(b.get()).second) out = alloc(b, Fill::none, out);
    }
    return let(blocks, all, out);
  }

 private:
  /// The iterations `lo` to `hi` of the band, in a run of the innermost loop that begins with number `base`.
  /// `aligned` tells that the first one is in lane 0.
  struct Run {
    Expr lo, hi, base;
    bool aligned;
  };
  /// The known part of a row: all lanes, the remainder of an aligned run, or unknown.
  enum class Part { whole, rest, any };

  const For &innermost() const { return *loops_.back(); }

  /// Combines many sums of one kind: arrays hold their block sums, and one loop over the arrays counts the
  /// blocks. Code for each sum would take longer to compile than its terms.
  void put_together() {
    constexpr size_t many = 8;  // chosen: the code of fewer compiles within a millisecond
    for (ReductionPlan &first : sums_) {
      if (!first.at.empty()) continue;
      std::vector<ReductionPlan *> alike;
      for (ReductionPlan &sum : sums_)
        if (sum.at.empty() && sum.op == first.op && sum.target->dtype == first.target->dtype)
          alike.push_back(&sum);
      if (alike.size() < many) continue;
      Expr size = const_int(static_cast<int64_t>(alike.size()));
      auto joined = [&](const Buf &b, Space space) {
        std::vector<Expr> shape{size};
        shape.insert(shape.end(), b->extents.begin(), b->extents.end());
        return make_buf(make_sym(SymKind::buffer, b->dtype, b->sym->name), std::move(shape), space);
      };
      Buf carry = joined(first.bufs.carry, Space::stack), partial = joined(first.bufs.partial, Space::stack);
      Buf sums = first.bufs.sums ? joined(first.bufs.sums, Space::heap) : Buf{};
      for (size_t i = 0; i < alike.size(); ++i) {
        ReductionPlan &sum = *alike[i];
        sum.bufs.carry = carry, sum.bufs.partial = partial, sum.bufs.sums = sums;
        sum.at = {const_int(static_cast<int64_t>(i))};
      }
    }
  }

  /// Applies `make` to each sum, in one loop for sums that share arrays.
  Stmt for_each_sum(const std::function<Stmt(const ReductionPlan &)> &make) const {
    std::vector<Stmt> out;
    std::unordered_set<const BufNode *> done;
    for (const ReductionPlan &sum : sums_) {
      if (!done.insert(sum.bufs.carry.get()).second) continue;
      if (sum.at.empty()) {
        out.push_back(make(sum));
        continue;
      }
      Sym number = lane_iterator("sum");
      ReductionPlan any = sum;
      any.at = {kw::ref(number)};
      out.push_back(counted_loop(number, const_int(0), sum.bufs.carry->extents[0], make(any)));
    }
    return seq(std::move(out));
  }

  /// Returns the blocks per chunk. A chunk has as many operations as make it worth a thread (analysis/cost).
  uint32_t blocks_per_chunk() const {
    // Chosen: the cost of an iteration beside its operations, for loads and the sum; and a bound for huge
    // grains.
    constexpr int64_t overhead = 4, most = int64_t{1} << 20;
    int64_t worth = target_.work_per_thread() >> sum_block_bits;  // blocks of one operation per iteration
    VectorizationAnalysis view(innermost());
    return static_cast<uint32_t>(std::clamp<int64_t>(worth / (overhead + view.work().operations), 1, most));
  }

  Stmt one_block(const Sym &block, const Expr &blocks) const {
    Sym first = local("first"), end = local("end");
    Expr b = kw::ref(block);
    std::vector<Stmt> parts;
    for (const ReductionPlan &sum : sums_) parts.push_back(reset_lanes(sum));
    parts.push_back(iterations(first, kw::ref(end)));
    std::vector<Stmt> kept, folded;
    for (const ReductionPlan &sum : sums_) {
      if (!sum.how.long_only) kept.push_back(keep_terms(sum));
      folded.push_back(fold_lanes(sum, [&](Expr e) {
        return sum.how.on_threads ? store(sum.bufs.sums, sum.element(b), std::move(e))
                                  : sum.set_carry(std::move(e));
      }));
    }
    Expr is_last = binary(BinOp::eq, add(b, const_int(1)), blocks);
    if (!sums_[0].how.on_threads)
      folded.push_back(for_each_sum([&](const ReductionPlan &s) { return add_block(s, b, is_last); }));
    parts.push_back(sums_[0].by_length(seq(kept), seq(folded)));
    Stmt out = seq(parts);
    for (const ReductionPlan &sum : sums_) out = alloc(sum.bufs.lanes, Fill::none, out);
    Expr count = kw::ref(sums_[0].count);
    return let(first, shifted_up(b, sum_block_bits),
               let(end, at_most(count, add(kw::ref(first), const_int(sum_block))), out));
  }

  /// Builds the iterations `first` to `end` of the band; with several loops, run by run of the innermost one.
  Stmt iterations(const Sym &first, const Expr &end) const {
    if (loops_.size() == 1) return rows({kw::ref(first), end, const_int(0), true});
    Sym trips = local("trips"), run = lane_iterator("run"), base = local("base"), lo = local("lo"),
        hi = local("hi");
    Expr m = kw::ref(trips), f = kw::ref(first), t = kw::ref(run), from = kw::ref(base);
    Stmt body = rows({kw::ref(lo), kw::ref(hi), from, false});
    for (size_t i = names_.size(); i-- > 0;) body = let(names_[i]->sym, names_[i]->value, body);
    body = outer_iterators(run, std::move(body));
    body = let(lo, at_least(f, from), let(hi, at_most(end, add(from, m)), body));
    body = let(base, mul(t, m), body);
    Expr last = binary(BinOp::floor_div, sub(end, const_int(1)), m);
    Stmt out = counted_loop(run, binary(BinOp::floor_div, f, m), add(last, const_int(1)), body);
    return let(trips, trips_of(innermost()), out);
  }

  /// Binds the iterators of the loops around the innermost one for its run number `run`.
  Stmt outer_iterators(const Sym &run, Stmt body) const {
    std::vector<std::pair<Sym, Expr>> bound;
    Expr left = kw::ref(run);
    for (size_t d = loops_.size() - 1; d-- > 0;) {
      const For &n = *loops_[d];
      Expr at = left;
      if (d > 0) {
        Sym trips = local("trips"), rest = local("rest");
        bound.emplace_back(trips, trips_of(n));
        bound.emplace_back(rest, binary(BinOp::floor_div, left, kw::ref(trips)));
        at = sub(left, mul(kw::ref(rest), kw::ref(trips)));
        left = kw::ref(rest);
      }
      bound.emplace_back(n.iter, add(n.lo, mul(at, const_int(n.step))));
    }
    for (size_t i = bound.size(); i-- > 0;) body = let(bound[i].first, bound[i].second, std::move(body));
    return body;
  }

  /// Builds the rows of a run. If the run is aligned, whole rows and the remainder of the last one have
  /// separate code, unless the code of a row is long.
  Stmt rows(const Run &run) const {
    Sym before = local("before"), row = lane_iterator("row"), start = local("start"), rest = local("start");
    bool apart = run.aligned &&
                 !(sums_[0].how.in_registers && always_masked(VectorizationAnalysis(innermost()), target_));
    Expr first = kw::ref(before), most = add(first, const_int(sum_block / sum_lanes));
    Expr rows_to = shifted_down(apart ? run.hi : add(run.hi, const_int(sum_lanes - 1)), sum_lane_bits);
    Stmt body = let(start, shifted_up(kw::ref(row), sum_lane_bits),
                    one_row(run, apart ? Part::whole : Part::any, kw::ref(start)));
    Stmt out = counted_loop(row, first, at_most(rows_to, most), std::move(body));
    if (apart) {
      Expr left = binary(BinOp::bit_and, run.hi, const_int(sum_lanes - 1));
      Stmt last = copy_of(let(rest, sub(run.hi, left), one_row(run, Part::rest, kw::ref(rest))));
      out = seq({out, if_else(binary(BinOp::lt, const_int(0), left), std::move(last), {})});
    }
    return let(before, shifted_down(run.lo, sum_lane_bits), std::move(out));
  }

  Stmt one_row(const Run &run, Part part, const Expr &start) const {
    return sums_[0].how.in_registers ? row_in_registers(run, part, start) : row_in_parts(run, part, start);
  }

  Stmt row_in_registers(const Run &run, Part part, const Expr &start) const {
    Sym l = lane_iterator("l");
    Expr from = run.aligned ? const_int(0) : at_least(sub(run.lo, start), const_int(0));
    Expr to = part == Part::whole  ? const_int(sum_lanes)
              : part == Part::rest ? binary(BinOp::bit_and, run.hi, const_int(sum_lanes - 1))
                                   : at_most(sub(run.hi, start), const_int(sum_lanes));
    Stmt row = vector_loop(l, from, to, sum_lanes,
                           iteration(add(sub(start, run.base), kw::ref(l)), kw::ref(l)), part == Part::rest);
    For loop = *as<For>(row);
    VectorizationAnalysis view(loop);
    loop.row_lengths = best_plan(loop, view, target_, true).rows;
    if (always_masked(view, target_)) loop.how.tail = Tail::masked;
    return for_loop(std::move(loop), row.loc());
  }

  /// Builds the lanes of a row in parts of the loop's vector width.
  Stmt row_in_parts(const Run &run, Part which, const Expr &row) const {
    int64_t width = innermost().how.vector_width;
    Sym part = lane_iterator("part"), l = lane_iterator("l"), start = local("start"), begin = local("begin");
    Expr at = kw::ref(start), offset = kw::ref(l), first = at;
    Expr end = at_most(run.hi, add(at, const_int(width)));
    Expr lanes = binary(BinOp::bit_and, at, const_int(sum_lanes - 1));
    if (!run.aligned) {
      first = kw::ref(begin);
      lanes = binary(BinOp::bit_and, first, const_int(sum_lanes - 1));
    }
    Expr trips = which == Part::whole ? const_int(width) : at_most(sub(end, first), const_int(width));
    Stmt body = vector_loop(l, const_int(0), trips, width,
                            iteration(add(sub(first, run.base), offset), add(lanes, offset)));
    body = planned(body);
    if (!run.aligned) body = let(begin, at_least(at, run.lo), body);
    if (width == sum_lanes) return let(start, row, body);
    body = let(start, add(row, mul(kw::ref(part), const_int(width))), body);
    return counted_loop(part, const_int(0), const_int(sum_lanes / width), body);
  }

  /// Plans a vector loop that the schedule does not know.
  Stmt planned(const Stmt &s) const {
    For loop = *as<For>(s);
    VectorPlan plan = best_plan(loop, VectorizationAnalysis(loop), target_, true);
    loop.how.tail = plan.tail, loop.how.prefetch = plan.prefetch, loop.row_lengths = plan.rows;
    return for_loop(std::move(loop), s.loc());
  }

  /// Builds one iteration of the innermost loop from its number in the run and its lane.
  Stmt iteration(const Expr &number, const Expr &lane) const {
    const For &n = innermost();
    Stmt body = let(n.iter, add(n.lo, mul(number, const_int(n.step))), n.body);
    for (const ReductionPlan &sum : sums_) body = let(sum.lane, lane, body);
    return body;
  }

  std::vector<ReductionPlan> sums_;
  Loc loc_;
  const Target &target_;
  std::vector<const For *> loops_;  ///< outermost first
  std::vector<const Let *> names_;  ///< the Lets between the loops
};

}  // namespace

Stmt run_in_rows(const For &outermost, const std::vector<const ReductionPlan *> &sums, const Loc &loc,
                 const Target &target) {
  return RowBuilder(outermost, sums, loc, target).run();
}

}  // namespace kw
