// One sum or product in lanes: its accumulators and the steps of its fixed shape (language.md 3), as
// statements. transform/lowering/lower_reductions and transform/lowering/blocked_reduction put them together;
// nothing here knows the loops of the band.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/build.h"

namespace kw {

inline constexpr int64_t lane_count = 64, block_bits = 12, block_size = 1 << block_bits;

/// What one store in lanes and an entry of its band need.
struct ReductionPlan {
  Buf target;
  std::vector<Expr> index;
  Loc loc;
  BinOp op;
  std::vector<const For *> band;  ///< innermost first
  bool skips;                     ///< some iterations may add nothing
  bool guarded;                   ///< likewise, and the target may then not even exist
  bool fused;                     ///< terms are products that round with the sum
  Sym count, number;              ///< iterations of the band; the present one, from 0
  Buf lanes, partial;             ///< accumulators; partial sums of blocks, by level
  Buf carry, due, used;  ///< sum of blocks; iteration that ends the block; 1 when something was added

  /// How the band runs.
  enum class Form : uint8_t {
    scattered,  ///< as it is; ends of blocks are found by number
    in_blocks,  ///< its one loop block by block
    in_rows,    ///< block by block, in rows of 64 iterations
  };
  Form form = Form::scattered;
  bool long_only = false;     ///< bands shorter than a row run elsewhere, in the order of the source
  bool in_registers = false;  ///< in rows: the accumulators are a cell with 64 lanes
  bool on_threads = false;    ///< in rows: blocks may run at the same time
  Sym lane{};                 ///< in rows: the lane of the present iteration
  Buf left{}, right{};        ///< in rows: terms, or factors of fused ones, of a band shorter than a row
  Buf sums{};                 ///< on threads: the sum of each block
  std::vector<Expr> at{};     ///< its number in carry, partial and sums, where sums have these together

  ReductionPlan(const Store &n, Loc loc_, std::vector<const For *> band_, bool skips_);

  Expr identity() const { return const_float(target->dtype, op == BinOp::mul ? 1.0 : -0.0); }
  Expr combine(Expr a, Expr b) const { return binary(op, std::move(a), std::move(b)); }
  Expr is_short() const { return binary(BinOp::lt, kw::ref(count), const_int(lane_count)); }
  /// What a band runs by its length, where both can come.
  Stmt by_length(Stmt if_short, Stmt if_long) const;
  Expr carried() const { return load(carry, at); }
  Stmt set_carry(Expr value) const { return store(carry, at, std::move(value)); }
  /// The index of its element `i` in partial or sums.
  std::vector<Expr> element(Expr i) const;
  Stmt set_lane(Expr lane_, Expr value) const { return store(lanes, {std::move(lane_)}, std::move(value)); }
  /// Gets the buffers of that form.
  void run_in_rows(bool registers, bool threads);
};

Buf lane_cell(DType dtype, const char *name);
Sym lane_iterator(const char *name);
Stmt counted_loop(const Sym &iter, Expr lo, Expr hi, Stmt body, int64_t step = 1);
Stmt vector_loop(const Sym &iter, Expr lo, Expr hi, int64_t width, Stmt body);
/// How many steps of a size are between two values, the high one not below the low one.
Expr steps_between(const Expr &low, const Expr &high, int64_t size);
/// The iterations of a loop.
Expr trips_of(const For &n);

/// The accumulation of one iteration: into the target itself or into a lane.
Stmt accumulate(const ReductionPlan &sum, const Store &n);
/// Every lane that will be used gets the value that adds nothing.
Stmt reset_lanes(const ReductionPlan &sum);
/// Puts the lanes together; `use` makes the statement that takes their sum.
Stmt fold_lanes(const ReductionPlan &sum, const std::function<Stmt(Expr)> &use);
/// Counts the finished block in, whose sum is in the carry, by its number and whether it is the last one.
Stmt add_block(const ReductionPlan &sum, const Expr &block, const Expr &is_last);
/// Of a band that stays as it is: which block ends first, and the ends of all blocks whose last iteration
/// lies before this one, also where conditions between its loops skip iterations.
Stmt begin_blocks(const ReductionPlan &sum);
Stmt end_blocks_before(const ReductionPlan &sum, Expr number);
/// Of fewer iterations than lanes: what they leave for later, and its use in the order of the source.
Stmt keep_terms(const ReductionPlan &sum);
Stmt add_terms_in_order(const ReductionPlan &sum);
/// Puts the sums of blocks that ran at the same time together, into the carry.
Stmt fold_sums(const ReductionPlan &sum, const Expr &blocks);
/// What all blocks gathered goes to the target.
Stmt add_carry(const ReductionPlan &sum);

}  // namespace kw
