// Finds values that one iteration of an innermost loop stores to memory and the next iteration loads, and
// keeps them in scalars. A sum into one element is such a value too. Assumes that no two buffers share
// memory.
//     for j in serial(1, n, 1):           last[()] = y[0] if 1 < n else f32(0.0)
//       y[j] = y[j - 1] + x[j]      →     for j in serial(1, n, 1):
//                                           let v = last[()] + x[j]: y[j] = v; last[()] = v
#pragma once

#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace kw {

/// A store of an innermost loop whose value the next iteration reads.
struct CarriedValue {
  const StmtNode *store = nullptr;
  Buf buf;
  std::vector<Expr> first;                       ///< subscripts of the element that the first iteration loads
  std::unordered_set<const ExprNode *> reads{};  ///< the loads of the value stored one iteration before
};

/// Returns the carried values of a loop, in source order. Every iteration executes their stores, and no other
/// store writes their buffers. Returns none if the loop is not serial, or holds loops, jumps or checks.
std::vector<CarriedValue> carried_values(const For &loop);

/// Returns the loop `s` with one of these values in a scalar, which is declared around the loop.
Stmt with_carried_scalar(const Stmt &s, const CarriedValue &value);

}  // namespace kw
