// Rewrites the stores, the ends of their innermost loops, and the bands.
#include "transform/lower_lanes.h"

#include <algorithm>
#include <unordered_map>

#include "ir/accumulation.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/rewrite.h"

namespace kw {

namespace {

constexpr int64_t lane_count = 64, block_bits = 12, block_size = 1 << block_bits;
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
  bool guarded;                   ///< some iterations may add nothing
  bool in_blocks;                 ///< the band is one loop, which runs block by block
  bool in_vectors = false;        ///< likewise, and its iterations run in vectors
  Buf lanes, partial;             ///< accumulators; partial sums of blocks, by level
  Buf carry, due, used;  ///< sum of blocks; iteration that ends the block; 1 when something was added
  Sym count, number;     ///< iterations of the band; the present one, from 0
  Sym lane;              ///< the lane of the present one; in vectors only
  Buf left{}, right{};   ///< in vectors: the factors of fused products, of fewer terms than lanes

  Expr identity() const { return const_float(target->dtype, op == BinOp::mul ? 1.0 : -0.0); }
  Expr combine(Expr a, Expr b) const { return binary(op, std::move(a), std::move(b)); }
  Expr is_short() const { return binary(BinOp::lt, kw::ref(count), const_int(lane_count)); }
  Stmt set_lane(Expr lane, Expr value) const { return store(lanes, {std::move(lane)}, std::move(value)); }
};

/// True when every run of a loop's body reaches the store.
bool always_reached(const Stmt &s, const StmtNode *store) {
  if (s.p.get() == store) return true;
  if (const Seq *n = as<Seq>(s))
    return std::any_of(n->items.begin(), n->items.end(),
                       [&](const Stmt &item) { return always_reached(item, store); });
  if (const Let *n = as<Let>(s)) return always_reached(n->body, store);
  if (const Alloc *n = as<Alloc>(s)) return always_reached(n->body, store);
  return false;
}

/// Operands beside the accumulator get names, so that both forms of the store can use them.
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

/// The accumulation of one iteration: into the target itself or into a lane.
Stmt accumulate(const LaneSum &sum, const Store &n) {
  std::vector<Expr> lane{sum.in_vectors
                             ? kw::ref(sum.lane)
                             : binary(BinOp::bit_and, kw::ref(sum.number), const_int(lane_count - 1))};
  Named named = name_operands(n);
  Expr value = rewrite(named.value, [&](const Load &l, const Expr &e) {
    return same_place(l, n) ? load(sum.lanes, lane) : e;
  });
  Stmt out = store(sum.lanes, lane, value, sum.loc);
  if (sum.left) {
    const Call *product = as<Call>(named.value);
    Stmt keep = seq({store(sum.left, lane, product->args[0]), store(sum.right, lane, product->args[1])});
    out = seq({out, if_else(sum.is_short(), keep, {})});
  }
  if (!sum.in_vectors) out = if_else(sum.is_short(), store(n.buf, n.index, named.value, sum.loc), out);
  if (sum.guarded)
    out = seq({store(sum.used, {}, binary(BinOp::bit_or, load(sum.used, {}), const_int(1))), out});
  for (auto name = named.names.rbegin(); name != named.names.rend(); ++name)
    out = let(name->first, name->second, out);
  return out;
}

Stmt in_vector(const Sym &iter, Expr hi, int64_t width, Stmt body) {
  return for_loop({iter, const_int(0), std::move(hi), 1, ForKind::vector, static_cast<uint32_t>(width),
                   Hint::none, std::move(body)});
}

Stmt reset_lanes(const LaneSum &sum) {
  Sym l = iterator("l");
  if (sum.in_vectors) {
    std::vector<Stmt> items{sum.set_lane(kw::ref(l), sum.identity())};
    if (sum.left && sum.guarded) {  // -0.0 · 1.0 adds nothing
      items.push_back(store(sum.left, {kw::ref(l)}, const_float(sum.target->dtype, -0.0)));
      items.push_back(store(sum.right, {kw::ref(l)}, const_float(sum.target->dtype, 1.0)));
    }
    return in_vector(l, const_int(lane_count), lane_count, seq(std::move(items)));
  }
  Expr used = binary(BinOp::min, kw::ref(sum.count), const_int(lane_count));
  return counted(l, const_int(0), used, sum.set_lane(kw::ref(l), sum.identity()));
}

/// Lanes 0, 1, … take up those that lie half of the lanes behind them, until there is one.
Stmt fold_in_halves(const LaneSum &sum) {
  std::vector<Stmt> items;
  for (int64_t half = lane_count / 2; half > 1; half /= 2) {
    Sym l = iterator("l");
    Expr upper = load(sum.lanes, {add(kw::ref(l), const_int(half))});
    Expr folded = sum.combine(load(sum.lanes, {kw::ref(l)}), upper);
    items.push_back(in_vector(l, const_int(half), half, sum.set_lane(kw::ref(l), folded)));
  }
  Expr first = load(sum.lanes, {const_int(0)}), second = load(sum.lanes, {const_int(1)});
  items.push_back(sum.set_lane(const_int(0), sum.combine(first, second)));
  return seq(std::move(items));
}

/// Of fewer iterations than lanes: their terms in the order of the source.
Stmt add_lanes_in_order(const LaneSum &sum) {
  Sym l = iterator("l");
  Expr before = load(sum.target, sum.index, sum.loc);
  Expr after = sum.left ? call(Fn::fma, {load(sum.left, {kw::ref(l)}), load(sum.right, {kw::ref(l)}), before})
                        : sum.combine(before, load(sum.lanes, {kw::ref(l)}));
  Stmt next = store(sum.target, sum.index, after, sum.loc);
  return counted(l, const_int(0), kw::ref(sum.count), next);
}

/// Lanes 63 to 1 fold into the lane that lies half of the lanes still in use before them: l without its
/// highest bit.
Stmt fold_lanes(const LaneSum &sum) {
  if (sum.in_vectors) return fold_in_halves(sum);
  Sym l = iterator("l"), bits = make_sym(SymKind::local, DType::i64, "bits");
  auto smear = [](const Expr &e, int64_t by) {
    return binary(BinOp::bit_or, e, binary(BinOp::shr, e, const_int(by)));
  };
  Expr below_highest = binary(BinOp::shr, smear(smear(smear(kw::ref(l), 1), 2), 4), const_int(1));
  Expr to = binary(BinOp::bit_and, kw::ref(l), kw::ref(bits));
  Expr folded = sum.combine(load(sum.lanes, {to}), load(sum.lanes, {kw::ref(l)}));
  return counted(l, const_int(lane_count - 1), const_int(0),
                 let(bits, below_highest, sum.set_lane(to, folded)), -1);
}

/// The finished block, number b, takes up the partial sums of the levels whose bits are the trailing ones of
/// b and stays at the level after them; the last block takes up every level whose bit of b is set. Right
/// operands are later blocks, so the counter folds as pairs of pairs do.
Stmt add_block(const LaneSum &sum, const Expr &block, const Expr &is_last) {
  Buf level = cell(DType::i64, "level");
  Sym closed = make_sym(SymKind::local, DType::i64, "closed");
  Expr trailing_ones =
      binary(BinOp::shr, binary(BinOp::bit_xor, block, add(block, const_int(1))), const_int(1));
  Expr above = binary(BinOp::shr, kw::ref(closed), load(level, {}));
  Expr bit = binary(BinOp::ne, binary(BinOp::bit_and, above, const_int(1)), const_int(0));
  Stmt take = store(sum.carry, {}, sum.combine(load(sum.partial, {load(level, {})}), load(sum.carry, {})));
  Stmt climb = seq({if_else(bit, take, {}), store(level, {}, add(load(level, {}), const_int(1)))});
  Stmt body = seq({store(level, {}, const_int(0)),
                   make_stmt({}, While{binary(BinOp::ne, above, const_int(0)), climb}),
                   store(sum.partial, {load(level, {})}, load(sum.carry, {}))});
  return let(closed, select(is_last, block, trailing_ones), alloc(level, Fill::none, body));
}

Expr last_of(const LaneSum &sum, Expr at_most) {
  return binary(BinOp::min, sub(kw::ref(sum.count), const_int(1)), std::move(at_most));
}

Stmt end_block(const LaneSum &sum, const Expr &block, const Expr &is_last) {
  return seq({fold_lanes(sum), store(sum.carry, {}, load(sum.lanes, {const_int(0)})),
              add_block(sum, block, is_last)});
}

/// Ends the block where the iteration at hand is its last one.
Stmt end_due_block(const LaneSum &sum) {
  Expr number = kw::ref(sum.number), due = load(sum.due, {});
  Sym block = make_sym(SymKind::local, DType::i64, "block");
  Expr is_last = binary(BinOp::eq, add(number, const_int(1)), kw::ref(sum.count));
  Stmt end = seq({end_block(sum, kw::ref(block), is_last), reset_lanes(sum),
                  store(sum.due, {}, last_of(sum, add(due, const_int(block_size))))});
  return if_else(binary(BinOp::eq, number, due),
                 let(block, binary(BinOp::shr, number, const_int(block_bits)), end), {});
}

/// The band with its accumulators; what they gathered is added to the target.
Stmt enclose(const LaneSum &sum, Stmt band) {
  Expr before = load(sum.target, sum.index, sum.loc);
  Expr gathered = unary(UnOp::logical_not, sum.is_short());
  if (sum.guarded) gathered = logic(true, gathered, binary(BinOp::ne, load(sum.used, {}), const_int(0)));
  Stmt add_all = store(sum.target, sum.index, sum.combine(before, load(sum.carry, {})), sum.loc);
  std::vector<Stmt> items{store(sum.carry, {}, sum.identity())};
  std::vector<Buf> buffers{sum.carry, sum.partial, sum.lanes};
  if (sum.left) buffers.insert(buffers.end(), {sum.left, sum.right});
  if (sum.guarded) {
    items.push_back(store(sum.used, {}, const_int(0)));
    buffers.push_back(sum.used);
  }
  if (!sum.in_blocks) {
    Expr first_due = select(sum.is_short(), const_int(-1), last_of(sum, const_int(block_size - 1)));
    items.push_back(store(sum.due, {}, first_due));
    items.push_back(reset_lanes(sum));
    buffers.push_back(sum.due);
  }
  items.push_back(std::move(band));
  items.push_back(if_else(gathered, add_all, {}));
  Stmt out = seq(std::move(items));
  for (const Buf &b : buffers) out = alloc(b, Fill::none, out);
  return out;
}

/// The iterations of a block in rows of 64, one for each lane: for row: for part: for l in vector: …
Stmt run_in_rows(const For &block, const std::vector<const LaneSum *> &sums, const Loc &loc) {
  int64_t width = block.width;
  Sym row = iterator("row"), part = iterator("part"), l = iterator("l"),
      start = make_sym(SymKind::local, DType::i64, "start"),
      lane = make_sym(SymKind::local, DType::i64, "lane");
  Expr first = width == lane_count ? const_int(0) : mul(kw::ref(part), const_int(width));
  Stmt body = let(block.iter, add(kw::ref(start), kw::ref(l)), block.body);
  for (const LaneSum *sum : sums) body = let(sum->lane, kw::ref(lane), body);
  body = let(lane, add(first, kw::ref(l)), body);
  Expr most = binary(BinOp::min, sub(block.hi, kw::ref(start)), const_int(width));
  For lanes = block;
  lanes.iter = l, lanes.lo = const_int(0), lanes.hi = most, lanes.step = 1;
  lanes.body = std::move(body);
  body = let(start, add(add(block.lo, mul(kw::ref(row), const_int(lane_count))), first),
             for_loop(std::move(lanes), loc));
  if (width < lane_count) body = counted(part, const_int(0), const_int(lane_count / width), std::move(body));
  Expr rows = binary(BinOp::shr, add(sub(block.hi, block.lo), const_int(lane_count - 1)), const_int(6));
  return counted(row, const_int(0), rows, std::move(body));
}

/// The one loop of the bands of these sums, in blocks of 4,096 iterations, each with its end.
Stmt run_in_blocks(const For &n, const std::vector<const LaneSum *> &sums, const Loc &loc) {
  Expr count = kw::ref(sums.front()->count), one = const_int(1);
  Sym first = make_sym(SymKind::local, DType::i64, "first"), block = iterator("block"),
      blocks = make_sym(SymKind::local, DType::i64, "blocks"),
      start = make_sym(SymKind::local, DType::i64, "start");
  For inner = n;
  inner.lo = kw::ref(first), inner.step = 1;
  inner.hi = binary(BinOp::min, count, add(kw::ref(first), const_int(block_size)));
  bool counts_itself = n.step == 1 && as_int(n.lo) == 0, in_vectors = sums.front()->in_vectors;
  if (!counts_itself || in_vectors) {
    Sym at = make_sym(SymKind::local, DType::i64, n.iter->name);
    inner.iter = in_vectors ? make_sym(SymKind::local, DType::i64, "k") : iterator("k");
    inner.body = rewrite(
        n.body, [&](const Ref &r, const Expr &e) { return r.sym == n.iter ? kw::ref(at, e.loc()) : e; });
    Expr k = kw::ref(inner.iter);
    inner.body = let(at, counts_itself ? k : add(kw::ref(start), mul(k, const_int(n.step))), inner.body);
  }
  std::vector<Stmt> parts, ends, in_order;
  for (const LaneSum *sum : sums) {
    parts.push_back(reset_lanes(*sum));
    if (in_vectors)
      in_order.push_back(add_lanes_in_order(*sum));
    else
      inner.body = let(sum->number, kw::ref(inner.iter), inner.body);
    ends.push_back(
        end_block(*sum, kw::ref(block), binary(BinOp::eq, add(kw::ref(block), one), kw::ref(blocks))));
  }
  parts.push_back(in_vectors ? run_in_rows(inner, sums, loc) : for_loop(inner, loc));
  if (in_vectors)
    parts.push_back(if_else(sums.front()->is_short(), seq(in_order), seq(ends)));
  else
    parts.push_back(if_else(unary(UnOp::logical_not, sums.front()->is_short()), seq(ends), {}));
  Stmt body = let(first, binary(BinOp::shl, kw::ref(block), const_int(block_bits)), seq(parts));
  Stmt out = let(blocks, add(binary(BinOp::shr, sub(count, one), const_int(block_bits)), one),
                 counted(block, const_int(0), kw::ref(blocks), body));
  return counts_itself ? out : let(start, n.lo, out);
}

class LaneLowering {
 public:
  Func run(const Func &f) {
    for_each_store(f.body, [&](const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
      if (n.order == Order::lanes) note(s, n, reduced_band(n, loops));
    });
    if (sums_.empty()) return f;
    choose_blocks();
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
                !always_reached(band.front()->body, s.p.get()), false, false, array(t, lane_count, "lanes"),
                array(t, levels, "partial"), cell(t, "carry"), cell(DType::i64, "due"),
                cell(DType::i64, "used"), make_sym(SymKind::local, DType::i64, "n"),
                make_sym(SymKind::local, DType::i64, "k"), make_sym(SymKind::local, DType::i64, "lane")});
    order_.push_back(s.p.get());
  }

  /// A band of one loop runs in blocks unless a longer band has that loop too.
  void choose_blocks() {
    for (auto &[at, sum] : sums_)
      sum.in_blocks = std::all_of(sums_.begin(), sums_.end(),
                                  [&](const auto &other) {
                                    const std::vector<const For *> &band = other.second.band;
                                    return band == sum.band || std::find(band.begin(), band.end(),
                                                                         sum.band.front()) == band.end();
                                  }) &&
                      sum.band.size() == 1;
    for (auto &[at, sum] : sums_) {
      const For &loop = *sum.band.front();
      sum.in_vectors = sum.in_blocks && loop.kind == ForKind::vector && loop.width <= lane_count;
      const auto &store = std::get<Store>(at->v);
      if (!sum.in_vectors || !as<Call>(store.value)) continue;
      sum.left = array(store.buf->dtype, lane_count, "left");
      sum.right = array(store.buf->dtype, lane_count, "right");
    }
  }

  Stmt loop(const For &n, const Stmt &s, const Stmt &original) {
    const For *source = as<For>(original);
    For inner = n;
    Stmt out = s;
    std::vector<const LaneSum *> blocked, whole;  // sums whose band begins here; whose band ends here
    for (const StmtNode *at : order_) {
      const LaneSum &sum = sums_.at(at);
      if (sum.band.back() == source) whole.push_back(&sum);
      if (sum.band.front() != source) continue;
      if (sum.in_blocks) {
        blocked.push_back(&sum);
        continue;
      }
      Expr number;
      for (size_t d = sum.band.size(); d-- > 0;) {
        Expr mine = number_of(*sum.band[d]);
        number = number ? add(mul(number, trips_of(*sum.band[d])), mine) : mine;
      }
      inner.body = let(sum.number, number, seq({inner.body, end_due_block(sum)}));
      out = for_loop(inner, s.loc());
    }
    if (!blocked.empty()) out = run_in_blocks(n, blocked, s.loc());
    for (const LaneSum *sum : whole) {
      Expr count = const_int(1);
      for (const For *level : sum->band) count = mul(count, trips_of(*level));
      out = let(sum->count, count, enclose(*sum, out));
    }
    return out;
  }

  std::unordered_map<const StmtNode *, LaneSum> sums_;
  std::vector<const StmtNode *> order_;  ///< keys of sums_ in source order
};

}  // namespace

Func lower_lanes(const Func &f, const Target &) { return LaneLowering().run(f); }

}  // namespace kw
