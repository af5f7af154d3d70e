// Lowering of calls: casts, intrinsics, select, min and max, and the arguments of declarations.
#include <algorithm>

#include "frontend/lowering.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/print.h"
#include "support/text.h"

namespace kw {

namespace {
constexpr std::string_view loop_words[] = {"range",     "grid",   "serial", "parallel",
                                           "vectorize", "unroll", "reduce", "const_range"};
constexpr std::string_view other_words[] = {"output_tensor", "allocate", "select", "min",    "max",     "len",
                                            "int",           "float",    "bool",   "likely", "sub_relu"};

bool contains(std::span<const std::string_view> list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
}  // namespace

bool is_loop_word(std::string_view name) { return contains(loop_words, name); }

bool is_language_word(std::string_view name) {
  if (is_loop_word(name) || contains(other_words, name) || dtype_from_numpy(name)) return true;
  const IntrinsicRow *row = find_intrinsic(name);
  return row && row->in_language;
}

Hint hint_of_word(std::string_view word) {
  for (Hint h : {Hint::serial, Hint::parallel, Hint::vectorize, Hint::unroll, Hint::reduce})
    if (hint_text(h) == word) return h;
  return Hint::none;
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

std::string Lowering::callee_word(const ast::ExprPtr &callee) {
  if (const auto *attr = ast::as<ast::Attribute>(callee)) {
    const auto *module_name = ast::as<ast::Name>(attr->value);
    const Captured *c = module_name ? find_captured(in_.captures, module_name->id) : nullptr;
    if (!c || c->kind != Captured::Kind::module)
      type_error(Code::E104, callee->loc, cat("methods cannot be called in a kernel ('", attr->name, "')"));
    for (const auto &[key, value] : c->attributes)
      if (key == attr->name && value.kind == Captured::Kind::word)
        return value.text;
      else if (key == attr->name && value.kind == Captured::Kind::dtype)
        return std::string(numpy_name(value.dtype));
    type_error(
        Code::E103, callee->loc,
        cat("module '", module_name->id, "' has no function '", attr->name, "' that a kernel can use"));
  }
  const auto *n = ast::as<ast::Name>(callee);
  if (!n) type_error(Code::E104, callee->loc, "only functions of the language can be called in a kernel");
  if (env_.count(n->id) || is_local(n->id))
    type_error(Code::E104, callee->loc, cat("'", n->id, "' is a variable, not a function"));
  const Captured *c = find_captured(in_.captures, n->id);
  if (!c) {
    if (is_language_word(n->id) || n->id == "print" || n->id == "enumerate" || n->id == "zip" ||
        n->id == "reversed")
      return n->id;
    return name(n->id, callee->loc), "";
  }
  warn_shadow(n->id, *c, callee->loc);
  if (c->kind == Captured::Kind::word) return c->text;
  if (c->kind == Captured::Kind::dtype) return std::string(numpy_name(c->dtype));
  captured(*c, n->id, callee->loc);
  type_error(Code::E104, callee->loc, cat("'", n->id, "' is a captured constant, not a function"));
}

void Lowering::expect_arguments(const ast::CallExpr &n, std::string_view word, size_t low, size_t high,
                                Loc loc) {
  if (!n.keywords.empty())
    type_error(Code::E104, n.keywords[0].loc, cat(word, " takes no keyword arguments in a kernel"),
               "pass it by position");
  if (n.args.size() >= low && n.args.size() <= high) return;
  std::string wanted = low == high ? cat(low) : cat(low, " to ", high);
  type_error(
      Code::E104, loc,
      cat(word, " takes ", wanted, high == 1 ? " argument, " : " arguments, ", n.args.size(), " given"));
}

Operand Lowering::call_expr(const ast::CallExpr &n, Loc loc) {
  std::string word = callee_word(n.callee);
  if (word == "print")
    type_error(Code::E101, loc, "print is not part of the kernel language",
               "debug with `kernel.py(...)`, which runs under CPython");
  if (word == "output_tensor" || word == "allocate")
    type_error(Code::E110, loc, cat(word, " stands inside an expression"),
               cat("write `c = ", word, "(shape, dtype)` as a statement of its own"));
  if (is_loop_word(word))
    type_error(Code::E111, loc, cat(word, " stands outside of a for loop"),
               cat("write `for i in ", word, "(...):`"));
  if (word == "enumerate" || word == "zip" || word == "reversed")
    type_error(Code::E101, loc, cat(word, " is not part of the kernel language"), "loop over a range");
  return call_word(word, n, loc);
}

Operand Lowering::call_word(const std::string &word, const ast::CallExpr &n, Loc loc) {
  if (word == "len") {
    expect_arguments(n, word, 1, 1, loc);
    Operand o = scalar(n.args[0]);
    if (o.kind == Operand::Kind::tuple)
      return scalar_operand(const_int(static_cast<int64_t>(o.items.size()), loc), true, loc);
    if (o.kind != Operand::Kind::tensor || o.buf->rank() == 0)
      type_error(Code::E202, loc, cat("len of ", describe(o)));
    return scalar_operand(o.buf->extents[0], true, loc);
  }
  if (word == "round" && n.args.size() == 2)
    type_error(Code::E101, loc, "round with a number of digits is not part of the kernel language",
               "scale: `round(x * 100.0) / 100.0`");
  bool many = word == "min" || word == "max";
  const IntrinsicRow *row = find_intrinsic(word);
  size_t arity = word == "select" ? 3 : word == "sub_relu" ? 2 : row && !many ? row->arity : 1;
  expect_arguments(n, word, many ? 2 : arity, many ? max_args : arity, loc);
  std::vector<Operand> args;
  for (const ast::ExprPtr &a : n.args) args.push_back(scalar(a));
  if (many) return minimum(word == "min", std::move(args), loc);
  if (word == "select") return select_call(std::move(args), loc);
  if (word == "likely") return args[0];
  if (word == "sub_relu")
    return minimum(
        false,
        {arithmetic(ast::Operator::sub, args[0], args[1], loc), scalar_operand(const_int(0, loc), true, loc)},
        loc);
  if (row) return intrinsic_call(word, std::move(args), loc);
  return cast_call(word, std::move(args[0]), loc);
}

Operand Lowering::cast_call(const std::string &word, Operand arg, Loc loc) {
  bool weak = word == "int" || word == "float" || word == "bool";
  DType to = word == "int"     ? DType::i64
             : word == "float" ? DType::f64
             : word == "bool"  ? DType::b1
                               : *dtype_from_numpy(word);
  require_available(to, loc);
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
  if (!row.available || !row.in_language)
    type_error(Code::E102, loc, cat("the function ", word, " is not available yet"),
               "sqrt, exp, abs, floor, min, max and select are");
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
