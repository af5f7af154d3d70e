// Arithmetic on signed integers wraps in the IR and is undefined in C++: NVRTC folds `x + 1 > x` to true. So
// it is done on unsigned words.
#include "codegen/cuda/operators.h"

#include <bit>
#include <charconv>

#include "ir/build.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the text of a finite float with the digits that tell it from all others.
template <class T>
std::string decimal(T v, std::string_view suffix) {
  char buffer[64];  // the longest double has 24 characters
  std::string out(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  out += suffix;
  return out[0] == '-' ? cat("(", out, ")") : out;
}

/// Returns the unsigned type of the arithmetic on a type: of its width, and at least 32 bits.
std::string_view word_of(DType t) { return bit_width(t) == 64 ? "u64" : "u32"; }

std::string_view sign_of(BinOp op) {
  switch (op) {
    case BinOp::add: return " + ";
    case BinOp::sub: return " - ";
    case BinOp::mul: return " * ";
    case BinOp::true_div: return " / ";
    case BinOp::bit_and: return " & ";
    case BinOp::bit_or: return " | ";
    case BinOp::bit_xor: return " ^ ";
    case BinOp::lt: return " < ";
    case BinOp::le: return " <= ";
    case BinOp::eq: return " == ";
    default: return " != ";
  }
}

/// Returns the word of the prelude for an operation that C++ has not, or has for fewer operands.
std::string_view word_of(BinOp op) {
  switch (op) {
    case BinOp::min: return "kw_min";
    case BinOp::max: return "kw_max";
    case BinOp::floor_div: return "kw_floor_div";
    case BinOp::floor_mod: return "kw_floor_mod";
    case BinOp::shl: return "kw_shl";
    case BinOp::shr: return "kw_shr";
    default: return "";
  }
}

}  // namespace

std::string_view cuda_type(DType t) {
  switch (t) {
    case DType::b1: return "bool";
    case DType::f16:
    case DType::bf16: return "u16";  // its bits
    default: return short_name(t);
  }
}

std::string cuda_literal(DType t, uint64_t bits) {
  if (t == DType::b1) return bits ? "true" : "false";
  if (t == DType::f32) {
    auto v = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return v - v == 0 ? decimal(v, "f") : cat("kw_float(", bits, "u)");
  }
  if (t == DType::f64) {
    auto v = std::bit_cast<double>(bits);
    return v - v == 0 ? decimal(v, "") : cat("kw_float(", bits, "ull)");
  }
  bool is_small = bit_width(t) < 32;
  std::string type = is_small ? cat("(", cuda_type(t), ")") : "";
  if (is_unsigned_int(t) || is_float(t)) return cat(type, bits, bit_width(t) == 64 ? "ull" : "u");
  int64_t v = to_int({t, bits});
  if (v == INT64_MIN) return "(-9223372036854775807ll - 1)";
  if (t == DType::i32 && v == INT32_MIN) return "(-2147483647 - 1)";
  std::string digits = cat(v, t == DType::i64 ? "ll" : "");
  return v < 0 ? cat(type, "(", digits, ")") : cat(type, digits);
}

std::string cuda_unary(UnOp op, DType t, const std::string &a) {
  if (t == DType::b1) return cat("(!", a, ")");
  if (op == UnOp::bit_not) return cat("(", cuda_type(t), ")(~", a, ")");
  return is_float(t) ? cat("(-", a, ")") : cat("(", cuda_type(t), ")(0u - (", word_of(t), ")", a, ")");
}

std::string cuda_binary(const Binary &n, const std::string &a, const std::string &b) {
  DType t = n.a.dtype();
  std::string type(cuda_type(t));
  bool is_shift = n.op == BinOp::shl || n.op == BinOp::shr;
  if (auto count = is_shift ? as_int(n.b) : std::nullopt; count && *count >= 0 && *count < bit_width(t))
    return n.op == BinOp::shr ? cat("(", type, ")(", a, " >> ", *count, ")")
                              : cat("(", type, ")((", word_of(t), ")", a, " << ", *count, ")");
  // Rounded down, a quotient by a power of two is a shift, and the rest are the bits below, of negative
  // numbers too.
  bool divides = n.op == BinOp::floor_div || n.op == BinOp::floor_mod;
  if (auto by = divides && !is_float(t) ? as_int(n.b) : std::nullopt; by && *by > 0 && (*by & (*by - 1)) == 0)
    return n.op == BinOp::floor_div
               ? cat("(", type, ")(", a, " >> ", std::countr_zero(static_cast<uint64_t>(*by)), ")")
               : cat("(", type, ")(", a, " & ", *by - 1, ")");
  if (std::string_view word = word_of(n.op); !word.empty()) return cat(word, "(", a, ", ", b, ")");
  std::string plain = cat("(", a, sign_of(n.op), b, ")");
  bool is_word = bit_width(t) >= 32;
  if (n.op >= BinOp::lt || is_float(t) || (is_unsigned_int(t) && is_word)) return plain;
  bool is_bitwise = n.op >= BinOp::bit_and && n.op <= BinOp::bit_xor;
  if (is_bitwise) return is_word ? plain : cat("(", type, ")", plain);
  return cat("(", type, ")((", word_of(t), ")", a, sign_of(n.op), "(", word_of(t), ")", b, ")");
}

std::string cuda_cast(DType to, const Cast &n, const std::string &a) {
  DType from = n.a.dtype();
  if (from == to) return a;
  if (from == DType::f16) return cat("kw_from_half(", a, ")");
  if (to == DType::f16) return cat("kw_to_half(", a, ")");
  if (to == DType::bf16) return cat("kw_to_bfloat(", a, ")");
  if (to == DType::b1) return cat("(", a, " != 0)");
  bool saturates = is_float(from) && !is_float(to) && !n.in_range;
  return saturates ? cat("kw_to<", cuda_type(to), ">(", a, ")") : cat("(", cuda_type(to), ")", a);
}

std::string_view cuda_atomic(BinOp op) {
  switch (op) {
    case BinOp::add: return "add";
    case BinOp::sub: return "sub";
    case BinOp::mul: return "mul";
    case BinOp::min: return "min";
    case BinOp::max: return "max";
    case BinOp::bit_and: return "and";
    case BinOp::bit_or: return "or";
    case BinOp::bit_xor: return "xor";
    default: internal_error(__FILE__, __LINE__, "an operation that does not accumulate");
  }
}

std::string_view cuda_word(Fn fn) {
  switch (fn) {
    case Fn::sqrt: return "kw_sqrt";
    case Fn::floor: return "kw_floor";
    case Fn::ceil: return "kw_ceil";
    case Fn::trunc: return "kw_trunc";
    case Fn::round: return "kw_round";
    case Fn::fmod: return "kw_fmod";
    case Fn::abs: return "kw_abs";
    case Fn::fma: return "kw_fma";
    case Fn::popcount: return "kw_popcount";
    default: return "";
  }
}

CudaCall cuda_call(const Call &n) {
  DType t = n.args[0].dtype();
  if (n.fn == Fn::to_bits || n.fn == Fn::from_bits) return CudaCall::bits;
  bool has_word = !cuda_word(n.fn).empty() && (is_float(t) || n.fn == Fn::abs || n.fn == Fn::popcount);
  if (has_word) return CudaCall::word;
  return row_of(n.fn).cost == Cost::function && is_float(t) ? CudaCall::function : CudaCall::inlined;
}

}  // namespace kw
