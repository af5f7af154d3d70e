// Names, sizes and promotion of element types.
#include "ir/dtype.h"

#include <algorithm>
#include <array>

namespace kw {

namespace {
/// The names of a type in printed IR and in NumPy, and its bits of value.
struct Row {
  std::string_view brief, numpy;
  uint32_t bits;
};
// in the order of DType, whose enumerators are the indices
constexpr std::array<Row, dtype_count> rows = {{{"b1", "bool", 1},
                                                {"i8", "int8", 8},
                                                {"i16", "int16", 16},
                                                {"i32", "int32", 32},
                                                {"i64", "int64", 64},
                                                {"u8", "uint8", 8},
                                                {"u16", "uint16", 16},
                                                {"u32", "uint32", 32},
                                                {"u64", "uint64", 64},
                                                {"f16", "float16", 16},
                                                {"bf16", "bfloat16", 16},
                                                {"f32", "float32", 32},
                                                {"f64", "float64", 64},
                                                {"c64", "complex64", 64},
                                                {"c128", "complex128", 128}}};
const Row &row(DType t) { return rows[static_cast<size_t>(t)]; }
}  // namespace

uint32_t bit_width(DType t) { return row(t).bits; }
std::string_view short_name(DType t) { return row(t).brief; }
std::string_view numpy_name(DType t) { return row(t).numpy; }

std::optional<DType> dtype_from_short(std::string_view name) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].brief == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::optional<DType> dtype_from_numpy(std::string_view name) {
  if (name == "bool_") return DType::b1;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].numpy == name) return static_cast<DType>(i);
  return std::nullopt;
}

/// Returns the common type of an integer and the float type `f`. It must hold the integer's values: at least
/// f32 for 16 bits, f64 for more.
static DType float_for_int_bits(uint32_t int_bits, DType f) {
  if (int_bits <= 8) return f;
  DType needed = int_bits == 16 ? DType::f32 : DType::f64;
  return bit_width(needed) > bit_width(f) ? needed : f;
}

std::optional<DType> promote(DType a, DType b) {
  if (a == b) return a;
  // DType lists bool, signed, unsigned, float and complex types in this order: `a` is of the earlier class
  if (a > b) std::swap(a, b);
  if (b >= DType::c64) return std::nullopt;
  if (a == DType::b1) return b;
  // neither 16-bit format holds the other; f32 holds both
  if (is_float(a)) return a == DType::f16 && b == DType::bf16 ? DType::f32 : b;
  if (is_float(b)) return float_for_int_bits(bit_width(a), b);
  if (is_signed_int(a) == is_signed_int(b)) return bit_width(a) > bit_width(b) ? a : b;
  // a is signed, b unsigned: the signed type that holds both, or float64
  if (bit_width(a) > bit_width(b)) return a;
  switch (b) {
    case DType::u8: return DType::i16;
    case DType::u16: return DType::i32;
    case DType::u32: return DType::i64;
    default: return DType::f64;
  }
}

}  // namespace kw
