// The syntax tree of a kernel: what the parser read, untyped. Types and meaning are given by lowering; IR
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
struct Integer {
  std::string digits;
};  // as written
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
struct Attribute {
  ExprPtr value;
  std::string name;
};
struct Slice {
  ExprPtr lower, upper, step;
};  // only inside a Subscript
struct Subscript {
  ExprPtr value;
  std::vector<ExprPtr> index;
  bool is_tuple;
};
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
struct CompareExpr {
  std::vector<ExprPtr> items;
  std::vector<CompareOp> ops;
};
struct BoolExpr {
  bool is_and;
  std::vector<ExprPtr> items;
};
struct Ternary {
  ExprPtr cond, yes, no;
};
struct Tuple {
  std::vector<ExprPtr> items;
  bool is_list = false;  ///< written in brackets
};

struct Expr {
  Loc loc;
  uint32_t depth = 1;
  std::variant<Name, Integer, Real, Text, Boolean, NoneLiteral, Attribute, Slice, Subscript, CallExpr,
               UnaryExpr, BinaryExpr, CompareExpr, BoolExpr, Ternary, Tuple>
      v;
};

template <class K>
const K *as(const ExprPtr &e) {
  return e ? std::get_if<K>(&e->v) : nullptr;
}

struct Stmt;
using Block = std::vector<Stmt>;

struct Assign {
  ExprPtr target, value;
  ExprPtr annotation;
};
struct AugAssign {
  Operator op;
  ExprPtr target, value;
};
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
struct WithStmt {
  ExprPtr context;
  std::shared_ptr<Block> body;
};
struct ReturnStmt {
  ExprPtr value;
};
struct AssertStmt {
  ExprPtr cond, message;
};
struct ExprStmt {
  ExprPtr value;
};
struct PassStmt {};
struct JumpStmt {
  bool is_break;
};

/// A statement outside the language, with what is to be said of it unless its branch is dead.
struct Refused {
  std::vector<Diagnostic> found;
};

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
  bool by_keyword = false;  ///< behind a bare `*`
};

struct Function {
  std::string name;
  Loc loc;  ///< of the name
  std::vector<Parameter> params;
  Loc star{};  ///< of a bare `*` among the parameters
  Block body;
};

}  // namespace kw::ast
