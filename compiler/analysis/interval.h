// Proves `e >= 0` from the loops, guards and Lets around a place: replaces iterators by the end of their
// range that minimizes the form. Sound and incomplete; changes nothing.
#pragma once

#include <vector>

#include "analysis/value_ranges.h"

namespace kw {

/// The result of an attempted proof.
struct Proof {
  enum class Kind : uint8_t {
    proved,
    under_fact,  ///< holds if `facts()`, over extents and scalar parameters, hold
    refuted,     ///< fails in every run with extents of at least 1 whose extreme iteration reaches the place
    unknown,
  };
  Kind kind = Kind::unknown;
  Expr fact;     ///< a b1 expression; null if only `small` is required
  Affine worst;  ///< the smallest value of the goal, over extents and parameters, for `fact` and refuted
  std::vector<Expr> small{};  ///< must lie within ±2^46: the proof assumes that they do not wrap

  /// Returns the conditions that all of `small` lie within ±2^46.
  std::vector<Expr> smallness() const;
  /// Returns `fact` and the conditions of smallness().
  std::vector<Expr> facts() const;
};

class BoundsContext {
 public:
  /// If `extents_positive` is false, extents may be zero.
  explicit BoundsContext(bool extents_positive) : facts_{{}, {}, extents_positive} {}

  void enter_loop(const For &loop) { facts_.loops.push_back(&loop); }
  void leave_loop() { facts_.loops.pop_back(); }
  /// Assumes the facts that hold inside a branch; returns how many to drop again.
  size_t assume(const Expr &cond, bool holds);
  void drop(size_t count) { facts_.constraints.resize(facts_.constraints.size() - count); }
  /// Assumes that the other branch was taken if one branch of an If jumps away; returns how many facts to
  /// drop.
  size_t assume_behind(const If &branch);

  Proof nonnegative(const Affine &goal) const;
  /// Returns the value that a condition over integers has here in every iteration, if it is known.
  std::optional<bool> truth(const Expr &cond) const;
  /// Returns the largest value of an i64 expression over extents and parameters, or null.
  Expr upper_bound(const Expr &e) const { return ranges().upper_bound(e); }
  /// Returns whether an i64 expression means the same in 64 bits as in the integers: nothing in its form
  /// wraps.
  bool is_exact(const Expr &e) const { return ranges().is_exact(e); }
  /// Returns whether every loop around this place surely runs at least once for extents >= 1.
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
