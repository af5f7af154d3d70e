// Promotion, adoption of weak types, and the operations that use them.
#include "frontend/sema/infer.h"

#include <algorithm>

#include "ir/integers/wide_int.h"
#include "ir/intrinsics.h"
#include "ir/signature.h"
#include "support/text.h"

namespace kw {

using ast::Operator;

std::string type_text(ScalarType t) {
  if (!t.weak) return std::string(numpy_name(t.dtype));
  return t.dtype == DType::b1 ? "a Python bool" : t.dtype == DType::i64 ? "a Python int" : "a Python float";
}

Operand scalar_operand(Expr e, bool weak, Loc loc) {
  Operand o;
  o.kind = Operand::Kind::scalar;
  o.loc = loc;
  o.expr = std::move(e);
  o.weak = weak;
  return o;
}

std::string describe(const Operand &o) {
  switch (o.kind) {
    case Operand::Kind::scalar: return type_text(o.type());
    case Operand::Kind::tensor: return cat("the tensor '", o.buf->sym->name, "'");
    case Operand::Kind::tuple: return "a tuple";
    case Operand::Kind::dtype: return "a dtype";
    case Operand::Kind::text: return "a string";
    case Operand::Kind::none: return "None";
    case Operand::Kind::poisoned: return "a faulty value";
  }
  return "";
}

void type_error(Code code, Loc loc, std::string message, std::string help) {
  std::vector<std::string> helps;
  if (!help.empty()) helps.push_back(std::move(help));
  throw CompileError(Diagnostic{code, loc, std::move(message), {}, std::move(helps)});
}

std::string element_text(const BufNode &tensor) {
  static_assert(max_rank == 8);
  std::vector<std::string> names;
  for (char name : std::string_view("ijklmnop").substr(0, tensor.rank())) names.emplace_back(1, name);
  return cat(tensor.sym->name, "[", names.empty() ? "()" : join_text(names, ", "), "]");
}

void refuse_truth_value(const Operand &o, std::string_view use) {
  type_error(Code::E214, o.loc,
             cat("the result of `and`/`or` over numbers is ", use, "; it is only a truth value here"),
             o.by_and ? "write `y if x else x` for `x and y`" : "write `x if x else y` for `x or y`");
}

void require_available(DType t, Loc loc) {
  // complex dtypes are the last of the enumeration
  if (t >= DType::c64)
    type_error(Code::E102, loc, cat("dtype ", numpy_name(t), " is not available yet"),
               "keep the real and the imaginary part in two tensors");
}

namespace {

/// Throws E202 for anything but a scalar, and E214 for a scalar that is only a truth value.
void require_scalar(const Operand &o) {
  if (o.kind == Operand::Kind::tensor)
    type_error(Code::E202, o.loc, cat(describe(o), " is used as a number"),
               cat("index it: `", element_text(*o.buf), "`"));
  if (o.kind != Operand::Kind::scalar)
    type_error(Code::E202, o.loc, cat(describe(o), " is used as a number"),
               std::string(o.kind == Operand::Kind::text ? text_help : ""));
  if (o.truth) refuse_truth_value(o, "used as a value");
}

/// Returns the rank of a weak type in the order of promotion: bool < int < float.
int weak_rank(DType t) { return t == DType::b1 ? 0 : t == DType::i64 ? 1 : 2; }

/// Returns whether an integer constant keeps its value in an integer type.
bool fits(const Value &v, DType t) {
  if (t == DType::b1) return v.bits <= 1;
  if (!is_int(t)) return true;
  Value there = convert(t, v);
  // the sign is compared too: -1 becomes 2^64 - 1 in uint64, which converts back to -1
  bool negative = is_signed_int(v.dtype) && to_int(v) < 0, stays = is_signed_int(t) && to_int(there) < 0;
  return negative == stays && convert(v.dtype, there) == v;
}

/// Returns an integer constant in decimal; its bits alone would show -1 as 2^64 - 1.
std::string constant_text(const Value &v) { return v.dtype == DType::u64 ? cat(v.bits) : cat(to_int(v)); }

/// Converts an operand of an operation with result type t. Weak operands of a weak result wrap at 64 bits.
Expr as_operand(const Operand &o, ScalarType t) {
  return t.weak ? cast(t.dtype, o.expr, o.loc) : adapt(o, t.dtype);
}

/// Returns the IR operator. Powers have a rule of their own, and matrix products are refused before.
BinOp bin_op(Operator op) {
  switch (op) {
    case Operator::add: return BinOp::add;
    case Operator::sub: return BinOp::sub;
    case Operator::mul: return BinOp::mul;
    case Operator::div: return BinOp::true_div;
    case Operator::floor_div: return BinOp::floor_div;
    case Operator::mod: return BinOp::floor_mod;
    case Operator::bit_and: return BinOp::bit_and;
    case Operator::bit_or: return BinOp::bit_or;
    case Operator::bit_xor: return BinOp::bit_xor;
    case Operator::shl: return BinOp::shl;
    case Operator::shr: return BinOp::shr;
    case Operator::pow:
    case Operator::matmul: break;
  }
  internal_error(__FILE__, __LINE__, "operator without a binary operation");
}

bool is_bitwise(Operator op) { return op >= Operator::bit_and && op <= Operator::shr; }

/// Returns the result type of an operator on two bools. Weak bools follow Python, strong ones NumPy:
///            & | ^   /          + *    -      others
///   weak     bool    float      int    int    int
///   strong   bool    float64    bool   E205   int8
ScalarType bool_result(Operator op, bool weak, Loc loc) {
  bool keeps = op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
  if (weak) return {op == Operator::div ? DType::f64 : keeps ? DType::b1 : DType::i64, true};
  if (keeps || op == Operator::add || op == Operator::mul) return {DType::b1, false};
  if (op == Operator::div) return {DType::f64, false};
  if (op == Operator::sub)
    type_error(Code::E205, loc, "`-` is not defined for bool",
               "use `^` or `!=`, or convert: `int32(a) - int32(b)`");
  return {DType::i8, false};
}

}  // namespace

std::string_view operator_text(Operator op) {
  static constexpr std::string_view names[] = {"+", "-", "*", "/",  "//", "%", "**",
                                               "&", "|", "^", "<<", ">>", "@"};
  return names[static_cast<size_t>(op)];
}

Expr adapt(const Operand &o, DType to) {
  require_scalar(o);
  if (o.weak) require_range(o.expr, to, o.loc);
  return cast(to, o.expr, o.loc);
}

void require_range(const Expr &e, DType to, Loc loc) {
  auto v = as_const(e);
  if (!v || is_float(v->dtype) || !is_int(to) || fits(*v, to)) return;
  std::string text = constant_text(*v);
  type_error(
      Code::E203, loc, cat("the constant ", text, " does not fit into ", numpy_name(to)),
      cat("widen the other operand, or wrap by ", numpy_name(to), "(", text, "), which debug=True refuses"));
}

ScalarType common_type(ScalarType a, ScalarType b, Loc loc) {
  // as in Python: two weak operands give a weak result
  if (a.weak && b.weak) return weak_rank(a.dtype) >= weak_rank(b.dtype) ? a : b;
  if (a.weak) std::swap(a, b);
  DType result = a.dtype;
  if (b.weak) {
    // NEP 50: the weak operand adopts the strong dtype, unless its kind is above that of the dtype
    bool lifts_bool = a.dtype == DType::b1 && b.dtype == DType::i64;
    if (lifts_bool) result = DType::i64;
    if (!is_float(a.dtype) && is_float(b.dtype)) result = DType::f64;
  } else if (auto common = promote(a.dtype, b.dtype)) {
    result = *common;
  } else {
    type_error(Code::E200, loc, cat("no common type of ", numpy_name(a.dtype), " and ", numpy_name(b.dtype)));
  }
  require_available(result, loc);
  return {result, false};
}

Merge merge_types(const std::string &name, ScalarType a, ScalarType b) {
  if (a == b) return {a, Code::E210, {}, {}};
  if (a.weak && b.weak) return {weak_rank(a.dtype) >= weak_rank(b.dtype) ? a : b, Code::E210, {}, {}};
  if (!a.weak && !b.weak) {
    auto both = promote(a.dtype, b.dtype);
    // not int64 with uint64: they promote to float64, in which large integers lose digits
    bool one_kind = both && is_float(a.dtype) == is_float(b.dtype) && is_float(*both) == is_float(a.dtype) &&
                    a.dtype != DType::b1 && b.dtype != DType::b1;
    if (one_kind) return {ScalarType{*both, false}, Code::E210, {}, {}};
    return {std::nullopt, Code::E210,
            cat("'", name, "' is ", type_text(a), " on one path and ", type_text(b), " on the other"),
            cat("give both the same dtype, e.g. start from ", numpy_name(both.value_or(b.dtype)), "(...)")};
  }
  if (a.weak) std::swap(a, b);
  // a strong type holds the weak value if its kind is at least as high; the dtype is not widened
  bool kind_fits = is_float(a.dtype) || weak_rank(b.dtype) == 0 || (is_int(a.dtype) && b.dtype == DType::i64);
  if (kind_fits) return {a, Code::E211, {}, {}};
  return {std::nullopt, Code::E211,
          cat("'", name, "' is ", type_text(b), " on one path and ", type_text(a),
              " on the other, which cannot hold it"),
          cat("start from ", is_float(b.dtype) ? "float64" : "int64", "(...)")};
}

namespace {

/// Returns the number of a known weak int or bool; nothing for other operands.
std::optional<WideInt> known_int(const Operand &o) {
  if (!o.weak) return std::nullopt;
  auto v = as_const(o.expr);
  return v && !is_float(v->dtype) ? std::optional(wide_value(*v)) : std::nullopt;
}

/// Makes a weak constant of an exact result. Throws E215 if it exceeds 64 bits; an absent result exceeds even
/// 128 bits.
Operand exact_operand(std::optional<WideInt> result, std::string_view what, Loc loc) {
  auto v = result ? narrowed(*result) : std::nullopt;
  if (!v)
    type_error(Code::E215, loc, cat("the constant result of `", what, "` does not fit into 64 bits"),
               std::string(wide_help));
  return scalar_operand(constant(*v, loc), true, loc);
}

/// Computes as Python does, in 128 bits; returns nothing if the result exceeds them. The caller has excluded
/// zero divisors and negative counts.
std::optional<WideInt> exact(Operator op, WideInt a, WideInt b) {
  switch (op) {
    case Operator::add: return a + b;
    case Operator::sub: return a - b;
    case Operator::mul: return wide_product(a, b);
    case Operator::floor_div: return wide_floor_div(a, b);
    case Operator::mod: return a - wide_floor_div(a, b) * b;
    case Operator::bit_and: return a & b;
    case Operator::bit_or: return a | b;
    case Operator::bit_xor: return a ^ b;
    case Operator::shl: return wide_shl(a, b);
    case Operator::shr: return wide_shr(a, b);
    case Operator::pow: return wide_power(a, b);
    case Operator::div:
    case Operator::matmul: break;
  }
  internal_error(__FILE__, __LINE__, "operator without a meaning for integers");
}

/// Returns Python's result for two known ints; nothing for other operands and where Python raises.
std::optional<Operand> exact_arithmetic(Operator op, const Operand &a, const Operand &b, Loc loc) {
  auto x = known_int(a), y = known_int(b);
  if (!x || !y) return std::nullopt;
  bool divides = op == Operator::div || op == Operator::floor_div || op == Operator::mod;
  bool counts = op == Operator::shl || op == Operator::shr || op == Operator::pow;
  bool bits = op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
  // the rules for unknown values apply in these cases
  if ((divides && *y == 0) || (counts && *y < 0)) return std::nullopt;
  // the exact result would be an int, but Python keeps a bool
  if (bits && a.expr.dtype() == DType::b1 && b.expr.dtype() == DType::b1) return std::nullopt;  // bools
  if (op == Operator::div)
    return scalar_operand(const_float(DType::f64, wide_quotient(*x, *y), loc), true, loc);
  return exact_operand(exact(op, *x, *y), operator_text(op), loc);
}

/// Returns the lesser or greater of two weak ints, one of which is a uint64, compared as numbers rather than
/// as 64-bit words.
Expr exact_minimum(bool is_min, const Expr &a, const Expr &b, Loc loc) {
  auto x = as_const(a), y = as_const(b);
  if (x && y) return (wide_value(*x) < wide_value(*y)) == is_min ? a : b;
  // one is signed: the lesser of both is an int64, the greater is not negative
  auto side = [&](const Expr &e) {
    if (is_min && e.dtype() == DType::u64)
      return cast(DType::i64, binary(BinOp::min, e, constant({DType::u64, INT64_MAX}), loc), loc);
    Expr v = e.dtype() == DType::u64 ? e : cast(DType::i64, e, loc);
    return is_min || v.dtype() == DType::u64
               ? v
               : cast(DType::u64, binary(BinOp::max, v, const_int(0), loc), loc);
  };
  return binary(is_min ? BinOp::min : BinOp::max, side(a), side(b), loc);
}

}  // namespace

std::optional<Operand> exact_abs(const Operand &a, Loc loc) {
  auto x = known_int(a);
  return x ? std::optional(exact_operand(*x < 0 ? -*x : *x, "abs", loc)) : std::nullopt;
}

DType meeting_dtype(ScalarType merged, const Operand &a, const Operand &b) {
  auto fits_u64 = [](const Operand &o) {
    auto v = known_int(o);
    return o.expr.dtype() == DType::u64 || (v && *v >= 0);
  };
  // if neither is a uint64, int64 holds both
  bool needs = a.expr.dtype() == DType::u64 || b.expr.dtype() == DType::u64;
  bool ints = merged.weak && merged.dtype == DType::i64;
  return ints && needs && fits_u64(a) && fits_u64(b) ? DType::u64 : merged.dtype;
}

Operand arithmetic(Operator op, const Operand &a, const Operand &b, Loc loc) {
  require_scalar(a);
  require_scalar(b);
  // before the conversion to the common type, in which the result would wrap
  if (auto known = exact_arithmetic(op, a, b, loc)) return *known;
  if (op == Operator::pow) return power(a, b, loc);
  ScalarType common = common_type(a.type(), b.type(), loc);
  // tests the common type, because one float operand makes the operation a float operation
  if (is_bitwise(op) && is_float(common.dtype))
    type_error(
        Code::E200, loc,
        cat("`", operator_text(op), "` needs integers or bools, not ", describe(a), " and ", describe(b)));
  ScalarType result = common;
  // `/` of integers is a float64 quotient, weak if both operands are
  if (common.dtype == DType::b1)
    result = bool_result(op, common.weak, loc);
  else if (op == Operator::div && !is_float(common.dtype))
    result = {DType::f64, common.weak};
  Expr x = as_operand(a, result), y = as_operand(b, result);
  return scalar_operand(binary(bin_op(op), std::move(x), std::move(y), loc), result.weak, loc);
}

namespace {

/// Returns the integer type in which two integers compare as numbers; nothing for a signed one and a uint64.
std::optional<DType> exact_type(const Operand &a, const Operand &b) {
  auto takes = [](const Operand &constant, DType t) {
    auto v = constant.weak ? as_const(constant.expr) : std::nullopt;
    return v && fits(*v, t);
  };
  DType x = a.expr.dtype(), y = b.expr.dtype();
  // a constant that the other type holds needs no wider type: u8[i] == 3 compares bytes
  if (takes(b, x)) return x;
  if (takes(a, y)) return y;
  if (is_signed_int(x) == is_signed_int(y)) return bit_width(x) > bit_width(y) ? x : y;
  if ((is_signed_int(x) ? y : x) == DType::u64) return std::nullopt;
  // int64 holds every signed type, and every unsigned type except uint64
  return DType::i64;
}

/// Compares a signed integer s and a uint64 u; the sign decides first:
///   s < u   →  (s < 0) | (uint64(s) < u)
///   u < s   →  !(s < 0) & (u < uint64(s))
///   s == u  →  !(s < 0) & (uint64(s) == u)
///   s != u  →  (s < 0) | (uint64(s) != u)
Expr compare_with_u64(BinOp op, const Expr &a, const Expr &b, Loc loc) {
  bool left = is_signed_int(a.dtype());
  const Expr &with_sign = left ? a : b;
  Expr negative = binary(BinOp::lt, with_sign, constant(from_int(with_sign.dtype(), 0), loc), loc);
  Expr others = binary(op, cast(DType::u64, a, loc), cast(DType::u64, b, loc), loc);
  // a negative number is less than, and different from, every uint64
  bool if_negative = op == BinOp::ne || (left && op != BinOp::eq);
  if (auto known = as_int(negative); known && *known) {  // a comparison with 0 that decides nothing else
    Expr zero = constant(from_int(DType::u64, 0), loc);
    const Expr &other = left ? b : a;
    return if_negative ? binary(BinOp::le, zero, other, loc) : binary(BinOp::lt, other, zero, loc);
  } else if (known) {
    return others;
  }
  if (if_negative) return binary(BinOp::bit_or, negative, others, loc);
  return binary(BinOp::bit_and, unary(UnOp::logical_not, negative, loc), others, loc);
}

}  // namespace

Operand compare(ast::CompareOp op, const Operand &a, const Operand &b, Loc loc) {
  using ast::CompareOp;
  require_scalar(a);
  require_scalar(b);
  ScalarType common = common_type(a.type(), b.type(), loc);
  bool integers = is_int(a.expr.dtype()) && is_int(b.expr.dtype());
  // absent for a signed integer and a uint64, because no integer type holds both
  std::optional<DType> t = integers ? exact_type(a, b) : common.dtype;
  for (const auto &[x, y] : {std::pair(&a, &b), std::pair(&b, &a)})  // a bool and a constant from 2^63 on
    if (x->expr.dtype() == DType::b1 && y->expr.dtype() == DType::u64) t = DType::u64;
  auto make = [&](BinOp o, const Operand &l, const Operand &r) {
    Expr e = t ? binary(o, cast(*t, l.expr, l.loc), cast(*t, r.expr, r.loc), loc)
               : compare_with_u64(o, l.expr, r.expr, loc);
    return scalar_operand(e, common.weak, loc);
  };
  switch (op) {
    case CompareOp::lt: return make(BinOp::lt, a, b);
    case CompareOp::le: return make(BinOp::le, a, b);
    // operands are swapped instead of negating the result, which would make comparisons with NaN true
    case CompareOp::gt: return make(BinOp::lt, b, a);
    case CompareOp::ge: return make(BinOp::le, b, a);
    case CompareOp::eq: return make(BinOp::eq, a, b);
    case CompareOp::ne: return make(BinOp::ne, a, b);
    default: break;
  }
  internal_error(__FILE__, __LINE__, "unknown comparison");
}

Operand unary_minus(const Operand &a, Loc loc) {
  require_scalar(a);
  if (a.expr.dtype() == DType::b1 && !a.weak)
    type_error(Code::E205, loc, "`-` is not defined for bool",
               "use `not x` or `x ^ True`, or convert: `-int32(x)`");
  if (auto known = known_int(a)) {
    // -(2^63) is an int64 although 2^63 is not: the limit applies to the result
    if (*known > -static_cast<WideInt>(INT64_MIN))
      type_error(Code::E215, loc, cat("the constant -", as_const(a.expr)->bits, " does not fit into 64 bits"),
                 "use a float, or a smaller constant");
    return exact_operand(-*known, "-", loc);
  }
  // a weak int stored as uint64 is negated as int64, and a weak bool as an int
  Expr x = is_float(a.expr.dtype()) ? a.expr : cast(a.type().dtype, a.expr, loc);
  if (x.dtype() == DType::b1) x = cast(DType::i64, x, loc);
  return scalar_operand(unary(UnOp::neg, x, loc), a.weak, loc);
}

Operand invert(const Operand &a, Loc loc) {
  require_scalar(a);
  DType t = a.expr.dtype();
  if (is_float(t)) type_error(Code::E200, loc, cat("`~` needs an integer or bool, not ", describe(a)));
  // as NumPy does; a weak bool is Python's, and there ~True is the int -2
  if (t == DType::b1 && !a.weak) return scalar_operand(unary(UnOp::logical_not, a.expr, loc), false, loc);
  if (auto known = known_int(a)) return exact_operand(~*known, "~", loc);
  Expr x = a.weak ? cast(DType::i64, a.expr, loc) : a.expr;
  return scalar_operand(unary(UnOp::bit_not, x, loc), a.weak, loc);
}

Operand minimum(bool is_min, std::vector<Operand> args, Loc loc) {
  require_scalar(args[0]);
  ScalarType common = args[0].type();
  for (size_t i = 1; i < args.size(); ++i) {
    require_scalar(args[i]);
    common = common_type(common, args[i].type(), loc);
  }
  auto operand = [&](const Operand &o) {  // a uint64 remains one among weak ints
    return common.weak && common.dtype == DType::i64 && o.expr.dtype() == DType::u64 ? o.expr
                                                                                     : as_operand(o, common);
  };
  // folds from the left, so that each step has two operands
  Expr result = operand(args[0]);
  for (size_t i = 1; i < args.size(); ++i) {
    Expr next = operand(args[i]);
    result = result.dtype() != next.dtype() ? exact_minimum(is_min, result, next, loc)
                                            : binary(is_min ? BinOp::min : BinOp::max, result, next, loc);
  }
  return scalar_operand(result, common.weak, loc);
}

namespace {

/// Unrolls exponentiation by squaring for a constant n ≥ 0.
///   x ** 13  →  x * x^4 * x^8, where x^4 and x^8 are squares of squares
Operand integer_power(const Operand &base, int64_t n, Loc loc) {
  Expr x = base.expr;
  if (n == 0) return scalar_operand(cast(x.dtype(), const_int(1), loc), base.weak, loc);
  Expr result;
  for (Expr square = x; n > 0; n >>= 1) {
    if (n & 1) result = result ? binary(BinOp::mul, result, square, loc) : square;
    if (n > 1) square = binary(BinOp::mul, square, square, loc);
  }
  return scalar_operand(result, base.weak, loc);
}

/// Returns sqrt, corrected where power differs: (-0) ** 0.5 is 0 and (-inf) ** 0.5 is inf.
Expr root(const Expr &x, Loc loc) {
  DType t = x.dtype();
  Expr result = call(Fn::sqrt, {x}, loc);
  Expr minus_infinity = const_float(t, -__builtin_inf(), loc);
  result =
      select(binary(BinOp::eq, x, minus_infinity, loc), const_float(t, __builtin_inf(), loc), result, loc);
  return select(binary(BinOp::eq, x, const_float(t, 0, loc), loc), const_float(t, 0, loc), result, loc);
}

}  // namespace

Operand power(const Operand &base, const Operand &exponent, Loc loc) {
  ScalarType common = common_type(base.type(), exponent.type(), loc);
  // powers of bools are integers, in Python and in NumPy
  if (common.dtype == DType::b1) common.dtype = common.weak ? DType::i64 : DType::i8;
  DType t = common.dtype;
  auto value = as_const(exponent.expr);
  Operand x = scalar_operand(as_operand(base, common), common.weak, base.loc);
  auto result = [&](Expr e) { return scalar_operand(std::move(e), common.weak, loc); };
  if (!is_float(t) && value) {
    int64_t n = to_int(*value);
    if (n < 0 && !common.weak)
      type_error(Code::E204, loc, "an integer to a negative power is no integer",
                 cat("convert first: `float64(x) ** ", n, "`"));
    // a Python int to a negative power is a float: 2 ** -1 is 0.5
    if (n < 0) {
      Operand as_float = scalar_operand(cast(DType::f64, x.expr, loc), true, loc);
      return power(as_float, exponent, loc);
    }
    if (n <= 64) return integer_power(x, n, loc);
  }
  if (is_float(t) && value) {
    double n = to_double(convert(DType::f64, *value));
    // exponents for which one operation, or a square root, replaces the call
    if (n == 2) return result(binary(BinOp::mul, x.expr, x.expr, loc));
    if (n == 1) return x;
    if (n == 0) return result(const_float(t, 1, loc));
    if (n == -1) return result(binary(BinOp::true_div, const_float(t, 1, loc), x.expr, loc));
    if (n == 0.5) return result(root(x.expr, loc));
  }
  return result(call(Fn::power, {x.expr, as_operand(exponent, common)}, loc));
}

Expr truth_of(const Operand &o) {
  if (o.kind != Operand::Kind::scalar) require_scalar(o);
  return cast(DType::b1, o.expr, o.loc);
}

/// Returns whether an int is divided by an int through `/`. The quotient is a float, so the error advises
/// `//`.
static bool is_quotient_of_ints(const Expr &e) {
  const Binary *n = std::get_if<Binary>(&e->v);
  auto is_int_or_constant = [](const Expr &x) {
    const Cast *converted = std::get_if<Cast>(&x->v);
    return as_const(x) || (converted && is_int(converted->a.dtype()));
  };
  return n && n->op == BinOp::true_div && is_int_or_constant(n->a) && is_int_or_constant(n->b);
}

Expr index_of(const Operand &o, std::string_view what, std::string_view help) {
  require_scalar(o);
  // the usual cause of a float here is a division of integers
  if (is_quotient_of_ints(o.expr)) help = quotient_help;
  if (!is_int(o.expr.dtype()))
    type_error(Code::E213, o.loc, cat(what, " is ", type_text(o.type()), ", not an integer"),
               is_float(o.expr.dtype()) ? std::string(help) : "");
  // the cast below would wrap it to a negative index
  if (auto v = as_const(o.expr); v && !fits(*v, DType::i64))
    type_error(Code::E215, o.loc, cat(what, " is the constant ", v->bits, ", which exceeds int64"));
  return cast(DType::i64, o.expr, o.loc);
}

}  // namespace kw
