// Syntax tree of a dump → IR. The dump has Python syntax, so the ordinary parser reads it; this file gives
// the words their IR meaning.
#include "frontend/ir_mode.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "frontend/lexer.h"
#include "frontend/parser.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"

namespace kw {

namespace {

[[noreturn]] void fail(Loc loc, std::string_view what) {
  throw CompileError(Diagnostic{Code::E100, loc, cat("malformed IR: ", what), {}, {}});
}

/// Returns the node as a T, which it must be.
template <class T>
const T &needed(const ast::ExprPtr &e, std::string_view what) {
  const auto *n = ast::as<T>(e);
  if (!n) fail(e ? e->loc : Loc{}, cat(what, " is missing"));
  return *n;
}

class IrReader {
 public:
  Func function(const ast::Function &f);

 private:
  // words
  const std::string &name_of(const ast::ExprPtr &e) { return needed<ast::Name>(e, "a name").id; }
  const ast::CallExpr &call_of(const ast::ExprPtr &e, Loc loc);
  std::string callee(const ast::CallExpr &c) { return name_of(c.callee); }
  DType dtype_of(const ast::ExprPtr &e);
  int64_t integer_of(const ast::ExprPtr &e);
  std::string text_of(const ast::ExprPtr &e) { return needed<ast::Text>(e, "a string").value; }
  Code code_of(const ast::CallExpr &site);
  const ast::ExprPtr *keyword(const ast::CallExpr &c, std::string_view name);
  template <class E>
  E word(const std::string &text, std::string_view (*names)(E), int count, Loc loc);

  // expressions
  Expr expr(const ast::ExprPtr &e);
  Expr binary_node(BinOp op, Expr a, Expr b, Loc loc);
  Expr call_node(const ast::CallExpr &c, Loc loc);
  Expr select_node(const ast::CallExpr &c, Loc loc);
  Expr literal(DType t, const ast::ExprPtr &e);
  const Buf &known_buffer(const ast::ExprPtr &e, Loc loc);
  Expr subscript(const ast::Subscript &n, Loc loc);
  std::vector<Expr> tuple(const ast::ExprPtr &e);
  std::vector<Expr> index(const ast::Subscript &n);

  // statements
  Stmt block(const ast::Block &b, size_t at);
  Stmt statement(const ast::Stmt &s);
  Stmt loop(const ast::ForStmt &n, Loc loc);
  std::vector<RowLength> row_lengths(const ast::ExprPtr &e);
  Stmt conditional(const ast::IfStmt &n, Loc loc);
  Stmt assign(const ast::Assign &n, Loc loc);
  OrderMark order_mark(const ast::ExprPtr &mark, Loc loc);
  void open_scope(const ast::Assign &n, Loc loc, std::optional<Let> &let_head,
                  std::optional<Alloc> &alloc_head);
  Stmt scope(const ast::WithStmt &n, Loc loc);
  Buf buffer(const std::string &name, const ast::CallExpr &c, size_t first, Space space, Loc loc);
  void site(const ast::CallExpr &c, Loc loc);
  void header(const ast::Block &body, size_t &at);
  void param(const ast::Parameter &p);
  Fill fill_of(const ast::CallExpr &c);

  Sym bind(const std::string &name, Sym sym) { return syms_[name] = std::move(sym); }

  Func func_;
  std::map<std::string, Sym> syms_;
  std::map<std::string, Buf> bufs_;
  bool returned_ = false;
  std::vector<std::string> site_names_;
  std::map<int64_t, Expr> shared_;  ///< keyed by the number in `share(number, expression)`
};

const ast::CallExpr &IrReader::call_of(const ast::ExprPtr &e, Loc loc) {
  const auto *c = ast::as<ast::CallExpr>(e);
  if (!c) fail(loc, "a call is missing");
  return *c;
}

DType IrReader::dtype_of(const ast::ExprPtr &e) {
  auto t = dtype_from_short(name_of(e));
  if (!t) fail(e->loc, "a dtype is missing");
  return *t;
}

int64_t IrReader::integer_of(const ast::ExprPtr &e) {
  if (const auto *minus = ast::as<ast::UnaryExpr>(e); minus && minus->op == ast::UnaryOp::minus)
    return static_cast<int64_t>(-static_cast<uint64_t>(integer_of(minus->a)));
  const auto *n = ast::as<ast::Integer>(e);
  if (!n) fail(e ? e->loc : Loc{}, "an integer is missing");
  return static_cast<int64_t>(std::strtoull(n->digits.c_str(), nullptr, 0));
}

Code IrReader::code_of(const ast::CallExpr &site) {
  std::string name = text_of(site.args[0]);
  for (const CodeRow &row : code_table())
    if (row.name == name) return row.code;
  fail(site.args[0]->loc, "a site of an unknown code");
}

const ast::ExprPtr *IrReader::keyword(const ast::CallExpr &c, std::string_view name) {
  for (const ast::Keyword &k : c.keywords)
    if (k.name == name) return &k.value;
  return nullptr;
}

template <class E>
E IrReader::word(const std::string &text, std::string_view (*names)(E), int count, Loc loc) {
  for (int i = 0; i < count; ++i)
    if (names(static_cast<E>(i)) == text) return static_cast<E>(i);
  fail(loc, cat("unknown word '", text, "'"));
}

Expr IrReader::literal(DType t, const ast::ExprPtr &e) {
  bool negative = false;
  const ast::ExprPtr *at = &e;
  if (const auto *minus = ast::as<ast::UnaryExpr>(e); minus && minus->op == ast::UnaryOp::minus)
    negative = true, at = &minus->a;
  if (const auto *real = ast::as<ast::Real>(*at)) {
    if (!is_float(t)) fail(e->loc, "a float literal of an integer type");
    return const_float(t, negative ? -real->value : real->value, e->loc);
  }
  if (t == DType::u64) return constant({t, static_cast<uint64_t>(integer_of(e))}, e->loc);
  return constant(from_int(t, integer_of(e)), e->loc);
}

std::vector<Expr> IrReader::tuple(const ast::ExprPtr &e) {
  std::vector<Expr> out;
  for (const ast::ExprPtr &item : needed<ast::Tuple>(e, "a tuple").items) out.push_back(expr(item));
  return out;
}

std::vector<Expr> IrReader::index(const ast::Subscript &n) {
  if (const auto *empty = ast::as<ast::Tuple>(n.index[0]); empty && empty->items.empty()) return {};
  std::vector<Expr> out;
  for (const ast::ExprPtr &item : n.index) out.push_back(expr(item));
  return out;
}

const Buf &IrReader::known_buffer(const ast::ExprPtr &e, Loc loc) {
  auto found = bufs_.find(name_of(e));
  if (found == bufs_.end()) fail(loc, "an unknown buffer");
  return found->second;
}

Expr IrReader::subscript(const ast::Subscript &n, Loc loc) {
  return load(known_buffer(n.value, loc), index(n), loc);
}

/// Builds the node as printed. Nothing is folded, so that the tree corresponds to the text.
Expr IrReader::binary_node(BinOp op, Expr a, Expr b, Loc loc) {
  if (a.dtype() != b.dtype()) fail(loc, "operands of different dtypes");
  DType t = op >= BinOp::lt ? DType::b1 : a.dtype();
  return make_expr(t, loc, Binary{op, std::move(a), std::move(b)});
}

Expr IrReader::call_node(const ast::CallExpr &c, Loc loc) {
  if (const auto *bits = ast::as<ast::Attribute>(c.callee); bits && bits->name == "bits") {
    if (c.args.size() != 1) fail(loc, "bits take one argument");
    Value v{dtype_of(bits->value), static_cast<uint64_t>(integer_of(c.args[0]))};
    if (bit_width(v.dtype) < 64 && v.bits >> bit_width(v.dtype)) fail(loc, "more bits than the type has");
    return constant(v, loc);
  }
  std::string word = callee(c);
  if (auto t = dtype_from_short(word); t && c.args.size() == 1) return literal(*t, c.args[0]);
  if ((word == "cast" || word == "cast_in_range") && c.args.size() == 2)
    return make_expr(dtype_of(c.args[0]), loc, Cast{expr(c.args[1]), word == "cast_in_range"});
  if (word == "shared" && c.args.size() == 1) {
    auto found = shared_.find(integer_of(c.args[0]));
    if (found == shared_.end()) fail(loc, "no expression is shared under that number");
    return found->second;
  }
  if (word == "select" && c.args.size() == 3) return select_node(c, loc);
  std::vector<Expr> args;
  for (const ast::ExprPtr &a : c.args) args.push_back(expr(a));
  if (word == "neg" && args.size() == 1) {
    DType t = args[0].dtype();
    return make_expr(t, loc, Unary{UnOp::neg, std::move(args[0])});
  }
  if ((word == "min" || word == "max") && args.size() == 2)
    return binary_node(word == "min" ? BinOp::min : BinOp::max, args[0], args[1], loc);
  const IntrinsicRow *row = find_intrinsic(word);
  if (!row || args.size() != row->arity) fail(loc, cat("unknown function '", word, "'"));
  DType from = args[0].dtype();
  bool exchanges = row->fn == Fn::to_bits ? is_float(from) : bit_width(from) >= 16 && is_unsigned_int(from);
  if ((row->fn == Fn::to_bits || row->fn == Fn::from_bits) && !exchanges) fail(loc, "bits of another type");
  DType result = result_dtype(row->fn, from);
  return call(row->fn, result, std::move(args), loc);
}

/// Reads `select(cond, yes, lazy(no))`. A side that is not lazy is always evaluated.
Expr IrReader::select_node(const ast::CallExpr &c, Loc loc) {
  auto side = [&](const ast::ExprPtr &e, bool &eager) {
    const auto *lazy = ast::as<ast::CallExpr>(e);
    const auto *word = lazy ? ast::as<ast::Name>(lazy->callee) : nullptr;
    eager = !word || word->id != "lazy" || lazy->args.size() != 1;
    return expr(eager ? e : lazy->args[0]);
  };
  Select n{expr(c.args[0]), {}, {}};
  n.yes = side(c.args[1], n.eager_yes), n.no = side(c.args[2], n.eager_no);
  return make_expr(n.yes.dtype(), loc, n);
}

BinOp ir_op(ast::Operator op, Loc loc) {
  switch (op) {
    case ast::Operator::add: return BinOp::add;
    case ast::Operator::sub: return BinOp::sub;
    case ast::Operator::mul: return BinOp::mul;
    case ast::Operator::div: return BinOp::true_div;
    case ast::Operator::floor_div: return BinOp::floor_div;
    case ast::Operator::mod: return BinOp::floor_mod;
    case ast::Operator::bit_and: return BinOp::bit_and;
    case ast::Operator::bit_or: return BinOp::bit_or;
    case ast::Operator::bit_xor: return BinOp::bit_xor;
    case ast::Operator::shl: return BinOp::shl;
    case ast::Operator::shr: return BinOp::shr;
    default: fail(loc, "unknown operator");
  }
}

BinOp ir_op(const ast::CompareExpr &n, Loc loc) {
  if (n.ops.size() != 1) fail(loc, "a chained comparison");
  switch (n.ops[0]) {
    case ast::CompareOp::lt: return BinOp::lt;
    case ast::CompareOp::le: return BinOp::le;
    case ast::CompareOp::eq: return BinOp::eq;
    case ast::CompareOp::ne: return BinOp::ne;
    default: fail(loc, "unknown comparison");
  }
}

Expr IrReader::expr(const ast::ExprPtr &e) {
  Loc loc = e->loc;
  auto other = [&](const auto &) -> Expr { fail(loc, "unexpected expression"); };
  return std::visit(
      Overload{[&](const ast::Name &n) -> Expr {
                 auto found = syms_.find(n.id);
                 if (found == syms_.end()) fail(loc, cat("unknown symbol '", n.id, "'"));
                 return ref(found->second, loc);
               },
               [&](const ast::Integer &) -> Expr { return const_int(integer_of(e), loc); },
               [&](const ast::Real &n) -> Expr { return const_float(DType::f64, n.value, loc); },
               [&](const ast::Boolean &n) -> Expr { return const_bool(n.value, loc); },
               [&](const ast::Subscript &n) -> Expr { return subscript(n, loc); },
               [&](const ast::CallExpr &n) -> Expr { return call_node(n, loc); },
               [&](const ast::UnaryExpr &n) -> Expr {
                 if (n.op == ast::UnaryOp::minus)
                   return literal(ast::as<ast::Real>(n.a) ? DType::f64 : DType::i64, e);
                 Expr a = expr(n.a);
                 DType t = a.dtype();
                 UnOp op = n.op == ast::UnaryOp::invert ? UnOp::bit_not : UnOp::logical_not;
                 return make_expr(t, loc, Unary{op, std::move(a)});
               },
               [&](const ast::BinaryExpr &n) -> Expr {
                 return binary_node(ir_op(n.op, loc), expr(n.a), expr(n.b), loc);
               },
               [&](const ast::CompareExpr &n) -> Expr {
                 return binary_node(ir_op(n, loc), expr(n.items[0]), expr(n.items[1]), loc);
               },
               [&](const ast::BoolExpr &n) -> Expr {
                 if (n.items.size() != 2) fail(loc, "a chained condition");
                 return make_expr(DType::b1, loc, Logic{n.is_and, expr(n.items[0]), expr(n.items[1])});
               },
               [&](const ast::Ternary &n) -> Expr {
                 Expr yes = expr(n.yes);
                 DType t = yes.dtype();
                 return make_expr(t, loc, Select{expr(n.cond), yes, expr(n.no)});
               },
               [&](const auto &n) -> Expr { return other(n); }},
      e->v);
}

/// Reads a block. A Let or Alloc scopes over the rest of its block, so heads are read in order and the block
/// is built from its end.
Stmt IrReader::block(const ast::Block &b, size_t at) {
  struct Part {
    Stmt stmt;  ///< a statement, or the head of a scope that follows
    std::optional<Let> let;
    std::optional<Alloc> alloc;
    Loc loc;
  };
  std::vector<Part> parts;
  for (; at < b.size(); ++at) {
    Part part{{}, {}, {}, b[at].loc};
    const auto *assignment = std::get_if<ast::Assign>(&b[at].v);
    if (assignment && !ast::as<ast::Subscript>(assignment->target))
      open_scope(*assignment, b[at].loc, part.let, part.alloc);
    else if (!(part.stmt = statement(b[at])))
      continue;
    parts.push_back(std::move(part));
  }
  std::vector<Stmt> run;  // reversed
  auto take = [&] {
    std::reverse(run.begin(), run.end());
    return seq(std::exchange(run, {}));
  };
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->let)
      run = {let(part->let->sym, part->let->value, take(), part->loc)};
    else if (part->alloc) {
      part->alloc->body = take();
      run = {make_stmt(part->loc, *part->alloc)};
    } else
      run.push_back(std::move(part->stmt));
  }
  return take();
}

Stmt IrReader::loop(const ast::ForStmt &n, Loc loc) {
  const ast::CallExpr &c = call_of(n.iterable, loc);
  if (c.args.size() != 3) fail(loc, "a loop has three bounds");
  For f{};
  f.kind = word<ForKind>(callee(c), kind_text, 6, loc);
  f.lo = expr(c.args[0]);
  f.hi = expr(c.args[1]);
  f.step = integer_of(c.args[2]);
  for_each_field(f.how, [&](std::string_view field, auto &value) {
    auto *given = keyword(c, field);
    if (!given) return;
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Tail>) {
      value = word<Tail>(text_of(*given), tail_text, 4, loc);
    } else {
      value = static_cast<T>(integer_of(*given));
      if (value < 0 || value != integer_of(*given)) fail(loc, "a field of a plan is out of range");
    }
  });
  if (auto *threads = keyword(c, "most_threads")) f.most_threads = expr(*threads);
  if (auto *rows = keyword(c, "row_lengths")) f.row_lengths = row_lengths(*rows);
  if (auto *atomics = keyword(c, "atomics"))
    for (const ast::ExprPtr &b : needed<ast::Tuple>(*atomics, "a tuple").items)
      f.atomics.push_back(known_buffer(b, loc));
  if (auto *hint = keyword(c, "hint")) f.hint = word<Hint>(text_of(*hint), hint_text, 6, loc);
  f.iter = bind(name_of(n.target), make_sym(SymKind::iter, DType::i64, name_of(n.target), n.target->loc));
  f.body = block(*n.body, 0);
  return for_loop(std::move(f), loc);
}

/// Reads `(a, 3, b, 4)`: buffers, each with the length of its rows.
std::vector<RowLength> IrReader::row_lengths(const ast::ExprPtr &e) {
  const std::vector<ast::ExprPtr> &items = needed<ast::Tuple>(e, "a tuple").items;
  if (items.size() % 2) fail(e->loc, "a length of rows without its buffer");
  std::vector<RowLength> out;
  for (size_t i = 0; i < items.size(); i += 2)
    out.push_back({known_buffer(items[i], e->loc), integer_of(items[i + 1])});
  return out;
}

Fill IrReader::fill_of(const ast::CallExpr &c) {
  auto *fill = keyword(c, "fill");
  return fill ? word<Fill>(text_of(*fill), fill_text, 4, c.callee->loc) : Fill::none;
}

Buf IrReader::buffer(const std::string &name, const ast::CallExpr &c, size_t first, Space space, Loc loc) {
  if (c.args.size() < first + 2) fail(loc, "a buffer has a dtype and extents");
  std::vector<Expr> strides;
  if (auto *s = keyword(c, "strides")) strides = tuple(*s);
  Sym sym = make_sym(SymKind::buffer, dtype_of(c.args[first]), name, loc);
  BufNode node{sym, sym->dtype, tuple(c.args[first + 1]), std::move(strides), space, {}};
  if (auto *data = keyword(c, "data")) {
    std::string hex = text_of(*data);
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
      node.data.push_back(static_cast<uint8_t>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bufs_[name] = std::make_shared<const BufNode>(std::move(node));
}

Stmt IrReader::assign(const ast::Assign &n, Loc loc) {
  const auto *target = ast::as<ast::Subscript>(n.target);
  Buf buf = known_buffer(target->value, loc);
  const auto *marked = ast::as<ast::BinaryExpr>(n.value);
  bool has_order = marked && marked->op == ast::Operator::matmul;
  OrderMark order = has_order ? order_mark(marked->b, loc) : OrderMark();
  Expr value = expr(has_order ? marked->a : n.value);
  if (value.dtype() != buf->dtype) fail(loc, "a stored value of another dtype");
  return store(buf, index(*target), value, loc, std::move(order));
}

/// Reads `lanes(i, j)`: an order and the iterators of its band.
OrderMark IrReader::order_mark(const ast::ExprPtr &mark, Loc loc) {
  const ast::CallExpr &c = call_of(mark, loc);
  std::vector<Sym> band;
  for (const ast::ExprPtr &arg : c.args) {
    auto found = syms_.find(name_of(arg));
    if (found == syms_.end()) fail(loc, "an order of an unknown loop");
    band.push_back(found->second);
  }
  return {word<Order>(callee(c), order_text, 3, loc), std::move(band)};
}

void IrReader::open_scope(const ast::Assign &n, Loc loc, std::optional<Let> &let_head,
                          std::optional<Alloc> &alloc_head) {
  const std::string &name = name_of(n.target);
  if (n.annotation) {
    Expr value = expr(n.value);
    Sym sym = bind(name, make_sym(SymKind::local, dtype_of(n.annotation), name, n.target->loc));
    let_head = Let{sym, value, {}};
    return;
  }
  const ast::CallExpr &c = call_of(n.value, loc);
  if (callee(c) != "alloc" || c.args.size() != 3) fail(loc, "unknown assignment");
  Buf b = buffer(name, c, 0, word<Space>(text_of(c.args[2]), space_text, 6, loc), loc);
  alloc_head = Alloc{b, fill_of(c), {}, keyword(c, "in_vector") != nullptr};
}

Stmt IrReader::scope(const ast::WithStmt &n, Loc loc) {
  const ast::CallExpr &c = call_of(n.context, loc);
  if (callee(c) == "let" && c.args.size() == 3) {
    Expr value = expr(c.args[2]);
    const std::string &name = name_of(c.args[0]);
    Sym sym = bind(name, make_sym(SymKind::local, dtype_of(c.args[1]), name, c.args[0]->loc));
    return let(sym, value, block(*n.body, 0), loc);
  }
  if (callee(c) != "alloc" || c.args.size() != 4) fail(loc, "unknown scope");
  Buf b = buffer(name_of(c.args[0]), c, 1, word<Space>(text_of(c.args[3]), space_text, 6, loc), loc);
  return make_stmt(loc, Alloc{b, fill_of(c), block(*n.body, 0), keyword(c, "in_vector") != nullptr});
}

Stmt IrReader::statement(const ast::Stmt &s) {
  Loc loc = s.loc;
  auto other = [&](const auto &) -> Stmt { fail(loc, "unexpected statement"); };
  return std::visit(
      Overload{[&](const ast::Assign &n) -> Stmt { return assign(n, loc); },
               [&](const ast::ForStmt &n) -> Stmt { return loop(n, loc); },
               [&](const ast::WhileStmt &n) -> Stmt {
                 Expr cond = expr(n.cond);
                 return make_stmt(loc, While{cond, block(*n.body, 0)});
               },
               [&](const ast::IfStmt &n) -> Stmt { return conditional(n, loc); },
               [&](const ast::WithStmt &n) -> Stmt { return scope(n, loc); },
               [&](const ast::ExprStmt &n) -> Stmt {
                 const ast::CallExpr &c = call_of(n.value, loc);
                 if (callee(c) == "share" && c.args.size() == 2) {
                   shared_[integer_of(c.args[0])] = expr(c.args[1]);
                   return {};
                 }
                 auto *site = keyword(c, "site");
                 if (callee(c) != "check" || c.args.size() != 1 || !site) fail(loc, "unknown statement");
                 return check(expr(c.args[0]), static_cast<uint32_t>(integer_of(*site)), loc);
               },
               [&](const ast::PassStmt &) -> Stmt { return {}; },
               [&](const ast::JumpStmt &n) -> Stmt {
                 return make_stmt(loc, Jump{n.is_break ? JumpKind::break_loop : JumpKind::continue_loop});
               },
               [&](const ast::ReturnStmt &n) -> Stmt {
                 if (std::exchange(returned_, true)) fail(loc, "a second return");
                 const auto *list = ast::as<ast::Tuple>(n.value);
                 auto result = [&](const ast::ExprPtr &e) { func_.results.push_back(known_buffer(e, loc)); };
                 func_.tuple_of_one = list && list->items.size() == 1;
                 if (list)
                   for (const ast::ExprPtr &item : list->items) result(item);
                 else if (n.value)
                   result(n.value);
                 return {};
               },
               [&](const auto &n) -> Stmt { return other(n); }},
      s.v);
}

Stmt IrReader::conditional(const ast::IfStmt &n, Loc loc) {
  const auto *call = ast::as<ast::CallExpr>(n.cond);
  bool predicated = call && call->args.size() == 1 && callee(*call) == "predicated";
  Expr cond = expr(predicated ? call->args[0] : n.cond);
  Stmt yes = block(*n.yes, 0), no = n.no ? block(*n.no, 0) : Stmt{};
  return predicated ? make_stmt(loc, If{cond, yes, no, true}) : if_else(cond, yes, no, loc);
}

void IrReader::param(const ast::Parameter &p) {
  const ast::CallExpr &c = call_of(p.annotation, p.loc);
  std::string kind = callee(c);
  Param out;
  if (kind == "weak" || kind == "scalar") {
    if (c.args.size() != 1) fail(p.loc, "a scalar has a dtype");
    out.weak = kind == "weak";
    out.sym = bind(p.name, make_sym(SymKind::param, dtype_of(c.args[0]), p.name, p.loc));
  } else {
    if (kind != "buf" && kind != "out" && kind != "inout") fail(p.loc, "unknown parameter");
    out.mode = kind == "buf" ? ParamMode::in : kind == "out" ? ParamMode::out : ParamMode::inout;
    out.buf = buffer(p.name, c, 0, Space::param, p.loc);
    out.fill = fill_of(c);
  }
  func_.params.push_back(std::move(out));
}

/// Reads `site(code, buf, dim)`, `site('E310', buf, rank=2)`, or a message in parts around a value.
void IrReader::site(const ast::CallExpr &c, Loc loc) {
  Site site;
  site.code = code_of(c);
  site.loc = loc;
  bool has_buffer = ast::as<ast::Name>(c.args[1]) != nullptr;
  site_names_.push_back(has_buffer ? name_of(c.args[1]) : std::string());
  if (has_buffer) {
    site.from_end = keyword(c, "from_end") != nullptr;
    site.is_unsigned = keyword(c, "is_unsigned") != nullptr;
    if (c.args.size() == 3) site.dim = static_cast<uint32_t>(integer_of(c.args[2]));
    if (auto *rank = keyword(c, "rank")) site.rank = static_cast<uint32_t>(integer_of(*rank));
  } else {
    SiteMessage &m = site.message;
    m.before = text_of(c.args[1]);
    if (c.args.size() == 3) m.after = text_of(c.args[2]);
    if (auto *value = keyword(c, "value"))
      m.value = word<SiteMessage::Value>(text_of(*value), value_text, 4, loc);
    if (auto *note = keyword(c, "note")) m.note = text_of(*note);
  }
  func_.sites.push_back(std::move(site));
}

/// Reads fp, dims, fact and site lines; sets `at` to the first statement of the body.
void IrReader::header(const ast::Block &body, size_t &at) {
  for (; at < body.size(); ++at) {
    const auto *s = std::get_if<ast::ExprStmt>(&body[at].v);
    const auto *c = s ? ast::as<ast::CallExpr>(s->value) : nullptr;
    if (!c || !ast::as<ast::Name>(c->callee)) return;
    std::string kind = callee(*c);
    if (kind == "fp" && c->args.size() == 1) {
      std::string mode = text_of(c->args[0]);
      func_.fp = mode == "strict" ? FpMode::strict : mode == "fast" ? FpMode::fast : FpMode::normal;
    } else if (kind == "overlap") {
      func_.overlap = Overlap::possible;
    } else if (kind == "fact" && c->args.size() == 1) {
      func_.facts.push_back(expr(c->args[0]));
    } else if (kind == "site" && (c->args.size() == 2 || c->args.size() == 3)) {
      site(*c, body[at].loc);
    } else if (kind == "misaligned" && c->args.size() == 1) {
      std::string name = name_of(c->args[0]);
      func_.misaligned = bind(name, make_sym(SymKind::param, DType::i64, name, c->args[0]->loc));
    } else if (kind != "dims") {
      return;
    }
  }
}

Func IrReader::function(const ast::Function &f) {
  func_.name = f.name;
  // dims follow the parameters in the text, but the parameters use them
  for (const ast::Stmt &s : f.body) {
    const auto *line = std::get_if<ast::ExprStmt>(&s.v);
    const auto *c = line ? ast::as<ast::CallExpr>(line->value) : nullptr;
    const auto *word = c ? ast::as<ast::Name>(c->callee) : nullptr;
    if (!word || word->id != "dims") continue;
    for (const ast::ExprPtr &e : c->args)
      func_.extents.push_back(bind(name_of(e), make_sym(SymKind::extent, DType::i64, name_of(e), e->loc)));
  }
  for (bool scalars : {true, false})
    for (const ast::Parameter &p : f.params) {
      const auto *c = ast::as<ast::CallExpr>(p.annotation);
      const auto *kind = c ? ast::as<ast::Name>(c->callee) : nullptr;
      if ((kind && (kind->id == "weak" || kind->id == "scalar")) == scalars) param(p);
    }
  // restores the order of the parameters in the text
  std::vector<Param> ordered;
  for (const ast::Parameter &p : f.params)
    for (const Param &q : func_.params)
      if ((q.buf ? q.buf->sym : q.sym)->name == p.name) ordered.push_back(q);
  func_.params = std::move(ordered);
  size_t at = 0;
  header(f.body, at);
  func_.body = block(f.body, at);
  // a site may name a buffer that the body declares, or one that no pass has kept
  for (size_t i = 0; i < site_names_.size(); ++i) {
    if (site_names_[i].empty()) continue;
    Buf &buf = bufs_[site_names_[i]];
    if (!buf) buf = make_buf(make_sym(SymKind::buffer, DType::i64, site_names_[i]), {}, Space::registers);
    func_.sites[i].buf = buf;
  }
  if (std::string wrong = verify(func_); !wrong.empty()) fail(f.loc, wrong);
  return std::move(func_);
}

}  // namespace

Func parse_ir(const SourceMap &sources, uint32_t source) {
  TokenList tokens = tokenize(sources, source);
  Sink sink;
  ast::Function f = parse_function(tokens, sink);
  sink.throw_if_errors();
  Func out = IrReader().function(f);
  out.body = number_loops(out.body);
  return out;
}

}  // namespace kw
