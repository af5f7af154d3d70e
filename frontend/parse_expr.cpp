// Expressions: precedence climbing over Python's grammar; constructs outside the language are refused by
// name.
#include "frontend/parse_expr.h"

#include <charconv>
#include <cstdlib>

#include "support/text.h"

namespace kw {

using namespace ast;

namespace {

/// Limits the recursion of the parser and of every walk over its tree, and thereby their use of stack.
constexpr uint32_t max_nesting = 1000;

/// Returns the number of levels of a tree; 0 for an absent part.
uint32_t depth_of(const ExprPtr &e) { return e ? e->depth : 0; }

/// Makes a node whose deepest operand has `parts_depth` levels. Throws E105 if the tree gets too deep: a
/// chain such as a + b + … nests to the left without recursion of the parser.
template <class K>
ExprPtr make_node(Loc loc, uint32_t parts_depth, K kind) {
  if (parts_depth + 1 > max_nesting)
    parse_error(Code::E105, loc, cat("expressions nest deeper than ", max_nesting),
                "split it: assign parts to locals");
  return std::make_unique<ast::Expr>(ast::Expr{loc, parts_depth + 1, std::move(kind)});
}

/// A binary operator and its level; a higher level binds tighter. Comparisons bind looser than all of them,
/// signs and `**` tighter.
struct BinaryRow {
  std::string_view text;
  Operator op;
  int level;
};
constexpr BinaryRow binary_rows[] = {
    {"|", Operator::bit_or, 1}, {"^", Operator::bit_xor, 2},    {"&", Operator::bit_and, 3},
    {"<<", Operator::shl, 4},   {">>", Operator::shr, 4},       {"+", Operator::add, 5},
    {"-", Operator::sub, 5},    {"*", Operator::mul, 6},        {"/", Operator::div, 6},
    {"%", Operator::mod, 6},    {"//", Operator::floor_div, 6}, {"@", Operator::matmul, 6}};

/// Returns the row of an operator, or null for any other token.
const BinaryRow *binary_row(const Token &t) {
  if (t.kind != TokenKind::op) return nullptr;
  for (const BinaryRow &row : binary_rows)
    if (row.text == t.text) return &row;
  return nullptr;
}

/// Returns whether a word is a keyword. True, False and None are missing because they are literals; soft
/// keywords like `match` are missing because they may be names.
bool is_keyword(std::string_view s) {
  static constexpr std::string_view words[] = {
      "and",    "as",   "assert", "async", "await",  "break",   "class",    "continue",
      "def",    "del",  "elif",   "else",  "except", "finally", "for",      "from",
      "global", "if",   "in",     "is",    "import", "lambda",  "nonlocal", "not",
      "or",     "pass", "raise",  "try",   "return", "while",   "with",     "yield"};
  return std::find(std::begin(words), std::end(words), s) != std::end(words);
}

/// Returns how an error names a token; long tokens are cut after 40 bytes.
std::string token_text(const Token &t) {
  switch (t.kind) {
    case TokenKind::newline: return "end of line";
    case TokenKind::end: return "end of text";
    case TokenKind::indent:
    case TokenKind::dedent: return "indentation";
    default: return cat("'", t.text.substr(0, 40), "'");
  }
}

}  // namespace

void parse_error(Code code, Loc loc, std::string message, std::string help) {
  std::vector<std::string> helps;
  if (!help.empty()) helps.push_back(std::move(help));
  throw CompileError(Diagnostic{code, loc, std::move(message), {}, std::move(helps)});
}

/// Throws E101 for a word of Python that the language lacks.
[[noreturn]] static void refuse_word(const Token &t) {
  parse_error(Code::E101, t.loc, cat("'", t.text, "' is not part of the kernel language"),
              t.is("yield") ? "write each value to an element of a tensor" : "");
}

/// Counts nested expressions and nested signs separately, because a level of parentheses is one of each.
/// Throws E105 before the recursion gets too deep: the depth of a tree is known only after its operands are
/// read.
struct ExprParser::Guard {
  Guard(ExprParser &parser, uint32_t &depth) : depth_(depth) {
    if (++depth_ > max_nesting)
      parse_error(Code::E105, parser.c_.peek().loc, cat("expressions nest deeper than ", max_nesting),
                  "split it: assign parts to locals");
  }
  ~Guard() { --depth_; }
  uint32_t &depth_;
};

void ExprParser::expect(std::string_view word, std::string_view where) {
  if (c_.accept(word)) return;
  parse_error(Code::E100, c_.peek().loc,
              cat("expected '", word, "' ", where, ", found ", token_text(c_.peek())));
}

/// Reads a list: a → a; a, b → Tuple{a, b}. It ends with the statement, or before the token that follows a
/// target or an iterable.
ExprPtr ExprParser::expression_list() {
  ExprPtr first = expression();
  if (!c_.peek().is(",")) return first;
  Loc loc = first->loc;
  uint32_t depth = depth_of(first);
  Tuple tuple;
  tuple.items.push_back(std::move(first));
  while (c_.accept(",")) {
    // a trailing comma: `a,` is a tuple of one item
    if (c_.at(TokenKind::newline) || c_.peek().is("=") || c_.peek().is(")") || c_.peek().is("in") ||
        c_.peek().is(":"))
      break;
    tuple.items.push_back(expression());
    depth = std::max(depth, depth_of(tuple.items.back()));
  }
  return make_node(join(loc, c_.previous().loc), depth, std::move(tuple));
}

ExprPtr ExprParser::expression() {
  Guard guard(*this, expressions_);
  const Token &start = c_.peek();
  if (start.is("lambda"))
    parse_error(Code::E101, start.loc, "a lambda is not part of the kernel language",
                "write the expression in place");
  // refused by name here, because an operand would only report an unexpected word
  if (start.is("yield") || start.is("await")) refuse_word(start);
  if (start.is("*") || start.is("**"))
    parse_error(Code::E101, start.loc, "unpacking with '*' is not part of the kernel language");
  ExprPtr yes = logic_or();
  if (c_.peek().is(":="))
    parse_error(Code::E101, c_.peek().loc, "':=' is not part of the kernel language",
                "assign in a statement of its own");
  if (!c_.accept("if")) return yes;
  ExprPtr cond = logic_or();
  expect("else", "in a conditional expression");
  // associates to the right: a if c else b if d else e → a if c else (b if d else e)
  ExprPtr no = expression();
  Loc loc = join(yes->loc, no->loc);
  uint32_t depth = std::max({depth_of(yes), depth_of(cond), depth_of(no)});
  return make_node(loc, depth, Ternary{std::move(cond), std::move(yes), std::move(no)});
}

ExprPtr ExprParser::logic_or() {
  ExprPtr first = logic_and();
  if (!c_.peek().is("or")) return first;
  BoolExpr node{false, {}};
  Loc loc = first->loc;
  uint32_t depth = depth_of(first);
  node.items.push_back(std::move(first));
  while (c_.accept("or")) {
    node.items.push_back(logic_and());
    depth = std::max(depth, depth_of(node.items.back()));
  }
  return make_node(join(loc, c_.previous().loc), depth, std::move(node));
}

ExprPtr ExprParser::logic_and() {
  ExprPtr first = logic_not();
  if (!c_.peek().is("and")) return first;
  BoolExpr node{true, {}};
  Loc loc = first->loc;
  uint32_t depth = depth_of(first);
  node.items.push_back(std::move(first));
  while (c_.accept("and")) {
    node.items.push_back(logic_not());
    depth = std::max(depth, depth_of(node.items.back()));
  }
  return make_node(join(loc, c_.previous().loc), depth, std::move(node));
}

ExprPtr ExprParser::logic_not() {
  if (!c_.peek().is("not")) return comparison();
  Guard guard(*this, signs_);
  Loc start = c_.next().loc;
  ExprPtr a = logic_not();
  Loc loc = join(start, a->loc);
  uint32_t depth = depth_of(a);
  return make_node(loc, depth, UnaryExpr{UnaryOp::logical_not, std::move(a)});
}

/// Consumes a comparison operator; `is not` and `not in` have two tokens. Returns whether there was one.
static bool accept_compare(TokenCursor &c, CompareOp &op) {
  static constexpr std::pair<std::string_view, CompareOp> simple[] = {
      {"<", CompareOp::lt},  {"<=", CompareOp::le}, {">", CompareOp::gt},
      {">=", CompareOp::ge}, {"==", CompareOp::eq}, {"!=", CompareOp::ne}};
  for (auto [text, value] : simple)
    if (c.accept(text)) return op = value, true;
  if (c.accept("is")) return op = c.accept("not") ? CompareOp::is_not : CompareOp::is, true;
  if (c.accept("in")) return op = CompareOp::in, true;
  if (c.peek().is("not") && c.peek(1).is("in")) return c.next(), c.next(), op = CompareOp::not_in, true;
  return false;
}

ExprPtr ExprParser::comparison() {
  ExprPtr first = arithmetic(1);
  CompareOp op;
  // the statement parser consumes the `in` after a for target: it reads targets as lists of `arithmetic`
  // level
  if (!accept_compare(c_, op)) return first;
  CompareExpr node;
  Loc loc = first->loc;
  uint32_t depth = depth_of(first);
  node.items.push_back(std::move(first));
  do {
    node.ops.push_back(op);
    node.items.push_back(arithmetic(1));
    depth = std::max(depth, depth_of(node.items.back()));
  } while (accept_compare(c_, op));
  return make_node(join(loc, c_.previous().loc), depth, std::move(node));
}

/// Reads a binary expression by precedence climbing: operators of at least `min_level`. The right operand
/// takes only tighter operators, so operators of one level associate to the left.
///   a - b - c  →  (a - b) - c
///   a + b * c  →  a + (b * c)
ExprPtr ExprParser::arithmetic(int min_level) {
  ExprPtr a = factor();
  for (;;) {
    const BinaryRow *row = binary_row(c_.peek());
    if (!row || row->level < min_level) return a;
    c_.next();
    ExprPtr b = arithmetic(row->level + 1);
    Loc loc = join(a->loc, b->loc);
    uint32_t depth = std::max(depth_of(a), depth_of(b));
    a = make_node(loc, depth, BinaryExpr{row->op, std::move(a), std::move(b)});
  }
}

/// Reads a power with its signs. `**` binds tighter than a sign before its base and looser than a sign before
/// its exponent. It associates to the right.
///   -a ** -b     →  -(a ** (-b))
///   a ** b ** c  →  a ** (b ** c)
ExprPtr ExprParser::factor() {
  Guard guard(*this, signs_);
  const Token &t = c_.peek();
  if (t.is("-") || t.is("+") || t.is("~")) {
    UnaryOp op = t.is("-") ? UnaryOp::minus : t.is("+") ? UnaryOp::plus : UnaryOp::invert;
    Loc start = c_.next().loc;
    ExprPtr a = factor();
    Loc loc = join(start, a->loc);
    uint32_t depth = depth_of(a);
    return make_node(loc, depth, UnaryExpr{op, std::move(a)});
  }
  ExprPtr base = postfix();
  if (!c_.accept("**")) return base;
  ExprPtr exponent = factor();
  Loc loc = join(base->loc, exponent->loc);
  uint32_t depth = std::max(depth_of(base), depth_of(exponent));
  return make_node(loc, depth, BinaryExpr{Operator::pow, std::move(base), std::move(exponent)});
}

ExprPtr ExprParser::postfix() {
  ExprPtr e = atom();
  for (;;) {
    if (c_.accept(".")) {
      const Token &name = c_.next();
      if (name.kind != TokenKind::name)
        parse_error(Code::E100, name.loc, cat("expected a name after '.', found ", token_text(name)));
      Loc loc = join(e->loc, name.loc);
      uint32_t depth = depth_of(e);
      e = make_node(loc, depth, Attribute{std::move(e), std::string(name.text)});
    } else if (c_.peek().is("[")) {
      e = subscript(std::move(e));
    } else if (c_.peek().is("(")) {
      e = call(std::move(e));
    } else {
      return e;
    }
  }
}

/// Reads one part of an index: i, or lower:upper:step, each part of which may be absent.
ExprPtr ExprParser::slice_or_expression() {
  Loc start = c_.peek().loc;
  ExprPtr lower, upper, step;
  if (!c_.peek().is(":")) {
    lower = expression();
    if (!c_.peek().is(":")) return lower;
  }
  c_.next();
  auto ends = [&] { return c_.peek().is(":") || c_.peek().is(",") || c_.peek().is("]"); };
  if (!ends()) upper = expression();
  // a second colon without a step is allowed: a[i:j:]
  if (c_.accept(":") && !ends()) step = expression();
  uint32_t depth = std::max({depth_of(lower), depth_of(upper), depth_of(step)});
  return make_node(join(start, c_.previous().loc), depth,
                   Slice{std::move(lower), std::move(upper), std::move(step)});
}

/// Reads [i], [i, j] or [i:j]. A trailing comma makes a tuple of one index; no index at all is E100.
ExprPtr ExprParser::subscript(ExprPtr value) {
  Loc start = value->loc;
  uint32_t depth = depth_of(value);
  c_.next();
  Subscript node{std::move(value), {}, false};
  while (!c_.peek().is("]")) {
    node.index.push_back(slice_or_expression());
    depth = std::max(depth, depth_of(node.index.back()));
    if (!c_.accept(",")) break;
    node.is_tuple = true;
  }
  if (node.index.empty()) parse_error(Code::E100, c_.peek().loc, "expected an index between '[' and ']'");
  expect("]", "after the index");
  return make_node(join(start, c_.previous().loc), depth, std::move(node));
}

/// Reads the arguments in parentheses: positional ones into `args`, named ones into `keywords`.
ExprPtr ExprParser::call(ExprPtr callee) {
  Loc start = callee->loc;
  uint32_t depth = depth_of(callee);
  c_.next();
  CallExpr node{std::move(callee), {}, {}};
  while (!c_.peek().is(")")) {
    // `==` is a separate token, so a name before `=` is that of a keyword argument
    if (c_.at(TokenKind::name) && c_.peek(1).is("=") && !is_keyword(c_.peek().text)) {
      const Token &name = c_.next();
      c_.next();
      ExprPtr value = expression();
      depth = std::max(depth, depth_of(value));
      Loc loc = join(name.loc, value->loc);
      node.keywords.push_back({std::string(name.text), std::move(value), loc});
    } else {
      node.args.push_back(expression());
      depth = std::max(depth, depth_of(node.args.back()));
      refuse_comprehension();
    }
    if (!c_.accept(",")) break;
  }
  expect(")", "after the arguments");
  return make_node(join(start, c_.previous().loc), depth, std::move(node));
}

/// Throws E101 for a comprehension. Called after an element of a display or an argument, where its `for`
/// would be.
void ExprParser::refuse_comprehension() {
  const Token &t = c_.peek();
  if (t.is("for") || (t.is("async") && c_.peek(1).is("for")))
    parse_error(Code::E101, t.loc, "a comprehension is not part of the kernel language", "write a loop");
}

void ExprParser::refuse_as() {
  if (c_.peek().is("as"))
    parse_error(Code::E101, c_.peek().loc, "`with ... as` is not part of the kernel language",
                "declare the buffer: `x = allocate(shape, dtype)`");
}

/// Reads the items after `open`. Parentheses around one item make no tuple unless a comma follows.
///   (a)   →  a
///   (a,)  →  Tuple{a}
///   [a]   →  Tuple{a}, is_list
ExprPtr ExprParser::display(const Token &open, std::string_view close) {
  Tuple tuple;
  uint32_t depth = 0;
  tuple.is_list = close == "]";
  bool is_tuple = tuple.is_list;
  while (!c_.peek().is(close)) {
    tuple.items.push_back(expression());
    depth = std::max(depth, depth_of(tuple.items.back()));
    refuse_comprehension();
    refuse_as();
    if (!c_.accept(",")) break;
    is_tuple = true;
  }
  expect(close, cat("to close '", open.text, "'"));
  Loc loc = join(open.loc, c_.previous().loc);
  if (tuple.items.size() == 1 && !is_tuple) {
    ExprPtr inner = std::move(tuple.items[0]);
    // the location includes the parentheses, so that locations joined with it cover them
    inner->loc = loc;
    return inner;
  }
  return make_node(loc, depth, std::move(tuple));
}

/// Converts a float as Python does. Integers keep their digits: lowering decides whether 64 bits hold them.
ExprPtr ExprParser::literal(const Token &t) {
  std::string digits;
  for (char ch : t.text)
    if (ch != '_') digits += ch;
  if (t.kind == TokenKind::integer) return make_node(t.loc, 0, Integer{std::move(digits)});
  double value = 0;
  auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  // from_chars gives no value out of range; strtod gives inf, or the nearest number next to 0
  if (result.ec == std::errc::result_out_of_range) value = std::strtod(digits.c_str(), nullptr);
  return make_node(t.loc, 0, Real{value});
}

/// Reads a name, a literal or a display. Literals of Python that the language lacks are named in the error
/// (E101); other tokens are E100.
ExprPtr ExprParser::atom() {
  const Token &t = c_.next();
  switch (t.kind) {
    case TokenKind::integer:
    case TokenKind::real: return literal(t);
    case TokenKind::imaginary:
      parse_error(Code::E101, t.loc, "complex numbers are not part of the kernel language");
    case TokenKind::fstring:
      parse_error(Code::E101, t.loc, "an f-string is not part of the kernel language",
                  "kernels compute numbers: format the text outside");
    case TokenKind::bytes:
      parse_error(Code::E101, t.loc, "a bytes literal is not part of the kernel language");
    case TokenKind::string: {
      // adjacent strings are one string: "a" "b" → "ab"
      Text text{t.value};
      Loc loc = t.loc;
      for (; c_.at(TokenKind::string); c_.next())
        text.value += c_.peek().value, loc = join(loc, c_.peek().loc);
      if (c_.at(TokenKind::fstring)) return atom();  // part of the same string: refused there
      return make_node(loc, 0, std::move(text));
    }
    case TokenKind::op:
      if (t.text == "(") return display(t, ")");
      if (t.text == "[") return display(t, "]");
      if (t.text == "{")
        parse_error(Code::E101, t.loc, "a dict or set is not part of the kernel language",
                    "use arrays, indexed by integers");
      if (t.text == "...")
        parse_error(Code::E101, t.loc, "'...' is not part of the kernel language",
                    "in an index name every dimension: `a[i, j]`");
      break;
    case TokenKind::name:
      if (t.text == "True" || t.text == "False") return make_node(t.loc, 0, Boolean{t.text == "True"});
      if (t.text == "None") return make_node(t.loc, 0, NoneLiteral{});
      if (!is_keyword(t.text)) return make_node(t.loc, 0, Name{std::string(t.text)});
      if (t.text == "lambda" || t.text == "yield" || t.text == "await") refuse_word(t);
      break;
    default: break;
  }
  parse_error(Code::E100, t.loc, cat("expected an expression, found ", token_text(t)));
}

}  // namespace kw
