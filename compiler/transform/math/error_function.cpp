// The error functions.
#include "transform/math/functions.h"

#include "transform/math/exponential.h"

namespace kw {

namespace {

constexpr double slope = 0x1.20dd750429b6dp+0;  // 2 / √π
constexpr double small32[] = {-0.37612638902888218,  0.11283791619450234,     -0.026866155955158878,
                              0.0052238200442106236, -0.00085402411980299684, 0.00011840545877664715,
                              -1.203837679842653e-05};
constexpr double small64[] = {-0.37612638903183754,    0.11283791670955123,     -0.026866170645129275,
                              0.0052239776253872961,   -0.00085483270156268027, 0.00012055332330493606,
                              -1.4925616506043948e-05, 1.6460981564305889e-06,  -1.6341388538455557e-07,
                              1.4476520462235548e-08,  -9.7098837885902304e-10};
// f without its constant term, which is a pair
constexpr double f32[] = {-0.13962111676982364,    0.015379651500158339,    0.068097050266697337,
                          -0.10103904930407108,    0.093732902613459415,    -0.066330536032632698,
                          0.037166989236785436,    -0.016196927578131376,   0.0050341601528919328,
                          -0.0007596721781088588,  -0.00020436164044928837, 0.00015267087133115817,
                          -1.7918362295575146e-05, -1.1787360531765503e-05, 1.7630559349847907e-06};
constexpr double f64[] = {
    -0.13962111684056253,    0.015379652102620111,    0.068097054254693035,    -0.10103906603632955,
    0.093732834998333292,    -0.066330365811544209,   0.03716751553787908,     -0.016197734067039865,
    0.0050319699722256878,   -0.0007577732147971718,  -0.00019925664291065565, 0.00015062131217624512,
    -2.4399505458525544e-05, -1.1220902504340601e-05, 5.7107694732169134e-06,  2.9164455629391413e-07,
    -8.2775919135379446e-07, 7.7034958811027808e-08,  1.1328048304274549e-07,  -1.9106294487779176e-08,
    -1.660879467182853e-08,  1.6868082625932292e-09,  2.1031095817570338e-09,  2.9111659955327447e-10};

/// Returns erf x by the series in odd powers, for |x| <= 0.625; its error grows to 1.09 ULP at 0.75.
Pair erf_series(const Arith &a, const Expr &x) {
  Expr z = mul(x, x), tail = mul(mul(x, z), a.wide() ? a.poly(small64, z) : a.poly(small32, z));
  return a.add(a.mul(a.constant(slope, 0x1.1ae3a914fed80p-56), {x, {}}), {tail, {}});
}

/// Returns f at (x − 4) / (x + 4). Corrects the rounding error of the quotient by f', which follows from f:
/// the derivative of e^(x²) erfc x is 2 x e^(x²) erfc x − 2 / √π.
Pair chebyshev_factor(const Arith &a, const Expr &x) {
  Pair q = a.ratio(a.two_sum(x, real(-4)), a.two_sum(x, real(4)));
  Expr rest = mul(q.hi, a.wide() ? a.poly(f64, q.hi) : a.poly(f32, q.hi));
  if (q.lo) {
    Expr below = add(real(1), add(x, x)), f = add(real(0x1.3ba5916e9fd7fp+0), rest), from_4 = add(x, real(4));
    Expr slope_x =
        sub(mul(f, add(binary(BinOp::true_div, real(2), below), add(x, x))), mul(below, real(slope)));
    Expr slope_q = mul(mul(mul(from_4, from_4), real(0.125)), slope_x);
    rest = a.mad(q.lo, slope_q, rest);
  }
  return a.add(a.constant(0x1.3ba5916e9fd7fp+0, -0x1.ac30edc64d8bcp-55), {rest, {}});
}

/// erfc(x) = m · 2^k for x >= 0.
struct ErfcParts {
  Expr k;
  Pair m;
};

ErfcParts erfc_parts(const Arith &a, const Expr &size) {
  Expr x = binary(BinOp::min, size, real(a.wide() ? 28 : 11));
  ExpParts e = exp_parts(a, a.negate(a.two_product(x, x)));
  Pair below = a.two_sum(real(1), add(x, x));
  return {e.k, a.ratio(a.mul(one_plus(a, e.p), chebyshev_factor(a, x)), below)};
}

/// Returns the pair itself; what float64 cannot hold becomes 0.
Pair unscaled(const Arith &a, const ErfcParts &e) {
  return a.scale(e.m, power_of_two(binary(BinOp::max, e.k, const_int(-1000))));
}

}  // namespace

Expr expand_erf(const Arith &a, const Expr &x) {
  Expr size = magnitude(x);
  Expr near = select(less(size, real(0x1p-500)), mul(x, real(slope)), a.value(erf_series(a, x)));
  Expr far = a.value(a.subtract({real(1), {}}, unscaled(a, erfc_parts(a, size))));
  return select(less(size, real(0.625)), near, copy_sign(far, x));
}

Expr expand_erfc(const Arith &a, const Expr &x) {
  Expr size = magnitude(x);
  ErfcParts e = erfc_parts(a, size);
  Expr near = a.value(a.subtract({real(1), {}}, erf_series(a, x)));
  Expr reflected = a.value(a.subtract({real(2), {}}, unscaled(a, e)));
  Expr far = select(less(x, real(0)), reflected, scaled(a, a.value(e.m), e.k));
  return select(less(size, real(0.5)), near, far);
}

}  // namespace kw
