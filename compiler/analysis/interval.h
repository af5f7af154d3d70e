// Proofs of `e >= 0` from the loops, guards and Lets around a place: iterators are replaced by the end of
// their range that makes the form smallest. Sound and incomplete; asks questions only.
#pragma once

#include <functional>
#include <vector>

#include "analysis/affine.h"
#include "ir/wide_int.h"

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

/// True when only extents, scalar parameters and constants occur, in operations that the entry program has.
bool is_call_constant(const Expr &e);

/// Whether an integer follows from extents and scalar arguments by arithmetic, choices and comparisons: what
/// the size of a workspace may be computed by.
bool is_size_of_call(const Expr &e);

class BoundsContext {
 public:
  /// When extents may be zero nothing is assumed of them.
  explicit BoundsContext(bool extents_positive) : extents_positive_(extents_positive) {}

  void enter_loop(const For &loop) { loops_.push_back(&loop); }
  void leave_loop() { loops_.pop_back(); }
  /// Facts that hold inside a branch; returns how many to drop again.
  size_t assume(const Expr &cond, bool holds);
  void drop(size_t count) { constraints_.resize(constraints_.size() - count); }
  /// What is known behind an If of which one branch jumps away: the other one was taken.
  size_t assume_behind(const If &branch);

  Proof nonnegative(const Affine &goal) const;
  /// What a condition over integers is here in every iteration, when that is known.
  std::optional<bool> truth(const Expr &cond) const;
  /// The largest value of an i64 expression over extents and parameters, or null.
  Expr upper_bound(const Expr &e) const;
  /// True when an i64 expression means the same in 64 bits as in the integers: nothing in its form wraps.
  bool is_exact(const Expr &e) const;
  /// True when every loop around this place runs at least once for extents >= 1.
  bool surely_runs() const;

 private:
  struct Search;
  friend class BoundsSystem;
  /// By elimination over everything that is known here (interval_solve.cpp).
  bool proved_by_elimination(const Affine &goal) const;
  Proof searched(const Affine &goal) const;
  Proof least_fact(const Affine &goal, Proof found) const;
  using FormOf = std::function<std::optional<Affine>(const Expr &)>;
  static bool ends_of(const For &loop, const FormOf &form_of, Affine &low, Affine &high);
  Expr end_value(Affine form, bool least, const FormOf &form_of) const;
  /// For all extents: of at least 1, or 0 when these may be.
  bool surely_nonnegative(const Affine &a) const;
  std::optional<Affine> exact_form(const Expr &e) const;

  // interval_values.cpp
  struct ValueRange {
    WideInt least, most;
    bool fit_words() const { return least >= INT64_MIN && most <= INT64_MAX; }
  };
  struct RangeQuery {
    int guards = 2;  ///< guards bound a symbol by others, these by guards of their own: how often; chosen
    std::vector<Expr> *small = nullptr;  ///< when not null: scalars of the call are small, and listed here
  };
  ValueRange values_of(const Expr &e, RangeQuery query) const;
  ValueRange values_of(const Affine &form, RangeQuery query) const;
  ValueRange values_of_atom(const Expr &atom, RangeQuery query) const;
  ValueRange values_by_kind(const Expr &atom, RangeQuery query) const;
  void narrow(ValueRange &v, const Expr &atom, RangeQuery query) const;
  /// True when 64 bits hold every value of the form; `small`, when not null, gets what must be small for it.
  bool is_exact(const Affine &form, std::vector<Expr> *small) const;

  bool exceeds(const Affine &big, const Affine &small, int64_t by) const;
  std::vector<const For *> loops_;
  std::vector<Affine> constraints_;  // each >= 0
  bool extents_positive_;
};

}  // namespace kw
