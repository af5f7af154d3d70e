// Exact definitions of arithmetic on integers and bools; see scalar_ops.h for the rules.
#include "ir/integers/integer_ops.h"

namespace kw {

namespace {

uint32_t width_of(DType t) { return t == DType::b1 ? 1 : 8 * item_size(t); }

/// Rounds toward negative infinity, as Python does. Handles a divisor of -1 separately: INT64_MIN / -1 traps.
int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));
  int64_t q = a / b;
  return (a % b != 0) && ((a < 0) != (b < 0)) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

/// Shifts a value. Counts outside the width shift out all bits: the result is 0, or the sign for a signed
/// shr.
Value shift(BinOp op, const Value &a, const Value &b) {
  uint32_t width = width_of(a.dtype);
  bool in_range = is_signed_int(b.dtype) ? to_int(b) >= 0 && to_int(b) < width : b.bits < width;
  if (op == BinOp::shl) return {a.dtype, in_range ? (a.bits << b.bits) & mask_of(a.dtype) : 0};
  if (is_unsigned_int(a.dtype)) return {a.dtype, in_range ? a.bits >> b.bits : 0};
  int64_t v = to_int(a);
  return wrap_integer(a.dtype, in_range ? v >> b.bits : v < 0 ? -1 : 0);
}

/// Computes with bools by logic, as NumPy does: + is `or`, * is `and`.
Value apply_bool(BinOp op, const Value &a, const Value &b) {
  switch (op) {
    case BinOp::add:
    case BinOp::max:
    case BinOp::bit_or: return {DType::b1, a.bits | b.bits};
    case BinOp::mul:
    case BinOp::min:
    case BinOp::bit_and: return {DType::b1, a.bits & b.bits};
    case BinOp::bit_xor:
    case BinOp::ne: return {DType::b1, a.bits ^ b.bits};
    case BinOp::eq: return {DType::b1, a.bits == b.bits};
    case BinOp::lt: return {DType::b1, a.bits < b.bits};
    case BinOp::le: return {DType::b1, a.bits <= b.bits};
    default: return {DType::b1, 0};
  }
}

}  // namespace

uint64_t mask_of(DType t) {
  uint32_t width = width_of(t);
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

bool is_integer_op(BinOp op, DType t) {
  if (op == BinOp::true_div) return false;
  return t != DType::b1 || (op != BinOp::sub && op != BinOp::floor_div && op != BinOp::floor_mod &&
                            op != BinOp::shl && op != BinOp::shr);
}

Value wrap_integer(DType t, int64_t v) {
  if (t == DType::b1) return {t, v != 0};
  return {t, static_cast<uint64_t>(v) & mask_of(t)};
}

int64_t to_int(const Value &v) {
  if (!is_signed_int(v.dtype)) return static_cast<int64_t>(v.bits);
  uint32_t unused = 64 - width_of(v.dtype);
  return static_cast<int64_t>(v.bits << unused) >> unused;
}

Value apply_integer(UnOp op, const Value &a) {
  switch (op) {
    case UnOp::logical_not: return {DType::b1, a.bits ^ 1};
    case UnOp::bit_not: return {a.dtype, ~a.bits & mask_of(a.dtype)};
    case UnOp::neg: return {a.dtype, -a.bits & mask_of(a.dtype)};
  }
  return {a.dtype, 0};
}

Value apply_integer(BinOp op, const Value &a, const Value &b) {
  if (a.dtype == DType::b1) return apply_bool(op, a, b);
  // the low bits of sums and products do not depend on signs: one unsigned word serves all integer types
  bool is_signed = is_signed_int(a.dtype);
  int64_t x = to_int(a), y = to_int(b);
  auto wrap = [&](uint64_t v) { return Value{a.dtype, v & mask_of(a.dtype)}; };
  auto truth = [](bool v) { return Value{DType::b1, v}; };
  auto less = [&] { return is_signed ? x < y : a.bits < b.bits; };
  switch (op) {
    case BinOp::add: return wrap(a.bits + b.bits);
    case BinOp::sub: return wrap(a.bits - b.bits);
    case BinOp::mul: return wrap(a.bits * b.bits);
    case BinOp::floor_div:
      return is_signed ? wrap_integer(a.dtype, floor_div(x, y)) : wrap(b.bits ? a.bits / b.bits : 0);
    case BinOp::floor_mod:
      return is_signed ? wrap_integer(a.dtype, floor_mod(x, y)) : wrap(b.bits ? a.bits % b.bits : 0);
    case BinOp::min: return less() ? a : b;
    case BinOp::max: return less() ? b : a;
    case BinOp::bit_and: return wrap(a.bits & b.bits);
    case BinOp::bit_or: return wrap(a.bits | b.bits);
    case BinOp::bit_xor: return wrap(a.bits ^ b.bits);
    case BinOp::shl:
    case BinOp::shr: return shift(op, a, b);
    case BinOp::lt: return truth(less());
    case BinOp::le: return truth(less() || a.bits == b.bits);
    case BinOp::eq: return truth(a.bits == b.bits);
    case BinOp::ne: return truth(a.bits != b.bits);
    case BinOp::true_div: break;
  }
  return {a.dtype, 0};
}

Value convert_integer(DType to, const Value &a) {
  return to == DType::b1 ? wrap_integer(to, a.bits != 0) : wrap_integer(to, to_int(a));
}

}  // namespace kw
