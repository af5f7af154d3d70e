// Names, sizes and promotion of element types; promotion against a table made by NumPy and ml_dtypes.
#include "ir/dtype.h"

#include <gtest/gtest.h>

#include <array>

namespace kw {
namespace {

constexpr DType all_types[] = {DType::b1,   DType::i8,  DType::i16, DType::i32, DType::i64,
                               DType::u8,   DType::u16, DType::u32, DType::u64, DType::f16,
                               DType::bf16, DType::f32, DType::f64};

TEST(DTypes, names_are_found_again) {
  for (DType t : all_types) {
    EXPECT_EQ(dtype_from_short(short_name(t)), t);
    EXPECT_EQ(dtype_from_numpy(numpy_name(t)), t);
  }
  EXPECT_EQ(dtype_from_numpy("bool_"), DType::b1);
  EXPECT_EQ(dtype_from_numpy("float"), std::nullopt);
  EXPECT_EQ(dtype_from_short("float32"), std::nullopt);
  EXPECT_EQ(dtype_from_short(""), std::nullopt);
}

TEST(DTypes, sizes_and_kinds) {
  EXPECT_EQ(item_size(DType::b1), 1u);
  EXPECT_EQ(bit_width(DType::b1), 1u);
  EXPECT_EQ(item_size(DType::bf16), 2u);
  EXPECT_EQ(item_size(DType::u64), 8u);
  for (DType t : all_types) {
    EXPECT_EQ(is_int(t), is_signed_int(t) || is_unsigned_int(t));
    EXPECT_FALSE(is_int(t) && is_float(t));
    EXPECT_EQ(bit_width(t), t == DType::b1 ? 1 : 8 * item_size(t));
  }
  EXPECT_FALSE(is_int(DType::b1) || is_float(DType::b1));
}

/// The order of the enumeration is part of cache keys and artifacts.
TEST(DTypes, the_order_is_fixed) {
  for (size_t i = 0; i < std::size(all_types); ++i) EXPECT_EQ(static_cast<size_t>(all_types[i]), i);
}

TEST(DTypes, promotion_is_numpy_result_type) {
  // rows and columns in the order of all_types; bf16 as ml_dtypes promotes it
  constexpr std::array<std::array<std::string_view, 13>, 13> table = {{
      {"b1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"},
      {"i8", "i8", "i16", "i32", "i64", "i16", "i32", "i64", "f64", "f16", "bf16", "f32", "f64"},
      {"i16", "i16", "i16", "i32", "i64", "i16", "i32", "i64", "f64", "f32", "f32", "f32", "f64"},
      {"i32", "i32", "i32", "i32", "i64", "i32", "i32", "i64", "f64", "f64", "f64", "f64", "f64"},
      {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "f64", "f64", "f64", "f64", "f64"},
      {"u8", "i16", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"},
      {"u16", "i32", "i32", "i32", "i64", "u16", "u16", "u32", "u64", "f32", "f32", "f32", "f64"},
      {"u32", "i64", "i64", "i64", "i64", "u32", "u32", "u32", "u64", "f64", "f64", "f64", "f64"},
      {"u64", "f64", "f64", "f64", "f64", "u64", "u64", "u64", "u64", "f64", "f64", "f64", "f64"},
      {"f16", "f16", "f32", "f64", "f64", "f16", "f32", "f64", "f64", "f16", "f32", "f32", "f64"},
      {"bf16", "bf16", "f32", "f64", "f64", "bf16", "f32", "f64", "f64", "f32", "bf16", "f32", "f64"},
      {"f32", "f32", "f32", "f64", "f64", "f32", "f32", "f64", "f64", "f32", "f32", "f32", "f64"},
      {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
  }};
  for (size_t i = 0; i < 13; ++i)
    for (size_t j = 0; j < 13; ++j) {
      auto got = promote(all_types[i], all_types[j]);
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(short_name(*got), table[i][j])
          << short_name(all_types[i]) << " with " << short_name(all_types[j]);
    }
}

TEST(DTypes, reserved_types_have_no_common_type_with_others) {
  EXPECT_EQ(promote(DType::f32, DType::c64), std::nullopt);
  EXPECT_EQ(promote(DType::c64, DType::c64), DType::c64);
}

}  // namespace
}  // namespace kw
