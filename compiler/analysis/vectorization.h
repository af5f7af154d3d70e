// A loop seen as lanes: whether its iterations can run side by side in vector registers, and how each value
// in it differs from one lane to the next. Asks nothing about dependences (schedule/directives/legal) or
// profit.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/arg_reduction.h"
#include "support/target.h"

namespace kw {

/// A scalar from outside the loop to which every iteration adds by one operation whose order changes no bit.
struct Reduction {
  Buf cell;
  BinOp op{};
};

/// A selection among the iterations, of which scalars from outside the loop keep one.
struct ArgReduction {
  const If *at = nullptr;
  ArgReductionForm selection{};
  bool keeps(const Buf &cell) const;
};

/// A scalar of the loop that counts the iterations of a `while`: a constant before it, and by another one
/// more in each of them.
struct UniformInduction {
  Buf cell;
  Expr first;
};

/// Valid as long as the loop.
class VectorizationAnalysis {
 public:
  explicit VectorizationAnalysis(const For &loop);

  /// True when the loop consists of statements and expressions that have a form over lanes.
  bool is_vectorizable() const { return is_vectorizable_; }
  /// Where the first one stands that has none; unknown when it is more than one place.
  Loc blocker() const { return blocker_; }
  /// Whether the value may differ between lanes.
  bool is_divergent(const Expr &e);
  /// How much an i64 value grows from one lane to the next, 0 where it is the same in all; nothing when it
  /// does not grow evenly.
  std::optional<int64_t> lane_stride(const Expr &e);
  /// The same of a symbol that is_divergent.
  std::optional<int64_t> lane_stride_of(const Sym &sym) const { return lets_.at(sym.get()); }
  /// How many elements lie between the places of an access in one lane and in the next, with rows as long as
  /// they are likely to be; nothing when that is no constant.
  std::optional<int64_t> element_stride(const Buf &b, const std::vector<Expr> &index);
  /// Buffers of few columns, each of which the loop names: how long their rows are, most likely.
  ///     p[j, 0] * p[j, 1] + p[j, 2]   →   p: 3
  const std::vector<std::pair<Buf, int64_t>> &assumed_row_lengths() const { return assumed_row_lengths_; }
  /// Whether it adds to a place from outside in lanes of their own (Order::lanes), which is for
  /// transform/lowering/lower_reductions to make explicit.
  bool has_lane_sums() const { return lane_sum_bits_ > 0; }
  /// Bits of one lane of all these sums.
  uint32_t lane_sum_bits() const { return lane_sum_bits_; }
  /// The accumulators of the loop, in the order of their first store.
  const std::vector<Reduction> &reductions() const { return reductions_; }
  /// The sum that a store to this cell adds to, or null.
  const Reduction *reduction_of(const Buf &cell) const;
  /// The selections of the loop, in the order of the text.
  const std::vector<ArgReduction> &arg_reductions() const { return arg_reductions_; }
  /// The one that a conditional is, or null.
  const ArgReduction *arg_reduction_at(const If &n) const;
  /// True for a scalar that is made in the loop.
  bool is_own(const Buf &cell) const { return own_cells_.count(cell.get()) > 0; }
  /// Whether a `while` stands in it, which runs until it ends in all lanes.
  bool has_while() const { return has_while_; }
  /// What counts the iterations of a `while` of the loop, and is the same in all lanes that go on; nothing
  /// where lanes may leave an iteration before its end.
  const std::vector<UniformInduction> &uniform_inductions(const While &n) const {
    return uniform_inductions_.at(&n);
  }
  struct Work {
    uint32_t rows = 0;        ///< accesses whose lanes lie side by side in memory
    uint32_t strided = 0;     ///< loads from every second to fourth element of a row
    uint32_t gathers = 0;     ///< loads from other places
    uint32_t scatters = 0;    ///< stores to places that are no row
    uint32_t operations = 0;  ///< on values that vary
  };
  const Work &work() const { return work_; }
  /// Bits of the widest and the narrowest element that the loop reads or writes in memory, and of the widest
  /// value that it computes with; 0 when there is none.
  uint32_t widest_element() const { return widest_element_; }
  uint32_t narrowest_element() const { return narrowest_element_; }
  uint32_t widest_value() const { return widest_value_; }

 private:
  void refuse(Loc at = {});
  void statements(const Stmt &root);
  void store(const Store &n, Loc at);
  void define(const Let &n);
  std::optional<int64_t> lane_stride_of(const Binary &n);
  void look(const Expr &e);
  bool is_simple(const Expr &e);
  void note_access(const Buf &b, const std::vector<Expr> &index, bool is_store);
  struct Uses;
  void guess_rows(const Stmt &body);
  void find_arg_reductions(const Stmt &body, const Uses &uses);
  void find_reductions(const Stmt &body, const Uses &uses);
  void select(const ArgReduction &s);
  void repeat(const While &n);
  void loop_body(const Stmt &body, bool may_jump);
  std::vector<UniformInduction> find_uniform_inductions(const While &n) const;

  bool is_vectorizable_ = true, has_while_ = false;
  Loc blocker_{};
  bool jumps_here_ = false;  ///< the innermost loop around the place may be left by each lane for itself
  uint32_t lane_sum_bits_ = 0;
  std::unordered_map<const SymNode *, std::optional<int64_t>> lets_;  ///< varying ones and their steps
  std::unordered_set<const BufNode *> own_cells_;                     ///< made in the loop
  std::unordered_map<const ExprNode *, bool> is_divergent_;
  std::unordered_map<const ExprNode *, std::optional<int64_t>> steps_;
  std::unordered_set<const ExprNode *> looked_;
  std::vector<std::pair<Buf, int64_t>> assumed_row_lengths_;
  std::vector<Reduction> reductions_;
  std::vector<ArgReduction> arg_reductions_;
  /// Of the loop's own scalars, at this place of the walk.
  std::unordered_map<const BufNode *, Expr> constants_;
  std::unordered_map<const While *, std::vector<UniformInduction>> uniform_inductions_;
  Work work_;
  uint32_t widest_element_ = 0, narrowest_element_ = 0, widest_value_ = 0;
};

/// True of a step from lane to lane at which rows hold the lanes of a load among few other elements.
inline bool is_short_stride(std::optional<int64_t> step) {
  return step && (*step < 0 ? *step <= -2 && *step >= -4 : *step >= 2 && *step <= 4);
}

/// Whether the target can run some lanes of the loop and leave the others alone.
bool can_mask(const VectorizationAnalysis &view, const Target &target);
/// True when rows of 64 iterations are emitted once, under a mask, and not apart for whole rows and the last
/// one: long code costs more to compile twice than the masks of whole rows cost to run.
bool always_masked(const VectorizationAnalysis &view, const Target &target);

/// Of a loop over blocks of a vector loop, `for b in (lo, hi, size): for i in vector(b, min(hi, b + size))`,
/// that vector loop; of any other one null.
const For *lanes_of_block(const For &blocks);

}  // namespace kw
