// The syntax tree of a kernel, as parsed and without types. Lowering gives the nodes types and meaning; IR
// never holds these nodes.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "support/diagnostic.h"

namespace kw::ast {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// Binary operators, in the order of `operator_text`. The parser accepts `matmul`; the rules refuse it.
enum class Operator : uint8_t {
  add,
  sub,
  mul,
  div,
  floor_div,
  mod,
  pow,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  matmul
};
enum class CompareOp : uint8_t { lt, le, gt, ge, eq, ne, is, is_not, in, not_in };
enum class UnaryOp : uint8_t { minus, plus, invert, logical_not };

struct Name {
  std::string id;
};
/// An integer literal as text, with its radix prefix, because a literal may exceed 64 bits.
struct Integer {
  std::string digits;
};  // as written, without underscores
struct Real {
  double value;
};
struct Text {
  std::string value;
};
struct Boolean {
  bool value;
};
struct NoneLiteral {};
/// `value.name`.
struct Attribute {
  ExprPtr value;
  std::string name;
};
/// `lower:upper:step`; absent parts are null.
struct Slice {
  ExprPtr lower, upper, step;
};  // only inside a Subscript
/// `value[index]`. `is_tuple` is set for a[i, j] and for a[i,], not for a[i].
struct Subscript {
  ExprPtr value;
  std::vector<ExprPtr> index;
  bool is_tuple;
};
/// An argument `name=value`; `loc` covers both.
struct Keyword {
  std::string name;
  ExprPtr value;
  Loc loc;
};
struct CallExpr {
  ExprPtr callee;
  std::vector<ExprPtr> args;
  std::vector<Keyword> keywords;
};
struct UnaryExpr {
  UnaryOp op;
  ExprPtr a;
};
struct BinaryExpr {
  Operator op;
  ExprPtr a, b;
};
/// A chain of comparisons: a < b <= c has the items a, b, c and the operators <, <=.
struct CompareExpr {
  std::vector<ExprPtr> items;
  std::vector<CompareOp> ops;
};
/// A chain of one logical operator: `a and b and c` is one node with three items.
struct BoolExpr {
  bool is_and;
  std::vector<ExprPtr> items;
};
/// `yes if cond else no`.
struct Ternary {
  ExprPtr cond, yes, no;
};
struct Tuple {
  std::vector<ExprPtr> items;
  bool is_list = false;  ///< written in brackets
};

/// An expression, which owns its operands.
struct Expr {
  Loc loc;
  uint32_t depth = 1;  ///< levels of the tree, this node included; limits the recursion of every walk
  std::variant<Name, Integer, Real, Text, Boolean, NoneLiteral, Attribute, Slice, Subscript, CallExpr,
               UnaryExpr, BinaryExpr, CompareExpr, BoolExpr, Ternary, Tuple>
      v;
};

/// Returns the node if it is of kind K, else null; null for an absent expression.
template <class K>
const K *as(const ExprPtr &e) {
  return e ? std::get_if<K>(&e->v) : nullptr;
}

struct Stmt;
using Block = std::vector<Stmt>;

/// `target = value`. The annotation is a type in printed IR; it is null in Python, where it has no meaning.
struct Assign {
  ExprPtr target, value;
  ExprPtr annotation;
};
struct AugAssign {
  Operator op;
  ExprPtr target, value;
};
/// The target is a Name or a Tuple of names; the iterable may be any expression.
struct ForStmt {
  ExprPtr target, iterable;
  std::shared_ptr<Block> body;
};
struct WhileStmt {
  ExprPtr cond;
  std::shared_ptr<Block> body;
};
struct IfStmt {
  ExprPtr cond;
  std::shared_ptr<Block> yes, no;
};  // elif is an if inside `no`
/// The context of several scopes is a Tuple.
struct WithStmt {
  ExprPtr context;
  std::shared_ptr<Block> body;
};
/// `return value`; the value of a bare `return` is null.
struct ReturnStmt {
  ExprPtr value;
};
struct AssertStmt {
  ExprPtr cond, message;  ///< the message is null if there is none
};
struct ExprStmt {
  ExprPtr value;
};
/// A statement without effect; also represents an annotation without a value, `x: int`.
struct PassStmt {};
/// `break` if `is_break`, else `continue`. The parser has checked that a loop encloses it.
struct JumpStmt {
  bool is_break;
};

/// A statement outside the language, with the errors to report unless its branch is dead.
struct Refused {
  std::vector<Diagnostic> found;
};

/// A statement. The location of a compound statement covers only its header, which messages underline.
struct Stmt {
  Loc loc;
  std::variant<Assign, AugAssign, ForStmt, WhileStmt, IfStmt, WithStmt, ReturnStmt, AssertStmt, ExprStmt,
               PassStmt, JumpStmt, Refused>
      v;
};

struct Parameter {
  std::string name;
  Loc loc;
  ExprPtr annotation;
  bool by_keyword = false;  ///< after a bare `*`
};

struct Function {
  std::string name;
  Loc loc;  ///< location of the name
  std::vector<Parameter> params;
  Loc star{};  ///< location of a bare `*` among the parameters
  Block body;
};

}  // namespace kw::ast
