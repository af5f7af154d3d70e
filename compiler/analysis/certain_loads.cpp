// The first operand of a lazy operator is always evaluated, the others are not.
#include "analysis/certain_loads.h"

#include "ir/walk.h"

namespace kw {

void for_each_certain_load(const Expr &e, const std::function<void(const Load &)> &f) {
  if (const Load *n = as<Load>(e)) return f(*n);
  for_each_certain_operand(e, [&](const Expr &operand) { for_each_certain_load(operand, f); });
}

}  // namespace kw
