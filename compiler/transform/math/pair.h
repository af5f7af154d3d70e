// Arithmetic on unevaluated sums of two float64 as IR, the base of the elementary functions. A result in
// float32 needs only plain float64: the same formulas then omit the low parts (single.h has float32 itself).
// Knows no function. Sources: Dekker, A floating-point technique for extending the available precision
// (1971); Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks of double-word
// arithmetic (2017).
#pragma once

#include <span>

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "support/target.h"

namespace kw {

/// hi + lo with |lo| <= ulp(hi) / 2; a null lo is 0.
struct Pair {
  Expr hi, lo;
};

Expr real(double v);
Expr word(uint64_t v);
Expr bits_of(const Expr &x);
Expr from_word(const Expr &x);
/// Returns all ones where the condition holds, else 0.
Expr mask_of(const Expr &condition);
/// Returns `yes` under ones of the mask, else `no`, without a branch.
Expr blend(const Expr &mask, const Expr &yes, const Expr &no);
Expr less(const Expr &a, const Expr &b);
/// Returns 2^n for an i64 n in -1022 … 1023.
Expr power_of_two(const Expr &n);
/// Returns the magnitude of x with the sign of y; both are f64.
Expr copy_sign(const Expr &x, const Expr &y);
Expr magnitude(const Expr &x);

/// The nearest integer of a float64 below 2^51: as a float and as i64 (garbage for NaN).
struct Rounded {
  Expr value, integer;
};
Rounded nearest_integer(const Expr &x);

class Arith {
 public:
  /// With `wide`, results have float64 accuracy and pairs keep their low parts.
  Arith(const Target &target, bool wide) : fma_(target.has_fma()), wide_(wide) {}
  bool wide() const { return wide_; }

  /// Returns a * b + c, with one rounding if the target can do so.
  Expr mad(const Expr &a, const Expr &b, const Expr &c) const;
  /// Evaluates a polynomial by Estrin's scheme, constant term first.
  Expr poly(std::span<const double> coefficients, const Expr &x) const;

  Pair constant(double hi, double lo) const { return {real(hi), wide_ ? real(lo) : Expr{}}; }
  /// Returns a + b exactly, for any a and b and also if not wide.
  Pair exact_sum(const Expr &a, const Expr &b) const;
  Pair two_sum(const Expr &a, const Expr &b) const;
  /// Returns a + b for |a| >= |b| or a = 0.
  Pair quick_sum(const Expr &a, const Expr &b) const;
  Pair two_product(const Expr &a, const Expr &b) const;

  Pair add(const Pair &a, const Pair &b) const;
  Pair subtract(const Pair &a, const Pair &b) const { return add(a, negate(b)); }
  Pair mul(const Pair &a, const Pair &b) const;
  Pair div(const Pair &a, const Pair &b) const;
  /// Likewise for b within 2^±500, at the price of a few products if not wide.
  Pair ratio(const Pair &a, const Pair &b) const;
  Pair square_root(const Pair &a) const;
  Pair negate(const Pair &a) const;
  /// Multiplies by a power of two.
  Pair scale(const Pair &a, const Expr &factor) const;
  Pair choose(const Expr &mask, const Pair &yes, const Pair &no) const;
  Expr value(const Pair &a) const { return a.lo ? kw::add(a.hi, a.lo) : a.hi; }

 private:
  Expr product_error(const Expr &a, const Expr &b, const Expr &product) const;

  bool fma_, wide_;
};

}  // namespace kw
