// Lowering of expressions: names, literals, attributes, subscripts, operators.
#include "frontend/lower/expressions.h"

#include <algorithm>
#include <charconv>

#include "frontend/lower/calls.h"
#include "frontend/lower/debug_checks.h"
#include "frontend/lower/evaluation.h"
#include "frontend/lower/expansions.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

/// Lowers an expression of any kind. The rules check the node first, so a kind that reaches the last visitor
/// is an internal error.
Operand ExpressionLowering::expression(const ast::ExprPtr &e) {
  cx_.rules.expression(e);
  return std::visit(Overload{[&](const ast::Name &n) { return name(n.id, e->loc); },
                             [&](const ast::Integer &n) { return integer_literal(n.digits, e->loc); },
                             [&](const ast::Real &n) {
                               return scalar_operand(const_float(DType::f64, n.value, e->loc), true, e->loc);
                             },
                             [&](const ast::Text &n) {
                               Operand o;
                               o.kind = Operand::Kind::text;
                               o.loc = e->loc;
                               o.text = n.value;
                               return o;
                             },
                             [&](const ast::Boolean &n) {
                               return scalar_operand(const_bool(n.value, e->loc), true, e->loc);
                             },
                             [&](const ast::Attribute &n) { return attribute(n, e->loc); },
                             [&](const ast::Subscript &n) { return subscript(n, e->loc); },
                             [&](const ast::CallExpr &n) { return calls().call_expr(n, e->loc); },
                             [&](const ast::UnaryExpr &n) { return unary_expr(n, e->loc); },
                             [&](const ast::BinaryExpr &n) { return binary_expr(n, e->loc); },
                             [&](const ast::CompareExpr &n) { return comparison(n, e->loc); },
                             [&](const ast::BoolExpr &n) { return boolean(n, e->loc); },
                             [&](const ast::Ternary &n) { return ternary(n, e->loc); },
                             [&](const ast::Tuple &n) {
                               Operand o;
                               o.kind = Operand::Kind::tuple;
                               o.loc = e->loc;
                               o.items = evaluation().operands(n.items, false);
                               return o;
                             },
                             [](const auto &) -> Operand {
                               internal_error(__FILE__, __LINE__, "an expression that the rules refuse");
                             }},
                    e->v);
}

namespace {
/// Abandons an expression that uses a faulty name. The fault was reported where the name got its value.
[[noreturn]] void give_up() { throw CompileError(std::vector<Diagnostic>{}); }
}  // namespace

/// Lowers an expression and gives up on a poisoned result. The operand need not be a scalar: callers check
/// its kind.
Operand ExpressionLowering::scalar(const ast::ExprPtr &e) {
  Operand o = expression(e);
  if (o.kind == Operand::Kind::poisoned) give_up();
  return o;
}

/// Reads a literal of base 2, 8, 10 or 16. Values from 2^63 on become u64; those from 2^64 on are E215.
///   0x1F → 31: i64      0b101 → 5: i64      18446744073709551615 → 2^64 - 1: u64
Operand ExpressionLowering::integer_literal(const std::string &digits, Loc loc) {
  int base = 10;
  std::string_view text = digits;
  if (text.size() > 1 && text[0] == '0') {
    char kind = static_cast<char>(text[1] | 0x20);
    base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
    if (base != 10) text.remove_prefix(2);
  }
  uint64_t value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size())
    type_error(Code::E215, loc, cat("the constant ", digits, " does not fit into 64 bits"),
               std::string(wide_help));
  return scalar_operand(constant({value >> 63 ? DType::u64 : DType::i64, value}, loc), true, loc);
}

/// Returns whether the function assigns the name or loops over it. As in Python, such a name is local
/// everywhere: a captured value of the same name is never read instead.
bool ExpressionLowering::is_local(const std::string &id) const {
  auto found = cx_.names.locals.find(id);
  return found != cx_.names.locals.end() && (found->second.assignments > 0 || found->second.loop_variable);
}

/// Returns the note about the origin of two clashing types, if there is one.
static std::vector<std::string> notes_of(const Merge &clash) {
  if (clash.note.empty()) return {};
  return {clash.note};
}

/// Returns the operand with another location.
static Operand placed(Operand o, Loc loc) {
  o.loc = loc;
  if (o.kind == Operand::Kind::scalar) o.expr = make_expr(o.expr.dtype(), loc, o.expr->v);
  return o;
}

/// Returns what a binding stands for at `loc`: a known cell gives its known value, any other cell a load.
/// Names that some path left unassigned (E302), or whose types clash, are errors only here. A program that
/// never reads such a name is accepted.
Operand ExpressionLowering::read(const Binding &b, const std::string &id, Loc loc) {
  switch (b.kind) {
    case Binding::Kind::cell:
      return scalar_operand(b.known ? make_expr(b.known->dtype(), loc, (*b.known)->v) : load(b.cell, {}, loc),
                            b.type.weak, loc);
    case Binding::Kind::tuple: {
      Operand o;
      o.kind = Operand::Kind::tuple;
      o.loc = loc;
      for (size_t k = 0; k < b.items.size(); ++k) o.items.push_back(read(b.items[k], item_name(id, k), loc));
      return o;
    }
    case Binding::Kind::partial:
      type_error(Code::E302, loc, cat("'", id, "' may be unassigned here: only some paths assign it"),
                 cat("assign '", id, "' before the branch or loop"));
    case Binding::Kind::conflict:
      throw CompileError(Diagnostic{b.clash.code, loc, b.clash.message, notes_of(b.clash), {b.clash.help}});
    case Binding::Kind::poisoned: give_up();
    case Binding::Kind::value:
    case Binding::Kind::iter:
    case Binding::Kind::tensor: break;
  }
  Operand o = placed(b.value, loc);
  // the text distinguishes an unusable argument from the result of a helper that returns None
  if (o.kind == Operand::Kind::none && !o.text.empty())
    type_error(Code::E117, loc, cat("the argument '", id, "' is neither a tensor nor a number"),
               "pass what the kernel needs as arrays or numbers");
  return o;
}

/// Looks a name up in the bindings of this function, then in the captured values, then among the dtypes.
Operand ExpressionLowering::name(const std::string &id, Loc loc) {
  if (auto found = cx_.env.find(id); found != cx_.env.end()) return read(found->second, id, loc);
  if (is_local(id))
    type_error(Code::E302, loc, cat("'", id, "' is read before it is assigned"),
               cat("assign '", id, "' first"));
  if (const Captured *c = find_captured(cx_.in.captures, id)) {
    calls().warn_shadow(id, *c, loc);
    return captured(*c, id, loc);
  }
  if (auto dtype = dtype_from_numpy(id)) {
    Operand o;
    o.kind = Operand::Kind::dtype;
    o.loc = loc;
    o.dtype = *dtype;
    return o;
  }
  internal_error(__FILE__, __LINE__, "a name that the rules refuse");
}

/// Returns the operand of a captured value. Python numbers are weak; NumPy scalars keep their dtype and are
/// strong. An array is an argument of the kernel, also where a helper captures it.
Operand ExpressionLowering::captured(const Captured &c, const std::string &id, Loc loc) {
  using Kind = Captured::Kind;
  Operand o;
  o.loc = loc;
  switch (c.kind) {
    case Kind::integer:
      if (!c.integer)
        type_error(Code::E215, loc, cat("the captured constant '", id, "' does not fit into 64 bits"),
                   std::string(wide_help));
      return scalar_operand(
          constant({c.exceeds_int64 ? DType::u64 : DType::i64, static_cast<uint64_t>(*c.integer)}, loc), true,
          loc);
    case Kind::real: return scalar_operand(const_float(DType::f64, c.real, loc), true, loc);
    case Kind::boolean: return scalar_operand(const_bool(c.integer.value_or(0) != 0, loc), true, loc);
    case Kind::scalar:
      require_available(c.dtype, loc);
      return scalar_operand(constant({c.dtype, static_cast<uint64_t>(c.integer.value_or(0))}, loc), false,
                            loc);
    case Kind::array:
      o.kind = Operand::Kind::tensor;
      o.captured = c.text;
      o.buf = cx_.root->arrays.at(static_cast<size_t>(c.integer.value_or(0)));
      return o;
    case Kind::text:
      o.kind = Operand::Kind::text;
      o.text = c.text;
      return o;
    case Kind::dtype:
      o.kind = Operand::Kind::dtype;
      o.dtype = c.dtype;
      return o;
    case Kind::tuple:
      o.kind = Operand::Kind::tuple;
      for (const Captured &item : c.items) o.items.push_back(captured(item, id, loc));
      return o;
    case Kind::word:
      if (auto dtype = dtype_from_numpy(c.text)) {
        o.kind = Operand::Kind::dtype;
        o.dtype = *dtype;
        return o;
      }
      break;
    case Kind::function:
    case Kind::module:
    case Kind::other: break;
  }
  internal_error(__FILE__, __LINE__, "a captured value that the rules refuse");
}

/// Lowers `module.name` to the captured attribute, and `shape`, `dtype` and `ndim` of a tensor. Extents in a
/// shape are Python ints, thus weak.
Operand ExpressionLowering::attribute(const ast::Attribute &n, Loc loc) {
  if (const Captured *module = cx_.rules.module_of(n))
    for (const auto &[key, value] : module->attributes)
      if (key == n.name) return captured(value, cat(ast::as<ast::Name>(n.value)->id, ".", n.name), loc);
  Operand base = scalar(n.value);
  if (base.kind != Operand::Kind::tensor)
    type_error(Code::E202, loc, cat(describe(base), " has no attribute '", n.name, "' in a kernel"));
  Operand o;
  o.loc = loc;
  if (n.name == "shape") {
    o.kind = Operand::Kind::tuple;
    for (const Expr &e : base.buf->extents) o.items.push_back(scalar_operand(e, true, loc));
    return o;
  }
  if (n.name == "dtype") {
    o.kind = Operand::Kind::dtype;
    o.dtype = base.buf->dtype;
    return o;
  }
  if (n.name == "ndim")
    return scalar_operand(const_int(static_cast<int64_t>(base.buf->rank()), loc), true, loc);
  type_error(Code::E202, loc, cat("a tensor object has no attribute called '", n.name, "' in a kernel"),
             "shape, dtype and ndim are");
}

/// Returns an int that must be known at compile time. `help` is for values that vary; a constant that is not
/// an int gets the general help.
int64_t ExpressionLowering::constant_int(const ast::ExprPtr &e, std::string_view what, Code code,
                                         std::string_view help) {
  Operand o = scalar(e);
  bool is_number = o.kind == Operand::Kind::scalar;
  auto v = is_number ? as_int(o.expr) : std::nullopt;
  bool varies = o.kind == Operand::Kind::tensor || (is_number && !as_const(o.expr));
  if (!v) refuse_variable(what, code, e->loc, varies ? help : constant_help);
  return *v;
}

/// Returns the declaration that makes a buffer of a local tuple of numbers; nothing for other expressions.
std::string ExpressionLowering::buffer_help(const ast::ExprPtr &e, const Operand &tuple) const {
  const auto *n = ast::as<ast::Name>(e);
  auto found = n ? cx_.names.locals.find(n->id) : cx_.names.locals.end();
  if (found == cx_.names.locals.end() || found->second.assignments == 0 || tuple.items.empty()) return {};
  for (const Operand &item : tuple.items)
    if (item.kind != Operand::Kind::scalar) return {};
  DType t = tuple.items[0].expr.dtype();
  for (const Operand &item : tuple.items)
    if (item.expr.dtype() != t) t = DType::f64;
  return cat("declare a buffer: `", n->id, " = allocate((", tuple.items.size(), ",), ", numpy_name(t), ")`");
}

/// Returns the advice for a tuple whose index depends on a variable.
std::string ExpressionLowering::item_help(const ast::ExprPtr &e, const Operand &tuple) const {
  const auto *n = ast::as<ast::Name>(e);
  std::string buffer = buffer_help(e, tuple), loop = "loop with const_range";
  if (!buffer.empty()) return cat(buffer, ", or ", loop);
  if (n && !cx_.env.count(n->id)) return cat("pass '", n->id, "' as an array argument, or ", loop);
  return cat(constant_help, ", or ", loop);
}

/// Returns whether a float literal or a function of floats is among the operands.
static bool names_float(const ast::ExprPtr &e) {
  if (const auto *n = ast::as<ast::UnaryExpr>(e)) return names_float(n->a);
  if (const auto *n = ast::as<ast::BinaryExpr>(e)) return names_float(n->a) || names_float(n->b);
  const auto *call = ast::as<ast::CallExpr>(e);
  const auto *callee = call ? ast::as<ast::Name>(call->callee) : nullptr;
  return ast::as<ast::Real>(e) || (callee && (find_intrinsic(callee->id) || callee->id == "float"));
}

/// Returns whether a value comes from integers through `/`.
bool ExpressionLowering::divides(const ast::Expr &e, int chain) const {
  if (const auto *n = std::get_if<ast::UnaryExpr>(&e.v)) return divides(*n->a, chain);
  if (const auto *n = std::get_if<ast::Ternary>(&e.v))
    return divides(*n->yes, chain) || divides(*n->no, chain);
  if (const auto *n = std::get_if<ast::BinaryExpr>(&e.v)) {
    if (names_float(n->a) || names_float(n->b)) return false;
    return n->op == ast::Operator::div || divides(*n->a, chain) || divides(*n->b, chain);
  }
  const auto *n = std::get_if<ast::Name>(&e.v);
  auto found = n && chain < 3 ? cx_.names.locals.find(n->id) : cx_.names.locals.end();
  return found != cx_.names.locals.end() &&
         std::any_of(found->second.values.begin(), found->second.values.end(),
                     [&](const ast::Expr *value) { return value && divides(*value, chain + 1); });
}

/// Suggests `//` only for weak floats: `a[i] / 2` of a float array is not a division of ints.
std::string_view ExpressionLowering::float_help(const Operand &o, const ast::Expr &e,
                                                std::string_view help) const {
  return o.weak && is_float(o.expr.dtype()) && divides(e) ? quotient_help : help;
}

Expr ExpressionLowering::index_from(const ast::ExprPtr &e, std::string_view what) {
  Operand o = scalar(e);
  return index_of(o, what, float_help(o, *e, integer_help));
}

/// Lowers `t[k]` and `t[a:b:c]` of a tuple, whose index and bounds are compile-time constants. Bounds of a
/// slice are clamped as in Python; a single index out of range is E206.
Operand ExpressionLowering::tuple_item(const Operand &tuple, const ast::Subscript &n, Loc loc) {
  auto size = static_cast<int64_t>(tuple.items.size());
  if (n.index.size() != 1 || n.is_tuple) type_error(Code::E206, loc, "a tuple takes one index");
  if (const auto *slice = ast::as<ast::Slice>(n.index[0])) {
    int64_t step = slice->step ? constant_int(slice->step, "the index of a tuple", Code::E206) : 1;
    if (step == 0) type_error(Code::E206, loc, "the step of a slice is 0");
    auto bound = [&](const ast::ExprPtr &e, int64_t missing) {
      if (!e) return missing;
      int64_t v = constant_int(e, "the index of a tuple", Code::E206);
      if (v < 0) v += size;
      // like Python's slice.indices: a negative step may end at -1, before the first item
      return std::clamp<int64_t>(v, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
    };
    int64_t lower = bound(slice->lower, step > 0 ? 0 : size - 1),
            upper = bound(slice->upper, step > 0 ? size : -1);
    Operand o;
    o.kind = Operand::Kind::tuple;
    o.loc = loc;
    for (int64_t k = lower; step > 0 ? k < upper : k > upper; k += step)
      o.items.push_back(tuple.items[static_cast<size_t>(k)]);
    return o;
  }
  int64_t k = constant_int(n.index[0], "the index of a tuple", Code::E206, item_help(n.value, tuple));
  if (k < -size || k >= size) {
    const auto *shape = ast::as<ast::Attribute>(n.value);
    const auto *tensor = shape ? ast::as<ast::Name>(shape->value) : nullptr;
    std::string rank = size == 0   ? cat("no dimensions: its element is `", tensor ? tensor->id : "", "[()]`")
                       : size == 1 ? "one dimension"
                                   : cat(size, " dimensions");
    type_error(Code::E206, n.index[0]->loc, cat("index ", k, " is outside of a tuple of ", size),
               tensor ? cat("'", tensor->id, "' has ", rank) : "");
  }
  return placed(tuple.items[static_cast<size_t>(k < 0 ? k + size : k)], loc);
}

/// Returns one i64 index per dimension, from `a[i, j]`, `a[(i, j)]` or `a[p]` with a tuple `p`. A negative
/// constant counts from the end, as in Python. A negative value computed from a const_range variable does
/// not: like a variable of range it is out of bounds.
std::vector<Expr> ExpressionLowering::indices(const Operand &tensor, const ast::Subscript &n, Loc loc) {
  const BufNode &buf = *tensor.buf;
  const auto *listed = n.index.size() == 1 && !n.is_tuple ? ast::as<ast::Tuple>(n.index[0]) : nullptr;
  const std::vector<ast::ExprPtr> &parts = listed ? listed->items : n.index;
  std::vector<Operand> items;
  std::vector<bool> from_end;  // a negative constant counts from the end
  for (const ast::ExprPtr &part : parts)
    if (ast::as<ast::Slice>(part)) refuse_slice(buf.sym->name, part->loc);
  // if the number of indices is wrong, this is the only error: no index is evaluated
  bool fits = parts.size() == buf.rank() || (parts.size() == 1 && !listed && !n.is_tuple);
  if (fits) items = evaluation().operands(parts);
  items.resize(parts.size());
  for (const ast::ExprPtr &part : parts) from_end.push_back(!expansions().mentions_expanded(part));
  if (fits && parts.size() == 1 && items[0].kind == Operand::Kind::tuple && !listed && !n.is_tuple) {
    std::vector<Operand> point = std::move(items[0].items);
    for (Operand &o : point) o = placed(std::move(o), parts[0]->loc);
    from_end.assign(point.size(), from_end[0]);
    items = std::move(point);
  }
  if (items.size() != buf.rank())
    type_error(Code::E201, loc,
               cat("'", buf.sym->name, "' has ", counted(buf.rank(), "dimension"), " but ",
                   items.size() == 1 ? "1 index is given" : cat(items.size(), " indices are given")),
               cat("write `", element_text(buf), "`"));
  std::vector<Expr> out;
  for (size_t d = 0; d < items.size(); ++d) {
    const ast::ExprPtr &part = parts[std::min(d, parts.size() - 1)];
    Expr e = index_of(items[d], "an index", float_help(items[d], *part, integer_help));
    auto v = as_int(e);
    out.push_back(v && *v < 0 && from_end[d] ? binary(BinOp::add, buf.extents[d], e, items[d].loc) : e);
  }
  return out;
}

/// Lowers an item of a tuple, or an element of a tensor to a strong load. `a[i][j]` is refused as a whole,
/// with the form to write instead.
Operand ExpressionLowering::subscript(const ast::Subscript &n, Loc loc) {
  if (const auto *inner = ast::as<ast::Subscript>(n.value)) {
    Operand base = expression(inner->value);
    if (base.kind == Operand::Kind::tensor)
      type_error(Code::E201, loc, cat("'", base.buf->sym->name, "' is indexed twice"),
                 cat("write `", element_text(*base.buf), "`"));
  }
  Operand base = scalar(n.value);
  if (base.kind == Operand::Kind::tuple) return tuple_item(base, n, loc);
  if (base.kind != Operand::Kind::tensor)
    type_error(Code::E202, n.value->loc, cat(describe(base), " cannot be indexed"));
  return scalar_operand(load(base.buf, indices(base, n, loc), loc), false, loc);
}

/// Lowers `-x`, `~x`, `not x` and `+x`. `+` turns a weak bool into an int, as Python does.
Operand ExpressionLowering::unary_expr(const ast::UnaryExpr &n, Loc loc) {
  Operand a = scalar(n.a);
  switch (n.op) {
    case ast::UnaryOp::minus: {
      Operand o = unary_minus(a, loc);
      debug_checks().check_opposite("-", a, loc);
      return o;
    }
    case ast::UnaryOp::invert: return invert(a, loc);
    case ast::UnaryOp::logical_not:
      return scalar_operand(unary(UnOp::logical_not, truth_of(a), loc), true, loc);
    case ast::UnaryOp::plus: break;
  }
  Expr x = adapt(a, a.kind == Operand::Kind::scalar ? a.expr.dtype() : DType::f64);
  if (x.dtype() == DType::b1 && !a.weak)
    type_error(Code::E205, loc, "`+` is not defined for bool", "remove it");
  return scalar_operand(x.dtype() == DType::b1 ? cast(DType::i64, x, loc) : x, a.weak, loc);
}

/// Lowers arithmetic, with the checks of debug=True.
Operand ExpressionLowering::combine(ast::Operator op, const Operand &a, const Operand &b, Loc loc) {
  Operand o = arithmetic(op, a, b, loc);
  debug_checks().check_arithmetic(op, a, b, o, loc);
  return o;
}

/// Lowers a binary operator, left operand first. Tuples have `+`, and `*` with a constant int.
Operand ExpressionLowering::binary_expr(const ast::BinaryExpr &n, Loc loc) {
  Operand a = scalar(n.a);
  Place place = here();
  Operand b = scalar(n.b);
  evaluation().evaluate_before(place, a);
  bool tuples = a.kind == Operand::Kind::tuple || b.kind == Operand::Kind::tuple;
  if (!tuples) {
    Operand result = combine(n.op, a, b, loc);
    if (as_const(result.expr)) read_elements(a.expr, *cx_.builder);  // x ** 0
    return result;
  }
  Operand o;
  o.kind = Operand::Kind::tuple;
  o.loc = loc;
  if (n.op == ast::Operator::add && a.kind == b.kind) {
    o.items = a.items;
    o.items.insert(o.items.end(), b.items.begin(), b.items.end());
    return o;
  }
  const Operand &tuple = a.kind == Operand::Kind::tuple ? a : b,
                &count = a.kind == Operand::Kind::tuple ? b : a;
  auto times = count.kind == Operand::Kind::scalar ? as_int(count.expr) : std::nullopt;
  if (n.op != ast::Operator::mul || !times || *times > static_cast<int64_t>(max_args))
    type_error(Code::E206, loc,
               cat("`", operator_text(n.op), "` is not defined for ", describe(a), " and ", describe(b)));
  for (int64_t k = 0; k < *times; ++k) o.items.insert(o.items.end(), tuple.items.begin(), tuple.items.end());
  return o;
}

/// Emits the checks of an operand that is evaluated on some paths only. The checks run under the condition,
/// so that the operands can stay one expression.
void ExpressionLowering::check_under(const Expr &cond, bool holds, const BlockBuilder &checks, Loc loc) {
  if (checks.empty()) return;
  Stmt all = checks.finish({});
  cx_.builder->add_check(holds ? if_else(cond, all, {}, loc) : if_else(cond, seq({}), all, loc));
}

/// Decides comparisons of dtypes and of strings at compile time. A string compared with a dtype means the
/// dtype that it names. Returns nothing for other operands.
std::optional<bool> ExpressionLowering::static_compare(ast::CompareOp op, const Operand &a,
                                                       const Operand &b) {
  using Kind = Operand::Kind;
  if (op != ast::CompareOp::eq && op != ast::CompareOp::ne) return std::nullopt;
  bool negate = op == ast::CompareOp::ne;
  auto dtype_of = [](const Operand &o) -> std::optional<DType> {
    if (o.kind == Kind::dtype) return o.dtype;
    return o.kind == Kind::text ? dtype_from_numpy(o.text) : std::nullopt;
  };
  if (a.kind == Kind::text && b.kind == Kind::text) return (a.text == b.text) != negate;
  if (a.kind == Kind::dtype || b.kind == Kind::dtype) {
    auto x = dtype_of(a), y = dtype_of(b);
    bool comparable =
        (a.kind == Kind::dtype || a.kind == Kind::text) && (b.kind == Kind::dtype || b.kind == Kind::text);
    if (comparable) return (x && y && *x == *y) != negate;
  }
  return std::nullopt;
}

/// Lowers a chain, each operand once: `a < b < c` → `a < b and b < c`. From the third operand on evaluation
/// is conditional, so a call that needs statements is refused there.
Operand ExpressionLowering::comparison(const ast::CompareExpr &n, Loc loc) {
  Expr all;
  bool weak = true;
  Operand left = scalar(n.items[0]);
  for (size_t k = 0; k < n.ops.size(); ++k) {
    BlockBuilder more;
    Place place = here();
    Operand right = apart(n.items[k + 1], more);
    if (!more.only_checks() && all)
      type_error(Code::E102, n.items[k + 1]->loc,
                 "a call behind the second comparison of a chain is not available yet",
                 "assign its result to a name first");
    if (all)
      check_under(all, true, more, loc);
    else
      cx_.builder->append(std::move(more));
    evaluation().evaluate_before(place, left);
    Expr one;
    if (auto known = static_compare(n.ops[k], left, right)) {
      one = const_bool(*known, loc);
    } else {
      Operand result = compare(n.ops[k], left, right, join(left.loc, right.loc));
      weak = weak && result.weak;
      one = result.expr;
    }
    left = std::move(right);
    all = all ? logic(true, all, one, loc) : one;
  }
  return scalar_operand(all, weak, loc);
}

/// Lowers `and` and `or` from left to right, up to the first constant that decides the result. An operand
/// that needs statements is evaluated under a branch.
Operand ExpressionLowering::boolean(const ast::BoolExpr &n, Loc loc) {
  Expr all;
  bool weak = true, numbers = false;
  for (const ast::ExprPtr &item : n.items) {
    if (auto decided = all ? as_int(all) : std::nullopt; decided && (*decided != 0) != n.is_and) break;
    BlockBuilder more;
    Operand o = all ? apart(item, more) : scalar(item);
    Expr e = truth_of(o);
    numbers |= o.truth || o.expr.dtype() != DType::b1;
    weak = weak && o.weak;
    if (!more.only_checks()) {
      all = decide_lazily(n.is_and, all, std::move(more), e, loc);
      continue;
    }
    if (all) check_under(all, n.is_and, more, loc);
    all = all ? logic(n.is_and, all, e, loc) : e;
  }
  Operand o = scalar_operand(all, weak, loc);
  o.truth = numbers;
  o.by_and = n.is_and;
  return o;
}

/// Lowers a conditional expression: only the taken side if the condition is known, else a select. If a side
/// needs statements, each side stores to a cell instead:
///   y if c else f(x)    →    if c: chosen = y  else: (statements of f; chosen = its result)
Operand ExpressionLowering::ternary(const ast::Ternary &n, Loc loc) {
  Expr cond = truth_of(scalar(n.cond));
  if (auto known = as_int(cond)) return expression(*known ? n.yes : n.no);
  BlockBuilder on_yes, on_no;
  Operand yes = apart(n.yes, on_yes), no = apart(n.no, on_no);
  adapt(yes, yes.kind == Operand::Kind::scalar ? yes.expr.dtype() : DType::f64);
  adapt(no, no.kind == Operand::Kind::scalar ? no.expr.dtype() : DType::f64);
  Merge merge = merge_types("the conditional expression", yes.type(), no.type());
  if (!merge.type) type_error(merge.code, loc, merge.message, merge.help);
  DType t = meeting_dtype(*merge.type, yes, no);
  for (const Operand *o : {&yes, &no}) {
    Building inside(cx_.builder, o == &yes ? on_yes : on_no);
    if (merge.type->weak && t == DType::i64) debug_checks().check_int64(*o);
    if (!o->weak || merge.type->weak) continue;
    require_range(o->expr, t, o->loc);
    debug_checks().check_operand(*o, t);
  }
  if (on_yes.only_checks() && on_no.only_checks()) {
    check_under(cond, true, on_yes, loc);
    check_under(cond, false, on_no, loc);
  } else {
    Buf chosen = make_buf(make_sym(SymKind::buffer, t, "chosen"), {}, Space::registers);
    on_yes.add(store(chosen, {}, cast(t, yes.expr, yes.loc), loc));
    on_no.add(store(chosen, {}, cast(t, no.expr, no.loc), loc));
    cx_.builder->add_alloc(chosen, Fill::none, loc);
    cx_.builder->add(if_else(cond, on_yes.finish({}), on_no.finish({}), loc));
    return scalar_operand(load(chosen, {}, loc), merge.type->weak, loc);
  }
  return scalar_operand(select(cond, cast(t, yes.expr, yes.loc), cast(t, no.expr, no.loc), loc),
                        merge.type->weak, loc);
}

/// Lowers an operand that is evaluated on some paths only. The statements that it needs go into `builder`.
Operand ExpressionLowering::apart(const ast::ExprPtr &e, BlockBuilder &builder) {
  builder.owners = cx_.builder->owners;
  Building inside(cx_.builder, builder);
  return scalar(e);
}

/// Lowers `so_far and value` (or `or`) if the evaluation of the value needs statements.
///   decided = so_far
///   if decided: (statements of value; decided = value)      `if not decided` for `or`
Expr ExpressionLowering::decide_lazily(bool is_and, const Expr &so_far, BlockBuilder &&more,
                                       const Expr &value, Loc loc) {
  Buf decided = make_buf(make_sym(SymKind::buffer, DType::b1, "decided"), {}, Space::registers);
  cx_.builder->add_alloc(decided, Fill::none, loc);
  cx_.builder->add(store(decided, {}, so_far, loc));
  more.add(store(decided, {}, value, loc));
  Expr open = load(decided, {}, loc);
  cx_.builder->add(if_else(is_and ? open : unary(UnOp::logical_not, open, loc), more.finish({}), {}, loc));
  return load(decided, {}, loc);
}

}  // namespace kw
