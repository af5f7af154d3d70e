// Rewrites the stores, the ends of their innermost loops, and the bands.
#include "transform/lower_lanes.h"

#include <unordered_map>

#include "ir/accumulation.h"
#include "ir/match.h"
#include "ir/rewrite.h"

namespace kw {

namespace {

constexpr int64_t lane_count = 64, block_size = 4096;
constexpr int64_t levels = 48;  ///< more than 2^48 blocks cannot be counted through

Expr trips_of(const For &n) {
  Expr span = n.step > 0 ? sub(n.hi, n.lo) : sub(n.lo, n.hi);
  int64_t size = step_size(n);
  if (size != 1) span = binary(BinOp::floor_div, add(span, const_int(size - 1)), const_int(size));
  return binary(BinOp::max, span, const_int(0));
}

/// Which iteration of its loop runs, from 0.
Expr number_of(const For &n) {
  Expr passed = n.step > 0 ? sub(kw::ref(n.iter), n.lo) : sub(n.lo, kw::ref(n.iter));
  int64_t size = step_size(n);
  return size == 1 ? passed : binary(BinOp::floor_div, passed, const_int(size));
}

Buf array(DType dtype, int64_t size, const char *name) {
  return make_buf(make_sym(SymKind::buffer, dtype, name), {const_int(size)}, Space::stack);
}
Buf cell(DType dtype, const char *name) {
  return make_buf(make_sym(SymKind::buffer, dtype, name), {}, Space::registers);
}

Stmt counted(const Sym &iter, Expr lo, Expr hi, Stmt body, int64_t step = 1) {
  return for_loop(
      {iter, std::move(lo), std::move(hi), step, ForKind::serial, 0, Hint::none, std::move(body)});
}
Sym iterator(const char *name) { return make_sym(SymKind::iter, DType::i64, name); }

/// One store in lanes and what an entry of its band needs.
struct LaneSum {
  Buf target;
  std::vector<Expr> index;
  Loc loc;
  BinOp op;
  std::vector<const For *> band;  ///< innermost first
  Buf lanes, partial, used;       ///< accumulators, the counter's partial sums, 1 when something was added
  Sym count, number;              ///< iterations of the band; the present one, from 0

  Expr identity() const { return const_float(target->dtype, op == BinOp::mul ? 1.0 : -0.0); }
  Expr combine(Expr a, Expr b) const { return binary(op, std::move(a), std::move(b)); }
  Expr is_short() const { return binary(BinOp::lt, kw::ref(count), const_int(lane_count)); }
};

/// The accumulation of one iteration: into the target itself or into a lane.
Stmt accumulate(const LaneSum &sum, const Store &n) {
  std::vector<Expr> lane{binary(BinOp::bit_and, kw::ref(sum.number), const_int(lane_count - 1))};
  Expr value = rewrite(
      n.value, [&](const Load &l, const Expr &e) { return same_place(l, n) ? load(sum.lanes, lane) : e; });
  return if_else(sum.is_short(), store(n.buf, n.index, n.value, sum.loc),
                 seq({store(sum.lanes, lane, value, sum.loc), store(sum.used, {}, const_int(1))}));
}

Stmt reset_lanes(const LaneSum &sum) {
  Sym l = iterator("l");
  return counted(l, const_int(0), const_int(lane_count), store(sum.lanes, {kw::ref(l)}, sum.identity()));
}

/// Lanes fold by halves into lane 0; the others are then empty again.
Stmt fold_lanes(const LaneSum &sum) {
  Sym half = iterator("half"), l = iterator("l");
  Expr distance = binary(BinOp::shl, const_int(1), kw::ref(half));
  Expr folded = sum.combine(load(sum.lanes, {kw::ref(l)}), load(sum.lanes, {add(kw::ref(l), distance)}));
  Stmt step = seq({store(sum.lanes, {kw::ref(l)}, folded),
                   store(sum.lanes, {add(kw::ref(l), distance)}, sum.identity())});
  Stmt inner = counted(l, const_int(0), const_int(lane_count / 2),
                       if_else(binary(BinOp::lt, kw::ref(l), distance), step, {}));
  return counted(half, const_int(5), const_int(-1), inner, -1);
}

Expr bit_of(const Expr &number, const Sym &level) {
  Expr bit = binary(BinOp::bit_and, binary(BinOp::shr, number, kw::ref(level)), const_int(1));
  return binary(BinOp::ne, bit, const_int(0));
}

/// The finished block, number b, goes into a binary counter: it takes up the partial sums of the levels whose
/// bit of b is set, and stays at the first level whose bit is not. Right operands are later blocks, so the
/// counter folds as pairs of pairs do.
Stmt end_block(const LaneSum &sum) {
  Buf carry = cell(sum.target->dtype, "carry"), open = cell(DType::i64, "open");
  Sym level = iterator("level");
  Expr block = binary(BinOp::floor_div, kw::ref(sum.number), const_int(block_size));
  Stmt take = store(carry, {}, sum.combine(load(sum.partial, {kw::ref(level)}), load(carry, {})));
  Stmt leave = seq({store(sum.partial, {kw::ref(level)}, load(carry, {})), store(open, {}, const_int(0))});
  Stmt step = if_else(binary(BinOp::ne, load(open, {}), const_int(0)),
                      if_else(bit_of(block, level), take, leave), {});
  Stmt add_block =
      alloc(carry, Fill::none,
            alloc(open, Fill::none,
                  seq({store(carry, {}, load(sum.lanes, {const_int(0)})), store(open, {}, const_int(1)),
                       counted(level, const_int(0), const_int(levels), step)})));
  Expr last_of_block =
      binary(BinOp::eq, binary(BinOp::bit_and, kw::ref(sum.number), const_int(block_size - 1)),
             const_int(block_size - 1));
  Expr last = binary(BinOp::eq, add(kw::ref(sum.number), const_int(1)), kw::ref(sum.count));
  Expr due = logic(true, unary(UnOp::logical_not, sum.is_short()), logic(false, last_of_block, last));
  Stmt empty = store(sum.lanes, {const_int(0)}, sum.identity());
  return if_else(due, seq({fold_lanes(sum), add_block, empty}), {});
}

/// What is left in the counter, later blocks first, added to the target.
Stmt finish(const LaneSum &sum) {
  Buf total = cell(sum.target->dtype, "total"), any = cell(DType::i64, "any");
  Sym level = iterator("level");
  Expr blocks =
      binary(BinOp::floor_div, add(kw::ref(sum.count), const_int(block_size - 1)), const_int(block_size));
  Expr part = load(sum.partial, {kw::ref(level)});
  Stmt take = if_else(binary(BinOp::ne, load(any, {}), const_int(0)),
                      store(total, {}, sum.combine(part, load(total, {}))),
                      seq({store(total, {}, part), store(any, {}, const_int(1))}));
  Expr before = load(sum.target, sum.index, sum.loc);
  Stmt body = seq({store(any, {}, const_int(0)), store(total, {}, sum.identity()),
                   counted(level, const_int(0), const_int(levels), if_else(bit_of(blocks, level), take, {})),
                   store(sum.target, sum.index, sum.combine(before, load(total, {})), sum.loc)});
  Stmt added = alloc(total, Fill::none, alloc(any, Fill::none, body));
  return if_else(binary(BinOp::ne, load(sum.used, {}), const_int(0)), added, {});
}

class LaneLowering {
 public:
  Func run(const Func &f) {
    for_each_store(f.body, [&](const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
      if (n.order == Order::lanes) note(s, n, reduced_band(n, loops));
    });
    if (sums_.empty()) return f;
    Func out = f;
    out.body = rewrite(
        f.body,
        [&](const Store &n, const Stmt &s, const Stmt &original) {
          auto found = sums_.find(original.p.get());
          return found == sums_.end() ? s : accumulate(found->second, n);
        },
        [&](const For &n, const Stmt &s, const Stmt &original) { return loop(n, s, original); });
    return out;
  }

 private:
  void note(const Stmt &s, const Store &n, const std::vector<const For *> &band) {
    if (band.empty()) return;
    const Binary *b = as<Binary>(n.value);
    DType t = n.buf->dtype;
    sums_.emplace(
        s.p.get(),
        LaneSum{n.buf, n.index, s.loc(), b && b->op == BinOp::mul ? BinOp::mul : BinOp::add, band,
                array(t, lane_count, "lanes"), array(t, levels, "partial"), cell(DType::i64, "used"),
                make_sym(SymKind::local, DType::i64, "n"), make_sym(SymKind::local, DType::i64, "k")});
    order_.push_back(s.p.get());
  }

  Stmt loop(const For &n, const Stmt &s, const Stmt &original) {
    const For *source = as<For>(original);
    For inner = n;
    Stmt out = s;
    for (const StmtNode *at : order_) {
      const LaneSum &sum = sums_.at(at);
      if (sum.band.front() != source) continue;
      Expr number;
      for (size_t d = sum.band.size(); d-- > 0;) {
        Expr mine = number_of(*sum.band[d]);
        number = number ? add(mul(number, trips_of(*sum.band[d])), mine) : mine;
      }
      inner.body = let(sum.number, number, seq({inner.body, end_block(sum)}));
      out = for_loop(inner, s.loc());
    }
    for (const StmtNode *at : order_) {
      const LaneSum &sum = sums_.at(at);
      if (sum.band.back() != source) continue;
      Expr count = const_int(1);
      for (const For *level : sum.band) count = mul(count, trips_of(*level));
      Stmt body = seq({reset_lanes(sum), store(sum.used, {}, const_int(0)), out, finish(sum)});
      body = alloc(sum.lanes, Fill::none, alloc(sum.partial, Fill::none, alloc(sum.used, Fill::none, body)));
      out = let(sum.count, count, body);
    }
    return out;
  }

  std::unordered_map<const StmtNode *, LaneSum> sums_;
  std::vector<const StmtNode *> order_;  ///< keys of sums_ in source order
};

}  // namespace

Func lower_lanes(const Func &f, const Target &) { return LaneLowering().run(f); }

}  // namespace kw
