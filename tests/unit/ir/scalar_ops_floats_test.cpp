// Floating-point operations: NumPy's divmod bit by bit, NaN and signed zero in min and max, and the 16-bit
// formats.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ir/print.h"
#include "ir/scalar_ops.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();

/// a, b, numpy.floor_divide(a, b), numpy.remainder(a, b); made by NumPy 2.4.
struct Divmod {
  double a, b, quotient, remainder;
};

/// The same in both formats.
constexpr Divmod divmod_exact[] = {
    {0x1.cp+2, 0x1p+1, 0x1.8p+1, 0x1p+0},
    {-0x1.cp+2, 0x1p+1, -0x1p+2, 0x1p+0},
    {0x1.cp+2, -0x1p+1, -0x1p+2, -0x1p+0},
    {-0x1.cp+2, -0x1p+1, 0x1.8p+1, -0x1p+0},
    {-0x1.8p+2, 0x1.8p+1, -0x1p+1, 0.0},
    {0x1.8p+2, -0x1.8p+1, -0x1p+1, -0.0},
    {0.0, 0x1.8p+1, 0.0, 0.0},
    {-0.0, 0x1.8p+1, -0.0, 0.0},
    {0.0, -0x1.8p+1, -0.0, -0.0},
    {0x1p+0, 0.0, inf, nan},
    {-0x1p+0, 0.0, -inf, nan},
    {0x1p+0, -0.0, -inf, nan},
    {0.0, 0.0, nan, nan},
    {0x1p+0, inf, 0.0, 0x1p+0},
    {-0x1p+0, inf, -0x1p+0, inf},
    {0x1p+0, -inf, -0x1p+0, -inf},
    {-0x1p+0, -inf, 0.0, -0x1p+0},
    {inf, 0x1p+1, nan, nan},
    {-inf, 0x1p+1, nan, nan},
    {inf, inf, nan, nan},
    {nan, 0x1p+0, nan, nan},
    {0x1p+0, nan, nan, nan},
};
constexpr Divmod divmod_f64[] = {
    {0x1p+0, 0x1.999999999999ap-4, 0x1.2p+3, 0x1.9999999999996p-4},
    {0x1.3333333333333p-2, 0x1.999999999999ap-4, 0x1p+1, 0x1.9999999999998p-4},
    {-0x1.3333333333333p-2, 0x1.999999999999ap-4, -0x1.8p+1, 0x1p-55},
    {inf, 0.0, inf, nan},
    {0x1.93e5939a08ceap+99, 0x1.ad7f29abcaf48p-24, 0x1.e17b84357691cp+122, 0x1.3781c77ea44dp-25},
    {-0x1.4484bfeebc2ap-100, 0x1.93e5939a08ceap+99, -0x1p+0, 0x1.93e5939a08ceap+99},
    {0x1.894911862d918p+4, 0x1.d99999999999ap+1, 0x1.8p+2, 0x1.30aef297d2f24p+1},
    {0x1.d84f48d216e0cp+5, 0x1.5555555555555p-2, 0x1.62p+7, 0x1.3d23485b831d8p-5},
    {-0x1.78cbbaaff716ap+6, -0x1.3333333333333p-2, 0x1.39p+8, -0x1.3221165d7d0a5p-2},
    {0x1.b988a114abddp+5, -0x1.999999999999ap-4, -0x1.14p+9, -0x1.0f884edbca08p-7},
    {0x1.dcb7f434bdc58p+4, -0x1.999999999999ap-4, -0x1.2ap+8, -0x1.4d8980f07544p-8},
    {-0x1.356f6b1ed2172p+6, -0x1.3333333333333p-2, 0x1.01p+8, -0x1.0904b86bb0bcdp-2},
    {0x1.26c1a138a843ap+6, -0x1.3333333333333p-2, -0x1.ecp+7, -0x1.c647ea2bbe408p-4},
    {0x1.1811cab1945b8p+3, 0x1.5555555555555p-2, 0x1.ap+4, 0x1.5e3aae1f83178p-4},
    {-0x1.911223ad608dcp+5, -0x1.999999999999ap-4, 0x1.f5p+8, -0x1.155b824f03b3cp-5},
    {-0x1.25eaa7e035018p+4, -0x1.999999999999ap-4, 0x1.6ep+7, -0x1.1ddb136834aeap-4},
    {0x1.4d13883abef3ep+6, -0x1.3333333333333p-2, -0x1.16p+8, -0x1.0c22bdb54b6c4p-3},
    {-0x1.10510eabceb5ap+6, 0x1.999999999999ap-4, -0x1.548p+9, 0x1.557ba97b0caa8p-6},
    {-0x1.20fc6ec63517p+6, 0x1.5555555555555p-2, -0x1.b2p+7, 0x1.639a3c80f9434p-4},
    {-0x1.610d363aa3ff8p+3, -0x1.999999999999ap-4, 0x1.b8p+6, -0x1.0d363aa3ff7a8p-5},
    {-0x1.8e94821ac42a7p+6, 0x1.999999999999ap-4, -0x1.f28p+9, 0x1.c255904513184p-5},
    {-0x1.d0deaa6d4800cp+5, -0x1.999999999999ap-4, 0x1.228p+9, -0x1.1dda07b33ebfp-7},
};
constexpr Divmod divmod_f32[] = {
    {0x1p+0, 0x1.99999ap-4, 0x1.2p+3, 0x1.999996p-4},
    {0x1.333334p-2, 0x1.99999ap-4, 0x1.8p+1, 0x1p-27},
    {-0x1.333334p-2, 0x1.99999ap-4, -0x1p+2, 0x1.999998p-4},
    {inf, 0.0, inf, nan},
    {0x1.93e594p+99, 0x1.ad7f2ap-24, 0x1.e17b84p+122, 0x1.5f5d38p-26},
    {-0x1.4484cp-100, 0x1.93e594p+99, -0x1p+0, 0x1.93e594p+99},
    {0x1.894912p+4, 0x1.d9999ap+1, 0x1.8p+2, 0x1.30aef4p+1},
    {0x1.d84f48p+5, 0x1.555556p-2, 0x1.62p+7, 0x1.3d1c5p-5},
    {-0x1.78cbbap+6, -0x1.333334p-2, 0x1.39p+8, -0x1.321f6cp-2},
    {0x1.b988a2p+5, -0x1.99999ap-4, -0x1.14p+9, -0x1.0f808p-7},
    {0x1.dcb7f4p+4, -0x1.99999ap-4, -0x1.2ap+8, -0x1.4d944p-8},
    {-0x1.356f6cp+6, -0x1.333334p-2, 0x1.01p+8, -0x1.0904ccp-2},
    {0x1.26c1a2p+6, -0x1.333334p-2, -0x1.ecp+7, -0x1.c647ep-4},
    {0x1.1811cap+3, 0x1.555556p-2, 0x1.ap+4, 0x1.5e3a1p-4},
    {-0x1.911224p+5, -0x1.99999ap-4, 0x1.f5p+8, -0x1.155b3cp-5},
    {-0x1.25eaa8p+4, -0x1.99999ap-4, 0x1.6ep+7, -0x1.1ddaeap-4},
    {0x1.4d1388p+6, -0x1.333334p-2, -0x1.16p+8, -0x1.0c24fp-3},
    {-0x1.10510ep+6, 0x1.99999ap-4, -0x1.548p+9, 0x1.558aa8p-6},
    {-0x1.20fc6ep+6, 0x1.555556p-2, -0x1.b2p+7, 0x1.639f98p-4},
    {-0x1.610d36p+3, -0x1.99999ap-4, 0x1.b8p+6, -0x1.0d35a8p-5},
    {-0x1.8e9482p+6, 0x1.99999ap-4, -0x1.f28p+9, 0x1.c25984p-5},
    {-0x1.d0deaap+5, -0x1.99999ap-4, 0x1.228p+9, -0x1.1dcbfp-7},
};

/// Equal bits, or both NaN.
void expect_same(const Value &got, double want, const std::string &what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(to_double(got))) << what;
    return;
  }
  EXPECT_EQ(got, from_double(got.dtype, want))
      << what << ": " << float_text(to_double(got)) << ", not " << float_text(want);
}

void check_divmod(DType t, std::span<const Divmod> rows) {
  for (const Divmod &r : rows) {
    Value a = from_double(t, r.a), b = from_double(t, r.b);
    std::string what = cat(float_text(r.a), " by ", float_text(r.b));
    expect_same(apply(BinOp::floor_div, a, b), r.quotient, what + " //");
    expect_same(apply(BinOp::floor_mod, a, b), r.remainder, what + " %");
  }
}

TEST(ScalarFloats, floor_division_and_remainder_are_those_of_numpy) {
  for (DType t : {DType::f64, DType::f32}) check_divmod(t, divmod_exact);
  check_divmod(DType::f64, divmod_f64);
  check_divmod(DType::f32, divmod_f32);
}

TEST(ScalarFloats, min_and_max_propagate_nan_and_order_zeros) {
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    auto v = [&](double d) { return from_double(t, d); };
    for (BinOp op : {BinOp::min, BinOp::max}) {
      EXPECT_TRUE(std::isnan(to_double(apply(op, v(nan), v(1))))) << short_name(t);
      EXPECT_TRUE(std::isnan(to_double(apply(op, v(1), v(nan))))) << short_name(t);
      EXPECT_TRUE(std::isnan(to_double(apply(op, v(-inf), v(nan))))) << short_name(t);
    }
    for (auto [a, b] : {std::pair{-0.0, 0.0}, std::pair{0.0, -0.0}}) {
      EXPECT_EQ(apply(BinOp::min, v(a), v(b)), v(-0.0)) << short_name(t);
      EXPECT_EQ(apply(BinOp::max, v(a), v(b)), v(0.0)) << short_name(t);
    }
    EXPECT_EQ(apply(BinOp::min, v(-inf), v(2)), v(-inf));
    EXPECT_EQ(apply(BinOp::max, v(3), v(2)), v(3));
  }
}

TEST(ScalarFloats, comparisons_with_nan_are_false_but_ne) {
  for (DType t : {DType::f32, DType::f64}) {
    Value x = from_double(t, nan), y = from_double(t, 1);
    for (BinOp op : {BinOp::lt, BinOp::le, BinOp::eq}) {
      EXPECT_EQ(apply(op, x, y).bits, 0u) << op_text(op);
      EXPECT_EQ(apply(op, x, x).bits, 0u) << op_text(op);
    }
    EXPECT_EQ(apply(BinOp::ne, x, x).bits, 1u);
    EXPECT_EQ(apply(BinOp::eq, from_double(t, 0.0), from_double(t, -0.0)).bits, 1u);
    EXPECT_EQ(apply(BinOp::lt, from_double(t, -0.0), from_double(t, 0.0)).bits, 0u);
  }
}

TEST(ScalarFloats, neg_flips_the_sign_of_zero_and_nan) {
  EXPECT_EQ(apply(UnOp::neg, from_double(DType::f64, 0.0)), from_double(DType::f64, -0.0));
  EXPECT_EQ(apply(UnOp::neg, Value({DType::f32, 0x7FC00001})).bits, 0xFFC00001u);
  EXPECT_EQ(apply(UnOp::neg, Value({DType::f16, 0x3C00})).bits, 0xBC00u);
}

TEST(ScalarFloats, float32_arithmetic_rounds_to_float32) {
  Value a = from_float(16777216.0f), b = from_float(1.0f);
  EXPECT_EQ(apply(BinOp::add, a, b), a);
  EXPECT_EQ(apply(BinOp::true_div, from_float(1.0f), from_float(3.0f)), from_float(1.0f / 3.0f));
  EXPECT_EQ(to_double(apply(BinOp::true_div, from_float(1), from_float(0))), inf);
}

/// With 53 bits, + - * of two 16-bit floats are exact and / is innocent of double rounding.
TEST(ScalarFloats, sixteen_bit_arithmetic_is_correctly_rounded) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (DType t : {DType::f16, DType::bf16})
    for (int i = 0; i < 50000; ++i) {
      Value a{t, random() & 0xFFFF}, b{t, random() & 0xFFFF};
      if (t == DType::bf16) b.bits = (a.bits ^ (random() & 0x07FF)) & 0xFFFF;  // near enough to stay exact
      double x = to_double(a), y = to_double(b);
      std::string what = cat(short_name(t), " ", hex_text(a.bits), " ", hex_text(b.bits));
      expect_same(apply(BinOp::add, a, b), to_double(from_double(t, x + y)), what);
      expect_same(apply(BinOp::sub, a, b), to_double(from_double(t, x - y)), what);
      expect_same(apply(BinOp::mul, a, b), to_double(from_double(t, x * y)), what);
      expect_same(apply(BinOp::true_div, a, b), to_double(from_double(t, x / y)), what);
      if (HasFailure()) return;
    }
}

TEST(ScalarFloats, bitwise_operations_on_floats_are_internal_errors) {
  for (BinOp op : {BinOp::bit_and, BinOp::bit_or, BinOp::bit_xor, BinOp::shl, BinOp::shr})
    EXPECT_THROW(apply(op, from_float(1), from_float(2)), CompileError) << op_text(op);
}

}  // namespace
}  // namespace kw
