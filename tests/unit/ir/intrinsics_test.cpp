// The table of intrinsics: complete rows, result types of the NumPy ufuncs, and the functions that constants
// fold by.
#include "ir/intrinsics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "support/diagnostic.h"

namespace kw {
namespace {

Value f64(double v) { return from_double(DType::f64, v); }
Value run(Fn fn, std::vector<Value> args) { return apply(fn, std::span<const Value>(args)); }

TEST(Intrinsics, every_row_is_complete_and_found_by_name) {
  std::set<std::string_view> names;
  for (const IntrinsicRow &row : intrinsics()) {
    EXPECT_EQ(&row_of(row.fn), &row);
    EXPECT_EQ(find_intrinsic(row.name), &row);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.arity >= 1 && row.arity <= 3) << row.name;
  }
  EXPECT_EQ(find_intrinsic("sqr"), nullptr);
  EXPECT_EQ(find_intrinsic(""), nullptr);
}

TEST(Intrinsics, machine_functions_have_no_name_in_the_language) {
  for (std::string_view name : {"fma", "to_bits", "from_bits", "scale"})
    EXPECT_FALSE(find_intrinsic(name)->in_language) << name;
  for (std::string_view name : {"sqrt", "exp", "abs", "floor", "power", "ceil_div"})
    EXPECT_TRUE(find_intrinsic(name)->in_language) << name;
  EXPECT_EQ(row_of(Fn::fma).arity, 3);
  EXPECT_EQ(row_of(Fn::atan2).arity, 2);
}

TEST(Intrinsics, result_types_are_those_of_the_ufuncs) {
  EXPECT_EQ(result_dtype(Fn::sqrt, DType::b1), DType::f16);
  EXPECT_EQ(result_dtype(Fn::sqrt, DType::i8), DType::f16);
  EXPECT_EQ(result_dtype(Fn::sqrt, DType::u16), DType::f32);
  EXPECT_EQ(result_dtype(Fn::exp, DType::i32), DType::f64);
  EXPECT_EQ(result_dtype(Fn::exp, DType::u64), DType::f64);
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    EXPECT_EQ(result_dtype(Fn::sqrt, t), t);
    EXPECT_EQ(result_dtype(Fn::isnan, t), DType::b1);
  }
  for (DType t : {DType::i8, DType::u64, DType::f32}) {
    EXPECT_EQ(result_dtype(Fn::abs, t), t);
    EXPECT_EQ(result_dtype(Fn::floor, t), t);
  }
  EXPECT_EQ(result_dtype(Fn::to_bits, DType::f32), DType::u32);
  EXPECT_EQ(result_dtype(Fn::from_bits, DType::u64), DType::f64);
  EXPECT_THROW(result_dtype(Fn::to_bits, DType::i8), CompileError);
}

/// Applies a row to equal arguments of type t; the result's type, or nothing when that is an error.
std::optional<DType> folded_type(const IntrinsicRow &row, const Value &argument) {
  try {
    return run(row.fn, std::vector<Value>(row.arity, argument)).dtype;
  } catch (const CompileError &) {
    return std::nullopt;
  }
}

TEST(Intrinsics, a_row_that_folds_has_a_meaning_for_floats) {
  for (const IntrinsicRow &row : intrinsics()) {
    bool whole_only = row.fn == Fn::popcount || row.fn >= Fn::quotient;
    if (!row.folds || row.fn == Fn::from_bits || whole_only) continue;
    for (DType t : {DType::f32, DType::f64})
      EXPECT_EQ(folded_type(row, from_double(t, 2.25)), result_dtype(row.fn, t))
          << row.name << " " << short_name(t);
  }
}

TEST(Intrinsics, a_row_that_folds_has_a_meaning_for_integers) {
  for (const IntrinsicRow &row : intrinsics()) {
    if (!row.folds || row.rule == TypeRule::bits || row.fn == Fn::fma || row.fn == Fn::scale) continue;
    for (DType t : {DType::i8, DType::i32, DType::i64, DType::u64})
      EXPECT_EQ(folded_type(row, from_int(t, 5)), result_dtype(row.fn, t))
          << row.name << " " << short_name(t);
  }
}

TEST(Intrinsics, rounding_functions_keep_the_sign_of_zero_and_round_half_to_even) {
  EXPECT_EQ(run(Fn::round, {f64(0.5)}), f64(0.0));
  EXPECT_EQ(run(Fn::round, {f64(1.5)}), f64(2.0));
  EXPECT_EQ(run(Fn::round, {f64(2.5)}), f64(2.0));
  EXPECT_EQ(run(Fn::round, {f64(-0.5)}), f64(-0.0));
  EXPECT_EQ(run(Fn::floor, {f64(-0.5)}), f64(-1.0));
  EXPECT_EQ(run(Fn::ceil, {f64(-0.5)}), f64(-0.0));
  EXPECT_EQ(run(Fn::trunc, {f64(-1.5)}), f64(-1.0));
  EXPECT_EQ(run(Fn::floor, {from_int(DType::i32, -7)}), from_int(DType::i32, -7));
}

TEST(Intrinsics, abs_wraps_at_the_least_integer_and_clears_the_sign_of_nan) {
  EXPECT_EQ(run(Fn::abs, {from_int(DType::i8, -128)}), from_int(DType::i8, -128));
  EXPECT_EQ(run(Fn::abs, {from_int(DType::i64, -3)}), from_int(DType::i64, 3));
  EXPECT_EQ(run(Fn::abs, {from_int(DType::u8, 200)}), from_int(DType::u8, 200));
  EXPECT_EQ(run(Fn::abs, {Value{DType::f32, 0xFFC00000}}).bits, 0x7FC00000u);
  EXPECT_EQ(run(Fn::abs, {f64(-0.0)}), f64(0.0));
}

TEST(Intrinsics, sqrt_of_float32_is_correctly_rounded) {
  for (float x : {2.0f, 0.1f, 1e-40f, 3.4e38f, 16777215.0f})
    EXPECT_EQ(run(Fn::sqrt, {from_float(x)}), from_float(std::sqrt(x))) << x;
  EXPECT_EQ(run(Fn::sqrt, {f64(-0.0)}), f64(-0.0));
  EXPECT_TRUE(std::isnan(to_double(run(Fn::sqrt, {f64(-1)}))));
}

TEST(Intrinsics, fma_rounds_once) {
  float a = 1.0f + 0x1p-12f;  // the square needs 25 bits
  EXPECT_EQ(run(Fn::fma, {from_float(a), from_float(a), from_float(-1.0f)}), from_float(0x1p-11f + 0x1p-24f));
  double b = 1.0 + 0x1p-30;
  EXPECT_EQ(run(Fn::fma, {f64(b), f64(b), f64(-1.0)}), f64(0x1p-29 + 0x1p-60));
}

TEST(Intrinsics, scale_rounds_once_where_the_result_is_subnormal) {
  EXPECT_EQ(run(Fn::scale, {f64(1.5), f64(3)}), f64(12));
  EXPECT_EQ(run(Fn::scale, {f64(1 + 0x1p-52), f64(-1074)}), f64(0x1p-1074));
  EXPECT_EQ(run(Fn::scale, {from_float(1.5f), from_float(-149)}), from_float(0x1p-148f));  // a tie
  EXPECT_EQ(run(Fn::scale, {from_float(-1), from_float(200)}), from_float(-INFINITY));
  EXPECT_TRUE(std::isnan(to_double(run(Fn::scale, {f64(1), f64(NAN)}))));
}

TEST(Intrinsics, fmod_has_the_sign_of_the_dividend) {
  EXPECT_EQ(run(Fn::fmod, {f64(-7), f64(2)}), f64(-1));
  EXPECT_EQ(run(Fn::fmod, {f64(7), f64(-2)}), f64(1));
  EXPECT_TRUE(std::isnan(to_double(run(Fn::fmod, {f64(1), f64(0)}))));
}

TEST(Intrinsics, popcount_counts_the_bits_of_the_operand_only) {
  EXPECT_EQ(run(Fn::popcount, {from_int(DType::i8, -1)}), from_int(DType::i8, 8));
  EXPECT_EQ(run(Fn::popcount, {from_int(DType::i64, -1)}), from_int(DType::i64, 64));
  EXPECT_EQ(run(Fn::popcount, {from_int(DType::u16, 0x0101)}), from_int(DType::u16, 2));
}

TEST(Intrinsics, classification_and_bits) {
  double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(run(Fn::isnan, {f64(nan)}).bits, 1u);
  EXPECT_EQ(run(Fn::isnan, {f64(inf)}).bits, 0u);
  EXPECT_EQ(run(Fn::isinf, {f64(-inf)}).bits, 1u);
  EXPECT_EQ(run(Fn::isfinite, {f64(nan)}).bits, 0u);
  EXPECT_EQ(run(Fn::isfinite, {from_int(DType::i32, 3)}).bits, 1u);
  EXPECT_EQ(run(Fn::to_bits, {from_float(1.0f)}), (Value{DType::u32, 0x3F800000}));
  EXPECT_EQ(run(Fn::from_bits, {Value{DType::u32, 0xFFC00001}}), (Value{DType::f32, 0xFFC00001}));
}

}  // namespace
}  // namespace kw
