// Lowering of calls: casts, intrinsics, select, min and max.
#include "frontend/lower/calls.h"

#include <algorithm>

#include "frontend/lower/debug_checks.h"
#include "frontend/lower/evaluation.h"
#include "frontend/lower/expressions.h"
#include "frontend/lower/inlining.h"
#include "ir/accumulation.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

/// Warns if the callee is a captured name that hides a word of the language.
void CallLowering::warn_callee(const ast::ExprPtr &callee) {
  const auto *n = ast::as<ast::Name>(callee);
  const Captured *c = n ? find_captured(cx_.in.captures, n->id) : nullptr;
  if (c) warn_shadow(n->id, *c, callee->loc);
}

/// Warns about a captured object, except a global that holds the word itself under its own name.
void CallLowering::warn_shadow(const std::string &id, const Captured &c, Loc loc) {
  bool is_word = c.kind == Captured::Kind::word || c.kind == Captured::Kind::dtype;
  // NumPy 2 calls its bool_ "bool"
  bool means_itself = is_word && (c.text == id || cat(c.text, "_") == id || rounding_to_int(c.text));
  if (means_itself || id == "round" || !is_language_word(id)) return;  // a bare round is Python's own
  if (!cx_.shadow_warned.insert(id).second) return;
  cx_.sink->add({Code::W101,
                 loc,
                 cat("the global '", id, "' shadows the word '", id, "' of the kernel language"),
                 {},
                 {"rename or delete the global"}});
}

/// Lowers a call: a Python function is inlined; any other callee is a word of the language.
Operand CallLowering::call_expr(const ast::CallExpr &n, Loc loc) {
  warn_callee(n.callee);
  if (const Captured *function = cx_.rules.function_of(n.callee))
    return inlining().inline_call(*function, n, loc);
  std::string word = cx_.rules.callee_word(n.callee);
  return call_word(word, n, loc);
}

/// Lowers a call of a word. The rules have checked the word and the number of arguments. A word that is not a
/// function here is a dtype or a Python type.
Operand CallLowering::call_word(const std::string &word, const ast::CallExpr &n, Loc loc) {
  // the length is a constant for a tuple and an extent for a tensor: no element is read
  if (word == "len") {
    Operand o = expressions().scalar(n.args[0]);
    if (o.kind == Operand::Kind::tuple)
      return scalar_operand(const_int(static_cast<int64_t>(o.items.size()), loc), true, loc);
    if (o.kind != Operand::Kind::tensor || o.buf->rank() == 0)
      type_error(Code::E202, loc, cat("len of ", describe(o)));
    return scalar_operand(o.buf->extents[0], true, loc);
  }
  std::vector<Operand> args = evaluation().operands(n.args);
  if (word == "min" || word == "max") return smallest(word == "min", std::move(args), loc);
  if (word == "select") return select_call(std::move(args), loc);
  if (word == "likely") return args[0];
  // sub_relu(a, b) → max(a - b, 0)
  if (word == "sub_relu")
    return smallest(false,
                    {expressions().combine(ast::Operator::sub, args[0], args[1], loc),
                     scalar_operand(const_int(0, loc), true, loc)},
                    loc);
  if (auto rounding = rounding_to_int(word)) return rounded_to_int(*rounding, std::move(args[0]), loc);
  if (find_intrinsic(word)) return intrinsic_call(word, std::move(args), loc);
  return cast_call(word, std::move(args[0]), loc);
}

/// Lowers `min` and `max` of any number of arguments. The result is strong if an argument is. With debug=True
/// each Python int among the arguments must then fit the result's dtype.
Operand CallLowering::smallest(bool is_min, std::vector<Operand> args, Loc loc) {
  Operand o = minimum(is_min, args, loc);
  for (const Operand &a : args)
    if (!o.weak) debug_checks().check_operand(a, o.expr.dtype());
  return o;
}

/// Lowers a cast: `int`, `float` and `bool` give a weak result, a dtype gives a strong one.
Operand CallLowering::cast_call(const std::string &word, Operand arg, Loc loc) {
  bool weak = word == "int" || word == "float" || word == "bool";
  DType to = word == "int"     ? DType::i64
             : word == "float" ? DType::f64
             : word == "bool"  ? DType::b1
                               : *dtype_from_numpy(word);
  if (to == DType::b1) return scalar_operand(truth_of(arg), weak, loc);
  // `int` of a Python int keeps a constant from 2^63 on, which is stored as u64: a cast would wrap it
  if (weak && to == DType::i64 && arg.weak && arg.kind == Operand::Kind::scalar && is_int(arg.expr.dtype()))
    return scalar_operand(arg.expr, true, loc);
  if (arg.kind != Operand::Kind::scalar || arg.truth) adapt(arg, to);
  debug_checks().check_conversion(arg, to);
  return scalar_operand(cast(to, arg.expr, loc), weak, loc);
}

/// Lowers Python's round and math's floor, ceil and trunc, which give ints. Values beyond int64 saturate; NaN
/// gives 0.
Operand CallLowering::rounded_to_int(Fn fn, Operand arg, Loc loc) {
  if (arg.kind != Operand::Kind::scalar || arg.truth) adapt(arg, DType::f64);
  if (is_float(arg.expr.dtype())) arg.expr = call(fn, {arg.expr}, loc);
  if (!arg.weak && arg.expr.dtype() == DType::u64) {  // saturates, where a cast wraps
    debug_checks().check_conversion(arg, DType::i64, true);
    Expr most = constant({DType::u64, INT64_MAX}, loc);
    return scalar_operand(cast(DType::i64, binary(BinOp::min, arg.expr, most, loc), loc), true, loc);
  }
  return cast_call("int", std::move(arg), loc);
}

/// Lowers `select(c, a, b)`. As a call it evaluates both sides, so the elements of both are read even if only
/// one side is taken. An index out of range is an error on either side.
Operand CallLowering::select_call(std::vector<Operand> args, Loc loc) {
  Expr cond = truth_of(args[0]);
  adapt(args[1], args[1].kind == Operand::Kind::scalar ? args[1].expr.dtype() : DType::f64);
  adapt(args[2], args[2].kind == Operand::Kind::scalar ? args[2].expr.dtype() : DType::f64);
  // a weak side adopts the dtype of the strong one, like an operand of `+`
  ScalarType t = common_type(args[1].type(), args[2].type(), loc);
  if (!t.weak)
    for (size_t i : {1u, 2u})
      if (args[i].weak) {
        require_range(args[i].expr, t.dtype, args[i].loc);
        debug_checks().check_operand(args[i], t.dtype);
      }
  DType in = meeting_dtype(t, args[1], args[2]);
  for (size_t i : {1u, 2u})
    if (in == DType::i64) debug_checks().check_int64(args[i]);
  Expr yes = cast(in, args[1].expr, args[1].loc), no = cast(in, args[2].expr, args[2].loc);
  // reads keep the order of the arguments: the condition's reads precede those of the sides
  if (reads_elements(yes) || reads_elements(no))
    read_elements(cond, *cx_.builder);  // so the first fault is reported
  for (const Expr &side : {yes, no}) read_elements(side, *cx_.builder);
  return scalar_operand(select(cond, yes, no, loc), t.weak, loc);
}

/// Returns the dtype that the arguments of a function convert to, by the rule of the NumPy ufunc.
static DType argument_dtype(const IntrinsicRow &row, ScalarType common, Loc loc) {
  DType t = common.dtype;
  if (row.rule == TypeRule::as_float && !is_float(t))
    return common.weak ? DType::f64 : result_dtype(row.fn, t);
  if (row.fn == Fn::popcount && is_float(t))
    type_error(Code::E200, loc, cat("popcount needs an integer or bool, not ", type_text(common)));
  // the cases below are bool, for which NumPy's ufuncs have rules of their own
  if (t != DType::b1) return t;
  if (common.weak) return DType::i64;
  if (row.fn == Fn::sign)
    type_error(Code::E200, loc, "sign is not defined for bool", "convert it: `int32(x)`");
  return row.arity == 2 ? DType::i8 : t;
}

/// Lowers a call of a function of one or two arguments, which are converted to one dtype before the call.
Operand CallLowering::intrinsic_call(const std::string &word, std::vector<Operand> args, Loc loc) {
  const IntrinsicRow &row = *find_intrinsic(word);
  for (const Operand &a : args) adapt(a, a.kind == Operand::Kind::scalar ? a.expr.dtype() : DType::f64);
  ScalarType common = args[0].type();
  if (row.arity == 2) common = common_type(common, args[1].type(), loc);
  // the result for a known int is exact, even if it exceeds int64
  if (row.fn == Fn::abs)
    if (auto known = exact_abs(args[0], loc)) return *known;
  DType t = argument_dtype(row, common, loc);
  require_available(t, loc);
  std::vector<Expr> values;
  for (const Operand &a : args) {
    values.push_back(adapt(a, t));
    if (!common.weak) debug_checks().check_operand(a, t);
  }
  if (common.weak && row.fn == Fn::abs) debug_checks().check_opposite(word, args[0], loc);
  if (row.fn == Fn::power && !is_float(t)) debug_checks().check_exponent(args[1], args[1].loc);
  // an integer is already round, so the call is dropped
  bool rounds = row.fn == Fn::floor || row.fn == Fn::ceil || row.fn == Fn::trunc || row.fn == Fn::round;
  if (rounds && !is_float(t)) return scalar_operand(cast(t, values[0], loc), common.weak, loc);
  return scalar_operand(call(row.fn, std::move(values), loc), common.weak, loc);
}

}  // namespace kw
