// The order in which operands are evaluated. Operands lowered before a statement was emitted remain
// expressions, but their elements are read before that statement.
#pragma once

#include "frontend/lower/lowering.h"

namespace kw {

/// Keeps Python's evaluation order, left to right. Operands stay expressions if possible.
///
///   a[i] + f(j)    →    earlier = a[i]; (statements of f); earlier + result      if f writes a tensor
class EvaluationOrder : public Lowering {
 public:
  using Lowering::Lowering;

  void evaluate_before(const Place &place, Operand &earlier);
  void evaluate_before(const Place &place, std::vector<Operand> &earlier);
  void evaluate_before(const Place &place, Expr &earlier);
  std::vector<Operand> operands(const std::vector<ast::ExprPtr> &list, bool numbers = true);
  void evaluate_items(Operand &tuple);
};

}  // namespace kw
