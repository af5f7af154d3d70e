// Each verb has one function that rewrites the tree.
#include "schedule/directives/apply.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "analysis/gpu/launch_form.h"
#include "analysis/nest/dependence.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/directives/preconditions.h"
#include "schedule/launches/cached_row.h"
#include "schedule/launches/folded_fill.h"
#include "schedule/launches/linear_grid.h"
#include "schedule/launches/private_bins.h"
#include "schedule/launches/rfactor.h"
#include "schedule/launches/scans.h"
#include "schedule/launches/staged_chain.h"
#include "schedule/launches/staged_rows.h"
#include "schedule/launches/staged_tiles.h"
#include "schedule/launches/staging.h"
#include "schedule/launches/vector_tiles.h"
#include "schedule/tree/apply_copies.h"
#include "schedule/tree/array_contraction.h"
#include "schedule/tree/carried_values.h"
#include "schedule/tree/perfect_nest.h"
#include "schedule/tree/short_rows.h"
#include "schedule/tree/simplify_under_bounds.h"
#include "schedule/tree/unswitched_loop.h"
#include "support/text.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Returns a new iterator that has the name of the loop's with a suffix: i → i0.
Sym iterator_like(const For &loop, std::string_view suffix) {
  return make_sym(SymKind::iter, DType::i64, cat(loop.iter->name, suffix), loop.iter->loc);
}

/// Returns a bound, under a name if it reads memory: the pieces of a loop evaluate it more than once.
Expr bound_once(const Expr &bound, StatementList &before) {
  if (!has_load(bound)) return bound;
  Sym name = make_sym(SymKind::local, DType::i64, "bound", bound.loc());
  before.push_back({let(name, bound, {}, bound.loc()), true});
  return ref(name, bound.loc());
}

/// A loop as `count` whole blocks of `size` iterations and a remainder. `outer` iterates over the blocks,
/// `inner` over one block.
struct Blocks {
  const For *loop = nullptr;
  int64_t size = 0;
  Expr lo, hi, count, is_even;
  Sym outer, inner;

  Expr offset(const Expr &number) const { return add(lo, mul(number, const_int(loop->step))); }
  /// Returns the value of the iterator after the whole blocks. If no iteration remains, returns `hi`: the
  /// next value of the iterator may not fit 64 bits.
  Expr first_of_rest() const {
    Expr first = offset(mul(count, const_int(size)));
    return is_even ? select(is_even, hi, first) : first;
  }
  /// Returns the value of the iterator in iteration `k` of the block that `outer` counts.
  Expr value(const Expr &k) const { return offset(add(mul(kw::ref(outer), const_int(size)), k)); }
};

/// Plans the blocks of a loop. Puts bounds that read memory into locals in `before`.
Blocks blocks_of(const Nest &nest, uint32_t loop, int64_t size, StatementList &before) {
  Blocks b{nest.loops[loop].loop, size, {}, {}, {}, {}, {}, {}};
  b.lo = bound_once(b.loop->lo, before);
  b.hi = bound_once(b.loop->hi, before);
  auto [count, is_even] = count_blocks(nest, loop, b.lo, b.hi, size);
  b.count = count, b.is_even = is_even;
  b.outer = iterator_like(*b.loop, "0");
  b.inner = iterator_like(*b.loop, "1");
  return b;
}

/// Makes a serial loop that executes iterations of `of` and keeps its LoopId.
Stmt serial_loop(const For &of, const Sym &iter, Expr lo, Expr hi, int64_t step, Stmt body, Loc loc,
                 Hint hint = Hint::none, LoopPlan how = {}) {
  return for_loop(
      {iter, std::move(lo), std::move(hi), step, ForKind::serial, hint, how, std::move(body), of.id}, loc);
}

/// Appends a copy of a loop over other bounds, under the same name, unless it surely has no iteration.
void add_piece(StatementList &out, const Stmt &s, const Expr &lo, const Expr &hi, const Stmt &body) {
  const For &n = *as<For>(s);
  if (surely_none(lo, hi, n.step)) return;
  For piece = n;
  piece.lo = lo, piece.hi = hi, piece.body = body;
  out.push_back({copy_of(loop_like(s, std::move(piece)))});
}

/// Rewrites the region by one directive: `rewritten` changes the region, `in_place_of` returns the
/// statements that replace the loop.
class Apply {
 public:
  Apply(const Func &f, const Stmt &region, const Nest &nest, const Directive &d,
        std::vector<Buf> accumulators = {})
      : f_(f), region_(region), nest_(nest), d_(d), accumulators_(std::move(accumulators)) {}

  Stmt run() {
    return std::visit([&](const auto &d) { return rewritten(d); }, d_.what);
  }

 private:
  const For &loop() const { return *nest_.loops[d_.loop()].loop; }

  /// For directives that replace one loop, in_place_of returns the statements in its place.
  template <class D>
  Stmt rewritten(const D &d) const {
    return replace_loop(region_, &loop(), [&](const Stmt &s) { return in_place_of(s, d); });
  }
  Stmt rewritten(const Reorder &d) const {
    std::vector<uint32_t> text_order = *in_text_order(nest_, d.loops);
    Stmt changed = statement_of(*permuted(nest_, text_order, d.loops));
    return replace_loop(region_, nest_.loops[text_order[0]].loop,
                        [&](const Stmt &) { return StatementList{{changed}}; });
  }
  Stmt rewritten(const Fuse &d) const {
    return replace_pair(region_, &loop(), nest_.loops[d.next].loop,
                        [&](const Stmt &a, const Stmt &b) { return fused(a, b); });
  }
  /// Calls with whole vectors get tiles of their own, in a copy of the grid loop around as well: the host
  /// chooses.
  Stmt rewritten(const Stage &d) const {
    const For *grid = nullptr;
    for (uint32_t l = d.loop; (l = nest_.loops[l].parent) != NestLoop::no_loop;)
      if (const For *n = nest_.loops[l].loop; n && n->kind == ForKind::grid) grid = n;
    return replace_loop(region_, grid ? grid : &loop(), [&](const Stmt &s) -> StatementList {
      using Tiles = std::function<Stmt(const For &, const std::vector<Buf> &, const Loc &)>;
      auto with = [&](const Tiles &tiles) {
        auto by = [&](const Stmt &n) {
          Stmt outer = with_own(n, scalars_of_iterations());
          const For &loop = *as<For>(outer);
          return tiles(loop, stageable_buffers(loop, *as<For>(loop.body)), n.loc());
        };
        return grid ? replace_loop(s, &loop(), [&](const Stmt &n) { return StatementList{{by(n)}}; }) : by(s);
      };
      Expr fits;
      Stmt elements = with([](const For &outer, const std::vector<Buf> &buffers, const Loc &loc) {
        return staged_tiles(outer, *as<For>(outer.body), buffers, loc);
      });
      Stmt vectors = with([&](const For &outer, const std::vector<Buf> &buffers, const Loc &loc) {
        auto tiles = vector_tiles(outer, *as<For>(outer.body), buffers, grid, f_.misaligned, loc);
        if (tiles) fits = tiles->fits;
        return tiles ? tiles->launch : for_loop(outer, loc);
      });
      if (fits && grid) {
        For bounded = *as<For>(vectors);
        bounded.how.max_trips = most_blocks_yz;
        vectors = loop_like(vectors, std::move(bounded));
      }
      bool is_known = fits && HostValues(f_).holds(fits);
      return {{is_known ? if_else(fits, copy_of(vectors), elements, s.loc()) : elements}};
    });
  }
  Stmt rewritten(const Contract &d) const { return contracted(region_, loop(), d.buf); }

  // ---- kinds
 public:
  StatementList in_place_of(const Stmt &s, const Parallel &d) const {
    For changed = *as<For>(with_own(s, scalars_of_iterations()));
    Loc loc = s.loc();
    if (d.block) {  // for i: S   →   for i0 in parallel(lo, hi, size): for i in (i0, min(hi, i0 + size)): S
      Sym first = iterator_like(changed, "0");
      int64_t size = d.block * changed.step;
      For blocks{first, changed.lo, changed.hi, size, ForKind::parallel, Hint::none, {}, {}, changed.id};
      blocks.how.block_of = d.block;
      changed.lo = kw::ref(first);
      Expr end = add(changed.lo, const_int(size));
      changed.hi = binary(changed.step > 0 ? BinOp::min : BinOp::max, changed.hi, end);
      blocks.body = for_loop(std::move(changed), loc);
      changed = std::move(blocks);
    }
    changed.kind = ForKind::parallel, changed.how.chunk = static_cast<uint32_t>(d.chunk);
    return {{for_loop(std::move(changed), loc)}};
  }
  StatementList in_place_of(const Stmt &s, const Vectorize &d) const {
    For changed = *as<For>(with_own(s, scalars_of_iterations()));
    changed.kind = ForKind::vector, changed.how.vector_width = static_cast<uint32_t>(d.width);
    return {{loop_like(s, std::move(changed))}};
  }
  StatementList in_place_of(const Stmt &s, const Grid &d) const {
    For changed = *as<For>(with_own(s, scalars_of_iterations()));
    changed.kind = ForKind::grid, changed.how.per_block = static_cast<uint32_t>(d.per_block);
    changed.how.vector_width = static_cast<uint32_t>(d.vector);
    changed.how.unroll = static_cast<uint32_t>(d.unroll);
    changed.atomics = accumulators_;
    return {{loop_like(s, std::move(changed))}};
  }
  StatementList in_place_of(const Stmt &s, const Team &d) const {
    For changed = *as<For>(with_own(s, scalars_of_iterations()));
    changed.kind = ForKind::block, changed.how.threads = static_cast<uint32_t>(d.threads);
    changed.how.vector_width = static_cast<uint32_t>(d.vector);
    changed.how.unroll = static_cast<uint32_t>(d.unroll);
    return {{loop_like(s, std::move(changed))}};
  }
  StatementList in_place_of(const Stmt &s, const Specialize &d) const {
    Expr takes_copy;
    if (d.below) takes_copy = binary(BinOp::lt, trips_of(loop()), const_int(d.below), s.loc());
    if (d.from) {
      Expr is_long = binary(BinOp::le, const_int(d.from), trips_of(*nest_.loops[d.inner].loop), s.loc());
      takes_copy = takes_copy ? logic(false, takes_copy, is_long, s.loc()) : is_long;
    }
    return {{if_else(takes_copy, copy_of(s), s, s.loc())}};
  }
  template <class D>
    requires((rewrites_for_gpu<D> && !std::is_same_v<D, Stage>) || std::is_same_v<D, Linearize> ||
             std::is_same_v<D, CacheRow> || std::is_same_v<D, ShortRows>)
  StatementList in_place_of(const Stmt &s, const D &d) const {
    if constexpr (std::is_same_v<D, Linearize>)
      return {{with_linear_loop(s, {d.below, d.per_block, d.vector, d.unroll})}};
    if constexpr (std::is_same_v<D, ShortRows>) return {{with_short_rows(s, *nest_.loops[d.inner].loop)}};
    if constexpr (std::is_same_v<D, CacheRow>)
      return {{with_cached_row(region_, s, *cacheable_row(loop(), d.buf))}};
    if constexpr (std::is_same_v<D, FoldFill>) return {{with_folded_fill(s, foldable_output(f_, s))}};
    if constexpr (std::is_same_v<D, Unswitch>) return {{unswitched_loop(*as<For>(s), s.loc())}};
    if constexpr (std::is_same_v<D, StageChain>) return {{staged_chain(*as<For>(s), s.loc())}};
    const For whole = *as<For>(with_own(s, scalars_of_iterations()));
    if constexpr (std::is_same_v<D, ScanLoop>) return {{scanned(whole, f_.fp, s.loc())}};
    if constexpr (std::is_same_v<D, StageRows>)
      return {{staged_rows(whole, ThreadPath::rows, tile_side, s.loc())}};
    if constexpr (std::is_same_v<D, StageColumns>)
      return {{staged_rows(whole, ThreadPath::columns, columns_of_team(d.width), s.loc())}};
    std::vector<const For *> loops = loops_of_reduction(whole);
    if constexpr (std::is_same_v<D, Rfactor>) return {{rfactored(loops, s.loc())}};
    return {{with_private_bins(loops, accumulators_.at(0), s.loc())}};
  }

  template <class D>
  static Stmt planned(const Stmt &s, const D &d) {
    For changed = *as<For>(s);
    set_plan(changed, d);
    return for_loop(std::move(changed), s.loc());
  }

 private:
  template <class D>
    requires sets_plan<D>
  StatementList in_place_of(const Stmt &s, const D &d) const {
    return {{planned(s, d)}};
  }
  static void set_plan(For &n, const SetTail &d) { n.how.tail = d.tail; }
  static void set_plan(For &n, const Stream &) { n.how.stream = 1; }
  static void set_plan(For &n, const Prefetch &) { n.how.prefetch = 1; }
  static void set_plan(For &n, const Transpose &) { n.how.transpose = 1; }
  static void set_plan(For &n, const AssumeRows &d) { n.row_lengths.push_back({d.buf, d.length}); }
  static void set_plan(For &n, const Flatten &) { n.how.flatten = 1; }
  static void set_plan(For &n, const Collapse &) { n.how.collapse = 1; }

  StatementList in_place_of(const Stmt &s, const ReplaceWithScalar &d) const {
    std::vector<CarriedValue> found = carried_values(loop());
    auto value =
        std::find_if(found.begin(), found.end(), [&](const CarriedValue &v) { return v.buf == d.buf; });
    return {{with_carried_scalar(s, *value)}};
  }
  StatementList in_place_of(const Stmt &s, const Privatize &d) const { return {{with_own(s, {d.buf})}}; }

  /// Returns the scalars made outside the loop that each iteration writes before it reads them.
  std::vector<Buf> scalars_of_iterations() const {
    if (!writes_outer_scalar(loop().body)) return {};
    std::vector<const BufNode *> own = private_scalars(f_, nest_, d_.loop());
    std::vector<Buf> out;
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses) {
        bool is_own = std::find(own.begin(), own.end(), a.buf.get()) != own.end();
        bool outside = a.home <= depth_of(d_.loop());
        if (is_own && outside && std::find(out.begin(), out.end(), a.buf) == out.end()) out.push_back(a.buf);
      }
    return out;
  }
  /// Returns how many loops of the nest enclose a loop.
  size_t depth_of(uint32_t l) const {
    size_t depth = 0;
    while ((l = nest_.loops[l].parent) != NestLoop::no_loop) ++depth;
    return depth;
  }

  /// Returns the loop with buffers of its own for each iteration.
  static Stmt with_own(const Stmt &s, const std::vector<Buf> &bufs) {
    For changed = *as<For>(s);
    for (const Buf &b : bufs) {
      Substitution with;
      // The buffer outside the loop stays, but no iteration uses it any more.
      Buf own = make_buf(make_sym(b->sym->kind, b->dtype, b->sym->name, b->sym->loc), {}, b->space);
      with.buffers[b.get()] = own;
      changed.body = alloc(own, Fill::none, substituted(changed.body, with), b->sym->loc);
    }
    return loop_like(s, std::move(changed));
  }

  // ---- blocks
  StatementList in_place_of(const Stmt &s, const Split &d) const {
    StatementList out;
    Blocks b = blocks_of(nest_, d.loop, d.size, out);
    Substitution with;
    with.values[b.loop->iter.get()] = b.value(kw::ref(b.inner));
    with.loops[b.loop->iter.get()] = {b.outer, b.inner};
    Stmt block = serial_loop(*b.loop, b.inner, const_int(0), const_int(b.size), 1,
                             substituted(b.loop->body, with), s.loc());
    return in_blocks(s, b, block, std::move(out));
  }

  /// Returns the loop over whole blocks and the loop over the remainder.
  static StatementList in_blocks(const Stmt &s, const Blocks &b, const Stmt &block, StatementList out,
                                 LoopPlan how = {}) {
    if (!surely_none(const_int(0), b.count, 1))
      out.push_back(
          {serial_loop(*b.loop, b.outer, const_int(0), b.count, 1, block, s.loc(), b.loop->hint, how)});
    add_piece(out, s, b.first_of_rest(), b.hi, b.loop->body);
    return out;
  }

  /// Returns the loop with an array in place of a scalar: an element for each iteration.
  StatementList in_place_of(const Stmt &s, const Expand &d) const {
    Buf all = make_buf(make_sym(SymKind::buffer, d.buf->dtype, d.buf->sym->name, d.buf->sym->loc),
                       {const_int(static_cast<int64_t>(*most_trips(loop())))}, Space::stack);
    std::vector<Expr> at{sub(kw::ref(loop().iter), loop().lo)};
    For changed = loop();
    changed.body = rewrite(
        loop().body,
        [&](const Load &n, const Expr &e) { return n.buf == d.buf ? load(all, at, e.loc()) : e; },
        [&](const Store &n, const Stmt &x) {
          return n.buf == d.buf ? store(all, at, n.value, x.loc(), n.order) : x;
        },
        [&](const Alloc &n, const Stmt &x) { return n.buf == d.buf ? n.body : x; });
    return {{alloc(all, Fill::none, {}, d.buf->sym->loc), true}, {loop_like(s, std::move(changed))}};
  }

  static std::vector<Expr> values_in(const Blocks &b) {
    std::vector<Expr> out;
    for (int64_t k = 0; k < b.size; ++k) out.push_back(b.value(const_int(k)));
    return out;
  }

  StatementList in_place_of(const Stmt &s, const Unroll &d) const {
    if (d.count) {
      For changed = loop();
      changed.kind = ForKind::unroll, changed.how.unroll = static_cast<uint32_t>(d.count);
      return {{loop_like(s, std::move(changed))}};
    }
    std::vector<Expr> values;
    uint64_t trips = *constant_trips(loop());
    for (uint64_t k = 0; k < trips; ++k)
      values.push_back(add(loop().lo, mul(const_int(static_cast<int64_t>(k)), const_int(loop().step))));
    return one_after_another(copies_of(loop().body, loop().iter, values));
  }

  StatementList in_place_of(const Stmt &s, const UnrollAndJam &d) const {
    Stmt own = with_own(s, scalars_of_iterations());
    StatementList out;
    Blocks b = blocks_of(nest_, d.loop, d.count, out);
    StatementList bodies = side_by_side(copies_of(as<For>(own)->body, b.loop->iter, values_in(b)), apart());
    return in_blocks(s, b, statement_of(bodies), std::move(out), {.jam = static_cast<uint32_t>(b.size)});
  }

  /// Returns the buffers that the loop reads and writes and in which no iteration accesses an element that
  /// another one writes.
  std::unordered_set<const BufNode *> apart() const {
    std::unordered_set<const BufNode *> read, out;
    walk(loop().body, [&](const Load &n, const Expr &) { read.insert(n.buf.get()); });
    walk(loop().body, [&](const Store &n, const Stmt &) {
      if (!n.index.empty() && read.count(n.buf.get())) out.insert(n.buf.get());
    });
    if (out.empty()) return out;
    Dependences carried = find_dependences(nest_, {d_.loop()});
    if (!carried.complete) return {};
    for (const Dependence &d : carried.found)
      out.erase(nest_.statements[d.source].accesses[d.from].buf.get());
    return out;
  }

  /// Makes loops over the first iterations of tiles, and inside these the loops over one tile, cut short at
  /// the bounds.
  StatementList in_place_of(const Stmt &, const Tile &d) const {
    const std::vector<uint32_t> &loops = d.loops;
    auto loc_of = [&](size_t level) { return nest_.loops[loops[level]].loc; };
    //     tile i by 32, j by 16   →   for i0 in (0, n, 32): for j0 in (0, m, 16):
    //       for i in (i0, min(n, i0 + 32)): for j in (j0, min(m, j0 + 16)): S
    std::vector<Sym> begins;
    Substitution with;
    for (uint32_t l : loops) {
      const Sym &iter = nest_.loops[l].loop->iter;
      begins.push_back(iterator_like(*nest_.loops[l].loop, "0"));
      with.loops[iter.get()] = {begins.back(), iter};
    }
    Stmt out = substituted(nest_.loops[loops.back()].loop->body, with);
    for (size_t i = loops.size(); i-- > 0;) {
      const For &n = *nest_.loops[loops[i]].loop;
      Expr end = add(kw::ref(begins[i]), const_int(d.sizes[i]));
      out = serial_loop(n, n.iter, kw::ref(begins[i]), binary(BinOp::min, n.hi, end), 1, out, loc_of(i));
    }
    for (size_t i = loops.size(); i-- > 0;) {
      const For &n = *nest_.loops[loops[i]].loop;
      out = serial_loop(n, begins[i], n.lo, n.hi, d.sizes[i], out, loc_of(i), n.hint);
    }
    return {{out}};
  }

  // ---- pieces
  /// Appends a loop over a part of the range, with the body simplified for that part; nothing if no statement
  /// is left.
  void part(StatementList &out, const Stmt &s, const Expr &lo, const Expr &hi) const {
    For piece = loop();
    piece.lo = lo, piece.hi = hi;
    std::vector<const For *> around;
    for (uint32_t l = nest_.loops[d_.loop()].parent; l != NestLoop::no_loop; l = nest_.loops[l].parent)
      if (nest_.loops[l].loop) around.insert(around.begin(), nest_.loops[l].loop);
    if (Stmt body = simplify_under_bounds(piece, around)) add_piece(out, s, lo, hi, body);
  }

  StatementList in_place_of(const Stmt &s, const Peel &d) const {
    StatementList out;
    Expr lo = bound_once(loop().lo, out), hi = bound_once(loop().hi, out);
    int64_t count = d.count;
    BinOp nearer = loop().step > 0 ? BinOp::min : BinOp::max,
          farther = loop().step > 0 ? BinOp::max : BinOp::min;
    // The clamps keep the pieces disjoint if the loop has fewer iterations than are peeled.
    if (d.last) {
      Expr cut = binary(farther, sub(hi, const_int(loop().step * count)), lo);
      part(out, s, lo, cut);
      part(out, s, cut, hi);
    } else {
      Expr cut = add(lo, mul(const_int(count), const_int(loop().step)));
      part(out, s, lo, binary(nearer, cut, hi));
      part(out, s, cut, hi);
    }
    return out;
  }

  StatementList in_place_of(const Stmt &s, const SplitIndexSet &d) const {
    StatementList out;
    Expr lo = bound_once(loop().lo, out), hi = bound_once(loop().hi, out);
    BinOp nearer = loop().step > 0 ? BinOp::min : BinOp::max,
          farther = loop().step > 0 ? BinOp::max : BinOp::min;
    // The clamps leave pieces empty if `at` is outside of the range.
    Expr behind = add(d.at, const_int(loop().step));
    part(out, s, lo, binary(nearer, d.at, hi));
    part(out, s, binary(farther, d.at, lo), binary(nearer, behind, hi));
    part(out, s, binary(farther, behind, lo), hi);
    return out;
  }

  StatementList in_place_of(const Stmt &s, const Distribute &d) const {
    size_t count = static_cast<size_t>(d.after) + 1;
    StatementList body = statements_of(loop().body), second;
    std::vector<size_t> shared = *shared_definitions(loop().body, count);
    // The second part repeats the definitions of the first that it uses.
    for (size_t i : shared) second.push_back(body[i]);
    auto middle = body.begin() + static_cast<std::ptrdiff_t>(count);
    second.insert(second.end(), middle, body.end());
    StatementList out;
    for (const Stmt &part : {statement_of(StatementList(body.begin(), middle)), statement_of(second)})
      if (part) add_piece(out, s, loop().lo, loop().hi, part);
    return out;
  }

  static StatementList fused(const Stmt &a, const Stmt &b) {
    For fused = *as<For>(a);
    const For &second = *as<For>(b);
    Substitution with;
    // The fused loop has the iterator and the LoopId of the first loop.
    with.values[second.iter.get()] = kw::ref(fused.iter);
    fused.body = statement_of(one_after_another({fused.body, substituted(second.body, with)}));
    return {{loop_like(a, std::move(fused))}};
  }

  const Func &f_;
  const Stmt &region_;
  const Nest &nest_;
  const Directive &d_;
  std::vector<Buf> accumulators_;
};

}  // namespace

Stmt apply_directive(const Func &f, const Stmt &region, const Nest &nest, const Directive &d,
                     std::vector<Buf> accumulators) {
  return Apply(f, region, nest, d, std::move(accumulators)).run();
}

/// Sets a field of the plan of a loop, if that is what the directive does.
Stmt with_plan(const Stmt &s, const Directive &d) {
  return std::visit(
      [&](const auto &one) {
        if constexpr (sets_plan<std::decay_t<decltype(one)>>) return Apply::planned(s, one);
        return s;
      },
      d.what);
}

Stmt apply_marks(const Func &f, const Stmt &region, const Nest &nest, const std::vector<Directive> &marks) {
  std::unordered_map<const StmtNode *, std::vector<const Directive *>> of_loop;
  for_each_loop(region, [&](const Stmt &s, const For &n, const NestScope &) {
    for (const Directive &d : marks)
      if (nest.loops[d.loop()].loop == &n) of_loop[s.p.get()].push_back(&d);
  });
  return rewrite(region, [&](const For &, const Stmt &rebuilt, const Stmt &original) {
    auto found = of_loop.find(original.p.get());
    Stmt out = rebuilt;
    if (found == of_loop.end()) return out;
    for (const Directive *d : found->second)
      // Vectorize comes first: a loop over blocks encloses the vector loop.
      if (const Vectorize *v = d->as<Vectorize>()) out = Apply(f, region, nest, *d).in_place_of(out, *v)[0].s;
    for (const Directive *d : found->second)
      if (const Parallel *p = d->as<Parallel>()) out = Apply(f, region, nest, *d).in_place_of(out, *p)[0].s;
    for (const Directive *d : found->second) out = with_plan(out, *d);
    return out;
  });
}

}  // namespace kw
