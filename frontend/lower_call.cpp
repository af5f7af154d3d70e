// Lowering of calls: casts, intrinsics, select, min and max, and the arguments of declarations.
#include <algorithm>

#include "frontend/lowering.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/print.h"
#include "support/text.h"

namespace kw {

void Lowering::warn_callee(const ast::ExprPtr &callee) {
  const auto *n = ast::as<ast::Name>(callee);
  const Captured *c = n ? find_captured(in_.captures, n->id) : nullptr;
  if (c) warn_shadow(n->id, *c, callee->loc);
}

void Lowering::warn_shadow(const std::string &id, const Captured &c, Loc loc) {
  bool means_itself = (c.kind == Captured::Kind::word || c.kind == Captured::Kind::dtype) && c.text == id;
  if (means_itself || !is_language_word(id)) return;
  if (!shadow_warned_.insert(id).second) return;
  sink_->add({Code::W101,
              loc,
              cat("the global '", id, "' shadows the word '", id, "' of the kernel language"),
              {},
              {"rename or delete the global"}});
}

Operand Lowering::call_expr(const ast::CallExpr &n, Loc loc) {
  if (const Captured *function = rules_.function_of(n.callee)) return inline_call(*function, n, loc);
  std::string word = rules_.callee_word(n.callee);
  warn_callee(n.callee);
  return call_word(word, n, loc);
}

Operand Lowering::call_word(const std::string &word, const ast::CallExpr &n, Loc loc) {
  if (word == "len") {
    Operand o = scalar(n.args[0]);
    if (o.kind == Operand::Kind::tuple)
      return scalar_operand(const_int(static_cast<int64_t>(o.items.size()), loc), true, loc);
    if (o.kind != Operand::Kind::tensor || o.buf->rank() == 0)
      type_error(Code::E202, loc, cat("len of ", describe(o)));
    return scalar_operand(o.buf->extents[0], true, loc);
  }
  std::vector<Operand> args;
  for (const ast::ExprPtr &a : n.args) args.push_back(scalar(a));
  if (word == "min" || word == "max") return minimum(word == "min", std::move(args), loc);
  if (word == "select") return select_call(std::move(args), loc);
  if (word == "likely") return args[0];
  if (word == "sub_relu")
    return minimum(
        false,
        {arithmetic(ast::Operator::sub, args[0], args[1], loc), scalar_operand(const_int(0, loc), true, loc)},
        loc);
  if (find_intrinsic(word)) return intrinsic_call(word, std::move(args), loc);
  return cast_call(word, std::move(args[0]), loc);
}

Operand Lowering::cast_call(const std::string &word, Operand arg, Loc loc) {
  bool weak = word == "int" || word == "float" || word == "bool";
  DType to = word == "int"     ? DType::i64
             : word == "float" ? DType::f64
             : word == "bool"  ? DType::b1
                               : *dtype_from_numpy(word);
  if (to == DType::b1) return scalar_operand(truth_of(arg), weak, loc);
  if (arg.kind != Operand::Kind::scalar || arg.truth) adapt(arg, to);
  return scalar_operand(cast(to, arg.expr, loc), weak, loc);
}

Operand Lowering::select_call(std::vector<Operand> args, Loc loc) {
  Expr cond = truth_of(args[0]);
  adapt(args[1], args[1].kind == Operand::Kind::scalar ? args[1].expr.dtype() : DType::f64);
  adapt(args[2], args[2].kind == Operand::Kind::scalar ? args[2].expr.dtype() : DType::f64);
  ScalarType t = common_type(args[1].type(), args[2].type(), loc);
  return scalar_operand(select(cond, adapt(args[1], t.dtype), adapt(args[2], t.dtype), loc), t.weak, loc);
}

Operand Lowering::intrinsic_call(const std::string &word, std::vector<Operand> args, Loc loc) {
  const IntrinsicRow &row = *find_intrinsic(word);
  Operand &x = args[0];
  adapt(x, x.kind == Operand::Kind::scalar ? x.expr.dtype() : DType::f64);
  DType t = x.expr.dtype();
  if (x.weak && row.rule == TypeRule::as_float) t = DType::f64;
  if (x.weak && t == DType::b1) t = DType::i64;
  if (row.rule == TypeRule::as_float && !is_float(t)) t = result_dtype(row.fn, t);
  require_available(t, loc);
  Expr e = cast(t, x.expr, loc);
  if (row.fn == Fn::floor && !is_float(t)) return scalar_operand(e, x.weak, loc);
  if (row.fn == Fn::floor && x.weak) return scalar_operand(call(row.fn, {e}, loc), true, loc);
  return scalar_operand(call(row.fn, {e}, loc), x.weak, loc);
}

DType Lowering::dtype_argument(const ast::ExprPtr &e) {
  if (!e) return DType::f32;
  Operand o = scalar(e);
  std::optional<DType> t;
  if (o.kind == Operand::Kind::dtype) t = o.dtype;
  if (o.kind == Operand::Kind::text) t = dtype_from_numpy(o.text);
  if (!t)
    type_error(
        Code::E216, e->loc,
        o.kind == Operand::Kind::text ? cat("'", o.text, "' is no dtype") : cat(describe(o), " is no dtype"),
        "use `a.dtype`, a name like float32, or a string like \"float32\"");
  require_available(*t, e->loc);
  return *t;
}

std::vector<Expr> Lowering::shape_argument(const ast::ExprPtr &e) {
  Operand o = scalar(e);
  if (o.kind == Operand::Kind::scalar) {  // one number stands for a tuple of one
    Operand tuple;
    tuple.kind = Operand::Kind::tuple;
    tuple.items.push_back(o);
    o = tuple;
  }
  if (o.kind != Operand::Kind::tuple)
    type_error(Code::E206, e->loc, cat("a shape is a tuple of integers, not ", describe(o)));
  std::vector<Expr> out;
  for (const Operand &item : o.items) {
    Expr extent = index_of(item, "an extent");
    if (auto v = as_int(extent); v && *v < 0)
      type_error(Code::E206, item.loc, cat("an extent is negative: ", *v));
    out.push_back(extent);
  }
  return out;
}

}  // namespace kw
