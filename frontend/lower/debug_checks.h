// What debug=True checks of values: conversions, divisors, exponents, overflow.
// Without debug no check is made.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Emits the checks of debug=True. Each check goes in front of the statement that evaluates the value.
class DebugChecks : public Lowering {
 public:
  using Lowering::Lowering;

  void check_operand(const Operand &o, DType to);
  /// `rounds`: without debug the value saturates, which the message tells; a cast of an int wraps.
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
