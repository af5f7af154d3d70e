// Layouts of arrays, and the bytes that they share.
#include "runtime/array_view.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "ir/limits.h"

namespace kw {

namespace {

/// Bounds the search of share_bytes: 10,000 steps take 64 µs (measured). Most layouts need one per dimension.
constexpr int max_steps = 10'000;
/// Bounds the elements whose addresses overlaps_itself lists: half a megabyte.
constexpr size_t max_listed = 1 << 16;

/// Searches integers with sum(factor[k] * x[k]) = total and 0 <= x[k] <= most[k]. The least factor is 1.
class BoundedSum {
 public:
  void add(int64_t factor, int64_t most) {
    // terms of equal factors are one term, which leaves one x for x + y
    for (size_t k = 0; k < count_; ++k)
      if (terms_[k].factor == factor) {
        terms_[k].most += most;
        return;
      }
    terms_[count_++] = {factor, most, 0};
  }

  /// Returns whether there are such integers; true if the search takes too many steps.
  bool can_be(int64_t total) {
    std::sort(terms_, terms_ + count_, [](const Term &a, const Term &b) { return a.factor > b.factor; });
    int64_t reach = 0;
    for (size_t k = count_; k-- > 0;) terms_[k].reach = reach += terms_[k].factor * terms_[k].most;
    return search(0, total);
  }

 private:
  struct Term {
    int64_t factor, most;
    int64_t reach;  ///< greatest sum of this term and those after it
  };

  /// Tries each value of term `k` from which the terms after it may still reach the rest.
  bool search(size_t k, int64_t rest) {
    if (k == count_) return rest == 0;
    const Term &t = terms_[k];
    if (rest < 0 || rest > t.reach) return false;
    int64_t later = t.reach - t.factor * t.most;
    int64_t least = rest > later ? (rest - later + t.factor - 1) / t.factor : 0;
    for (int64_t x = std::min(t.most, rest / t.factor); x >= least; --x) {
      if (++steps_ > max_steps) return true;
      if (search(k + 1, rest - x * t.factor)) return true;
    }
    return false;
  }

  Term terms_[2 * max_rank + 1];
  size_t count_ = 0;
  int steps_ = 0;
};

/// Adds one term for each dimension that has several elements at several addresses.
void add_dims(BoundedSum &sum, const ArrayView &a) {
  for (size_t d = 0; d < a.rank; ++d)
    if (a.extents[d] > 1 && a.strides[d] != 0) sum.add(std::abs(a.stride_bytes(d)), a.extents[d] - 1);
}

}  // namespace

bool ArrayView::is_empty() const { return std::find(extents, extents + rank, 0) != extents + rank; }

bool is_in_reach(const ArrayView &a) {
  int64_t reach = 0;
  for (size_t d = 0; d < a.rank; ++d) {
    int64_t extent = a.extents[d], stride = a.stride_bytes(d) / a.item_bytes(), part;
    if (extent >= max_extent || stride >= max_extent || -max_extent >= stride) return false;
    if (__builtin_mul_overflow(std::abs(stride), extent, &part)) return false;
    if (__builtin_add_overflow(reach, part, &reach) || reach >= max_extent) return false;
  }
  return true;
}

/// Negative strides extend the range below the first element.
std::span<const std::byte> address_range(const ArrayView &a) {
  const auto *low = static_cast<const std::byte *>(a.data), *high = low;
  for (size_t d = 0; d < a.rank; ++d) {
    if (a.extents[d] == 0) return {};
    int64_t span = (a.extents[d] - 1) * a.stride_bytes(d);
    (span < 0 ? low : high) += span;
  }
  return {low, high + a.item_bytes()};
}

bool ranges_meet(const ArrayView &a, const ArrayView &b) {
  auto x = address_range(a), y = address_range(b);
  return !x.empty() && !y.empty() && x.data() < y.data() + y.size() && y.data() < x.data() + x.size();
}

/// A byte of `a` is its lowest address plus |stride| * index of each dimension plus a byte of the item. A
/// byte of `b` is its highest address minus the same. So both are one byte if the sum of all these terms is
/// the distance of the two addresses. Source: the reduction in NumPy's mem_overlap to a bounded linear
/// Diophantine equation.
bool share_bytes(const ArrayView &a, const ArrayView &b) {
  if (!ranges_meet(a, b)) return false;
  BoundedSum sum;
  add_dims(sum, a);
  add_dims(sum, b);
  sum.add(1, a.item_bytes() + b.item_bytes() - 2);
  auto x = address_range(a), y = address_range(b);
  return sum.can_be(y.data() + y.size() - 1 - x.data());
}

namespace {

/// The dimensions that have several elements, sorted by the size of their steps.
struct SortedDims {
  struct Dim {
    int64_t stride, extent;  ///< bytes, not negative
  };
  Dim dims[max_rank];
  size_t count = 0;

  explicit SortedDims(const ArrayView &a) {
    for (size_t d = 0; d < a.rank; ++d)
      if (a.extents[d] > 1) dims[count++] = {std::abs(a.stride_bytes(d)), a.extents[d]};
    std::sort(dims, dims + count, [](const Dim &x, const Dim &y) { return x.stride < y.stride; });
  }
  const Dim *begin() const { return dims; }
  const Dim *end() const { return dims + count; }
};

}  // namespace

bool are_dims_nested(const ArrayView &a) {
  int64_t reach = a.item_bytes();
  for (auto [stride, extent] : SortedDims(a)) {
    if (stride < reach) return false;
    reach += stride * (extent - 1);
  }
  return true;
}

/// The few layouts without shared bytes whose dimensions are not nested are found by listing the addresses of
/// the elements.
bool overlaps_itself(const ArrayView &a) {
  if (a.is_empty() || are_dims_nested(a)) return false;
  SortedDims dims(a);
  size_t elements = 1;
  for (auto [stride, extent] : dims)
    elements =
        std::min(elements * static_cast<size_t>(std::min<int64_t>(extent, max_listed + 1)), max_listed + 1);
  if (elements > max_listed) return true;
  std::vector<int64_t> offsets{0};
  offsets.reserve(elements);
  for (auto [stride, extent] : dims)
    for (size_t i = 0, n = offsets.size(); i < n * static_cast<size_t>(extent - 1); ++i)
      offsets.push_back(offsets[i] + stride);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end(),
                            [&](int64_t x, int64_t y) { return y - x < a.item_bytes(); }) != offsets.end();
}

bool is_same_view(const ArrayView &a, const ArrayView &b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (size_t d = 0; d < a.rank; ++d)
    if (a.extents[d] != b.extents[d] || (a.extents[d] > 1 && a.stride_bytes(d) != b.stride_bytes(d)))
      return false;
  return true;
}

}  // namespace kw
