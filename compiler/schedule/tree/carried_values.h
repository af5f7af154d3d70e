// Finds what one iteration of an innermost loop stores to memory and the next one loads, and keeps it in a
// scalar. A sum into one element is such a loop as well. No two buffers may share memory.
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
  std::vector<Expr> first;                       ///< where the first iteration reads
  std::unordered_set<const ExprNode *> reads{};  ///< the loads of what was stored before
};

/// Returns the stores of a loop that every iteration executes, each the only one to its buffer, in source
/// order; none if the loop is not serial, or holds loops, jumps or checks.
std::vector<CarriedValue> carried_values(const For &loop);

/// Returns the loop `s` with a scalar for one of them, declared around it.
Stmt with_carried_scalar(const Stmt &s, const CarriedValue &value);

}  // namespace kw
