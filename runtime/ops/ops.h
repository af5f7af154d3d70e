// The built-in operators as C++ functions: each makes one call of the operator of its name in the registry,
// recorded as any other. They throw what call_op throws.
#pragma once

#include "runtime/calls/call.h"

namespace kw::ops {

// element by element, stretched to a common shape and converted to a common dtype as NumPy does
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
/// A call of a unary or binary operator by its name without the namespace.
Tensor unary(std::string_view name, const Tensor &x);
Tensor binary(std::string_view name, const Tensor &a, const Tensor &b);

/// A tensor of one number, without dimensions.
Tensor number(DType dtype, double value);
Tensor integer(DType dtype, int64_t value);
/// Whether an integer is one of the dtype's values; floats take all, rounded.
bool fits(DType dtype, int64_t value);
/// The same elements in memory of their own; not recorded.
Tensor copied(const Tensor &x);
Tensor cast(const Tensor &x, DType dtype);
Tensor zeros_like(const Tensor &x);

// shapes
Tensor reshape(const Tensor &x, Extents shape);
Tensor transpose(const Tensor &x, std::span<const int64_t> axes);
Tensor broadcast_to(const Tensor &x, Extents shape);
/// The sum of what was stretched: x in the shape `shape` that broadcast_to made it from.
Tensor sum_to(const Tensor &x, Extents shape);

/// Over the axes; all of them when there are none.
Tensor sum(const Tensor &x, std::span<const int64_t> axes, bool keep_dims);
Tensor matmul(const Tensor &a, const Tensor &b, bool transpose_a = false, bool transpose_b = false);

}  // namespace kw::ops
