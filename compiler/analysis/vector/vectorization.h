// Analyses one loop for vectorization: whether its iterations can run in the lanes of vector registers, and
// how each value differs from lane to lane. Ignores dependences (schedule/directives/legal) and profit.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/arg_reduction.h"
#include "support/pointer_map.h"
#include "support/target.h"

namespace kw {

/// A reduction into a scalar from outside the loop. Every iteration combines its term by `op`, which gives
/// the same bits in any order.
struct Reduction {
  Buf cell;
  BinOp op{};
};

/// An arg-reduction over the iterations: scalars from outside the loop keep the best value and its
/// companions.
///     if x[i] < best: best = x[i]; at = i
struct ArgReduction {
  const If *at = nullptr;
  ArgReductionForm selection{};
  bool keeps(const Buf &cell) const;
};

/// A uniform induction variable of a `while` in the loop: it starts at a constant and changes by a constant
/// per iteration.
struct UniformInduction {
  Buf cell;
  Expr first;
};

/// The analysis of one loop. Must not outlive the loop.
class VectorizationAnalysis {
 public:
  explicit VectorizationAnalysis(const For &loop);

  /// Returns whether every statement and expression of the loop has a vector form.
  bool is_vectorizable() const { return is_vectorizable_; }
  /// Returns the place of the first statement or expression without a vector form; unknown if it has no
  /// single place.
  Loc blocker() const { return blocker_; }
  /// Returns whether the value may differ between lanes.
  bool is_divergent(const Expr &e);
  /// Returns the constant by which an i64 value grows from one lane to the next: 0 if it is uniform, nothing
  /// if there is no such constant.
  std::optional<int64_t> lane_stride(const Expr &e);
  /// Likewise for a divergent symbol.
  std::optional<int64_t> lane_stride_of(const Sym &sym) const { return lets_.at(sym.get()); }
  /// Returns the elements between the accesses of two neighbouring lanes, with the assumed row lengths;
  /// nothing if the distance is not constant.
  std::optional<int64_t> element_stride(const Buf &b, const std::vector<Expr> &index);
  /// Returns the buffers that the loop accesses in columns with small constant numbers, with the row length
  /// to version for.
  ///     p[j, 0] * p[j, 1] + p[j, 2]   →   p: 3
  const std::vector<std::pair<Buf, int64_t>> &assumed_row_lengths() const { return assumed_row_lengths_; }
  /// Returns whether the loop holds sums in the order `lanes`, which transform/lowering/lower_reductions
  /// makes explicit.
  bool has_lane_sums() const { return widths_.lane_sums > 0; }
  /// Returns the total bits of one lane of these sums.
  uint32_t lane_sum_bits() const { return widths_.lane_sums; }
  /// Returns the reductions of the loop, in the order of their first store.
  const std::vector<Reduction> &reductions() const { return reductions_; }
  /// Returns the reduction that a store to this cell belongs to, or null.
  const Reduction *reduction_of(const Buf &cell) const;
  /// Returns the arg-reductions of the loop, in source order.
  const std::vector<ArgReduction> &arg_reductions() const { return arg_reductions_; }
  /// Returns the arg-reduction that this conditional is, or null.
  const ArgReduction *arg_reduction_at(const If &n) const;
  /// Returns whether the scalar is declared in the loop.
  bool is_own(const Buf &cell) const { return own_cells_.count(cell.get()) > 0; }
  /// Returns whether the loop holds a `while`, which runs until all lanes have left it.
  bool has_while() const { return has_while_; }
  /// Returns the variables that count the iterations of a `while` and are uniform over its active lanes.
  /// Empty if a lane may leave an iteration before its end.
  const std::vector<UniformInduction> &uniform_inductions(const While &n) const {
    return uniform_inductions_.at(&n);
  }
  struct Work {
    uint32_t rows = 0;        ///< accesses whose lanes are contiguous in memory
    uint32_t strided = 0;     ///< loads with a stride of two to four elements
    uint32_t gathers = 0;     ///< all other loads
    uint32_t scatters = 0;    ///< stores that are not contiguous
    uint32_t operations = 0;  ///< operations on divergent values
  };
  const Work &work() const { return work_; }
  /// Return the bits of the widest and the narrowest element that the loop accesses in memory, and of the
  /// widest value that it computes with; 0 if there is none.
  uint32_t widest_element() const { return widths_.widest_element; }
  uint32_t narrowest_element() const { return widths_.narrowest_element; }
  uint32_t widest_value() const { return widths_.widest_value; }

 private:
  void refuse(Loc at = {});
  void statements(const Stmt &root);
  void statement(const Stmt &s);
  void conditional(const If &n);
  void store(const Store &n, Loc at);
  void define(const Let &n);
  std::optional<int64_t> lane_stride_of(const Binary &n);
  void look(const Expr &e);
  bool is_simple(const Expr &e);
  void note_access(const Buf &b, const std::vector<Expr> &index, bool is_store);
  class Uses;
  void guess_rows(const Stmt &body);
  void find_arg_reductions(const Stmt &body, Uses &uses);
  void find_reductions(const Stmt &body, Uses &uses);
  void select(const ArgReduction &s);
  void repeat(const While &n);
  void loop_body(const Stmt &body, bool may_jump);
  std::vector<UniformInduction> find_uniform_inductions(const While &n) const;

  bool is_vectorizable_ = true, has_while_ = false;
  Loc blocker_{};
  bool jumps_here_ = false;  ///< each lane may leave the innermost enclosing loop on its own
  std::unordered_map<const SymNode *, std::optional<int64_t>>
      lets_;                                       ///< divergent symbols and their lane strides
  std::unordered_set<const BufNode *> own_cells_;  ///< declared in the loop
  struct Memo {                                    ///< results for shared expressions
    PointerMap<bool> is_divergent;
    PointerMap<std::optional<int64_t>> strides;
    PointerSet visited;
  };
  Memo memo_;
  std::vector<std::pair<Buf, int64_t>> assumed_row_lengths_;
  std::vector<Reduction> reductions_;
  std::vector<ArgReduction> arg_reductions_;
  /// Constant values of the loop's own scalars at the current place of the walk.
  std::unordered_map<const BufNode *, Expr> constants_;
  std::unordered_map<const While *, std::vector<UniformInduction>> uniform_inductions_;
  Work work_;
  struct Widths {  ///< in bits
    uint32_t widest_element = 0, narrowest_element = 0, widest_value = 0, lane_sums = 0;
  };
  Widths widths_;
};

/// Returns whether the stride is short: 2 to 4, in both directions. The lanes of such a load lie among few
/// other elements, so that loading whole rows and shuffling beats a gather.
inline bool is_short_stride(std::optional<int64_t> step) {
  return step && (*step < 0 ? *step <= -2 && *step >= -4 : *step >= 2 && *step <= 4);
}

/// Returns whether the target can run the loop under a mask of active lanes.
bool can_mask(const VectorizationAnalysis &view, const Target &target);
/// Returns whether the 64 lanes of an iteration are emitted once, under a mask, instead of separately for
/// full vectors and the remainder. For long bodies, compiling twice costs more than the mask.
bool always_masked(const VectorizationAnalysis &view, const Target &target);

}  // namespace kw
