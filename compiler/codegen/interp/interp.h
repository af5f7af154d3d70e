// Executes IR directly. Defines the semantics of the IR and is, beside CPython, the oracle of the other back
// ends. Executes loops of every kind in source order of iterations; sums follow their order marks. Elementary
// functions evaluate their expansions (transform/math). Not meant to be fast.
#pragma once

#include <cstdint>

#include "ir/func.h"
#include "ir/scalar_ops.h"
#include "support/target.h"

namespace kw {

/// The arguments of compiled kernels by their ABI (core.md 2), and a target.
struct InterpArgs {
  void *const *data = nullptr;
  const int64_t *dims = nullptr;
  const uint64_t *scalars = nullptr;
  const volatile uint32_t *cancel = nullptr;
  const Target *target = nullptr;  ///< selects the expansions of elementary functions; null: kernel_target()
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
