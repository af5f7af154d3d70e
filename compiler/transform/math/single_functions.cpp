// Functions of float32 in float32 arithmetic.
#include "transform/math/single_functions.h"

#include <limits>
#include <span>

#include "transform/math/exp.h"
#include "transform/math/single.h"

namespace kw {

namespace {

using namespace single;

constexpr double inf = std::numeric_limits<double>::infinity();

/// The bits of the least float m with log10(2 m) >= 1/8, a little above 2/3. Below 1/8 the last place of that
/// sum of larger terms would be half as much.
constexpr uint32_t least_mantissa_bits = 0x3F2AB0D5;

/// x = (1 + f) · 2^k with 1 + f in [m, 2 m); f is exact.
struct Reduced {
  Expr f, scaled_k;  ///< the latter is k · 2^23
};

Reduced reduced(const Expr &x) {
  Expr tiny = binary(BinOp::lt, x, number(0x1p-126));
  Expr bits = bits_of(select(tiny, mul(x, number(0x1p23)), x));
  Expr power = binary(BinOp::bit_and, sub(bits, word(least_mantissa_bits)), word(0xFF800000));
  Expr f = sub(from_word(sub(bits, power)), number(1));
  return {f, cast(DType::f32, cast(DType::i32, sub(power, select(tiny, word(23 << 23), word(0)))))};
}

/// Returns the logarithm for a positive finite x, else the value at an end of the range or NaN.
Expr with_ends(const Expr &x, const Expr &logarithm) {
  Expr nan = number(std::numeric_limits<double>::quiet_NaN());
  return select(binary(BinOp::lt, number(0), x),
                select(binary(BinOp::lt, x, number(inf)), logarithm, number(inf)),
                select(binary(BinOp::eq, x, number(0)), number(-inf), nan));
}

// (log(1 + f) − f log'(1)) / f² on |f| <= 1/3, degree 8; 5e-9 of the logarithm.
constexpr double log_tail[] = {-0.5,        0.333332151,  -0.249998048, 0.200104445, -0.166801795,
                               0.140053406, -0.121883787, 0.139867067,  -0.128742918};
constexpr double log2_tail[] = {-0.721347511, 0.480896711,  -0.36067152, 0.288686514, -0.24063246,
                                0.202098325,  -0.175938755, 0.201595172, -0.185446396};
constexpr double log10_tail[] = {-0.217147246, 0.144764289,   -0.108572409, 0.0869053677, -0.0724499375,
                                 0.0608091205, -0.0528454632, 0.0608094931, -0.0562212244};

/// Returns k ln 2 + (f + f² q(f)). The sum for k = ±1 is exact where it is smaller than its parts.
Expr log_single(const Expr &x) {
  Reduced r = reduced(x);
  Expr log_m = mad(horner(log_tail, r.f), mul(r.f, r.f), r.f);
  return with_ends(x, mad(r.scaled_k, number(0x1.62e43p-24), log_m));  // ln 2 / 2^23
}

/// The constants of a logarithm to another base: both factors in two parts, of which k · power_high is exact.
struct Base {
  std::span<const double> tail;
  double slope_high, slope_low;  ///< 1 / ln base
  double power_high, power_low;  ///< log 2 / 2^23
};
const Base base2{log2_tail, 0x1.715476p+0, 0x1.4ae0cp-26, 0x1p-23, 0};
const Base base10{log10_tail, 0x1.bcb7b2p-2, -0x1.5b235ep-27, 0x1.344p-25, 0x1.3509f8p-41};

/// Adds k log 2 and f / ln base exactly, then their low parts and the tail.
Expr log_single(const Expr &x, const Base &base) {
  Reduced r = reduced(x);
  Expr slope = number(base.slope_high), linear = mul(r.f, slope);
  Expr rest = mad(r.f, slope, unary(UnOp::neg, linear));
  rest = mad(horner(base.tail, r.f), mul(r.f, r.f), mad(r.f, number(base.slope_low), rest));
  if (base.power_low != 0) rest = mad(r.scaled_k, number(base.power_low), rest);
  Expr whole = mul(r.scaled_k, number(base.power_high)), sum = add(whole, linear);
  return with_ends(x, add(sum, add(add(sub(whole, sum), linear), rest)));
}

/// (tanh x / x − 1) / x² as a polynomial of x² on |x| <= 1, degree 6; 4.7e-9 of the result.
constexpr double tanh_near[] = {-0.333332956,   0.133323476,   -0.0538799912,  0.0214871988,
                                -0.00794689357, 0.00230192975, -0.000358611229};
/// (2^f − 1) / f on |f| <= 1/2, degree 5; 3.1e-9 of 2^f.
constexpr double exp2_tail[] = {0.693147182,   0.240226507,   0.0555035956,
                                0.00961806253, 0.00133909844, 0.000154628826};

/// Evaluates a series below 1, else 1 − 1 / d with d = (e^(2|x|) + 1) / 2 = (2^k + 1) / 2 + 2^k (2^f − 1) /
/// 2, whose first part is exact.
Expr tanh_single(const Expr &x) {
  Expr size = magnitude(x), z = mul(size, size);
  Expr near = mad(mul(size, z), horner(tanh_near, z), size);
  Expr y = at_most(size, 10), twice_log2_e = number(0x1.715476p+1), magic = number(0x1.8p23);
  Expr shifted = mad(y, twice_log2_e, magic);  // k in its lowest bits
  Expr f = mad(y, twice_log2_e, unary(UnOp::neg, sub(shifted, magic)));
  Expr half_power = from_word(add(binary(BinOp::shl, bits_of(shifted), word(23)), word(0x3F000000)));
  Expr d = mad(mul(f, horner(exp2_tail, f)), half_power, add(half_power, number(0.5)));
  Expr far = sub(number(1), binary(BinOp::true_div, number(1), d));
  return with_sign_of(x, select(binary(BinOp::le, number(1), size), far, near));
}

/// erf x / x − 1 as a polynomial of x² on |x| <= 0.875, degree 6; 8.6e-10 of the result.
constexpr double erf_near[] = {0.128379166,  -0.376126289,    0.112836227,  -0.0268553589,
                               0.0051908954, -0.000802536029, 7.8602905e-05};
/// √(erfc(1.375 + t)) on 0.875 … 3.9375, degree 11; 3.4e-9 of 1. The point t = 0 is near the lower end, where
/// an error counts most.
constexpr double root_erfc[] = {0.227661863,     -0.374150872,   0.20700866,      -0.00666145841,
                                -0.0380781181,   0.0107057355,   0.00344794733,   -0.00210379157,
                                -4.72639294e-05, 0.000264154543, -7.23833436e-05, 6.59194211e-06};

/// Evaluates a series below 0.875, else 1 − p², which is 1 from 3.92 on.
Expr erf_single(const Expr &x) {
  Expr size = magnitude(x), near = mad(x, horner(erf_near, mul(x, x)), x);
  Expr p = horner(root_erfc, sub(at_most(size, 3.9375), number(1.375)));
  Expr far = with_sign_of(x, mad(unary(UnOp::neg, p), p, number(1)));
  return select(binary(BinOp::le, number(0.875), size), far, near);
}

/// Computes with e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x; for NaN 1 / (1 + e).
Expr sigmoid_single(const Expr &x, const Target &target) {
  Expr e = expand_exp(unary(UnOp::neg, magnitude(x)), target);
  Expr numerator = select(binary(BinOp::lt, x, number(0)), e, number(1));
  return binary(BinOp::true_div, numerator, add(e, number(1)));
}

}  // namespace

Expr expand_single(Fn fn, const Expr &x, const Target &target) {
  if (fn == Fn::sigmoid) return sigmoid_single(x, target);
  if (!target.has_fma()) return {};
  switch (fn) {
    case Fn::log: return log_single(x);
    case Fn::log2: return log_single(x, base2);
    case Fn::log10: return log_single(x, base10);
    case Fn::tanh: return tanh_single(x);
    case Fn::erf: return erf_single(x);
    default: return {};
  }
}

}  // namespace kw
