// Which values expressions over loops and sizes can take at a place, by types, loops, operators and guards:
// whether 64 bits hold them, so that a form means the same there as in the integers. Proves nothing about
// indices.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/affine.h"
#include "ir/wide_int.h"

namespace kw {

/// What is known at a place of a function.
struct PlaceFacts {
  std::vector<const For *> loops;   ///< around it, outermost first
  std::vector<Affine> constraints;  ///< each >= 0, by the guards around it
  bool extents_positive;            ///< else extents may be zero
};

/// True when only extents, scalar parameters and constants occur, in operations that the entry program has.
bool is_call_constant(const Expr &e);

/// Whether an integer follows from extents and scalar arguments by arithmetic, choices and comparisons: what
/// the size of a workspace may be computed by.
bool is_size_of_call(const Expr &e);

/// Whether the expression is the extent of an argument.
bool is_extent(const Expr &e);

/// Reads the facts of a place, which must outlive it.
class ValueRanges {
 public:
  explicit ValueRanges(const PlaceFacts &facts) : facts_(facts) {}

  /// True when 64 bits hold every value of the form; `small`, when not null, gets what must be small for it.
  bool is_exact(const Affine &form, std::vector<Expr> *small) const;
  bool is_exact(const Expr &e) const;
  /// The form of an expression that is exact and loads nothing; nothing for others.
  std::optional<Affine> exact_form(const Expr &e) const;
  /// For all extents: of at least 1, or 0 when these may be.
  bool surely_nonnegative(const Affine &a) const;

  using FormOf = std::function<std::optional<Affine>(const Expr &)>;
  /// The first and the last value of an iterator, when its loop runs; false when they have no form.
  static bool ends_of(const For &loop, const FormOf &form_of, Affine &low, Affine &high);
  /// The least (or greatest) value of a form over all loops, when only its iterators stand in the way, or
  /// null.
  Expr end_value(Affine form, bool least, const FormOf &form_of) const;
  /// The largest value of an i64 expression over extents and parameters, or null.
  Expr upper_bound(const Expr &e) const;

 private:
  struct Range {
    WideInt least, most;
    bool fit_words() const { return least >= INT64_MIN && most <= INT64_MAX; }
  };
  struct Query {
    int guards = 2;  ///< guards bound a symbol by others, these by guards of their own: how often; chosen
    std::vector<Expr> *small = nullptr;  ///< when not null: scalars of the call are small, and listed here
  };
  Range values_of(const Expr &e, Query query) const;
  Range values_of(const Affine &form, Query query) const;
  Range values_of_atom(const Expr &atom, Query query) const;
  Range values_by_kind(const Expr &atom, Query query) const;
  void narrow(Range &v, const Expr &atom, Query query) const;

  const PlaceFacts &facts_;
};

}  // namespace kw
