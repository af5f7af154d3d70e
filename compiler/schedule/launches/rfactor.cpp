// Builds the launches from the inside out.
#include "schedule/launches/rfactor.h"

#include <algorithm>

#include "analysis/gpu/combined_values.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/launches/flat_loops.h"
#include "schedule/launches/selected_parts.h"
#include "schedule/launches/staging.h"
#include "schedule/tree/perfect_nest.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Iterations of a block of threads: 32 sums of 4,096 terms, whose combination in pairs is a subtree of that
/// of all (language.md 3). Chosen: 512 MB then have 1,024 blocks.
constexpr int64_t part_of_block = 32 * sum_block;
/// Parts that one thread combines at once. Chosen: the kernel then has 32 registers; eight take 47.
constexpr int64_t radix_bits = 2, radix = int64_t{1} << radix_bits;
/// Levels for 2^46 iterations.
constexpr int64_t most_levels = 15;

/// The loops of a reduction, and its parts.
class RfactorNest {
 public:
  RfactorNest(const std::vector<const For *> &loops, const Loc &loc)
      : loops_(loops),
        loc_(loc),
        values_(*loops.front()),
        count_(new_local("n")),
        blocks_(new_local("blocks")) {
    for (const Accumulator &a : values_.accumulators) {
      std::string name = a.cell->sym->name;
      DType t = a.cell->dtype;
      cells_.push_back(make_buf(make_sym(SymKind::buffer, t, name), {}, Space::registers));
      parts_.push_back(
          make_buf(make_sym(SymKind::buffer, t, name + "_parts"), {blocks_of(iterations())}, Space::heap));
    }
    for (const Selection &s : values_.selections)
      selected_.emplace_back(s, kw::ref(blocks_), blocks_of(iterations()), loc_);
  }

  Stmt run() {
    std::vector<Stmt> statements{reduce_parts(), combine_parts()};
    for (size_t i = 0; i < parts_.size(); ++i) statements.push_back(add_total(i));
    for (const SelectedParts &s : selected_) statements.push_back(s.take_total());
    Stmt out = seq(std::move(statements), loc_);
    for (const Buf &parts : parts_) out = alloc(parts, Fill::none, out, loc_);
    for (const SelectedParts &s : selected_)
      for (const Buf &parts : s.parts()) out = alloc(parts, Fill::none, out, loc_);
    out = let(blocks_, blocks_of(kw::ref(count_)), out, loc_);
    // A sum of few terms keeps the order of the source. Without terms there is no block.
    if (has_lanes())
      out = if_else(binary(BinOp::lt, kw::ref(count_), const_int(sum_lanes)), in_source_order(), out, loc_);
    else
      out = if_else(binary(BinOp::lt, const_int(0), kw::ref(count_)), out, {}, loc_);
    return let(count_, iterations(), out, loc_);
  }

 private:
  /// Memory has a size that follows from the call, so it cannot name locals.
  Expr iterations() const { return iterations_of(loops_); }
  static Expr blocks_of(const Expr &count) {
    return binary(BinOp::floor_div, add(count, const_int(part_of_block - 1)), const_int(part_of_block));
  }
  const Accumulator &value(size_t i) const { return values_.accumulators[i]; }
  Expr identity(size_t i) const { return identity_of(value(i).op, cells_[i]->dtype); }

  Stmt in_source_order() const {
    For few = *loops_.front();
    if (loops_.size() == 1) few.how.max_trips = sum_lanes - 1;
    Stmt whole = for_loop(std::move(few), loc_);
    return copy_of(rewrite(whole, [&](const Store &n, const Stmt &s) {
      bool is_short = n.order == Order::lanes && n.order.names(loops_.front()->iter);
      return is_short ? store(n.buf, n.index, n.value, s.loc()) : s;
    }));
  }

  /// for b in grid: cell = identity; for k in block(131072 b, …): body; parts[b] = cell
  Stmt reduce_parts() const {
    Sym b = new_iterator("b");
    Expr first = mul(kw::ref(b), const_int(part_of_block)), count = kw::ref(count_);
    Expr end = binary(BinOp::min, count, add(first, const_int(part_of_block)));
    Sym k = new_iterator("k");
    For block{k, first, end, 1, ForKind::block, Hint::none, {}, body(k)};
    block.how.threads = block_team_threads, block.id = loops_.back()->id;
    plan_team(block);
    if (has_lanes()) {
      // A last part of fewer terms than lanes is added in lanes as well: the other lanes add nothing.
      block.body = if_else(binary(BinOp::lt, kw::ref(k), count), block.body, {}, loc_);
      block.hi = binary(BinOp::max, end, add(first, const_int(sum_lanes)));
    }
    std::vector<Stmt> statements;
    for (size_t i = 0; i < cells_.size(); ++i) statements.push_back(store(cells_[i], {}, identity(i), loc_));
    auto append = [&](const std::vector<Stmt> &more) {
      statements.insert(statements.end(), more.begin(), more.end());
    };
    for (const SelectedParts &s : selected_) append(s.initialize());
    statements.push_back(for_loop(std::move(block), loc_));
    for (size_t i = 0; i < cells_.size(); ++i)
      statements.push_back(store(parts_[i], {kw::ref(b)}, load(cells_[i], {}), loc_));
    for (const SelectedParts &s : selected_) append(s.store_parts(kw::ref(b)));
    Stmt out = seq(std::move(statements), loc_);
    for (const Buf &cell : cells_) out = alloc(cell, Fill::none, out, loc_);
    for (const SelectedParts &s : selected_)
      for (const Buf &cell : s.cells()) out = alloc(cell, Fill::none, out, loc_);
    For launch{b, const_int(0), kw::ref(blocks_), 1, ForKind::grid, Hint::none, {}, std::move(out)};
    launch.how.per_block = 1, launch.id = loops_.front()->id;
    return for_loop(std::move(launch), loc_);
  }

  bool has_lanes() const {
    return std::any_of(values_.accumulators.begin(), values_.accumulators.end(),
                       [](const Accumulator &a) { return a.in_lanes(); });
  }

  /// Returns iteration k of all loops, which accumulates in the cells.
  Stmt body(const Sym &k) const {
    auto cell_of = [&](const Buf &b, const std::vector<Expr> &index) -> Buf {
      for (size_t i = 0; i < cells_.size(); ++i)
        if (value(i).cell == b && equal(value(i).place, index)) return cells_[i];
      for (const SelectedParts &s : selected_)
        if (Buf cell = s.cell_of(b)) return cell;
      return {};
    };
    Stmt one = rewrite(
        innermost_body(loops_, loc_),
        [&](const Load &n, const Expr &e) {
          Buf cell = cell_of(n.buf, n.index);
          return cell ? load(cell, {}, e.loc()) : e;
        },
        [&](const Store &n, const Stmt &s) {
          for (const SelectedParts &selected : selected_)
            if (selected.cell_of(n.buf)) return selected.keep(n, kw::ref(k));
          Buf cell = cell_of(n.buf, n.index);
          return cell ? store(cell, {}, n.value, s.loc(), n.order) : s;
        });
    return flat_iteration(loops_, k, one);
  }
  /// for level: for g in block: parts[4^(level + 1) g] = the combination of 4 parts, 4^level apart
  Stmt combine_parts() const {
    Sym level = new_iterator("level"), distance = new_local("distance"), g = new_iterator("g");
    Expr apart = kw::ref(distance), levels = const_int(0);
    for (int64_t l = 0, reach = 1; l < most_levels; ++l, reach <<= radix_bits)
      levels = add(levels, cast(DType::i64, binary(BinOp::lt, const_int(reach), kw::ref(blocks_))));
    Expr group = mul(apart, const_int(radix));
    Expr groups = binary(BinOp::floor_div, add(kw::ref(blocks_), sub(group, const_int(1))), group);
    std::vector<Stmt> statements;
    for (size_t i = 0; i < parts_.size(); ++i) {
      Expr first = mul(kw::ref(g), group);
      statements.push_back(store(parts_[i], {first}, combination(i, first, apart, 0, radix), loc_));
    }
    for (const SelectedParts &s : selected_)
      statements.push_back(s.combine(mul(kw::ref(g), group), apart, radix));
    Stmt combined = seq(std::move(statements), loc_);
    For team{g, const_int(0), groups, 1, ForKind::block, Hint::none, {}, std::move(combined)};
    team.how.threads = block_team_threads, team.id = loops_.front()->id;
    Expr power = binary(BinOp::shl, const_int(1), mul(kw::ref(level), const_int(radix_bits)));
    Stmt body = let(distance, power, for_loop(std::move(team), loc_), loc_);
    return for_loop({level, const_int(0), levels, 1, ForKind::serial, Hint::none, {}, std::move(body)}, loc_);
  }
  /// Combines the parts `from` to `to` of a group in pairs. Those beyond the last block change nothing.
  Expr combination(size_t i, const Expr &first, const Expr &apart, int64_t from, int64_t to) const {
    if (to - from > 1) {
      int64_t middle = (from + to) / 2;
      return binary(value(i).op, combination(i, first, apart, from, middle),
                    combination(i, first, apart, middle, to));
    }
    Expr at = add(first, mul(apart, const_int(from))), part = load(parts_[i], {at});
    return from ? select(binary(BinOp::lt, at, kw::ref(blocks_)), part, identity(i)) : part;
  }

  Stmt add_total(size_t i) const {
    const Accumulator &a = value(i);
    return store(a.cell, a.index, binary(a.op, load(a.cell, a.index), load(parts_[i], {const_int(0)})), loc_);
  }

  const std::vector<const For *> &loops_;
  Loc loc_;
  CombinedValues values_;
  Sym count_, blocks_;              ///< of iterations; of blocks of threads, each with a part
  std::vector<Buf> cells_, parts_;  ///< of each accumulator: of a block, of all blocks
  std::vector<SelectedParts> selected_;
};

/// Returns whether all sums in the order `lanes` that name one of these loops run over all of them.
bool lanes_run_over(const std::vector<const For *> &loops) {
  bool fine = true;
  walk(loops.front()->body, [&](const Store &s, const Stmt &) {
    auto is_named = [&](const For *n) { return s.order.names(n->iter); };
    if (s.order != Order::lanes || std::none_of(loops.begin(), loops.end(), is_named)) return;
    fine = fine && s.order.band.size() == loops.size() && std::all_of(loops.begin(), loops.end(), is_named);
  });
  return fine;
}

}  // namespace

std::vector<const For *> loops_of_reduction(const For &outermost) {
  std::vector<const For *> out{&outermost};
  auto is_rectangular = [&](const For &n) {
    for (const For *outer : out)
      if (bounds_mention(n, outer->iter)) return false;
    return n.kind == ForKind::serial;
  };
  // The threads of one loop over all iterations combine what it accumulates, and nothing else: in
  //   for i: for j: s[0] += x[i, j]; t[i] += y[i, j]
  // several of them would add to t[i].
  CombinedValues values(outermost);
  auto combines_more = [&](const For &n) {
    CombinedValues inner(n);
    return std::any_of(inner.accumulators.begin(), inner.accumulators.end(), [&](const Accumulator &a) {
      return std::none_of(values.accumulators.begin(), values.accumulators.end(),
                          [&](const Accumulator &b) { return b.cell == a.cell; });
    });
  };
  // Sums tell their loops; else as many as possible run together.
  for (const For *n = only_loop(outermost.body); n && is_rectangular(*n) && !combines_more(*n);
       n = only_loop(n->body)) {
    bool is_whole = false;
    walk(outermost.body, [&](const Store &s, const Stmt &) {
      is_whole |=
          s.order == Order::lanes && s.order.names(outermost.iter) && s.order.band.size() == out.size();
    });
    if (is_whole) break;
    out.push_back(n);
  }
  return lanes_run_over(out) ? out : std::vector<const For *>{};
}

Stmt rfactored(const std::vector<const For *> &loops, const Loc &loc) {
  return RfactorNest(loops, loc).run();
}

}  // namespace kw
