// The table of intrinsics: one row per function. Its readers are the front end (name, arity), passes (cost,
// purity), back ends and the derivation of gradients. A new function needs a row, and its meaning in
// scalar_ops or its expansion in transform/math.
#pragma once

#include <span>
#include <string_view>

#include "ir/node.h"
#include "ir/scalar_ops.h"

namespace kw {

/// Functions that a Call can name. The machine functions at the end have no name in the language.
enum class Fn : uint8_t {
  sqrt,
  rsqrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  atan2,
  sinh,
  cosh,
  tanh,
  erf,
  erfc,
  sigmoid,
  floor,
  ceil,
  trunc,
  round,
  abs,
  sign,
  power,
  fmod,
  isnan,
  isinf,
  isfinite,
  popcount,
  ceil_div,
  fma,
  to_bits,
  from_bits,
  scale,  ///< x · 2^n, rounded once; n is an integer in the type of x, and n / 2 an exponent of that type
  // integer operations as machines have them, for operands that transform/lowering/guard_operations guards
  quotient,     ///< rounded toward zero; the divisor is neither 0 nor -1
  remainder,    ///< x - quotient(x, y) · y
  shift_left,   ///< by a count from 0 to the width - 1
  shift_right,  ///< likewise; signed integers shift in the sign
};

/// The rule for the result dtype, given the (promoted) argument dtype.
enum class TypeRule : uint8_t {
  as_float,  ///< floats stay; integers become the float of the NumPy ufunc
  same,      ///< the argument's dtype
  to_bool,
  bits,  ///< to_bits, from_bits: the integer or float of equal width
};
enum class Cost : uint8_t { cheap, divide, function };

struct IntrinsicRow {
  Fn fn;
  std::string_view name;
  uint8_t arity;
  TypeRule rule;
  Cost cost;
  bool in_language;  ///< callable by name in kernels
  bool folds;        ///< apply() defines it, so constants fold
};

std::span<const IntrinsicRow> intrinsics();
const IntrinsicRow &row_of(Fn fn);
const IntrinsicRow *find_intrinsic(std::string_view name);
/// Returns the result dtype for an argument of dtype `arg`.
DType result_dtype(Fn fn, DType arg);

/// Evaluates a function with `folds`.
Value apply(Fn fn, std::span<const Value> args);

}  // namespace kw
