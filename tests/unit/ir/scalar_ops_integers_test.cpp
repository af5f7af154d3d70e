// Integer operations against arithmetic in 128 bits with the rules of Python and NumPy: exhaustively for
// 8-bit operands, sampled for the wider types. bool exhaustively.
#include <gtest/gtest.h>

#include <array>

#include "ir/print.h"
#include "ir/scalar_ops.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

using Wide = __int128;

constexpr BinOp integer_ops[] = {BinOp::add,       BinOp::sub,     BinOp::mul, BinOp::floor_div,
                                 BinOp::floor_mod, BinOp::min,     BinOp::max, BinOp::bit_and,
                                 BinOp::bit_or,    BinOp::bit_xor, BinOp::shl, BinOp::shr,
                                 BinOp::lt,        BinOp::le,      BinOp::eq,  BinOp::ne};
constexpr DType wide_types[] = {DType::i16, DType::i32, DType::i64, DType::u16, DType::u32, DType::u64};

Wide two_to(uint32_t n) { return static_cast<Wide>(1) << n; }

/// The number that a value stands for.
Wide number(const Value &v) {
  Wide n = v.bits;
  return is_signed_int(v.dtype) && n >= two_to(bit_width(v.dtype) - 1) ? n - two_to(bit_width(v.dtype)) : n;
}

/// The value of type t congruent to n.
Value wrap(DType t, Wide n) {
  Wide size = two_to(bit_width(t)), rest = n % size;
  return {t, static_cast<uint64_t>(rest < 0 ? rest + size : rest)};
}

Wide floor_div(Wide a, Wide b) {
  if (b == 0) return 0;
  Wide q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

Wide shifted(BinOp op, Wide a, Wide count, DType t) {
  Wide width = bit_width(t);
  if (op == BinOp::shl) return count < 0 || count >= width ? 0 : a * two_to(static_cast<uint32_t>(count));
  if (count < 0 || count >= width) return a < 0 ? -1 : 0;
  return floor_div(a, two_to(static_cast<uint32_t>(count)));
}

Value expected(BinOp op, const Value &x, const Value &y) {
  DType t = x.dtype;
  Wide a = number(x), b = number(y);
  switch (op) {
    case BinOp::add: return wrap(t, a + b);
    case BinOp::sub: return wrap(t, a - b);
    case BinOp::mul:
      return {
          t, wrap(t, static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)))
                 .bits};
    case BinOp::floor_div: return wrap(t, floor_div(a, b));
    case BinOp::floor_mod: return wrap(t, b == 0 ? 0 : a - floor_div(a, b) * b);
    case BinOp::min: return wrap(t, a < b ? a : b);
    case BinOp::max: return wrap(t, a < b ? b : a);
    case BinOp::bit_and: return wrap(t, a & b);
    case BinOp::bit_or: return wrap(t, a | b);
    case BinOp::bit_xor: return wrap(t, a ^ b);
    case BinOp::shl:
    case BinOp::shr: return wrap(t, shifted(op, a, b, t));
    case BinOp::lt: return {DType::b1, a < b};
    case BinOp::le: return {DType::b1, a <= b};
    case BinOp::eq: return {DType::b1, a == b};
    case BinOp::ne: return {DType::b1, a != b};
    case BinOp::true_div: break;
  }
  return {};
}

std::string shown(BinOp op, const Value &a, const Value &b) {
  return cat(short_name(a.dtype), " ", hex_text(a.bits), " ", op_text(op), " ", hex_text(b.bits));
}

void check_all_pairs(DType t) {
  for (BinOp op : integer_ops)
    for (uint64_t x = 0; x < 256; ++x)
      for (uint64_t y = 0; y < 256; ++y) {
        Value a{t, x}, b{t, y};
        ASSERT_EQ(apply(op, a, b), expected(op, a, b)) << shown(op, a, b);
      }
}

TEST(ScalarIntegers, all_pairs_of_i8) { check_all_pairs(DType::i8); }
TEST(ScalarIntegers, all_pairs_of_u8) { check_all_pairs(DType::u8); }

/// Random bits, often near zero and near the ends of the range, where the rules differ.
Value sample(DType t, unit::Random &random) {
  uint64_t bits = random();
  switch (random() % 4) {
    case 0: bits = random() % 8 - 4; break;                                        // -4 to 3
    case 1: bits = (uint64_t{1} << (bit_width(t) - 1)) + random() % 8 - 4; break;  // around MIN and MAX
    case 2: bits >>= random() % 64; break;
    default: break;
  }
  return wrap(t, static_cast<Wide>(bits));
}

TEST(ScalarIntegers, sampled_pairs_of_wider_types) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (DType t : wide_types)
    for (int i = 0; i < 20000; ++i) {
      Value a = sample(t, random), b = sample(t, random);
      for (BinOp op : integer_ops) ASSERT_EQ(apply(op, a, b), expected(op, a, b)) << shown(op, a, b);
    }
}

TEST(ScalarIntegers, the_ends_of_the_range_are_not_left_to_luck) {
  for (DType t : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    Value low{t, uint64_t{1} << (bit_width(t) - 1)}, minus_one = from_int(t, -1), zero = from_int(t, 0);
    EXPECT_EQ(apply(BinOp::floor_div, low, minus_one), low) << short_name(t);
    EXPECT_EQ(apply(BinOp::floor_mod, low, minus_one), zero) << short_name(t);
    EXPECT_EQ(apply(BinOp::floor_div, low, zero), zero) << short_name(t);
    EXPECT_EQ(apply(BinOp::floor_mod, low, zero), zero) << short_name(t);
    EXPECT_EQ(apply(UnOp::neg, low), low) << short_name(t);
    EXPECT_EQ(apply(BinOp::shr, low, from_int(t, bit_width(t))), minus_one) << short_name(t);
    EXPECT_EQ(apply(BinOp::shl, minus_one, from_int(t, bit_width(t))), zero) << short_name(t);
    EXPECT_EQ(apply(BinOp::shl, minus_one, minus_one), zero) << short_name(t);
  }
}

TEST(ScalarIntegers, unary_operations_wrap) {
  for (DType t : {DType::i8, DType::u8})
    for (uint64_t x = 0; x < 256; ++x) {
      Value a{t, x};
      ASSERT_EQ(apply(UnOp::neg, a), wrap(t, -number(a))) << x;
      ASSERT_EQ(apply(UnOp::bit_not, a), wrap(t, -1 - number(a))) << x;
    }
  EXPECT_EQ(apply(UnOp::neg, Value({DType::u64, 1})).bits, ~uint64_t{0});
  EXPECT_EQ(apply(UnOp::bit_not, Value({DType::i32, 0})).bits, 0xFFFFFFFFu);
}

TEST(ScalarIntegers, true_division_and_mixed_types_are_internal_errors) {
  EXPECT_THROW(apply(BinOp::true_div, from_int(DType::i32, 1), from_int(DType::i32, 1)), CompileError);
  EXPECT_THROW(apply(BinOp::add, from_int(DType::i32, 1), from_int(DType::i64, 1)), CompileError);
}

TEST(ScalarBool, operations_are_those_of_numpy_bool) {
  struct Row {
    BinOp op;
    std::array<uint64_t, 4> results;  // of 0 0, 0 1, 1 0, 1 1
  };
  const Row rows[] = {
      {BinOp::add, {0, 1, 1, 1}},     {BinOp::mul, {0, 0, 0, 1}},     {BinOp::min, {0, 0, 0, 1}},
      {BinOp::max, {0, 1, 1, 1}},     {BinOp::bit_and, {0, 0, 0, 1}}, {BinOp::bit_or, {0, 1, 1, 1}},
      {BinOp::bit_xor, {0, 1, 1, 0}}, {BinOp::lt, {0, 1, 0, 0}},      {BinOp::le, {1, 1, 0, 1}},
      {BinOp::eq, {1, 0, 0, 1}},      {BinOp::ne, {0, 1, 1, 0}}};
  for (const Row &row : rows)
    for (uint64_t k = 0; k < 4; ++k)
      EXPECT_EQ(apply(row.op, Value({DType::b1, k / 2}), Value({DType::b1, k % 2})),
                Value({DType::b1, row.results[k]}))
          << op_text(row.op) << " " << k;
  for (BinOp op : {BinOp::sub, BinOp::true_div, BinOp::floor_div, BinOp::floor_mod, BinOp::shl, BinOp::shr})
    EXPECT_THROW(apply(op, Value({DType::b1, 1}), Value({DType::b1, 1})), CompileError) << op_text(op);
  EXPECT_EQ(apply(UnOp::logical_not, Value({DType::b1, 0})).bits, 1u);
  EXPECT_EQ(apply(UnOp::logical_not, Value({DType::b1, 1})).bits, 0u);
}

TEST(ScalarIntegers, from_int_and_to_int_are_inverse_where_the_value_fits) {
  EXPECT_EQ(to_int(from_int(DType::i8, -128)), -128);
  EXPECT_EQ(to_int(from_int(DType::i8, 200)), -56);
  EXPECT_EQ(to_int(from_int(DType::u8, -1)), 255);
  EXPECT_EQ(to_int(from_int(DType::u32, -1)), 4294967295);
  EXPECT_EQ(to_int(from_int(DType::i64, INT64_MIN)), INT64_MIN);
  EXPECT_EQ(to_int(from_int(DType::b1, 256)), 1);
  EXPECT_EQ(to_int(from_int(DType::b1, 0)), 0);
}

}  // namespace
}  // namespace kw
