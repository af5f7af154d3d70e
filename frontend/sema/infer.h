// Types of the kernel language: strong and weak scalars, promotion by NEP 50, merging at control flow, and
// compile-time values (tuples, dtypes, text) that IR cannot hold. Builds casts and operations; knows nothing
// of statements.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/ast.h"
#include "ir/build.h"
#include "support/diagnostic.h"

namespace kw {

/// The type of a scalar. A weak bool (b1), int (i64) or float (f64) adopts the type of a strong operand.
///   float32 + 1 → float32, int8 + 0.5 → float64, 1 + 0.5 → weak float
struct ScalarType {
  DType dtype = DType::i64;
  bool weak = false;
  friend bool operator==(const ScalarType &, const ScalarType &) = default;
};

/// Returns how messages show a type: "float32", or "a Python int" for weak types.
std::string type_text(ScalarType t);

/// The meaning of an expression of the source.
struct Operand {
  /// `poisoned`: the error of this expression is already reported, so users of the operand add no other.
  enum class Kind : uint8_t { scalar, tensor, tuple, dtype, text, none, poisoned };
  Kind kind = Kind::poisoned;
  Loc loc;
  Expr expr;                   ///< for scalar
  bool weak = false;           ///< for scalar
  bool truth = false;          ///< for scalar: result of and/or over numbers, usable only as a condition
  bool by_and = false;         ///< for scalar with `truth`: result of `and`
  Buf buf;                     ///< for tensor
  std::string captured;        ///< for tensor: the name of a captured array, which is read-only
  std::vector<Operand> items;  ///< for tuple
  DType dtype = DType::f64;    ///< for dtype
  std::string text;            ///< for text

  /// Returns the type. A weak constant from 2^63 on is stored as u64, but is a weak int like any other.
  ScalarType type() const { return {weak && expr.dtype() == DType::u64 ? DType::i64 : expr.dtype(), weak}; }
};

/// Makes a scalar operand; errors about it point to `loc`.
Operand scalar_operand(Expr e, bool weak, Loc loc);
/// Returns how messages describe an operand: "a tensor", "a tuple", "a dtype", "float32", …
std::string describe(const Operand &o);

/// Throws a CompileError with one diagnostic.
[[noreturn]] void type_error(Code code, Loc loc, std::string message, std::string help = {});

/// Returns how an element of a tensor of this rank is written: "a[i, j]".
std::string element_text(const BufNode &tensor);
/// Throws E214 for a scalar that is a truth value; `use` says how it was used.
[[noreturn]] void refuse_truth_value(const Operand &o, std::string_view use);

/// Throws E102 for a dtype that the language does not have yet.
void require_available(DType t, Loc loc);

/// Converts an operand of an operation to `to`: casts, and refuses constants outside the range of an integer
/// type (E203).
Expr adapt(const Operand &o, DType to);
/// Throws E203 for a weak int constant that `to` cannot hold.
void require_range(const Expr &e, DType to, Loc loc);

/// Returns the result type of arithmetic on two scalars before the operation's own rule (language.md 2).
ScalarType common_type(ScalarType a, ScalarType b, Loc loc);
/// The type at a merge of control flow, or the diagnostic's code and message. Two dtypes of one kind give
/// their promoted dtype; two integer dtypes only if that is an integer (language.md 2a, V12).
///   float32, 0 → float32    int32, int64 → int64    int64, uint64 → E210    int32, 0.5 → E211
struct Merge {
  std::optional<ScalarType> type;
  Code code = Code::E210;
  std::string message, help;
  std::string note = {};  ///< origin of the two types
};
Merge merge_types(const std::string &name, ScalarType a, ScalarType b);

/// Lowers an arithmetic operation. Two known ints give Python's result, or E215; other integers wrap at 64
/// bits.
Operand arithmetic(ast::Operator op, const Operand &a, const Operand &b, Loc loc);
/// Compares integers as numbers, whatever their types: uint8 < 300 is true, uint64 > -1 is true.
Operand compare(ast::CompareOp op, const Operand &a, const Operand &b, Loc loc);
/// Returns -a; throws E205 for a strong bool, which NumPy does not negate.
Operand unary_minus(const Operand &a, Loc loc);
/// Returns ~a: the complement of an integer, `not` of a strong bool, an int for a weak bool.
Operand invert(const Operand &a, Loc loc);
/// Returns the least of one or more scalars, or the greatest, in their common type.
Operand minimum(bool is_min, std::vector<Operand> args, Loc loc);
/// Returns |a| of a known int; nothing for other operands.
std::optional<Operand> exact_abs(const Operand &a, Loc loc);
/// Returns the common dtype of two weak operands whose merged type is `merged`. It is uint64 instead of int64
/// if one operand needs it and both are known to be non-negative.
DType meeting_dtype(ScalarType merged, const Operand &a, const Operand &b);
/// Returns x ** n. Small non-negative constant exponents of integers become products. For floats the
/// constants 2, 1, 0, -1 and 0.5 become x * x, x, 1, 1 / x and a square root. Others call the function power.
Operand power(const Operand &base, const Operand &exponent, Loc loc);
/// Converts a scalar to b1: `!= 0` for numbers.
Expr truth_of(const Operand &o);
/// Advice for a float where an integer is needed.
inline constexpr std::string_view integer_help = "convert it: `int64(...)`";
inline constexpr std::string_view quotient_help = "use `//`, which keeps integers";
/// Advice for an int beyond 64 bits.
inline constexpr std::string_view wide_help =
    "use a float, a smaller constant, or `uint64(...)` arithmetic, which wraps at 2**64";
/// Advice for a string that is not a name.
inline constexpr std::string_view text_help = "kernels compute numbers: format the text outside";
/// Returns a scalar as i64, for indices and loop bounds. Throws E213 for non-integers, with `help` for
/// floats.
Expr index_of(const Operand &o, std::string_view what, std::string_view help = integer_help);
/// Returns the operator as written in the source: "+", "//".
std::string_view operator_text(ast::Operator op);

}  // namespace kw
