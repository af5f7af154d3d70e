// Accumulates terms, and folds lanes and blocks.
#include "transform/lowering/reduction_plan.h"

#include "ir/accumulation.h"
#include "ir/intrinsics.h"
#include "ir/rewrite.h"

namespace kw {

namespace {

constexpr int64_t levels = 48;  ///< no run counts through more than 2^48 blocks

Buf array(DType dtype, int64_t size, const char *name, Space space = Space::stack) {
  return make_buf(make_sym(SymKind::buffer, dtype, name), {const_int(size)}, space);
}

bool is_product(const Store &n) {
  const Binary *b = as<Binary>(n.value);
  return b && b->op == BinOp::mul;
}

}  // namespace

ReductionPlan::ReductionPlan(const Store &n, Loc loc_, std::vector<const For *> band_, bool skips_)
    : target(n.buf),
      index(n.index),
      loc(loc_),
      op(is_product(n) ? BinOp::mul : BinOp::add),
      band(std::move(band_)),
      skips(skips_),
      guarded(skips && !n.index.empty()),
      fused(as<Call>(n.value) != nullptr),
      count(make_sym(SymKind::local, DType::i64, "n")),
      number(make_sym(SymKind::local, DType::i64, "k")),
      bufs{.lanes = array(target->dtype, sum_lanes, "lanes"),
           .partial = array(target->dtype, levels, "partial"),
           .carry = lane_cell(target->dtype, "carry"),
           .due = lane_cell(DType::i64, "due"),
           .used = lane_cell(DType::i64, "used"),
           .left = {},
           .right = {},
           .sums = {}} {}

std::vector<Expr> ReductionPlan::element(Expr i) const {
  std::vector<Expr> out = at;
  out.push_back(std::move(i));
  return out;
}

Stmt ReductionPlan::by_length(Stmt if_short, Stmt if_long) const {
  if (how.long_only) return if_long;
  if (!if_short) return if_else(unary(UnOp::logical_not, is_short()), std::move(if_long), {});
  return if_else(is_short(), std::move(if_short), std::move(if_long));
}

void ReductionPlan::run_in_rows(bool registers, bool threads) {
  how = {Form::in_rows, how.long_only, registers, threads};
  DType t = target->dtype;
  if (registers) bufs.lanes = array(t, sum_lanes, "lanes", Space::registers);
  lane = make_sym(SymKind::local, DType::i64, "lane");
  if (!how.long_only) {
    bufs.left = array(t, sum_lanes, fused ? "left" : "terms");
    if (fused) bufs.right = array(t, sum_lanes, "right");
  }
  if (!threads) return;
  Expr blocks = const_int(1);
  for (const For *loop : band) {
    bool up = loop->step > 0;
    // the difference of an empty loop's ends could wrap
    const Expr &low = up ? loop->lo : loop->hi, &high = up ? loop->hi : loop->lo;
    blocks = mul(blocks, sub(high, binary(BinOp::min, low, high)));  // a bound: steps of 1
  }
  blocks = binary(BinOp::floor_div, add(blocks, const_int(sum_block - 1)), const_int(sum_block));
  bufs.sums = make_buf(make_sym(SymKind::buffer, t, "sums"), {blocks}, Space::heap);
}

Buf lane_cell(DType dtype, const char *name) {
  return make_buf(make_sym(SymKind::buffer, dtype, name), {}, Space::registers);
}
Sym lane_iterator(const char *name) { return make_sym(SymKind::iter, DType::i64, name); }

Stmt counted_loop(const Sym &iter, Expr lo, Expr hi, Stmt body, int64_t step) {
  return for_loop(
      {iter, std::move(lo), std::move(hi), step, ForKind::serial, Hint::none, {}, std::move(body)});
}
Stmt vector_loop(const Sym &iter, Expr lo, Expr hi, int64_t width, Stmt body, bool is_rest) {
  return for_loop({iter,
                   std::move(lo),
                   std::move(hi),
                   1,
                   ForKind::vector,
                   Hint::none,
                   {.vector_width = static_cast<uint32_t>(width), .max_trips = width - (is_rest ? 1 : 0)},
                   std::move(body)});
}

namespace {

/// Names the operands beside the accumulator, so that both forms of the store can use them.
struct Named {
  std::vector<std::pair<Sym, Expr>> names;
  Expr value;
};
Named name_operands(const Store &n) {
  Named out;
  auto named = [&](const Expr &e) {
    if (as<Const>(e) || as<Ref>(e) || as<Load>(e)) return e;
    out.names.emplace_back(make_sym(SymKind::local, e.dtype(), "term"), e);
    return kw::ref(out.names.back().first, e.loc());
  };
  out.value = n.value;
  if (const Binary *b = as<Binary>(n.value)) {
    Expr left = named(b->a);
    out.value = binary(b->op, left, named(b->b), n.value.loc());
  } else if (const Call *c = as<Call>(n.value); c && c->fn == Fn::fma) {
    Expr left = named(c->args[0]), right = named(c->args[1]);
    out.value = call(Fn::fma, {left, right, named(c->args[2])}, n.value.loc());
  }
  return out;
}

}  // namespace

Stmt accumulate(const ReductionPlan &sum, const Store &n) {
  bool rows = sum.how.form == ReductionPlan::Form::in_rows;
  std::vector<Expr> lane{rows ? kw::ref(sum.lane)
                              : binary(BinOp::bit_and, kw::ref(sum.number), const_int(sum_lanes - 1))};
  Named named = name_operands(n);
  Expr value = rewrite(named.value, [&](const Load &l, const Expr &e) {
    return same_place(l, n) ? load(sum.bufs.lanes, lane) : e;
  });
  Stmt out = store(sum.bufs.lanes, lane, value, sum.loc);
  if (rows && sum.fused && !sum.how.long_only) {
    const Call *product = as<Call>(named.value);
    Stmt keep =
        seq({store(sum.bufs.left, lane, product->args[0]), store(sum.bufs.right, lane, product->args[1])});
    out = seq({out, if_else(sum.is_short(), keep, {})});
  }
  if (sum.how.form == ReductionPlan::Form::scattered)
    out = seq({end_blocks_before(sum, kw::ref(sum.number)), out});
  if (!rows) out = sum.by_length(store(n.buf, n.index, named.value, sum.loc), out);
  if (sum.guarded)
    out = seq({store(sum.bufs.used, {}, binary(BinOp::bit_or, load(sum.bufs.used, {}), const_int(1))), out});
  for (auto name = named.names.rbegin(); name != named.names.rend(); ++name)
    out = let(name->first, name->second, out);
  return out;
}

Stmt reset_lanes(const ReductionPlan &sum) {
  Sym l = lane_iterator("l");
  Stmt reset = sum.set_lane(kw::ref(l), sum.identity());
  if (sum.how.form == ReductionPlan::Form::in_rows) {
    if (sum.bufs.right && sum.skips)  // -0.0 · 1.0 adds nothing
      reset = seq({reset, store(sum.bufs.left, {kw::ref(l)}, const_float(sum.target->dtype, -0.0)),
                   store(sum.bufs.right, {kw::ref(l)}, const_float(sum.target->dtype, 1.0))});
    return vector_loop(l, const_int(0), const_int(sum_lanes), sum_lanes, reset);
  }
  return sum.by_length({}, counted_loop(l, const_int(0), const_int(sum_lanes), reset));
}

namespace {

/// Folds lane l + half into lane l for each l below `half`, each time into fewer accumulators.
Stmt fold_in_halves(const ReductionPlan &sum, const Buf &lanes, int64_t half,
                    const std::function<Stmt(Expr)> &use) {
  if (half == 1) return use(sum.combine(load(lanes, {const_int(0)}), load(lanes, {const_int(1)})));
  Sym l = lane_iterator("l");
  Expr folded = sum.combine(load(lanes, {kw::ref(l)}), load(lanes, {add(kw::ref(l), const_int(half))}));
  Buf fewer = array(sum.target->dtype, half, "fewer", Space::registers);
  Stmt fold = vector_loop(l, const_int(0), const_int(half), half, store(fewer, {kw::ref(l)}, folded));
  return alloc(fewer, Fill::none, seq({fold, fold_in_halves(sum, fewer, half / 2, use)}));
}

}  // namespace

/// Folds lanes 63 to 1 one by one. Lane l folds into lane l without its highest bit, which is half of the
/// lanes still in use before it.
Stmt fold_lanes(const ReductionPlan &sum, const std::function<Stmt(Expr)> &use) {
  if (sum.how.form == ReductionPlan::Form::in_rows)
    return fold_in_halves(sum, sum.bufs.lanes, sum_lanes / 2, use);
  Sym l = lane_iterator("l"), bits = make_sym(SymKind::local, DType::i64, "bits");
  auto smear = [](const Expr &e, int64_t by) {
    return binary(BinOp::bit_or, e, binary(BinOp::shr, e, const_int(by)));
  };
  Expr below_highest = binary(BinOp::shr, smear(smear(smear(kw::ref(l), 1), 2), 4), const_int(1));
  Expr to = binary(BinOp::bit_and, kw::ref(l), kw::ref(bits));
  Expr folded = sum.combine(load(sum.bufs.lanes, {to}), load(sum.bufs.lanes, {kw::ref(l)}));
  Stmt fold = counted_loop(l, const_int(sum_lanes - 1), const_int(0),
                           let(bits, below_highest, sum.set_lane(to, folded)), -1);
  return seq({fold, use(load(sum.bufs.lanes, {const_int(0)}))});
}

/// Adds the finished block, number b, to the partial sums. It takes in the levels of the trailing ones of b,
/// and stays at the level after them. The last block takes in every level whose bit of b is set. Right
/// operands are later blocks, so the counter folds as pairs of pairs do.
Stmt add_block(const ReductionPlan &sum, const Expr &block, const Expr &is_last) {
  Buf level = lane_cell(DType::i64, "level");
  Sym closed = make_sym(SymKind::local, DType::i64, "closed");
  Expr trailing_ones =
      binary(BinOp::shr, binary(BinOp::bit_xor, block, add(block, const_int(1))), const_int(1));
  Expr above = binary(BinOp::shr, kw::ref(closed), load(level, {}));
  Expr bit = binary(BinOp::ne, binary(BinOp::bit_and, above, const_int(1)), const_int(0));
  std::vector<Expr> place = sum.element(load(level, {}));
  Stmt take = sum.set_carry(sum.combine(load(sum.bufs.partial, place), sum.carried()));
  Stmt climb = seq({if_else(bit, take, {}), store(level, {}, add(load(level, {}), const_int(1)))});
  Stmt body = seq({store(level, {}, const_int(0)),
                   make_stmt({}, While{binary(BinOp::ne, above, const_int(0)), climb}),
                   store(sum.bufs.partial, place, sum.carried())});
  return let(closed, select(is_last, block, trailing_ones), alloc(level, Fill::none, body));
}

namespace {

/// The last iteration of the block that ends next; beyond all numbers if there is none.
Expr no_block() { return const_int(INT64_MAX); }
Expr last_of(const ReductionPlan &sum, Expr at_most) {
  return binary(BinOp::min, sub(kw::ref(sum.count), const_int(1)), std::move(at_most));
}

}  // namespace

Stmt begin_blocks(const ReductionPlan &sum) {
  return store(sum.bufs.due, {}, select(sum.is_short(), no_block(), last_of(sum, const_int(sum_block - 1))));
}

Stmt end_blocks_before(const ReductionPlan &sum, Expr number) {
  Expr due = load(sum.bufs.due, {});
  Sym block = make_sym(SymKind::local, DType::i64, "block");
  Expr is_last = binary(BinOp::eq, add(due, const_int(1)), kw::ref(sum.count));
  Expr next = select(is_last, no_block(), last_of(sum, add(due, const_int(sum_block))));
  Stmt fold = fold_lanes(sum, [&](Expr folded) {
    return seq({sum.set_carry(std::move(folded)), add_block(sum, kw::ref(block), is_last)});
  });
  Stmt end = seq({fold, reset_lanes(sum), store(sum.bufs.due, {}, next)});
  end = let(block, binary(BinOp::shr, due, const_int(sum_block_bits)), end);
  return make_stmt({}, While{binary(BinOp::lt, due, std::move(number)), end});
}

/// Keeps the terms of a band. Factors are kept as they come (see accumulate); other terms are in the lanes.
Stmt keep_terms(const ReductionPlan &sum) {
  if (sum.fused) return {};
  Sym l = lane_iterator("l");
  Stmt keep = store(sum.bufs.left, {kw::ref(l)}, load(sum.bufs.lanes, {kw::ref(l)}));
  return vector_loop(l, const_int(0), const_int(sum_lanes), sum_lanes, keep);
}

/// Skips the statement if no iteration reached the element.
static Stmt where_used(const ReductionPlan &sum, Stmt s) {
  return sum.guarded ? if_else(binary(BinOp::ne, load(sum.bufs.used, {}), const_int(0)), std::move(s), {})
                     : s;
}

Stmt add_terms_in_order(const ReductionPlan &sum) {
  Sym l = lane_iterator("l");
  Expr before = load(sum.target, sum.index, sum.loc), term = load(sum.bufs.left, {kw::ref(l)});
  Expr after = sum.fused ? call(Fn::fma, {term, load(sum.bufs.right, {kw::ref(l)}), before})
                         : sum.combine(before, term);
  return where_used(
      sum, counted_loop(l, const_int(0), kw::ref(sum.count), store(sum.target, sum.index, after, sum.loc)));
}

/// Folds the sums of blocks pair by pair, carrying an odd one, until one is left.
Stmt fold_sums(const ReductionPlan &sum, const Expr &blocks) {
  Buf left = lane_cell(DType::i64, "left");
  Sym i = lane_iterator("i"), half = make_sym(SymKind::local, DType::i64, "half"),
      odd = make_sym(SymKind::local, DType::i64, "odd");
  Expr now = load(left, {}), one = const_int(1), even = mul(kw::ref(i), const_int(2));
  auto of_block = [&](Expr number) { return load(sum.bufs.sums, sum.element(std::move(number))); };
  auto set_block = [&](Expr number, Expr value) {
    return store(sum.bufs.sums, sum.element(std::move(number)), std::move(value));
  };
  Expr pair = sum.combine(of_block(even), of_block(add(even, one)));
  Stmt carry_odd = set_block(kw::ref(half), of_block(sub(now, one)));
  Stmt level = seq({counted_loop(i, const_int(0), kw::ref(half), set_block(kw::ref(i), pair)),
                    if_else(binary(BinOp::ne, kw::ref(odd), const_int(0)), carry_odd, {}),
                    store(left, {}, add(kw::ref(half), kw::ref(odd)))});
  level = let(half, binary(BinOp::shr, now, one), let(odd, binary(BinOp::bit_and, now, one), level));
  Stmt all = seq({store(left, {}, blocks), make_stmt({}, While{binary(BinOp::lt, one, now), level}),
                  sum.set_carry(of_block(const_int(0)))});
  return alloc(left, Fill::none, all);
}

Stmt add_carry(const ReductionPlan &sum) {
  Expr before = load(sum.target, sum.index, sum.loc);
  return where_used(sum, store(sum.target, sum.index, sum.combine(before, sum.carried()), sum.loc));
}

}  // namespace kw
