// Arrays as calls read them, whoever owns them: NumPy, a tensor or a C++ caller. Answers what a call asks of
// an array: its layout, its reach, and which bytes it shares. Owns and changes nothing. All but
// overlaps_itself needs no library, neither C's nor C++'s, because exported kernels contain it
// (runtime/exported).
#pragma once

#include <cstddef>
#include <span>

#include "ir/signature.h"

namespace kw {

/// A non-owning view of an array, valid while the owner keeps the memory and the shape. `ArrayView{}` stands
/// for no array.
struct ArrayView {
  void *data;
  const int64_t *extents, *strides;  ///< `rank` of each
  int64_t stride_unit;               ///< bytes of a stride of 1: NumPy counts bytes, tensors count elements
  DType dtype;
  uint8_t rank;
  bool writable;

  bool is_array() const { return stride_unit != 0; }
  int64_t item_bytes() const { return static_cast<int64_t>(item_size(dtype)); }
  int64_t stride_bytes(size_t d) const { return strides[d] * stride_unit; }
  bool is_empty() const;
};

/// Returns the class of an array whose strides are multiples of its items. Dimensions with extent 1 do not
/// count, because their strides separate no elements. Inline, because each argument of each call asks.
inline StrideClass stride_class(const ArrayView &a) {
  int64_t expected = a.item_bytes();
  bool contiguous = true;
  for (size_t d = a.rank; d-- > 0;) {
    int64_t extent = a.extents[d];
    if (extent == 0) return StrideClass::contiguous;
    if (extent != 1 && a.stride_bytes(d) != expected) contiguous = false;
    expected *= extent;
  }
  if (contiguous) return StrideClass::contiguous;
  bool unit = a.stride_bytes(a.rank - 1u) == a.item_bytes();
  return unit ? StrideClass::inner_unit : StrideClass::general;
}

/// Returns whether all extents, and the offsets of all elements, are below 2^46 elements.
bool is_in_reach(const ArrayView &a);

/// Returns the bytes from the lowest to the highest element, gaps included; empty without elements.
std::span<const std::byte> address_range(const ArrayView &a);

/// Returns whether the address ranges intersect. Disjoint ranges prove that the arrays are disjoint;
/// intersecting ranges prove nothing.
bool ranges_meet(const ArrayView &a, const ArrayView &b);

/// Returns whether two arrays within reach share a byte: exact if a bounded search finds the answer, else
/// true.
bool share_bytes(const ArrayView &a, const ArrayView &b);

/// Returns whether each dimension steps over all elements of those with smaller steps; then no two elements
/// share a byte.
bool are_dims_nested(const ArrayView &a);

/// Returns whether two elements of an array share a byte; true if the strides do not decide it and the array
/// has more than 65,536 elements.
bool overlaps_itself(const ArrayView &a);

/// Returns whether both are the same elements of the same memory in the same order.
bool is_same_view(const ArrayView &a, const ArrayView &b);

}  // namespace kw
