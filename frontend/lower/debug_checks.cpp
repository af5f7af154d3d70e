// Checks of values where a kernel differs from CPython (language.md 2a, V1 to V5), for debug=True. Each is a
// Check in front of the statement that evaluates the value. Other compilations get none. The expressions
// themselves never change, so that debug and release round alike.
#include "frontend/lower/debug_checks.h"

#include <algorithm>
#include <cmath>

#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr std::string_view wraps = "without debug=True it wraps";
constexpr std::string_view saturates = "without debug=True it becomes the nearest value";

/// The limits of an integer type.
struct Ends {
  int64_t low;
  uint64_t high;
};
Ends ends_of(DType t) {
  unsigned bits = bit_width(t);
  if (is_signed_int(t))
    return {-static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1) - 1, (uint64_t{1} << (bits - 1)) - 1};
  return {0, bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1};
}

/// Clamps v to the given limits. A value is in range exactly if clamping does not change it.
Expr clamped(Expr v, const std::optional<Value> &low, const std::optional<Value> &high) {
  if (low) v = binary(BinOp::max, v, constant(*low));
  return high ? binary(BinOp::min, v, constant(*high)) : v;
}

/// Returns the condition that the integer x is a value of `to`; null if it always is. The left side of the
/// comparison is x in 64 bits.
Expr in_range(const Expr &x, DType to) {
  Ends from = ends_of(x.dtype()), into = ends_of(to);
  if (into.low <= from.low && from.high <= into.high) return {};
  DType wide = x.dtype() == DType::u64 ? DType::u64 : DType::i64;
  std::optional<Value> low, high;
  // only limits that the source type can exceed are tested
  if (from.low < into.low) low = from_int(wide, into.low);
  if (into.high < from.high) high = Value{wide, into.high};
  Expr v = cast(wide, x);
  return binary(BinOp::eq, v, clamped(v, low, high));
}

/// Returns the same condition for a float64 that is not NaN. The conversion drops its fraction.
Expr float_in_range(const Expr &x, DType to) {
  Ends into = ends_of(to);
  auto least = static_cast<double>(into.low);
  // fractions above low - 1 truncate to `low`; below -2^63 no float64 is that close
  if (into.low != INT64_MIN) least = std::nextafter(least - 1, 0.0);
  double most = std::nextafter(std::ldexp(1.0, static_cast<int>(bit_width(to)) - is_signed_int(to)), 0.0);
  return binary(BinOp::eq, x, clamped(x, from_double(DType::f64, least), from_double(DType::f64, most)));
}

/// Makes a message that shows the value: a constant's own value, or the value at the time of the fault.
SiteMessage telling(std::string before, const Expr &x, std::string_view after, std::string_view note) {
  using Value = SiteMessage::Value;
  bool real = is_float(x.dtype()), wide = x.dtype() == DType::u64;
  if (auto v = as_const(x)) {
    std::string text = real ? float_text(to_double(*v)) : wide ? cat(v->bits) : cat(to_int(*v));
    return {cat(before, text, after), Value::none, {}, std::string(note)};
  }
  return {std::move(before),
          real   ? Value::f64
          : wide ? Value::u64
                 : Value::i64,
          std::string(after), std::string(note)};
}

/// Makes a message without a value.
SiteMessage plainly(std::string text, std::string_view note) {
  return {std::move(text), SiteMessage::Value::none, {}, std::string(note)};
}

/// Combine conditions or bits without a short circuit: both sides are always evaluated.
Expr both(const Expr &a, const Expr &b) { return binary(BinOp::bit_and, a, b); }
Expr either(const Expr &a, const Expr &b) { return binary(BinOp::bit_or, a, b); }
Expr is(const Expr &a, int64_t value) { return binary(BinOp::eq, a, const_int(value)); }
Expr is_negative(const Expr &a) { return binary(BinOp::lt, a, const_int(0)); }

/// Returns the condition that a sum or difference does not leave 64 bits, by the signs.
Expr sum_fits(BinOp op, const Expr &a, const Expr &b) {
  // a sum overflows if its sign differs from that of both operands; a difference, if the operands' signs
  // differ and the result has the sign of b
  Expr r = binary(op, a, b);
  Expr other = binary(BinOp::bit_xor, op == BinOp::add ? b : a, op == BinOp::add ? r : b);
  return binary(BinOp::le, const_int(0), both(binary(BinOp::bit_xor, a, r), other));
}

/// Returns the condition that a quotient stays in 64 bits: only INT64_MIN / -1 does not.
Expr quotient_fits(const Expr &a, const Expr &b) {
  return unary(UnOp::logical_not, both(is(a, INT64_MIN), is(b, -1)));
}

/// Returns the condition that a product does not leave 64 bits. If one factor is constant, the other is
/// compared with the quotients of the limits. Otherwise the wrapped product is divided again.
Expr product_fits(const Expr &a, const Expr &b) {
  for (const auto &[x, y] : {std::pair(a, b), std::pair(b, a)}) {
    auto factor = as_int(y);
    // INT64_MIN / -1 overflows itself; the test by division covers that factor
    if (!factor || *factor == -1) continue;
    if (*factor == 0) return const_bool(true);
    int64_t low = INT64_MIN / *factor, high = INT64_MAX / *factor;
    if (*factor < 0) std::swap(low, high);
    return binary(BinOp::eq, x, clamped(x, from_int(DType::i64, low), from_int(DType::i64, high)));
  }
  Expr back = binary(BinOp::floor_div, binary(BinOp::mul, a, b), a);
  return either(is(a, 0), both(binary(BinOp::eq, back, b), quotient_fits(b, a)));
}

/// Returns the condition that a left shift loses no bits. A negative count passes: it is no question of
/// width.
Expr shift_fits(const Expr &a, const Expr &count) {
  Expr back = binary(BinOp::shr, binary(BinOp::shl, a, count), count);
  Expr narrow = both(binary(BinOp::eq, back, a), binary(BinOp::lt, count, const_int(64)));
  return either(either(is(a, 0), is_negative(count)), narrow);
}

/// Returns the condition that a power stays below 2^63, by the power in float64. Its error is smaller than
/// the gap between 2^63 and the nearest integer power.
Expr power_fits(const Expr &a, const Expr &n) {
  Expr p = call(Fn::power, {cast(DType::f64, a), cast(DType::f64, n)});
  Expr inside = both(binary(BinOp::le, const_float(DType::f64, -0x1p63), p),
                     binary(BinOp::lt, p, const_float(DType::f64, 0x1p63)));
  return either(binary(BinOp::le, n, const_int(1)), inside);
}

/// Returns the condition that an operation on two int64 does not wrap; null for operations that cannot.
Expr fits_in_64_bits(ast::Operator op, const Expr &a, const Expr &b) {
  switch (op) {
    case ast::Operator::add: return sum_fits(BinOp::add, a, b);
    case ast::Operator::sub: return sum_fits(BinOp::sub, a, b);
    case ast::Operator::mul: return product_fits(a, b);
    case ast::Operator::floor_div: return quotient_fits(a, b);
    case ast::Operator::shl: return shift_fits(a, b);
    case ast::Operator::pow: return power_fits(a, b);
    default: return {};
  }
}

}  // namespace

/// Emits a Check of `ok` in front of the current statement, unless the condition is known to hold.
void DebugChecks::check_value(const Expr &ok, Code code, Loc loc, SiteMessage message) {
  if (!ok || as_int(ok).value_or(0) == 1) return;
  std::vector<Site> &sites = cx_.root->func.sites;
  auto same = [&](const Site &s) { return s.loc == loc && s.code == code && s.message == message; };
  auto found = std::find_if(sites.begin(), sites.end(), same);  // a loop is lowered repeatedly
  auto number = static_cast<uint32_t>(found - sites.begin());
  if (found == sites.end()) sites.push_back({code, loc, {}, 0, false, false, std::move(message)});
  cx_.builder->add_check(check(ok, number, loc));
}

/// V1: checks a Python int that adopts the type of the other operand.
void DebugChecks::check_operand(const Operand &o, DType to) {
  if (!cx_.in.options.debug || !o.weak || !is_int(o.expr.dtype()) || !is_int(to)) return;
  check_value(in_range(o.expr, to), Code::E306, o.loc,
              telling("the Python int ", o.expr, cat(" does not fit into ", numpy_name(to)), wraps));
}

/// V3: checks a value that is stored in, or cast to, another type.
void DebugChecks::check_conversion(const Operand &o, DType to, bool rounds) {
  if (!cx_.in.options.debug || o.kind != Operand::Kind::scalar || !is_int(to)) return;
  DType from = o.expr.dtype();
  std::string into = cat(" does not fit into ", numpy_name(to));
  if (is_int(from))
    return check_value(in_range(o.expr, to), Code::E308, o.loc,
                       telling({}, o.expr, into, rounds ? saturates : wraps));
  if (!is_float(from)) return;
  Expr x = cast(DType::f64, o.expr);
  check_value(binary(BinOp::eq, x, x), Code::E309, o.loc,
              plainly(cat("NaN is no value of ", numpy_name(to)), "without debug=True it becomes 0"));
  check_value(float_in_range(x, to), Code::E308, o.loc, telling({}, x, into, saturates));
}

/// V2: checks that a Python int fits into the 64 bits that it has here.
void DebugChecks::check_int64(const Operand &o) {
  if (!cx_.in.options.debug || !o.weak || o.expr.dtype() != DType::u64) return;
  check_value(in_range(o.expr, DType::i64), Code::E307, o.loc,
              telling("the Python int ", o.expr, " does not fit into 64 bits with a sign", wraps));
}

/// V4, and V5 for powers: checks that a divisor is not zero.
void DebugChecks::check_divisor(const Operand &b, bool whole, Loc loc) {
  Expr zero = is_float(b.expr.dtype()) ? const_float(b.expr.dtype(), 0) : constant({b.expr.dtype(), 0});
  check_value(binary(BinOp::ne, b.expr, zero, loc), Code::E311, loc,
              plainly("a Python number is divided by zero",
                      cat("without debug=True the result is ", whole ? "0" : "inf or nan")));
}

/// V5: checks an exponent, because an integer to a negative power is not an integer.
void DebugChecks::check_exponent(const Operand &n, Loc loc) {
  if (!cx_.in.options.debug || !is_signed_int(n.expr.dtype())) return;
  Expr v = cast(DType::i64, n.expr);
  check_value(binary(BinOp::eq, v, clamped(v, from_int(DType::i64, 0), {})), Code::E312, loc,
              telling("an integer to the power ", n.expr, " is no integer",
                      "without debug=True the result is 0, or 1 or -1 for a base of 1 or -1"));
}

/// Checks an operation by the type of its result: V1 and V5 for strong results; V2, V4 and V5 for weak ones.
void DebugChecks::check_arithmetic(ast::Operator op, const Operand &a, const Operand &b,
                                   const Operand &result, Loc loc) {
  using ast::Operator;
  if (!cx_.in.options.debug) return;
  DType t = result.expr.dtype();
  bool power = op == Operator::pow, constant_exponent = power && as_const(b.expr).has_value();
  // strong operands follow NumPy: only a Python int that adopts their type can lose its value
  if (!result.weak) {
    check_operand(a, t);
    if (!constant_exponent) check_operand(b, t);
    if (power && is_int(t) && !constant_exponent) check_exponent(b, b.loc);
    return;
  }
  if (op == Operator::div || op == Operator::floor_div || op == Operator::mod)
    check_divisor(b, !is_float(t), loc);
  // a negative constant exponent divides by the base
  if (constant_exponent && to_double(convert(DType::f64, *as_const(b.expr))) < 0)
    check_divisor(a, false, loc);
  if (t != DType::i64 || as_const(result.expr)) return;  // constants are exact
  check_int64(a), check_int64(b);
  if (power && !constant_exponent) check_exponent(b, b.loc);
  check_value(fits_in_64_bits(op, cast(t, a.expr), cast(t, b.expr)), Code::E307, loc,
              plainly(cat("the result of `", operator_text(op), "` does not fit into 64 bits"), wraps));
}

/// V2: checks -x and abs(x).
void DebugChecks::check_opposite(std::string_view what, const Operand &a, Loc loc) {
  if (!cx_.in.options.debug || !a.weak || a.expr.dtype() != DType::i64 || as_const(a.expr)) return;
  check_value(binary(BinOp::ne, a.expr, const_int(INT64_MIN), loc), Code::E307, loc,
              plainly(cat("the result of `", what, "` does not fit into 64 bits"), wraps));
}

}  // namespace kw
