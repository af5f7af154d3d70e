// Types of scalars: adoption of weak types, promotion, merging, and the operations built from them.
#include "frontend/sema/infer.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "support/text.h"

namespace kw {
namespace {

constexpr ScalarType weak_bool{DType::b1, true}, weak_int{DType::i64, true}, weak_float{DType::f64, true};
constexpr ScalarType strong(DType t) { return {t, false}; }

Operand variable(ScalarType t) {
  Sym x = make_sym(SymKind::param, t.dtype, "x");
  return scalar_operand(kw::ref(x), t.weak, {});
}
Operand number(int64_t v) { return scalar_operand(const_int(v), true, {}); }
Operand real(double v) { return scalar_operand(const_float(DType::f64, v), true, {}); }

std::string code_of(const std::function<void()> &f) {
  try {
    f();
  } catch (const CompileError &error) {
    return std::string(row_of(error.found()[0].code).name);
  }
  return "none";
}

TEST(CommonType, weak_types_promote_among_themselves) {
  EXPECT_EQ(common_type(weak_bool, weak_int, {}), weak_int);
  EXPECT_EQ(common_type(weak_float, weak_int, {}), weak_float);
  EXPECT_EQ(common_type(weak_bool, weak_bool, {}), weak_bool);
}

TEST(CommonType, weak_types_adopt_the_strong_one) {
  for (DType t : {DType::f32, DType::f64}) {
    EXPECT_EQ(common_type(strong(t), weak_int, {}), strong(t));
    EXPECT_EQ(common_type(weak_float, strong(t), {}), strong(t));
    EXPECT_EQ(common_type(weak_bool, strong(t), {}), strong(t));
  }
  EXPECT_EQ(common_type(strong(DType::i32), weak_int, {}), strong(DType::i32));
  EXPECT_EQ(common_type(strong(DType::i32), weak_bool, {}), strong(DType::i32));
}

TEST(CommonType, a_weak_kind_above_the_strong_one_lifts_it) {
  EXPECT_EQ(common_type(strong(DType::i32), weak_float, {}), strong(DType::f64));
  EXPECT_EQ(common_type(strong(DType::b1), weak_int, {}), strong(DType::i64));
  EXPECT_EQ(common_type(strong(DType::b1), weak_float, {}), strong(DType::f64));
}

TEST(CommonType, strong_types_promote_as_numpy) {
  EXPECT_EQ(common_type(strong(DType::i32), strong(DType::f32), {}), strong(DType::f64));
  EXPECT_EQ(common_type(strong(DType::b1), strong(DType::f32), {}), strong(DType::f32));
  EXPECT_EQ(common_type(strong(DType::i32), strong(DType::i64), {}), strong(DType::i64));
}

TEST(MergeTypes, equal_and_weak_types_merge) {
  EXPECT_EQ(merge_types("x", weak_int, weak_float).type, weak_float);
  EXPECT_EQ(merge_types("x", weak_bool, weak_int).type, weak_int);
  EXPECT_EQ(merge_types("x", strong(DType::f32), strong(DType::f32)).type, strong(DType::f32));
}

TEST(MergeTypes, weak_becomes_strong_where_the_kind_fits) {
  EXPECT_EQ(merge_types("x", weak_int, strong(DType::f32)).type, strong(DType::f32));
  EXPECT_EQ(merge_types("x", strong(DType::f32), weak_float).type, strong(DType::f32));
  EXPECT_EQ(merge_types("x", strong(DType::i32), weak_int).type, strong(DType::i32));
  EXPECT_EQ(merge_types("x", strong(DType::b1), weak_bool).type, strong(DType::b1));
}

TEST(MergeTypes, what_does_not_fit_is_e211) {
  Merge m = merge_types("x", strong(DType::i32), weak_float);
  EXPECT_FALSE(m.type);
  EXPECT_EQ(m.code, Code::E211);
  EXPECT_EQ(m.message, "'x' is a Python float on one path and int32 on the other, which cannot hold it");
  EXPECT_EQ(m.help, "start from float64(...)");
  EXPECT_EQ(merge_types("x", strong(DType::b1), weak_int).code, Code::E211);
  EXPECT_FALSE(merge_types("x", strong(DType::b1), weak_int).type);
}

TEST(MergeTypes, two_dtypes_of_one_kind_give_the_promoted_one) {
  auto merged = [](DType a, DType b) { return merge_types("x", strong(a), strong(b)).type; };
  EXPECT_EQ(merged(DType::f32, DType::f64), strong(DType::f64));
  EXPECT_EQ(merged(DType::f16, DType::bf16), strong(DType::f32));
  EXPECT_EQ(merged(DType::i32, DType::i64), strong(DType::i64));
  EXPECT_EQ(merged(DType::i8, DType::u8), strong(DType::i16));
  EXPECT_EQ(merged(DType::u32, DType::i32), strong(DType::i64));
}

TEST(MergeTypes, two_strong_types_of_two_kinds_are_e210) {
  for (auto [a, b] : {std::pair(DType::i64, DType::u64), {DType::b1, DType::i8}, {DType::b1, DType::f32}})
    EXPECT_FALSE(merge_types("x", strong(a), strong(b)).type);
  Merge m = merge_types("x", strong(DType::i32), strong(DType::f64));
  EXPECT_FALSE(m.type);
  EXPECT_EQ(m.code, Code::E210);
  EXPECT_EQ(m.message, "'x' is int32 on one path and float64 on the other");
  EXPECT_NE(m.help.find("start from float64(...)"), std::string::npos);
}

TEST(Arithmetic, true_division_of_integers_is_float64) {
  EXPECT_EQ(arithmetic(ast::Operator::div, variable(strong(DType::i32)), number(2), {}).type(),
            strong(DType::f64));
  EXPECT_EQ(arithmetic(ast::Operator::div, number(7), number(2), {}).type(), weak_float);
  EXPECT_EQ(arithmetic(ast::Operator::floor_div, number(-7), number(2), {}).type(), weak_int);
  EXPECT_EQ(as_int(arithmetic(ast::Operator::floor_div, number(-7), number(2), {}).expr), -4);
}

TEST(Arithmetic, bools) {
  Operand b = variable(strong(DType::b1));
  EXPECT_EQ(arithmetic(ast::Operator::add, b, b, {}).type(), strong(DType::b1));
  EXPECT_EQ(arithmetic(ast::Operator::mul, b, b, {}).type(), strong(DType::b1));
  EXPECT_EQ(arithmetic(ast::Operator::div, b, b, {}).type(), strong(DType::f64));
  EXPECT_EQ(arithmetic(ast::Operator::bit_xor, b, b, {}).type(), strong(DType::b1));
  EXPECT_EQ(code_of([&] { arithmetic(ast::Operator::sub, b, b, {}); }), "E205");
  EXPECT_EQ(code_of([&] { unary_minus(b, {}); }), "E205");
  Operand truth = scalar_operand(const_bool(true), true, {});
  EXPECT_EQ(arithmetic(ast::Operator::add, truth, truth, {}).type(), weak_int);
  EXPECT_EQ(as_int(arithmetic(ast::Operator::add, truth, truth, {}).expr), 2);
}

TEST(Arithmetic, constants_outside_the_range_of_the_operand_are_e203) {
  EXPECT_EQ(code_of([] { adapt(number(int64_t{1} << 31), DType::i32); }), "E203");
  EXPECT_EQ(code_of([] { adapt(number((int64_t{1} << 31) - 1), DType::i32); }), "none");
  EXPECT_EQ(code_of([] { adapt(number(-(int64_t{1} << 31)), DType::i32); }), "none");
  EXPECT_EQ(code_of([] { adapt(number(-1), DType::u8); }), "E203");
  EXPECT_EQ(code_of([] { adapt(number(300), DType::f32); }), "none");
  EXPECT_EQ(code_of([] { adapt(variable(weak_int), DType::i8); }), "none");  // wraps at run time (V1)
}

TEST(Compare, is_exact_beside_weak_integers) {
  Operand i32 = variable(strong(DType::i32));
  EXPECT_EQ(print(compare(ast::CompareOp::lt, i32, number(int64_t{1} << 40), {}).expr),
            "cast(i64, x) < 1099511627776");
  EXPECT_EQ(print(compare(ast::CompareOp::ge, i32, i32, {}).expr), "x <= x");
  EXPECT_EQ(print(compare(ast::CompareOp::gt, variable(strong(DType::f32)), number(1), {}).expr),
            "f32(1.0) < x");
  EXPECT_EQ(compare(ast::CompareOp::eq, number(1), real(1), {}).type(), weak_bool);
  EXPECT_EQ(compare(ast::CompareOp::eq, i32, number(1), {}).type(), strong(DType::b1));
}

std::string compared(ast::CompareOp op, const Operand &a, const Operand &b) {
  return print(compare(op, a, b, {}).expr);
}

TEST(Compare, of_integers_is_exact_in_the_narrowest_type_that_holds_both) {
  using ast::CompareOp;
  Operand i8 = variable(strong(DType::i8)), u8 = variable(strong(DType::u8)),
          u32 = variable(strong(DType::u32));
  EXPECT_EQ(compared(CompareOp::lt, i8, number(5)), "x < i8(5)");
  EXPECT_EQ(compared(CompareOp::lt, u8, number(300)), "cast(i64, x) < 300");
  EXPECT_EQ(compared(CompareOp::gt, u8, number(-1)), "(-1) < cast(i64, x)");
  EXPECT_EQ(compared(CompareOp::eq, i8, u8), "cast(i64, x) == cast(i64, x)");
  EXPECT_EQ(compared(CompareOp::ne, u8, u32), "cast(u32, x) != x");
  EXPECT_EQ(compared(CompareOp::le, i8, variable(weak_int)), "cast(i64, x) <= x");
}

TEST(Compare, beside_uint64_the_sign_decides_first) {
  using ast::CompareOp;
  Operand i = variable(strong(DType::i64)), u = variable(strong(DType::u64));
  EXPECT_EQ(compared(CompareOp::lt, i, u), "(x < 0) | (cast(u64, x) < x)");
  EXPECT_EQ(compared(CompareOp::ge, i, u), "(not (x < 0)) & (x <= cast(u64, x))");
  EXPECT_EQ(compared(CompareOp::ne, u, i), "(x < 0) | (x != cast(u64, x))");
  EXPECT_EQ(compared(CompareOp::eq, u, number(3)), "x == u64(3)");
  EXPECT_EQ(as_int(compare(CompareOp::lt, number(-1),
                           scalar_operand(constant({DType::u64, ~uint64_t{0}}), true, {}), {})
                       .expr),
            1);
}

TEST(WideConstants, are_weak_ints_that_only_uint64_and_floats_take) {
  Operand wide = scalar_operand(constant({DType::u64, ~uint64_t{0}}), true, {});
  EXPECT_EQ(wide.type(), weak_int);
  EXPECT_EQ(adapt(wide, DType::u64).dtype(), DType::u64);
  EXPECT_EQ(as_const(adapt(wide, DType::f64)), from_double(DType::f64, 0x1p64));
  EXPECT_EQ(code_of([&] { adapt(wide, DType::i64); }), "E203");
  EXPECT_EQ(code_of([&] { index_of(wide, "an index"); }), "E215");
  EXPECT_EQ(code_of([&] { unary_minus(wide, {}); }), "E215");
  Operand half = scalar_operand(constant({DType::u64, uint64_t{1} << 63}), true, {});
  EXPECT_EQ(as_int(unary_minus(half, {}).expr), INT64_MIN);
  EXPECT_EQ(code_of([&] { arithmetic(ast::Operator::add, wide, number(3), {}); }), "E215");
  EXPECT_EQ(as_int(arithmetic(ast::Operator::sub, wide, half, {}).expr), INT64_MAX);
}

TEST(Power, exponents_that_need_no_power_function) {
  Operand x = variable(strong(DType::f64));
  EXPECT_EQ(print(power(x, number(2), {}).expr), "x * x");
  EXPECT_EQ(print(power(x, real(2), {}).expr), "x * x");
  EXPECT_EQ(print(power(x, number(1), {}).expr), "x");
  EXPECT_EQ(print(power(x, number(0), {}).expr), "1.0");
  EXPECT_EQ(print(power(x, number(-1), {}).expr), "1.0 / x");
}

TEST(Power, of_other_exponents_is_the_function) {
  Operand x = variable(strong(DType::f64)), n = variable(strong(DType::i32));
  EXPECT_EQ(print(power(x, number(3), {}).expr), "power(x, 3.0)");
  EXPECT_EQ(print(power(x, x, {}).expr), "power(x, x)");
  EXPECT_EQ(print(power(x, n, {}).expr), "power(x, cast(f64, x))");
  EXPECT_EQ(print(power(n, n, {}).expr), "power(x, x)");
  EXPECT_EQ(power(number(2), n, {}).type(), strong(DType::i32));
  EXPECT_EQ(power(number(2), variable({DType::i64, true}), {}).type(), (ScalarType{DType::i64, true}));
}

TEST(Power, of_integers_multiplies) {
  Operand x = variable(strong(DType::i32));
  EXPECT_EQ(print(power(x, number(5), {}).expr), "x * ((x * x) * (x * x))");
  EXPECT_EQ(as_int(power(x, number(0), {}).expr), 1);
  EXPECT_EQ(power(x, number(0), {}).type(), strong(DType::i32));
  EXPECT_EQ(code_of([&] { power(x, number(-1), {}); }), "E204");
  Operand folded = power(number(2), number(-1), {});
  EXPECT_EQ(folded.type(), weak_float);
  EXPECT_EQ(as_const(folded.expr), from_double(DType::f64, 0.5));
  EXPECT_EQ(as_int(power(number(-3), number(3), {}).expr), -27);
}

TEST(MinMax, take_the_common_type_of_all) {
  EXPECT_EQ(minimum(true, {variable(strong(DType::i32)), variable(strong(DType::f32)), number(1)}, {}).type(),
            strong(DType::f64));
  EXPECT_EQ(as_int(minimum(false, {number(1), number(5), number(3)}, {}).expr), 5);
}

TEST(IndexOf, takes_integers_only) {
  EXPECT_EQ(index_of(variable(strong(DType::i32)), "an index").dtype(), DType::i64);
  EXPECT_EQ(code_of([] { index_of(real(1), "an index"); }), "E213");
  EXPECT_EQ(code_of([] { index_of(scalar_operand(const_bool(true), true, {}), "an index"); }), "E213");
}

TEST(TypeText, weak_types_are_python_types) {
  EXPECT_EQ(type_text(weak_int), "a Python int");
  EXPECT_EQ(type_text(weak_float), "a Python float");
  EXPECT_EQ(type_text(weak_bool), "a Python bool");
  EXPECT_EQ(type_text(strong(DType::bf16)), "bfloat16");
}

TEST(Available, complex_dtypes_are_e102) {
  for (DType t : {DType::b1, DType::i8, DType::u64, DType::f16, DType::bf16, DType::f64})
    EXPECT_EQ(code_of([&] { require_available(t, {}); }), "none") << short_name(t);
  for (DType t : {DType::c64, DType::c128})
    EXPECT_EQ(code_of([&] { require_available(t, {}); }), "E102") << short_name(t);
}

}  // namespace
}  // namespace kw
