// Proofs of `e >= 0` from the loops, guards and Lets around a place: iterators are replaced by the end of
// their range that makes the form smallest. Sound and incomplete; asks questions only.
#pragma once

#include <vector>

#include "analysis/value_ranges.h"

namespace kw {

/// What could be shown of a goal.
struct Proof {
  enum class Kind : uint8_t {
    proved,
    under_fact,  ///< holds whenever `facts()`, over extents and scalar parameters, hold
    refuted,     ///< fails in every run in which all extents are at least 1 and the place is reached with the
                 ///< extreme iteration
    unknown,
  };
  Kind kind = Kind::unknown;
  Expr fact;     ///< b1; null when only `small` is asked for
  Affine worst;  ///< the smallest value of the goal, over extents and parameters, for `fact` and refuted
  std::vector<Expr> small{};  ///< what must lie within ±2^46: else something wraps that the proof counts with

  /// That these lie within ±2^46.
  std::vector<Expr> smallness() const;
  /// `fact` and the smallness.
  std::vector<Expr> facts() const;
};

class BoundsContext {
 public:
  /// When extents may be zero nothing is assumed of them.
  explicit BoundsContext(bool extents_positive) : facts_{{}, {}, extents_positive} {}

  void enter_loop(const For &loop) { facts_.loops.push_back(&loop); }
  void leave_loop() { facts_.loops.pop_back(); }
  /// Facts that hold inside a branch; returns how many to drop again.
  size_t assume(const Expr &cond, bool holds);
  void drop(size_t count) { facts_.constraints.resize(facts_.constraints.size() - count); }
  /// What is known behind an If of which one branch jumps away: the other one was taken.
  size_t assume_behind(const If &branch);

  Proof nonnegative(const Affine &goal) const;
  /// What a condition over integers is here in every iteration, when that is known.
  std::optional<bool> truth(const Expr &cond) const;
  /// The largest value of an i64 expression over extents and parameters, or null.
  Expr upper_bound(const Expr &e) const { return ranges().upper_bound(e); }
  /// True when an i64 expression means the same in 64 bits as in the integers: nothing in its form wraps.
  bool is_exact(const Expr &e) const { return ranges().is_exact(e); }
  /// True when every loop around this place runs at least once for extents >= 1.
  bool surely_runs() const;

 private:
  struct Search;
  ValueRanges ranges() const { return ValueRanges(facts_); }
  Proof searched(const Affine &goal) const;
  Proof least_fact(const Affine &goal, Proof found) const;
  bool exceeds(const Affine &big, const Affine &small, int64_t by) const;
  PlaceFacts facts_;
};

}  // namespace kw
