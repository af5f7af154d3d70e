// Guards are selects that evaluate both sides: an operand that would trap is replaced first.
#include "transform/lowering/passes.h"

#include <bit>
#include <cmath>
#include <unordered_set>

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

Expr chosen(Expr cond, Expr yes, Expr no) {
  DType t = yes.dtype();
  return make_expr(t, {}, Select{std::move(cond), std::move(yes), std::move(no), true, true});
}
DType unsigned_of(DType t) {
  int up = static_cast<int>(DType::u8) - static_cast<int>(DType::i8);
  return is_signed_int(t) ? static_cast<DType>(static_cast<int>(t) + up) : t;
}
Expr number(DType t, int64_t v) { return constant(from_int(t, v)); }
Expr both(Expr a, Expr b) { return binary(BinOp::bit_and, std::move(a), std::move(b)); }
Expr either(Expr a, Expr b) { return binary(BinOp::bit_or, std::move(a), std::move(b)); }

/// Returns the exponent of a constant power of two.
std::optional<int64_t> log2_of(const Expr &e) {
  auto v = as_int(e);
  bool power = v && *v > 0 && std::has_single_bit(static_cast<uint64_t>(*v));
  return power ? std::optional<int64_t>(std::countr_zero(static_cast<uint64_t>(*v))) : std::nullopt;
}

/// Divides and rounds down. Divisors 0 and -1 never reach the operation: both trap on some machines.
Expr floor_div(DType t, const Expr &a, const Expr &b) {
  bool is_signed = is_signed_int(t);
  if (auto exponent = log2_of(b); exponent && is_signed)
    return call(Fn::shift_right, {a, number(t, *exponent)});
  Expr zero = number(t, 0), one = number(t, 1);
  Expr by_zero = binary(BinOp::eq, b, zero);
  if (!is_signed) return chosen(by_zero, zero, call(Fn::quotient, {a, chosen(by_zero, one, b)}));
  Expr by_minus_one = binary(BinOp::eq, b, number(t, -1));
  Expr safe = chosen(either(by_zero, by_minus_one), one, b);
  Expr q = call(Fn::quotient, {a, safe}), r = binary(BinOp::sub, a, binary(BinOp::mul, q, safe));
  Expr inexact = binary(BinOp::ne, r, zero);
  Expr signs_differ = binary(BinOp::lt, binary(BinOp::bit_xor, a, safe), zero);
  Expr floored = chosen(both(inexact, signs_differ), binary(BinOp::sub, q, one), q);
  Expr result = chosen(by_minus_one, unary(UnOp::neg, a), floored);
  return chosen(by_zero, zero, result);
}

/// Returns the floored remainder. Special divisors become 1: x % 1 is 0, as x % 0 and x % -1 shall be.
Expr floor_mod(DType t, const Expr &a, const Expr &b) {
  bool is_signed = is_signed_int(t);
  Expr zero = number(t, 0), one = number(t, 1);
  if (log2_of(b) && is_signed) return binary(BinOp::bit_and, a, binary(BinOp::sub, b, one));
  Expr special = binary(BinOp::eq, b, zero);
  if (is_signed) special = either(special, binary(BinOp::eq, b, number(t, -1)));
  Expr safe = chosen(special, one, b), r = call(Fn::remainder, {a, safe});
  if (!is_signed) return r;
  Expr signs_differ = binary(BinOp::lt, binary(BinOp::bit_xor, r, safe), zero);
  return chosen(both(binary(BinOp::ne, r, zero), signs_differ), binary(BinOp::add, r, safe), r);
}

/// Shifts by any count: counts from the width on give 0 or the sign; negative ones are large as unsigned
/// numbers.
Expr shift(BinOp op, DType t, const Expr &a, const Expr &n) {
  DType word = unsigned_of(t);
  auto as_word = [&](const Expr &e) { return cast(word, e); };
  Expr zero = number(t, 0);
  Expr in_range = binary(BinOp::lt, as_word(n), constant({word, bit_width(t)}));
  Expr count = chosen(in_range, n, zero);
  if (op == BinOp::shl) return chosen(in_range, call(Fn::shift_left, {a, count}), zero);
  Expr out = call(Fn::shift_right, {a, count});
  Expr beyond = is_signed_int(t) ? call(Fn::shift_right, {a, number(t, bit_width(t) - 1)}) : zero;
  return chosen(in_range, out, beyond);
}

/// Converts to an integer: saturates, and gives 0 for NaN. LLVM would scalarize its saturating conversions of
/// vectors; those of 64 bits need an instruction.
Expr to_integer(const Expr &e, const Expr &a) {
  DType from = a.dtype(), to = e.dtype();
  bool is_signed = is_signed_int(to);
  int bits = static_cast<int>(bit_width(to));
  auto real = [&](double v) { return const_float(from, v); };
  Expr low = real(is_signed ? -std::ldexp(1.0, bits - 1) : -1.0);
  Expr high = real(std::ldexp(1.0, is_signed ? bits - 1 : bits));
  Expr between = both(binary(BinOp::lt, low, a), binary(BinOp::lt, a, high));
  Expr inside = chosen(between, a, real(0.0));
  // values that fit are the same in both types, and small integers come from larger ones
  DType word = bits < 32 ? DType::i32 : to;
  Expr out = make_expr(word, e.loc(), Cast{inside, true});
  auto end = [&](uint64_t value) { return cast(word, constant({to, value})); };
  uint64_t all = ~uint64_t{0} >> (64 - bits), most = is_signed ? all >> 1 : all, least = all - most;
  if (is_signed) out = chosen(binary(BinOp::le, a, low), end(least), out);
  out = chosen(binary(BinOp::le, high, a), end(most), out);
  return word == to ? out : make_expr(to, e.loc(), Cast{out});
}

bool is_whole(DType t) { return is_int(t) && t != DType::b1; }

Expr guarded(const Binary &n, const Expr &e) {
  DType t = n.a.dtype();
  if (!is_whole(t)) return e;
  switch (n.op) {
    case BinOp::floor_div: return floor_div(t, n.a, n.b);
    case BinOp::floor_mod: return floor_mod(t, n.a, n.b);
    case BinOp::shl:
    case BinOp::shr: return shift(n.op, t, n.a, n.b);
    default: return e;
  }
}

/// Returns the casts that vector loops evaluate.
std::unordered_set<const ExprNode *> in_vector_loops(const Stmt &body) {
  std::unordered_set<const ExprNode *> out;
  walk(body, [&](const For &n, const Stmt &) {
    if (n.kind == ForKind::vector) walk(n.body, [&](const Cast &, const Expr &e) { out.insert(e.p.get()); });
  });
  return out;
}

}  // namespace

Func guard_operations(const Func &f, const Target &target) {
  std::unordered_set<const ExprNode *> vectors = in_vector_loops(f.body);
  Func out = f;
  out.body = rewrite(
      f.body, [](const Binary &n, const Expr &e) { return guarded(n, e); },
      [&](const Cast &n, const Expr &e, const Expr &before) {
        DType from = n.a.dtype(), to = e.dtype();
        bool has_instruction = bit_width(to) < 64 || target.has_vector_i64_conversions();
        bool fits = is_float(from) && bit_width(from) >= 32 && is_whole(to) && has_instruction;
        return fits && !n.in_range && vectors.count(before.p.get()) ? to_integer(e, n.a) : e;
      });
  return out;
}

Expr guard_operations(const Expr &e) {
  return rewrite(e, [](const Binary &n, const Expr &x) { return guarded(n, x); });
}

Stmt guard_operations(const Stmt &s, const Target &target) {
  Func f;
  f.body = s;
  return guard_operations(f, target).body;
}

}  // namespace kw
