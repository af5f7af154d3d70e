// Types of the kernel language: strong and weak scalars, promotion by NEP 50, merging at control flow, and
// the compile-time values (tuples, dtypes, text) that have no place in IR. Builds casts and operations; knows
// nothing of statements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/ast.h"
#include "ir/build.h"
#include "support/diagnostic.h"

namespace kw {

/// Type of a scalar. Weak: bool (b1), int (i64) or float (f64) that adopts the type of a strong operand.
///   float32 + 1 → float32, int8 + 0.5 → float64, 1 + 0.5 → weak float
struct ScalarType {
  DType dtype = DType::i64;
  bool weak = false;
  friend bool operator==(const ScalarType &, const ScalarType &) = default;
};

/// "float32", or "a Python int" for weak types.
std::string type_text(ScalarType t);

/// What an expression of the source means.
struct Operand {
  /// `poisoned`: the error of this expression is reported, and whoever meets the operand adds no other.
  enum class Kind : uint8_t { scalar, tensor, tuple, dtype, text, none, poisoned };
  Kind kind = Kind::poisoned;
  Loc loc;
  Expr expr;                   ///< scalar
  bool weak = false;           ///< scalar
  bool truth = false;          ///< scalar: result of and/or over numbers, usable only as a condition
  bool by_and = false;         ///< scalar, truth: of `and`
  Buf buf;                     ///< tensor
  std::string captured;        ///< tensor: the name of a captured array, which is read-only
  std::vector<Operand> items;  ///< tuple
  DType dtype = DType::f64;    ///< dtype
  std::string text;            ///< text

  /// A weak constant from 2^63 on is held as u64, and is a weak int like any other.
  ScalarType type() const { return {weak && expr.dtype() == DType::u64 ? DType::i64 : expr.dtype(), weak}; }
};

/// Makes a scalar operand; `loc` is the place that errors about it show.
Operand scalar_operand(Expr e, bool weak, Loc loc);
/// "a tensor", "a tuple", "a dtype", "float32", …
std::string describe(const Operand &o);

/// Throws a CompileError with one diagnostic.
[[noreturn]] void type_error(Code code, Loc loc, std::string message, std::string help = {});

/// "a[i, j]": how an element of a tensor of that rank is written.
std::string element_text(const BufNode &tensor);
/// E214 for a scalar that is a truth value; `use` says what was done with it.
[[noreturn]] void refuse_truth_value(const Operand &o, std::string_view use);

/// The dtypes that the language has at present; E102 for others.
void require_available(DType t, Loc loc);

/// Converts to `to` as an operand of an operation: casts, and refuses constants outside the range of an
/// integer type (E203).
Expr adapt(const Operand &o, DType to);
/// E203 when a weak int is a constant that `to` cannot hold.
void require_range(const Expr &e, DType to, Loc loc);

/// Result type of arithmetic on two scalars before the operation's own rule (language.md 2).
ScalarType common_type(ScalarType a, ScalarType b, Loc loc);
/// The type at a merge of control flow, or the diagnostic's code and message. Two dtypes of one kind give
/// their promoted dtype, integers only where that is an integer (language.md 2a, V12).
///   float32, 0 → float32    int32, int64 → int64    int64, uint64 → E210    int32, 0.5 → E211
struct Merge {
  std::optional<ScalarType> type;
  Code code = Code::E210;
  std::string message, help;
  std::string note = {};  ///< where the two types come from
};
Merge merge_types(const std::string &name, ScalarType a, ScalarType b);

/// Of ints that are known it gives what Python gives, or E215; others wrap at 64 bits.
Operand arithmetic(ast::Operator op, const Operand &a, const Operand &b, Loc loc);
/// Compares integers as numbers whatever their types: uint8 < 300 is true, uint64 > -1 is true.
Operand compare(ast::CompareOp op, const Operand &a, const Operand &b, Loc loc);
/// -a; E205 for a strong bool, which NumPy does not negate.
Operand unary_minus(const Operand &a, Loc loc);
/// ~a: the complement of an integer, `not` of a strong bool, an int of a weak bool.
Operand invert(const Operand &a, Loc loc);
/// The least of one or more scalars, or the greatest, in their common type.
Operand minimum(bool is_min, std::vector<Operand> args, Loc loc);
/// |a| of an int that is known; nothing for other operands.
std::optional<Operand> exact_abs(const Operand &a, Loc loc);
/// The dtype in which two weak operands meet whose merged type is `merged`: uint64 instead of int64 when each
/// is known not to be negative and one needs it.
DType meeting_dtype(ScalarType merged, const Operand &a, const Operand &b);
/// x ** n: products for small whole exponents of integers, x * x, 1 / x and the square root where the
/// constant says so, else the function power.
Operand power(const Operand &base, const Operand &exponent, Loc loc);
/// A scalar as b1: `!= 0` for numbers.
Expr truth_of(const Operand &o);
/// What to do about a float that stands for an integer.
inline constexpr std::string_view integer_help = "convert it: `int64(...)`";
inline constexpr std::string_view quotient_help = "use `//`, which keeps integers";
/// What to do about an int beyond 64 bits.
inline constexpr std::string_view wide_help =
    "use a float, a smaller constant, or `uint64(...)` arithmetic, which wraps at 2**64";
/// What to do about a string that is no name.
inline constexpr std::string_view text_help = "kernels compute numbers: format the text outside";
/// A scalar as i64, for indices and loop bounds; E213 for anything but integers, with `help` for floats.
Expr index_of(const Operand &o, std::string_view what, std::string_view help = integer_help);
/// The operator as written in the source: "+", "//".
std::string_view operator_text(ast::Operator op);

}  // namespace kw
