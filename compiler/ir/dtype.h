// Element types. The order of the enumeration is part of the cache key and of the signature words; append
// only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kw {

enum class DType : uint8_t { b1, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128 };

inline constexpr int dtype_count = 15;

constexpr bool is_float(DType t) { return t >= DType::f16 && t <= DType::f64; }
/// True for the 16-bit floats.
constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }
constexpr bool is_signed_int(DType t) { return t >= DType::i8 && t <= DType::i64; }
constexpr bool is_unsigned_int(DType t) { return t >= DType::u8 && t <= DType::u64; }
constexpr bool is_int(DType t) { return t >= DType::i8 && t <= DType::u64; }

/// Bytes of one element in memory, in the order of DType; 1 for bool.
inline constexpr uint8_t item_sizes[dtype_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
constexpr uint32_t item_size(DType t) { return item_sizes[static_cast<size_t>(t)]; }
/// Returns the width of the value in bits; 1 for bool.
uint32_t bit_width(DType t);
/// Returns the name in printed IR: "f32", "i64", "b1".
std::string_view short_name(DType t);
/// Returns NumPy's name, which messages use: "float32", "int64", "bool".
std::string_view numpy_name(DType t);
std::optional<DType> dtype_from_short(std::string_view name);
/// Accepts NumPy's names and the cast names of the language ("bool_").
std::optional<DType> dtype_from_numpy(std::string_view name);

/// Returns numpy.result_type of two strong dtypes; nothing for two different dtypes of which one is complex.
std::optional<DType> promote(DType a, DType b);

}  // namespace kw
