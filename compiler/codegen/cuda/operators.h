// The spelling of types, constants and operators in C++, from the texts of their operands. Knows no names and
// no statements.
#pragma once

#include <string>
#include <string_view>

#include "ir/intrinsics.h"
#include "ir/node.h"

namespace kw {

std::string_view cuda_type(DType t);
/// In memory a bool takes a byte.
inline std::string_view cuda_memory_type(DType t) { return t == DType::b1 ? "u8" : cuda_type(t); }
std::string cuda_literal(DType t, uint64_t bits);

/// Return an operation on operands that are atoms, calls, casts or in parentheses, in the same form. `t` is
/// the type of the operands.
std::string cuda_unary(UnOp op, DType t, const std::string &a);
std::string cuda_binary(const Binary &n, const std::string &a, const std::string &b);
/// Returns the end of the word for an accumulation: "add" of `kw_atomic_add`.
std::string_view cuda_atomic(BinOp op);
/// Returns the cast of `a` to another type.
std::string cuda_cast(DType to, const Cast &n, const std::string &a);

/// How a call is written.
enum class CudaCall : uint8_t {
  bits,      ///< an operation on bits
  word,      ///< a word of the prelude
  function,  ///< a device function that the text defines
  inlined,   ///< its expansion
};
CudaCall cuda_call(const Call &n);
/// Returns the word of the prelude for a function that the device has.
std::string_view cuda_word(Fn fn);

}  // namespace kw
