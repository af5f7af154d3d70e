// Finds the values that expressions over loops and sizes can take at a place, from types, loops, operators
// and guards. If 64 bits hold all values, a form means the same there as in the integers. Proves nothing
// about indices.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/affine.h"
#include "ir/integers/wide_int.h"

namespace kw {

/// The facts known at a place of a function.
struct PlaceFacts {
  std::vector<const For *> loops;   ///< the enclosing loops, outermost first
  std::vector<Affine> constraints;  ///< each >= 0, from the enclosing guards
  bool extents_positive;            ///< if false, extents may be zero
};

/// Returns whether only extents, scalar parameters and constants occur, in operations that the entry program
/// has.
bool is_call_constant(const Expr &e);

/// Returns whether an integer follows from extents and scalar arguments by arithmetic, choices and
/// comparisons. The size of a workspace may be computed from such expressions.
bool is_size_of_call(const Expr &e);

/// Reads the facts of a place. They must outlive this object.
class ValueRanges {
 public:
  explicit ValueRanges(const PlaceFacts &facts) : facts_(facts) {}

  /// Returns whether 64 bits hold every value of the form. If `small` is not null, it receives the scalars
  /// that must be small for that.
  bool is_exact(const Affine &form, std::vector<Expr> *small) const;
  bool is_exact(const Expr &e) const;
  /// Returns the form of an expression that is exact and loads nothing; nothing for other expressions.
  std::optional<Affine> exact_form(const Expr &e) const;
  /// Returns whether the form is surely nonnegative for all extents of at least 1, or 0 if extents may be
  /// zero.
  bool surely_nonnegative(const Affine &a) const;

  using FormOf = std::function<std::optional<Affine>(const Expr &)>;
  /// Finds the ends of an iterator's range if its loop runs; returns false if they have no form.
  static bool ends_of(const For &loop, const FormOf &form_of, Affine &low, Affine &high);
  /// Returns the least (or greatest) value of a form over all loops. Null if, apart from iterators, it
  /// depends on more than the arguments of the call.
  Expr end_value(Affine form, bool least, const FormOf &form_of) const;
  /// Returns the largest value of an i64 expression over extents and parameters, or null.
  Expr upper_bound(const Expr &e) const;

 private:
  struct Range {
    WideInt least, most;
    bool fit_words() const { return least >= INT64_MIN && most <= INT64_MAX; }
  };
  struct Query {
    /// Recursion depth: a guard bounds a symbol by others, which guards may bound in turn. Chosen.
    int guards = 2;
    std::vector<Expr> *small = nullptr;  ///< if not null: the scalars of the call assumed small
  };
  Range values_of(const Expr &e, Query query) const;
  Range values_of(const Affine &form, Query query) const;
  Range values_of_atom(const Expr &atom, Query query) const;
  Range values_by_kind(const Expr &atom, Query query) const;
  void narrow(Range &v, const Expr &atom, Query query) const;

  const PlaceFacts &facts_;
};

}  // namespace kw
