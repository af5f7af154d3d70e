// The rows of the intrinsic table, and the evaluation of functions that fold.
#include "ir/intrinsics.h"

#include <cmath>

#include "support/diagnostic.h"

namespace kw {

namespace {

using enum TypeRule;
using enum Cost;

constexpr bool yes = true, no = false;

constexpr IntrinsicRow table[] = {
    // fn, name, arity, rule, cost, in language, folds
    {Fn::sqrt, "sqrt", 1, as_float, divide, yes, yes},
    {Fn::rsqrt, "rsqrt", 1, as_float, divide, yes, no},
    {Fn::exp, "exp", 1, as_float, function, yes, no},
    {Fn::exp2, "exp2", 1, as_float, function, yes, no},
    {Fn::expm1, "expm1", 1, as_float, function, yes, no},
    {Fn::log, "log", 1, as_float, function, yes, no},
    {Fn::log2, "log2", 1, as_float, function, yes, no},
    {Fn::log10, "log10", 1, as_float, function, yes, no},
    {Fn::log1p, "log1p", 1, as_float, function, yes, no},
    {Fn::sin, "sin", 1, as_float, function, yes, no},
    {Fn::cos, "cos", 1, as_float, function, yes, no},
    {Fn::tan, "tan", 1, as_float, function, yes, no},
    {Fn::asin, "asin", 1, as_float, function, yes, no},
    {Fn::acos, "acos", 1, as_float, function, yes, no},
    {Fn::atan, "atan", 1, as_float, function, yes, no},
    {Fn::atan2, "atan2", 2, as_float, function, yes, no},
    {Fn::sinh, "sinh", 1, as_float, function, yes, no},
    {Fn::cosh, "cosh", 1, as_float, function, yes, no},
    {Fn::tanh, "tanh", 1, as_float, function, yes, no},
    {Fn::erf, "erf", 1, as_float, function, yes, no},
    {Fn::erfc, "erfc", 1, as_float, function, yes, no},
    {Fn::sigmoid, "sigmoid", 1, as_float, function, yes, no},
    {Fn::floor, "floor", 1, same, cheap, yes, yes},
    {Fn::ceil, "ceil", 1, same, cheap, yes, yes},
    {Fn::trunc, "trunc", 1, same, cheap, yes, yes},
    {Fn::round, "round", 1, same, cheap, yes, yes},
    {Fn::abs, "abs", 1, same, cheap, yes, yes},
    {Fn::sign, "sign", 1, same, cheap, yes, no},
    {Fn::power, "power", 2, same, function, yes, no},
    {Fn::fmod, "fmod", 2, same, divide, yes, yes},
    {Fn::isnan, "isnan", 1, to_bool, cheap, yes, yes},
    {Fn::isinf, "isinf", 1, to_bool, cheap, yes, yes},
    {Fn::isfinite, "isfinite", 1, to_bool, cheap, yes, yes},
    {Fn::popcount, "popcount", 1, same, cheap, yes, yes},
    {Fn::ceil_div, "ceil_div", 2, same, divide, yes, no},
    {Fn::fma, "fma", 3, same, cheap, no, yes},
    {Fn::to_bits, "to_bits", 1, bits, cheap, no, yes},
    {Fn::from_bits, "from_bits", 1, bits, cheap, no, yes},
    {Fn::scale, "scale", 2, same, cheap, no, yes},
    {Fn::quotient, "quotient", 2, same, divide, no, yes},
    {Fn::remainder, "remainder", 2, same, divide, no, yes},
    {Fn::shift_left, "shift_left", 2, same, cheap, no, yes},
    {Fn::shift_right, "shift_right", 2, same, cheap, no, yes},
};

/// Returns whether each row is at the index of its enumerator, which row_of relies on.
constexpr bool in_order() {
  for (size_t i = 0; i < std::size(table); ++i)
    if (static_cast<size_t>(table[i].fn) != i) return false;
  return std::size(table) == static_cast<size_t>(Fn::shift_right) + 1;
}
static_assert(in_order(), "one row per function, in the order of the enumeration");

/// Returns the unsigned type as wide as a float type, or the float type as wide as an unsigned one.
DType same_width(DType t) {
  switch (t) {
    case DType::f16:
    case DType::bf16: return DType::u16;
    case DType::f32: return DType::u32;
    case DType::f64: return DType::u64;
    case DType::u16: return DType::f16;
    case DType::u32: return DType::f32;
    case DType::u64: return DType::f64;
    default: internal_error(__FILE__, __LINE__, "no type of that width to exchange bits with");
  }
}

/// Returns the result type of NumPy's float functions: f16 for integers of 8 bits, f32 for 16, f64 for more.
DType ufunc_float(DType t) {
  if (is_float(t)) return t;
  if (bit_width(t) <= 8) return DType::f16;
  return bit_width(t) == 16 ? DType::f32 : DType::f64;
}

/// Evaluates a function of one float. double holds every result exactly, except that sqrt rounds.
double apply_real(Fn fn, double x) {
  switch (fn) {
    case Fn::sqrt: return std::sqrt(x);
    case Fn::floor: return std::floor(x);
    case Fn::ceil: return std::ceil(x);
    case Fn::trunc: return std::trunc(x);
    case Fn::round: return std::nearbyint(x);
    default: internal_error(__FILE__, __LINE__, "function without a constant meaning");
  }
}

/// Evaluates a function of an integer or bool, which is never infinite or NaN.
Value apply_int(Fn fn, const Value &x) {
  switch (fn) {
    case Fn::abs: return is_signed_int(x.dtype) && to_int(x) < 0 ? apply(UnOp::neg, x) : x;
    case Fn::popcount: return from_int(x.dtype, __builtin_popcountll(x.bits));
    case Fn::isnan:
    case Fn::isinf: return from_int(DType::b1, 0);
    case Fn::isfinite: return from_int(DType::b1, 1);
    case Fn::sqrt: return from_double(ufunc_float(x.dtype), std::sqrt(to_double(x)));
    default: return x;  // floor, ceil, trunc and round keep integers
  }
}

/// Returns the integer remainder with the sign of x; 0 for y = 0, as numpy.fmod.
Value truncated_mod(const Value &x, const Value &y) {
  Value floored = apply(BinOp::floor_mod, x, y);
  bool wrong_sign = is_signed_int(x.dtype) && floored.bits != 0 && (to_int(x) < 0) != (to_int(floored) < 0);
  return wrong_sign ? apply(BinOp::sub, floored, y) : floored;
}

/// Returns the quotient rounded toward zero; for operands outside the contract any value, without a trap.
Value truncated_quotient(const Value &x, const Value &y) {
  Value rest = truncated_mod(x, y);
  return apply(BinOp::floor_div, apply(BinOp::sub, x, rest), y);
}

}  // namespace

std::span<const IntrinsicRow> intrinsics() { return table; }
const IntrinsicRow &row_of(Fn fn) { return table[static_cast<size_t>(fn)]; }

const IntrinsicRow *find_intrinsic(std::string_view name) {
  for (const IntrinsicRow &row : table)
    if (row.name == name) return &row;
  return nullptr;
}

DType result_dtype(Fn fn, DType arg) {
  switch (row_of(fn).rule) {
    case as_float: return ufunc_float(arg);
    case to_bool: return DType::b1;
    case bits: return same_width(arg);
    case same: return arg;
  }
  return arg;
}

Value apply(Fn fn, std::span<const Value> args) {
  const Value &x = args[0];
  if (fn == Fn::quotient) return truncated_quotient(x, args[1]);
  if (fn == Fn::remainder) return truncated_mod(x, args[1]);
  if (fn == Fn::shift_left || fn == Fn::shift_right)
    return apply(fn == Fn::shift_left ? BinOp::shl : BinOp::shr, x, args[1]);
  if (fn == Fn::to_bits || fn == Fn::from_bits) return {same_width(x.dtype), x.bits};
  if (fn == Fn::scale) {
    double n = to_double(args[1]);
    // written as a negation, so that a NaN is far, too
    bool far = !(std::abs(n) <= 4096);
    if (x.dtype == DType::f32) return from_float(far ? NAN : std::ldexp(to_float(x), static_cast<int>(n)));
    return from_double(x.dtype, far ? NAN : std::ldexp(to_double(x), static_cast<int>(n)));
  }
  // computed in double, the result would be rounded twice
  if (fn == Fn::fma && x.dtype == DType::f32)
    return from_float(std::fma(to_float(x), to_float(args[1]), to_float(args[2])));
  if (fn == Fn::fma)
    return from_double(x.dtype, std::fma(to_double(x), to_double(args[1]), to_double(args[2])));
  if (fn == Fn::fmod && is_float(x.dtype))
    return from_double(x.dtype, std::fmod(to_double(x), to_double(args[1])));
  if (fn == Fn::fmod) return truncated_mod(x, args[1]);
  if (!is_float(x.dtype)) return apply_int(fn, x);
  if (fn == Fn::abs) return {x.dtype, x.bits & ~(uint64_t{1} << (bit_width(x.dtype) - 1))};
  double v = to_double(x);
  if (fn == Fn::isnan) return from_int(DType::b1, std::isnan(v));
  if (fn == Fn::isinf) return from_int(DType::b1, std::isinf(v));
  if (fn == Fn::isfinite) return from_int(DType::b1, std::isfinite(v));
  // sqrt of a float32 computed in double and rounded once more is exact (53 >= 2 * 24 + 2); likewise for the
  // narrower formats
  return from_double(x.dtype, apply_real(fn, v));
}

}  // namespace kw
