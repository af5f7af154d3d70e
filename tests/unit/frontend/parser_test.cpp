// The parser: every construct of the language becomes the right tree, shown here as text.
#include "frontend/parser.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

std::string shown(const ast::ExprPtr &e);

std::string list(const std::vector<ast::ExprPtr> &items) {
  std::string out;
  for (const ast::ExprPtr &item : items) out += (out.empty() ? "" : " ") + shown(item);
  return out;
}

std::string shown_compare(const ast::CompareExpr &n) {
  static constexpr std::string_view words[] = {
      "<", "<=", ">", ">=", "==", "!=", "is", "is-not", "in", "not-in"};
  std::string out = "(cmp " + shown(n.items[0]);
  for (size_t i = 0; i < n.ops.size(); ++i)
    out += cat(" ", words[static_cast<size_t>(n.ops[i])], " ", shown(n.items[i + 1]));
  return out + ")";
}

std::string_view op_word(ast::Operator op) {
  static constexpr std::string_view words[] = {"+", "-", "*", "/",  "//", "%", "**",
                                               "&", "|", "^", "<<", ">>", "@"};
  return words[static_cast<size_t>(op)];
}

std::string shown(const ast::ExprPtr &e) {
  if (!e) return "_";
  static constexpr std::string_view unary_words[] = {"neg", "pos", "~", "not"};
  return std::visit(
      Overload{
          [](const ast::Name &n) { return n.id; }, [](const ast::Integer &n) { return n.digits; },
          [](const ast::Real &n) { return float_text(n.value); },
          [](const ast::Text &n) { return cat("'", n.value, "'"); },
          [](const ast::Boolean &n) { return cat(n.value); },
          [](const ast::NoneLiteral &) { return std::string("None"); },
          [](const ast::Attribute &n) { return cat("(. ", shown(n.value), " ", n.name, ")"); },
          [](const ast::Slice &n) {
            return cat("(slice ", shown(n.lower), " ", shown(n.upper), " ", shown(n.step), ")");
          },
          [](const ast::Subscript &n) {
            return cat("(at ", shown(n.value), " ", list(n.index), n.is_tuple ? " ,)" : ")");
          },
          [](const ast::CallExpr &n) {
            std::string out = cat("(call ", shown(n.callee));
            if (!n.args.empty()) out += " " + list(n.args);
            for (const ast::Keyword &k : n.keywords) out += cat(" ", k.name, "=", shown(k.value));
            return out + ")";
          },
          [](const ast::UnaryExpr &n) {
            return cat("(", unary_words[static_cast<size_t>(n.op)], " ", shown(n.a), ")");
          },
          [](const ast::BinaryExpr &n) {
            return cat("(", op_word(n.op), " ", shown(n.a), " ", shown(n.b), ")");
          },
          [](const ast::CompareExpr &n) { return shown_compare(n); },
          [](const ast::BoolExpr &n) { return cat("(", n.is_and ? "and " : "or ", list(n.items), ")"); },
          [](const ast::Ternary &n) {
            return cat("(if ", shown(n.cond), " ", shown(n.yes), " ", shown(n.no), ")");
          },
          [](const ast::Tuple &n) { return cat("(tuple", n.items.empty() ? "" : " ", list(n.items), ")"); }},
      e->v);
}

std::string shown(const ast::Block &block) {
  std::string out;
  auto body = [](const std::shared_ptr<ast::Block> &b) {
    return b ? cat("{", shown(*b), "}") : std::string("{}");
  };
  for (const ast::Stmt &s : block) {
    if (!out.empty()) out += "; ";
    out += std::visit(
        Overload{
            [](const ast::Assign &n) { return cat(shown(n.target), " = ", shown(n.value)); },
            [](const ast::AugAssign &n) {
              return cat(shown(n.target), " ", op_word(n.op), "= ", shown(n.value));
            },
            [&](const ast::ForStmt &n) {
              return cat("for ", shown(n.target), " ", shown(n.iterable), " ", body(n.body));
            },
            [&](const ast::WhileStmt &n) { return cat("while ", shown(n.cond), " ", body(n.body)); },
            [&](const ast::IfStmt &n) {
              return cat("if ", shown(n.cond), " ", body(n.yes), " ", body(n.no));
            },
            [&](const ast::WithStmt &n) { return cat("with ", shown(n.context), " ", body(n.body)); },
            [](const ast::ReturnStmt &n) { return cat("return ", shown(n.value)); },
            [](const ast::AssertStmt &n) { return cat("assert ", shown(n.cond), " ", shown(n.message)); },
            [](const ast::ExprStmt &n) { return cat("do ", shown(n.value)); },
            [](const ast::PassStmt &) { return std::string("pass"); },
            [](const ast::JumpStmt &n) { return std::string(n.is_break ? "break" : "continue"); },
            [](const ast::Refused &n) { return cat("refused ", n.found[0].message); }},
        s.v);
  }
  return out;
}

ast::Function parsed(std::string_view text) {
  SourceMap sources;
  uint32_t s = sources.add_text("k.py", 1, std::string(text));
  TokenList tokens = tokenize(sources, s);
  Sink sink;
  ast::Function f = parse_function(tokens, sink);
  sink.throw_if_errors();
  return f;
}

/// The body of a function that consists of these lines.
std::string body_of(std::string_view lines) {
  std::string text = "def f(a):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return shown(parsed(text).body);
}
std::string expression_of(std::string_view text) { return body_of(cat("x = ", text)).substr(4); }

TEST(ParseExpression, precedence_is_that_of_python) {
  EXPECT_EQ(expression_of("a + b * c"), "(+ a (* b c))");
  EXPECT_EQ(expression_of("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(expression_of("a // b % c / d @ e"), "(@ (/ (% (// a b) c) d) e)");
  EXPECT_EQ(expression_of("-a ** -b ** c"), "(neg (** a (neg (** b c))))");
  EXPECT_EQ(expression_of("a | b ^ c & d << e + f"), "(| a (^ b (& c (<< d (+ e f)))))");
  EXPECT_EQ(expression_of("~-+a"), "(~ (neg (pos a)))");
  EXPECT_EQ(expression_of("not a == b or c and not d"), "(or (not (cmp a == b)) (and c (not d)))");
  EXPECT_EQ(expression_of("a or b or c"), "(or a b c)");
  EXPECT_EQ(expression_of("a & b == c"), "(cmp (& a b) == c)");
  EXPECT_EQ(expression_of("a if b else c if d else e"), "(if b a (if d c e))");
  EXPECT_EQ(expression_of("(a + b) * c"), "(* (+ a b) c)");
}

TEST(ParseExpression, comparisons_chain) {
  EXPECT_EQ(expression_of("a < b <= c > d >= e == f != g"), "(cmp a < b <= c > d >= e == f != g)");
  EXPECT_EQ(expression_of("a is b"), "(cmp a is b)");
  EXPECT_EQ(expression_of("a is not b not in c in d"), "(cmp a is-not b not-in c in d)");
}

TEST(ParseExpression, atoms) {
  EXPECT_EQ(expression_of("1_000"), "1000");
  EXPECT_EQ(expression_of("0xFF"), "0xFF");
  EXPECT_EQ(expression_of("1_0.5e0_1"), "105.0");
  EXPECT_EQ(expression_of("1e999"), "inf");
  EXPECT_EQ(expression_of("True"), "True");
  EXPECT_EQ(expression_of("None"), "None");
  EXPECT_EQ(expression_of("'a' \"b\""), "'ab'");
  EXPECT_EQ(expression_of("()"), "(tuple)");
  EXPECT_EQ(expression_of("(a,)"), "(tuple a)");
  EXPECT_EQ(expression_of("a, b,"), "(tuple a b)");
  EXPECT_EQ(expression_of("[a, b]"), "(tuple a b)");
  EXPECT_EQ(expression_of("[a]"), "(tuple a)");
  EXPECT_EQ(expression_of("match + case + type"), "(+ (+ match case) type)");  // soft keywords are names
}

TEST(ParseExpression, attributes_subscripts_and_calls) {
  EXPECT_EQ(expression_of("a.shape[0]"), "(at (. a shape) 0)");
  EXPECT_EQ(expression_of("a[i, j]"), "(at a i j ,)");
  EXPECT_EQ(expression_of("a[i,]"), "(at a i ,)");
  EXPECT_EQ(expression_of("a[()]"), "(at a (tuple))");
  EXPECT_EQ(expression_of("a[1:]"), "(at a (slice 1 _ _))");
  EXPECT_EQ(expression_of("a[:, ::2, x:y:z]"), "(at a (slice _ _ _) (slice _ _ 2) (slice x y z) ,)");
  EXPECT_EQ(expression_of("f(a)(b, c=d)[0].e"), "(. (at (call (call f a) b c=d) 0) e)");
  EXPECT_EQ(expression_of("f(a, b,)"), "(call f a b)");
  EXPECT_EQ(expression_of("f()"), "(call f)");
  EXPECT_EQ(expression_of("np.float32(x)"), "(call (. np float32) x)");
}

TEST(ParseStatement, assignments) {
  EXPECT_EQ(body_of("x = 1"), "x = 1");
  EXPECT_EQ(body_of("n, m = a.shape"), "(tuple n m) = (. a shape)");
  EXPECT_EQ(body_of("a[i] = b"), "(at a i) = b");
  EXPECT_EQ(body_of("x: int = 3"), "x = 3");
  EXPECT_EQ(body_of("x: int"), "pass");
  EXPECT_EQ(body_of("a[0] += 1\nx **= 2\nx //= y\nx >>= 1\nx @= y"),
            "(at a 0) += 1; x **= 2; x //= y; x >>= 1; x @= y");
}

TEST(ParseStatement, loops_and_branches) {
  EXPECT_EQ(body_of("for i in range(n):\n  x = i\n  break\npass"),
            "for i (call range n) {x = i; break}; pass");
  EXPECT_EQ(body_of("for i, j in grid(a.shape):\n  continue"),
            "for (tuple i j) (call grid (. a shape)) {continue}");
  EXPECT_EQ(body_of("for (i, j) in grid(s): pass"), "for (tuple i j) (call grid s) {pass}");
  EXPECT_EQ(body_of("for i, in grid(s): pass"), "for (tuple i) (call grid s) {pass}");
  EXPECT_EQ(body_of("while x < 3: x += 1; y = 2"), "while (cmp x < 3) {x += 1; y = 2}");
  EXPECT_EQ(body_of("if a: pass\nelif b: x = 1\nelif c: x = 2\nelse: x = 3"),
            "if a {pass} {if b {x = 1} {if c {x = 2} {x = 3}}}");
  EXPECT_EQ(body_of("if a:\n  pass"), "if a {pass} {}");
  EXPECT_EQ(body_of("with attr(k, v):\n  x = 1"), "with (call attr k v) {x = 1}");
}

TEST(ParseStatement, simple_statements) {
  EXPECT_EQ(body_of("'''doc'''\nassert a > 0, 'text'\nassert b\nf(a)\nreturn a, b"),
            "do 'doc'; assert (cmp a > 0) 'text'; assert b _; do (call f a); return (tuple a b)");
  EXPECT_EQ(body_of("return"), "return _");
  EXPECT_EQ(body_of("x = 1; y = 2;"), "x = 1; y = 2");
}

TEST(ParseFunction, headers) {
  ast::Function f =
      parsed("@kw.kernel(fp='strict')\n@other\ndef add(a, b: 'f32', /, c: int = 3, d=None):\n  pass\n");
  EXPECT_EQ(f.name, "add");
  std::string names;
  for (const ast::Parameter &p : f.params) names += p.name;
  EXPECT_EQ(names, "abcd");
  EXPECT_EQ(shown(parsed("def f(): return x\n").body), "return x");
  EXPECT_EQ(parsed("def f(a,):\n  pass\n").params.size(), 1u);
}

TEST(ParseFunction, annotations_are_passed_over_whatever_they_are) {
  ast::Function f = parsed(
      "def f(a: {'x': [1, 2]}[k] = 3, b: lambda = 4) -> dict[str, g(1, 2)]:\n  x: {1: 2}[0] = a\n  pass\n");
  EXPECT_EQ(f.params.size(), 2u);
  EXPECT_EQ(shown(f.body), "x = a; pass");
}

TEST(ParseFunction, annotations_are_types_in_ir) {
  ast::Function f = parsed("# kw-ir 2\ndef f(a: buf(f32, (n,))):\n  x: f32 = a\n");
  EXPECT_EQ(shown(f.params[0].annotation), "(call buf f32 (tuple n))");
  EXPECT_EQ(shown(std::get<ast::Assign>(f.body[0].v).annotation), "f32");
}

TEST(ParseFunction, only_the_first_definition_is_read) {
  EXPECT_EQ(shown(parsed("def f():\n  x = 1\ndef g():\n  y = 2\n").body), "x = 1");
}

TEST(ParseFunction, places_span_their_constructs) {
  SourceMap sources;
  uint32_t s = sources.add_text("k.py", 1, "def f(a):\n  x = a[1] + (b)\n");
  Sink sink;
  TokenList tokens = tokenize(sources, s);
  ast::Function f = parse_function(tokens, sink);
  const auto &assign = std::get<ast::Assign>(f.body[0].v);
  EXPECT_EQ(f.body[0].loc, (Loc{s, 12, 26}));
  EXPECT_EQ(assign.target->loc, (Loc{s, 12, 13}));
  EXPECT_EQ(assign.value->loc, (Loc{s, 16, 26}));
  EXPECT_EQ(ast::as<ast::BinaryExpr>(assign.value)->b->loc, (Loc{s, 23, 26}));  // with its parentheses
}

TEST(ParseDepth, nesting_up_to_the_limit_is_read) {
  std::string deep = expression_of(std::string(900, '-') + "a");
  EXPECT_EQ(deep.size(), 900u * 6 + 1);
  EXPECT_EQ(expression_of(std::string(190, '(') + "a" + std::string(190, ')')), "a");
}

}  // namespace
}  // namespace kw
