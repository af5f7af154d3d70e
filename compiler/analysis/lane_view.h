// A loop seen as lanes: whether its iterations can run side by side in vector registers, and how each value
// in it differs from one lane to the next. Asks nothing about dependences (schedule/legal) or profit.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace kw {

/// A scalar from outside the loop to which every iteration adds by one operation whose order changes no bit.
struct OuterSum {
  Buf cell;
  BinOp op{};
};

/// Valid as long as the loop.
class LaneView {
 public:
  explicit LaneView(const For &loop);

  /// True when the loop consists of statements and expressions that have a form over lanes.
  bool widens() const { return widens_; }
  /// Whether the value may differ between lanes.
  bool varies(const Expr &e);
  /// How much an i64 value grows from one lane to the next, 0 where it is the same in all; nothing when it
  /// does not grow evenly.
  std::optional<int64_t> step(const Expr &e);
  /// The same of a symbol that varies.
  std::optional<int64_t> step_of(const Sym &sym) const { return lets_.at(sym.get()); }
  /// Whether it adds to a place from outside in lanes of their own (Order::lanes), which is for
  /// transform/lower_lanes to make explicit.
  bool has_lane_sums() const { return has_lane_sums_; }
  /// The accumulators of the loop, in the order of their first store.
  const std::vector<OuterSum> &sums() const { return sums_; }
  /// The sum that a store to this cell adds to, or null.
  const OuterSum *sum_of(const Buf &cell) const;
  struct Work {
    uint32_t rows = 0;        ///< accesses whose lanes lie side by side in memory
    uint32_t gathers = 0;     ///< loads from places that are no row
    uint32_t scatters = 0;    ///< stores to such places
    uint32_t operations = 0;  ///< on values that vary
  };
  const Work &work() const { return work_; }
  /// Bits of the widest and the narrowest element that the loop reads or writes in memory, and of the widest
  /// value that it computes with; 0 when there is none.
  uint32_t widest_element() const { return widest_element_; }
  uint32_t narrowest_element() const { return narrowest_element_; }
  uint32_t widest_value() const { return widest_value_; }

 private:
  void statements(const Stmt &root);
  void store(const Store &n);
  void define(const Let &n);
  std::optional<int64_t> step_of(const Binary &n);
  void look(const Expr &e);
  bool is_simple(const Expr &e);
  void note_access(const Buf &b, const std::vector<Expr> &index, bool is_store);
  void find_sums(const Stmt &body);

  bool widens_ = true, has_lane_sums_ = false;
  std::unordered_map<const SymNode *, std::optional<int64_t>> lets_;  ///< varying ones and their steps
  std::unordered_set<const BufNode *> own_cells_;                     ///< made in the loop
  std::unordered_map<const ExprNode *, bool> varies_;
  std::unordered_map<const ExprNode *, std::optional<int64_t>> steps_;
  std::unordered_set<const ExprNode *> looked_;
  std::vector<OuterSum> sums_;
  Work work_;
  uint32_t widest_element_ = 0, narrowest_element_ = 0, widest_value_ = 0;
};

}  // namespace kw
