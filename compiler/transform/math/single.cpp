// Float32 arithmetic as IR.
#include "transform/math/single.h"

namespace kw::single {

Expr number(double v) { return const_float(DType::f32, v); }
Expr word(uint32_t v) { return constant(Value{DType::u32, v}); }
Expr bits_of(const Expr &x) { return call(Fn::to_bits, {x}); }
Expr from_word(const Expr &x) { return call(Fn::from_bits, {x}); }
Expr mad(const Expr &a, const Expr &b, const Expr &c) { return call(Fn::fma, {a, b, c}); }
Expr magnitude(const Expr &x) { return call(Fn::abs, {x}); }
Expr at_most(const Expr &x, double limit) {
  return select(binary(BinOp::lt, x, number(limit)), x, number(limit));
}

Expr horner(std::span<const double> coefficients, const Expr &x) {
  Expr sum = number(coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) sum = mad(sum, x, number(coefficients[i]));
  return sum;
}

Expr with_sign_of(const Expr &x, const Expr &magnitude) {
  Expr sign = binary(BinOp::bit_and, bits_of(x), word(0x80000000));
  return from_word(binary(BinOp::bit_or, bits_of(magnitude), sign));
}

}  // namespace kw::single
