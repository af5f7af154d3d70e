// The built-in operators as C++ functions. Each calls the operator of its name in the registry, and is
// recorded like any other call. They throw the same errors as call_op.
#pragma once

#include "runtime/calls/call.h"

namespace kw::ops {

// elementwise operators; operands are broadcast and promoted to a common dtype as in NumPy
Tensor add(const Tensor &a, const Tensor &b);
Tensor sub(const Tensor &a, const Tensor &b);
Tensor mul(const Tensor &a, const Tensor &b);
Tensor div(const Tensor &a, const Tensor &b);
Tensor less(const Tensor &a, const Tensor &b);
Tensor equal(const Tensor &a, const Tensor &b);
Tensor select(const Tensor &condition, const Tensor &a, const Tensor &b);
Tensor neg(const Tensor &x);
Tensor exp(const Tensor &x);
Tensor log(const Tensor &x);
/// Call a unary or binary operator by its name without the namespace.
Tensor unary(std::string_view name, const Tensor &x);
Tensor binary(std::string_view name, const Tensor &a, const Tensor &b);

/// Return a tensor of rank 0 that holds one number.
Tensor number(DType dtype, double value);
Tensor integer(DType dtype, int64_t value);
/// Returns whether a dtype can represent an integer; floats represent all, rounded.
bool fits(DType dtype, int64_t value);
/// Copies the elements to new memory; not recorded.
Tensor copied(const Tensor &x);
Tensor cast(const Tensor &x, DType dtype);
Tensor zeros_like(const Tensor &x);

// shapes
Tensor reshape(const Tensor &x, Extents shape);
Tensor transpose(const Tensor &x, std::span<const int64_t> axes);
Tensor broadcast_to(const Tensor &x, Extents shape);
/// Sums over broadcast dimensions: returns x in the shape `shape` from which broadcast_to made it.
Tensor sum_to(const Tensor &x, Extents shape);

/// Sums over the axes; over all axes if none is given.
Tensor sum(const Tensor &x, std::span<const int64_t> axes, bool keep_dims);
Tensor matmul(const Tensor &a, const Tensor &b, bool transpose_a = false, bool transpose_b = false);

}  // namespace kw::ops
