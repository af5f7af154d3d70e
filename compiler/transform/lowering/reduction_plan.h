// One sum or product in the order `lanes`: its accumulators and the steps of its fixed shape (language.md 3),
// as statements. lower_reductions and blocked_reduction combine these. Nothing here knows the loops of the
// band.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/build.h"
#include "ir/limits.h"

namespace kw {

/// The buffers and symbols of one accumulating store, for one execution of its band.
struct ReductionPlan {
  Buf target;
  std::vector<Expr> index;
  Loc loc;
  BinOp op;
  std::vector<const For *> band;  ///< innermost first
  bool skips;                     ///< some iterations may add nothing
  bool guarded;                   ///< likewise, and the target may then be out of bounds
  bool fused;                     ///< terms are products that round with the sum
  Sym count, number;              ///< trip count of the band; the current iteration, from 0
  struct Buffers {
    Buf lanes, partial;    ///< accumulators; partial sums of blocks, by level
    Buf carry, due, used;  ///< sum of blocks; iteration that ends the block; 1 when something was added
    Buf left, right;       ///< in rows: terms, or factors of fused ones, of a band shorter than a row
    Buf sums;              ///< on threads: the sum of each block
  };
  Buffers bufs{};

  /// The way in which the band is executed.
  enum class Form : uint8_t {
    scattered,  ///< as written; the iteration number determines where blocks end
    in_blocks,  ///< its only loop is strip-mined into blocks
    in_rows,    ///< in blocks, and in rows of 64 iterations
  };
  struct Execution {
    Form form = Form::scattered;
    bool long_only = false;     ///< bands shorter than a row run separately, in source order
    bool in_registers = false;  ///< in rows: the accumulators are one register buffer of 64 lanes
    bool on_threads = false;    ///< in rows: blocks may run at the same time
  };
  Execution how{};
  Sym lane{};              ///< in rows: the lane of the current iteration
  std::vector<Expr> at{};  ///< its index in carry, partial and sums, if several sums share them

  ReductionPlan(const Store &n, Loc loc_, std::vector<const For *> band_, bool skips_);

  Expr identity() const { return const_float(target->dtype, op == BinOp::mul ? 1.0 : -0.0); }
  Expr combine(Expr a, Expr b) const { return binary(op, std::move(a), std::move(b)); }
  Expr is_short() const { return binary(BinOp::lt, kw::ref(count), const_int(sum_lanes)); }
  /// Returns a branch on the length of the band, or one side if only that is possible.
  Stmt by_length(Stmt if_short, Stmt if_long) const;
  Expr carried() const { return load(bufs.carry, at); }
  Stmt set_carry(Expr value) const { return store(bufs.carry, at, std::move(value)); }
  /// Returns the subscripts of this sum's element `i` in partial or sums.
  std::vector<Expr> element(Expr i) const;
  Stmt set_lane(Expr lane_, Expr value) const {
    return store(bufs.lanes, {std::move(lane_)}, std::move(value));
  }
  /// Sets the form in_rows and makes its buffers.
  void run_in_rows(bool registers, bool threads);
};

Buf lane_cell(DType dtype, const char *name);
Sym lane_iterator(const char *name);
Stmt counted_loop(const Sym &iter, Expr lo, Expr hi, Stmt body, int64_t step = 1);
/// Makes a vector loop of at most `width` iterations, or of at most one fewer for the rest of a row.
Stmt vector_loop(const Sym &iter, Expr lo, Expr hi, int64_t width, Stmt body, bool is_rest = false);

/// Returns the accumulation of one iteration, into the target or into a lane.
Stmt accumulate(const ReductionPlan &sum, const Store &n);
/// Sets every used lane to the identity of the operation.
Stmt reset_lanes(const ReductionPlan &sum);
/// Reduces the lanes to one value and passes it to `use`, which makes the statement that consumes it.
Stmt fold_lanes(const ReductionPlan &sum, const std::function<Stmt(Expr)> &use);
/// Adds the sum of a finished block, in `carry`, to the partial sums, by its number and whether it is the
/// last.
Stmt add_block(const ReductionPlan &sum, const Expr &block, const Expr &is_last);
/// For the form `scattered`: the first sets where the first block ends. The second ends all blocks whose last
/// iteration lies before `number`, even if conditions between the loops skip iterations.
Stmt begin_blocks(const ReductionPlan &sum);
Stmt end_blocks_before(const ReductionPlan &sum, Expr number);
/// Keeps the terms of a band of fewer than 64 iterations, and adds them in source order.
Stmt keep_terms(const ReductionPlan &sum);
Stmt add_terms_in_order(const ReductionPlan &sum);
/// Reduces the sums of blocks that ran concurrently into `carry`.
Stmt fold_sums(const ReductionPlan &sum, const Expr &blocks);
/// Adds the total of all blocks to the target.
Stmt add_carry(const ReductionPlan &sum);

}  // namespace kw
