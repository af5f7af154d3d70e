// The checks of values that debug=True demands: conversions, divisors, exponents, overflow. Without
// debug=True none is emitted.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Emits the checks of debug=True, each in front of the statement that evaluates the value.
class DebugChecks : public Lowering {
 public:
  using Lowering::Lowering;

  void check_operand(const Operand &o, DType to);
  /// Checks that a value fits into `to`. `rounds` selects the message: without debug=True a rounded value
  /// saturates, and a cast int wraps.
  void check_conversion(const Operand &o, DType to, bool rounds = false);
  void check_int64(const Operand &o);
  void check_exponent(const Operand &n, Loc loc);
  void check_arithmetic(ast::Operator op, const Operand &a, const Operand &b, const Operand &result, Loc loc);
  void check_opposite(std::string_view what, const Operand &a, Loc loc);

 private:
  void check_value(const Expr &ok, Code code, Loc loc, SiteMessage message);
  void check_divisor(const Operand &b, bool whole, Loc loc);
};

}  // namespace kw
