// Identifies one compiled version of a kernel: the kinds of its arguments, the values that it captures and
// the derivations of it. The dispatcher fills it, the front end reads it, and the cache key holds its hash.
// Holds no extents and no addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"

namespace kw {

enum class ArgKind : uint8_t { tensor, weak_scalar, strong_scalar, unused };
/// contiguous: row-major without gaps; inner_unit: stride 1 in the last dimension; general: any strides.
enum class StrideClass : uint8_t { contiguous, inner_unit, general };
/// Returns the number of strides that code receives for an array: those of the outermost dimensions, which
/// its class does not determine.
constexpr uint32_t passed_strides(StrideClass c, uint32_t rank) {
  if (c == StrideClass::contiguous || rank == 0) return 0;
  return c == StrideClass::inner_unit ? rank - 1 : rank;
}

struct ArgSpec {
  ArgKind kind = ArgKind::tensor;
  DType dtype = DType::f32;
  uint8_t rank = 0;
  StrideClass stride_class = StrideClass::contiguous;
  /// Index of the first argument that is the same view; the kernel then treats both as one buffer. If there
  /// is none: the argument's own index, or any greater number.
  uint8_t alias = UINT8_MAX;
};

struct Signature {
  std::vector<ArgSpec> args;
  std::vector<StrideClass> outs;     ///< classes of the arrays given as out=; empty: all contiguous
  std::vector<uint8_t> out_aliases;  ///< index of the argument that is the same view as the output's array,
                                     ///< else UINT8_MAX; may be shorter than the outputs
};

/// Captured arrays, which a call does not pass, are the last of the arguments.
inline constexpr size_t max_rank = 8, max_args = 64, max_outputs = 32;

/// A derivative of a kernel, which is a kernel again.
struct Derivation {
  /// vjp: products of a vector with the Jacobian (reverse mode); jvp: of the Jacobian with a vector
  /// (forward).
  enum class Mode : uint8_t { vjp, jvp };
  Mode mode = Mode::vjp;
  std::vector<uint32_t> wrt{};            ///< arguments by number
  std::vector<uint32_t> seeds{};          ///< results whose seed the caller passes; others have seed 0
  std::vector<uint32_t> ones{};           ///< results whose seed is 1 everywhere
  std::vector<std::string> checkpoint{};  ///< loops by iterator
};

/// A value captured from a closure or from globals.
struct Captured {
  enum class Kind : uint8_t {
    integer,
    real,
    boolean,
    text,
    tuple,
    dtype,
    word,
    module,
    function,
    scalar,  ///< a NumPy scalar, which is strong
    array,   ///< an argument that the call does not pass
    other
  };
  Kind kind = Kind::other;
  /// An int, absent if it needs more than 64 bits; the number of a function; the bits of a scalar; the number
  /// of an array among the captured ones.
  std::optional<int64_t> integer;
  bool exceeds_int64 = false;  ///< `integer` holds the bits of a number of at least 2^63
  double real = 0;
  std::string text;  ///< the text, the word, or the name of a module or type
  DType dtype = DType::f64;
  std::vector<Captured> items;  ///< of a tuple
  std::vector<std::pair<std::string, Captured>>
      attributes;  ///< of a module: the attributes that the kernel's code names; of a function: its captures,
                   ///< and the default of its parameter p as "p=", only with the first mention of its number
};
using Captures = std::vector<std::pair<std::string, Captured>>;

inline const Captured *find_captured(const Captures &captures, const std::string &name) {
  for (const auto &[key, value] : captures)
    if (key == name) return &value;
  return nullptr;
}

}  // namespace kw
