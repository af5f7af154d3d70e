// Statements and the function header. An error ends its statement; parsing continues at the next line of the
// same block. Valid Python outside the language stays in the tree, because it may be in a dead branch.
#include "frontend/parser.h"

#include <algorithm>
#include <utility>

#include "frontend/parse_expr.h"
#include "support/text.h"

namespace kw {

using namespace ast;

namespace {

constexpr uint32_t max_blocks = 100;  // CPython's limit of indentation levels

/// A keyword of a statement outside the language, with the advice to give.
struct RefusedRow {
  std::string_view keyword, what, help;
};
constexpr RefusedRow refused[] = {
    {"try", "a try statement", "kernels raise nothing themselves; guard with `if`"},
    {"raise", "a raise statement", "use `assert`, or check the arguments before the call"},
    {"class", "a class", "keep its values in arrays and locals"},
    {"def", "a nested function", "define it outside of the kernel"},
    {"async", "an async statement", "remove `async`: a kernel waits for nothing"},
    {"import", "an import", "import outside of the kernel"},
    {"from", "an import", "import outside of the kernel"},
    {"del", "a del statement", "remove it: locals end with the kernel"},
    {"global", "a global statement", "kernels only read globals; return what they compute"},
    {"nonlocal", "a nonlocal statement", "kernels only read closures; return what they compute"},
    {"@", "a nested function", "define it outside of the kernel"},
};

/// Reads statements by recursive descent. Errors travel as CompileError to the innermost `statement`, which
/// reports them and continues after that statement. Errors of the header leave the parser.
class Parser {
 public:
  Parser(const TokenList &tokens, Sink &sink) : c_(tokens), e_(c_), sink_(sink), ir_mode_(tokens.ir_mode) {}
  Function function();

 private:
  void skip_decorators();
  void parameters(Function &f);
  void default_value();
  void block(Block &out);
  void statement(Block &out);
  void compound_or_simple(Block &out);
  void simple_line(Block &out);
  Stmt simple();
  Stmt assignment(Loc start);
  Stmt for_statement();
  Stmt while_statement();
  Stmt if_statement();
  Stmt with_statement();
  std::shared_ptr<Block> suite();
  void refuse_statement();
  void refuse_loop_else(std::string_view loop);
  bool looks_like_match() const;
  void skip_statement();
  ExprPtr for_target();
  ExprPtr annotation();

  TokenCursor c_;
  ExprParser e_;
  Sink &sink_;
  bool ir_mode_;
  uint32_t blocks_ = 0, loops_ = 0;  ///< enclosing indented blocks and loops
};

/// Skips decorators, which act when Python defines the function. Each is one logical line.
void Parser::skip_decorators() {
  while (c_.accept("@")) {
    while (!c_.at(TokenKind::newline) && !c_.at(TokenKind::end)) c_.next();
    c_.next();
  }
}

/// Reads an annotation. In IR it is a type. In Python it is any expression without meaning here, so it is
/// skipped.
ExprPtr Parser::annotation() {
  if (ir_mode_) return e_.expression();
  for (int depth = 0; !c_.at(TokenKind::newline) && !c_.at(TokenKind::end); c_.next()) {
    const Token &t = c_.peek();
    if (depth == 0 && (t.is(",") || t.is(")") || t.is("=") || t.is(":") || t.is(";"))) break;
    if (t.is("(") || t.is("[") || t.is("{")) ++depth;
    if (t.is(")") || t.is("]") || t.is("}")) --depth;
  }
  return {};
}

void Parser::default_value() {
  if (c_.accept("=")) e_.expression();  // the dispatcher fills in defaults, so their text has no meaning here
}

/// Reads the header from the opening parenthesis to the colon. Parameters after a bare `*` are keyword-only;
/// `/` has no effect.
///   (a, b: T = 1, /, c, *, d) -> U:  →  a, b, c, and d by keyword
void Parser::parameters(Function &f) {
  e_.expect("(", "after the function's name");
  while (!c_.peek().is(")")) {
    // a second bare `*` is refused like *args, as Python refuses it
    bool bare = c_.peek().is("*") && c_.peek(1).is(",") && !f.star.known();
    if (!bare && (c_.peek().is("*") || c_.peek().is("**")))
      parse_error(Code::E112, c_.peek().loc, "'*' parameters are not part of the kernel language",
                  "name every parameter");
    // `star` is now known, so the following parameters are keyword-only
    if (bare) f.star = c_.next().loc, c_.accept(",");
    if (c_.accept("/")) {
      if (!c_.accept(",")) break;
      continue;
    }
    const Token &name = c_.next();
    if (name.kind != TokenKind::name) parse_error(Code::E100, name.loc, "expected a parameter's name");
    Parameter p{std::string(name.text), name.loc, {}, f.star.known()};
    if (c_.accept(":")) p.annotation = annotation();
    default_value();
    f.params.push_back(std::move(p));
    if (!c_.accept(",")) break;
  }
  e_.expect(")", "after the parameters");
  if (c_.accept("->")) annotation();
  e_.expect(":", "after the function's header");
}

/// Reads decorators, header and body of the first function, and nothing after its body.
Function Parser::function() {
  skip_decorators();
  if (c_.peek().is("async")) parse_error(Code::E101, c_.peek().loc, "an async function is no kernel");
  if (!c_.accept("def"))
    parse_error(Code::E101, c_.peek().loc, "a kernel is a function defined by `def`",
                "write `def name(...):` instead of a lambda or an expression");
  Function f;
  const Token &name = c_.next();
  if (name.kind != TokenKind::name) parse_error(Code::E100, name.loc, "expected the function's name");
  f.name = std::string(name.text);
  f.loc = name.loc;
  parameters(f);
  f.body = std::move(*suite());
  return f;
}

/// Reads the body after a colon: an indented block, or simple statements on the same line.
std::shared_ptr<Block> Parser::suite() {
  auto out = std::make_shared<Block>();
  if (!c_.at(TokenKind::newline)) {
    simple_line(*out);
    return out;
  }
  c_.next();
  if (!c_.at(TokenKind::indent)) parse_error(Code::E100, c_.peek().loc, "expected an indented block");
  c_.next();
  if (++blocks_ > max_blocks)
    parse_error(Code::E105, c_.peek().loc, cat("blocks nest deeper than ", max_blocks), "split the kernel");
  block(*out);
  --blocks_;
  return out;
}

/// Reads statements up to and including the dedent that closes the block.
void Parser::block(Block &out) {
  while (!c_.at(TokenKind::dedent) && !c_.at(TokenKind::end)) statement(out);
  if (c_.at(TokenKind::dedent)) c_.next();
}

/// Skips to the end of the current line and over the block that it opens.
void Parser::skip_statement() {
  while (!c_.at(TokenKind::newline) && !c_.at(TokenKind::end)) c_.next();
  if (c_.at(TokenKind::newline)) c_.next();
  if (!c_.at(TokenKind::indent)) return;
  size_t depth = 0;
  do {
    if (c_.at(TokenKind::indent)) ++depth;
    if (c_.at(TokenKind::dedent)) --depth;
    if (c_.at(TokenKind::end)) return;
    c_.next();
  } while (depth > 0);
}

/// Reads one statement. After an error it skips the rest of the statement and the block below it.
void Parser::statement(Block &out) {
  if (c_.at(TokenKind::indent)) {
    // the indented lines join this block, so that the indentation is the only error
    sink_.add({Code::E100, c_.peek().loc, "unexpected indentation", {}, {}});
    c_.next();
    return block(out);
  }
  uint32_t blocks = blocks_, loops = loops_;
  bool decorated = c_.peek().is("@");
  Loc start = c_.peek().loc;
  try {
    compound_or_simple(out);
  } catch (const CompileError &error) {
    // the error left the counters raised
    blocks_ = blocks;
    loops_ = loops;
    // E100 is no Python and E105 is too deep for a tree: both are errors even in a dead branch. Other
    // refusals are kept for lowering, which reports those in live code. In printed IR every error counts.
    auto whole = [](const Diagnostic &d) { return d.code != Code::E100 && d.code != Code::E105; };
    if (!ir_mode_ && std::all_of(error.found().begin(), error.found().end(), whole))
      out.push_back({start, Refused{{error.found().begin(), error.found().end()}}});
    else
      for (const Diagnostic &d : error.found()) sink_.add(d);
    skip_statement();
    // skips the other decorators of a decorated function, then the definition
    while (decorated && c_.peek().is("@")) skip_statement();
    if (decorated) skip_statement();
    // skips the other clauses of the statement
    while (c_.peek().is("except") || c_.peek().is("finally") || c_.peek().is("else") || c_.peek().is("elif"))
      skip_statement();
  }
}

/// Returns whether a match statement begins here: `match` is a name unless its line opens a block that begins
/// with `case`.
bool Parser::looks_like_match() const {
  if (!c_.peek().is("match")) return false;
  size_t i = 1;
  while (c_.peek(i).kind != TokenKind::newline && c_.peek(i).kind != TokenKind::end) ++i;
  return c_.peek(i - 1).is(":") && c_.peek(i + 1).kind == TokenKind::indent && c_.peek(i + 2).is("case");
}

/// Throws E101 if a statement that the language lacks begins here.
void Parser::refuse_statement() {
  const Token &t = c_.peek();
  if (looks_like_match())
    parse_error(Code::E101, t.loc, "a match statement is not part of the kernel language", "use if/elif");
  for (const RefusedRow &row : refused)
    if (t.is(row.keyword))
      parse_error(Code::E101, t.loc, cat(row.what, " is not part of the kernel language"),
                  std::string(row.help));
}

void Parser::compound_or_simple(Block &out) {
  refuse_statement();
  const Token &t = c_.peek();
  if (t.is("for")) return out.push_back(for_statement());
  if (t.is("while")) return out.push_back(while_statement());
  if (t.is("if")) return out.push_back(if_statement());
  if (t.is("with")) return out.push_back(with_statement());
  simple_line(out);
}

/// Reads the statements of one line: a = 1; b = 2;
void Parser::simple_line(Block &out) {
  do {
    if (c_.at(TokenKind::newline)) break;
    refuse_statement();
    out.push_back(simple());
  } while (c_.accept(";"));
  if (!c_.at(TokenKind::newline))
    parse_error(Code::E100, c_.peek().loc, cat("expected the end of the line, found '", c_.peek().text, "'"));
  c_.next();
}

Stmt Parser::simple() {
  const Token &t = c_.peek();
  Loc start = t.loc;
  if (c_.accept("pass")) return {start, PassStmt{}};
  if (t.is("break") || t.is("continue")) {
    // this is also a syntax error in Python
    if (loops_ == 0) parse_error(Code::E100, start, cat("`", t.text, "` stands outside of a loop"));
    return c_.next(), Stmt{start, JumpStmt{t.is("break")}};
  }
  if (c_.accept("return")) {
    ExprPtr value = c_.at(TokenKind::newline) || c_.peek().is(";") ? nullptr : e_.expression_list();
    return {value ? join(start, value->loc) : start, ReturnStmt{std::move(value)}};
  }
  if (c_.accept("assert")) {
    ExprPtr cond = e_.expression();
    ExprPtr message = c_.accept(",") ? e_.expression() : nullptr;
    return {join(start, c_.previous().loc), AssertStmt{std::move(cond), std::move(message)}};
  }
  return assignment(start);
}

/// Reads a statement that begins with an expression:
///   target = value, target: T = value, target += value, target: T, value
Stmt Parser::assignment(Loc start) {
  static constexpr std::pair<std::string_view, Operator> augmented[] = {
      {"+=", Operator::add},     {"-=", Operator::sub},        {"*=", Operator::mul},
      {"/=", Operator::div},     {"//=", Operator::floor_div}, {"%=", Operator::mod},
      {"**=", Operator::pow},    {"&=", Operator::bit_and},    {"|=", Operator::bit_or},
      {"^=", Operator::bit_xor}, {"<<=", Operator::shl},       {">>=", Operator::shr},
      {"@=", Operator::matmul}};
  ExprPtr target = e_.expression_list();
  for (auto [text, op] : augmented) {
    if (!c_.accept(text)) continue;
    ExprPtr value = e_.expression_list();
    return {join(start, value->loc), AugAssign{op, std::move(target), std::move(value)}};
  }
  ExprPtr noted;
  if (c_.accept(":")) {
    noted = annotation();
    if (!c_.peek().is("=")) return {join(start, c_.previous().loc), PassStmt{}};  // declares nothing
  }
  if (!c_.accept("=")) return {join(start, target->loc), ExprStmt{std::move(target)}};
  ExprPtr value = e_.expression_list();
  if (c_.peek().is("="))
    parse_error(Code::E101, join(start, c_.peek().loc),
                "a statement with multiple assignments is not part of the kernel language",
                "assign each name in a statement of its own");
  return {join(start, value->loc), Assign{std::move(target), std::move(value), std::move(noted)}};
}

/// Reads the names of a for loop as operands, because `in` would be taken for a comparison. Returns a Name,
/// or a Tuple of names for `i, j` and `(i, j)`; throws E113 for anything else.
ExprPtr Parser::for_target() {
  auto variable = [&] {
    if (c_.peek().is("*"))
      parse_error(Code::E101, c_.peek().loc, "unpacking with '*' is not part of the kernel language");
    return e_.operand();
  };
  ExprPtr first = variable();
  Loc loc = first->loc;
  Tuple tuple;
  bool is_tuple = c_.peek().is(",");
  if (auto *listed = std::get_if<Tuple>(&first->v); listed && !is_tuple) {
    tuple = std::move(*listed);
    is_tuple = true;
  } else {
    tuple.items.push_back(std::move(first));
  }
  while (c_.accept(",")) {
    if (c_.peek().is("in")) break;
    tuple.items.push_back(variable());
  }
  loc = join(loc, c_.previous().loc);
  for (const ExprPtr &item : tuple.items)
    if (!as<Name>(item))
      parse_error(Code::E113, item->loc, "a loop variable is a name",
                  "use `for i in ...` or `for i, j in grid(...)`");
  if (tuple.items.empty()) parse_error(Code::E100, loc, "expected a loop variable");
  if (!is_tuple) return std::move(tuple.items[0]);
  // two levels: the tuple and its names
  return std::make_unique<ast::Expr>(ast::Expr{loc, 2, std::move(tuple)});
}

/// Throws E101 for the `else` that Python allows after a loop.
void Parser::refuse_loop_else(std::string_view loop) {
  if (c_.peek().is("else"))
    parse_error(Code::E101, c_.peek().loc,
                cat("`else` of a ", loop, " loop is not part of the kernel language"), "use a flag");
}

Stmt Parser::for_statement() {
  Loc start = c_.next().loc;
  if (c_.peek().is("in")) parse_error(Code::E100, join(start, c_.peek().loc), "expected a loop variable");
  ExprPtr target = for_target();
  e_.expect("in", "after the loop variable");
  ExprPtr iterable = e_.expression_list();
  Loc loc = join(start, iterable->loc);
  e_.expect(":", "after the loop's range");
  ++loops_;
  auto body = suite();
  --loops_;
  refuse_loop_else("for");
  return {loc, ForStmt{std::move(target), std::move(iterable), std::move(body)}};
}

Stmt Parser::while_statement() {
  Loc start = c_.next().loc;
  ExprPtr cond = e_.expression();
  Loc loc = join(start, cond->loc);
  e_.expect(":", "after the condition");
  ++loops_;
  auto body = suite();
  --loops_;
  refuse_loop_else("while");
  return {loc, WhileStmt{std::move(cond), std::move(body)}};
}

/// Reads an if with its elif and else clauses iteratively, so that a long chain does not deepen the
/// recursion:
///   if a: … elif b: … else: …  →  IfStmt{a, …, no: [IfStmt{b, …, no: […]}]}
Stmt Parser::if_statement() {
  std::vector<Stmt> chain;  // if, elif, elif, …
  std::shared_ptr<Block> no;
  do {
    Loc start = c_.next().loc;
    ExprPtr cond = e_.expression();
    Loc loc = join(start, cond->loc);
    e_.expect(":", "after the condition");
    chain.push_back({loc, IfStmt{std::move(cond), suite(), {}}});
  } while (c_.peek().is("elif"));
  if (c_.accept("else")) {
    e_.expect(":", "after else");
    no = suite();
  }
  for (size_t i = chain.size(); i-- > 1;) {  // each becomes the `else` of the previous one
    std::get<IfStmt>(chain[i].v).no = std::exchange(no, std::make_shared<Block>());
    no->push_back(std::move(chain[i]));
  }
  std::get<IfStmt>(chain[0].v).no = std::move(no);
  return std::move(chain[0]);
}

/// Reads a with statement with any expression as context; the rules refuse the ones outside the language.
Stmt Parser::with_statement() {
  Loc start = c_.next().loc;
  ExprPtr context = e_.expression_list();
  e_.refuse_as();
  Loc loc = join(start, context->loc);
  e_.expect(":", "after the scope");
  return {loc, WithStmt{std::move(context), suite()}};
}

}  // namespace

ast::Function parse_function(const TokenList &tokens, Sink &sink) { return Parser(tokens, sink).function(); }

}  // namespace kw
