// Executes IR directly: the living definition of its semantics and, beside CPython, the oracle of the other
// back ends. Runs every function, loops of every kind, in source order of iterations; sums follow their
// order marks. Elementary functions evaluate their expansions (transform/math). Not meant to be fast.
#pragma once

#include <cstdint>

#include "ir/func.h"
#include "ir/scalar_ops.h"
#include "support/target.h"

namespace kw {

/// The same words as the ABI of compiled kernels (core.md 2).
struct InterpArgs {
  void *const *data = nullptr;
  const int64_t *dims = nullptr;
  const uint64_t *scalars = nullptr;
  const volatile uint32_t *cancel = nullptr;
  const Target *target = nullptr;  ///< whose expansions of elementary functions are meant; null: the host's
};
struct InterpResult {
  int32_t status = 0;  ///< 0 ok, 1 fault, 2 cancelled
  uint32_t site = 0;
  int64_t value = 0, bound = 0;
};

InterpResult interpret(const Func &f, const InterpArgs &args);

/// Evaluates an expression without symbols and loads.
Value evaluate(const Expr &e);

}  // namespace kw
