// Tensors and their memory.
#include "runtime/tensor.h"

#include <algorithm>
#include <new>

#include "ir/limits.h"
#include "runtime/array_runs.h"
#include "runtime/memory/buffer_allocator.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

/// Throws OpError for more than 8 dimensions, a negative extent, or at least 2^46 elements. An extent of 0
/// makes the tensor empty, whatever the other extents are.
void check_shape(Extents shape) {
  check_rank(shape.size());
  int64_t elements = 1;
  bool empty = false, wide = false;
  for (int64_t e : shape) {
    if (e < 0) throw_value_error(cat("the shape ", shape_text(shape), " has a negative extent"));
    empty |= e == 0;
    wide |= e >= max_extent || __builtin_mul_overflow(elements, e, &elements) || elements >= max_extent;
  }
  if (wide && !empty) throw_value_error(cat("the shape ", shape_text(shape), " exceeds 2^46 elements"));
}

/// Returns the bytes of all elements of a row-major tensor.
size_t bytes_of(DType dtype, Extents shape) {
  size_t bytes = item_size(dtype);
  for (int64_t e : shape) bytes *= static_cast<size_t>(e);  // wraps if an extent of 0 follows huge ones
  return bytes;
}

}  // namespace

void check_rank(size_t rank) {
  if (rank > max_rank)
    throw_value_error(cat("a tensor of ", rank, " dimensions; at most ", max_rank, " are possible"));
}

/// Lets std::allocate_shared call public constructors, but nobody outside, because only this file can make a
/// Key.
struct Storage::Key {};

std::shared_ptr<Storage> Storage::allocate(size_t bytes, bool zeroed, Device device) {
  void *data =
      with_device_api(device.kind, [&](const DeviceApi &api) { return api.allocate(device, bytes, zeroed); });
  if (!data) throw std::bad_alloc();
  return make_in_buffer<Storage>(Key{}, device, data, true, nullptr);
}

std::shared_ptr<Storage> Storage::adopt(void *data, bool writable, std::function<void()> release,
                                        Device device) {
  return make_in_buffer<Storage>(Key{}, device, data, writable, std::move(release));
}

Storage::~Storage() {
  if (release_)
    release_();
  else
    with_device_api(device_.kind, [&](const DeviceApi &api) { api.free(device_, data_); });
}

Tensor::Body::Body(std::shared_ptr<Storage> owner, void *first, DType type, Extents extents, Extents steps)
    : storage(std::move(owner)),
      data(first),
      dtype(type),
      shape(extents),
      strides(steps.empty() ? extents : steps) {
  // `reach` bounds the distance in elements of any element from the first one, whatever the signs of the
  // strides
  int64_t row_major = 1, reach = 0;
  for (size_t d = extents.size(); d-- > 0;) {
    if (steps.empty()) strides.data()[d] = row_major;
    int64_t part, of = strides[d];
    if (__builtin_mul_overflow(of < 0 ? -of : of, extents[d], &part) ||
        __builtin_add_overflow(reach, part, &reach) || reach >= max_extent)
      throw_value_error("a tensor reaches beyond 2^46 elements");
    if (steps.empty()) row_major *= std::max<int64_t>(extents[d], 1);
  }
  if (!steps.empty())
    stride_class = kw::stride_class({data, extents.data(), steps.data(), item_size(dtype), dtype,
                                     static_cast<uint8_t>(extents.size()), true});
}

Tensor Tensor::make(DType dtype, Extents shape, bool zeroed, Device device) {
  check_shape(shape);
  auto storage = Storage::allocate(bytes_of(dtype, shape), zeroed, device);
  void *data = storage->data();
  return Tensor(make_in_buffer<Body>(std::move(storage), data, dtype, shape, Extents()));
}

void Tensor::set_zero() const {
  with_device_api(device().kind, [&](const DeviceApi &api) {
    for_each_run(array(), [&](void *first, size_t bytes) { api.zero(device(), first, bytes); });
  });
}

Tensor Tensor::ones(DType dtype, Extents shape, Device device) {
  if (device.kind != DeviceKind::cpu) return ones(dtype, shape).to(device);
  Tensor out = empty(dtype, shape);
  auto fill = [&](auto one) { std::fill_n(static_cast<decltype(one) *>(out.data()), out.size(), one); };
  if (dtype == DType::f64)
    fill(1.0);
  else if (dtype == DType::f32)
    fill(1.0F);
  else if (is_half(dtype))
    // the bit patterns of 1.0 in the two formats
    fill(static_cast<uint16_t>(dtype == DType::f16 ? 0x3C00 : 0x3F80));
  else if (item_size(dtype) == 8)
    fill(int64_t{1});
  else if (item_size(dtype) == 4)
    fill(int32_t{1});
  else if (item_size(dtype) == 2)
    fill(int16_t{1});
  else
    fill(int8_t{1});
  return out;
}

Tensor Tensor::over(std::shared_ptr<Storage> storage, void *data, DType dtype, Extents shape,
                    Extents strides) {
  check_shape(shape);
  return Tensor(make_in_buffer<Body>(std::move(storage), data, dtype, shape, strides));
}

Tensor Tensor::view(void *data, Extents shape, Extents strides) const {
  Tensor out = over(body_->storage, data, body_->dtype, shape, strides);
  // a view of a read-only tensor must not bypass its protection
  out.body_->is_read_only = body_->is_read_only;
  return out;
}

int64_t Tensor::size() const {
  uint64_t n = 1;
  for (int64_t e : shape()) n *= static_cast<uint64_t>(e);
  return static_cast<int64_t>(n);
}

int64_t Tensor::bytes() const { return static_cast<int64_t>(bytes_of(dtype(), shape())); }

Tensor Tensor::reshaped(Extents shape) const {
  if (!is_contiguous()) return {};
  return view(data(), shape, {});
}

/// Permutes extents and strides together, so no element is copied.
Tensor Tensor::permuted(std::span<const size_t> axes) const {
  std::array<int64_t, max_rank> to_shape{}, to_strides{};
  for (size_t d = 0; d < axes.size(); ++d) {
    to_shape[d] = body_->shape[axes[d]];
    to_strides[d] = body_->strides[axes[d]];
  }
  return view(data(), {to_shape.data(), axes.size()}, {to_strides.data(), axes.size()});
}

/// Gives stretched dimensions a stride of 0, so that all their steps read one element.
Tensor Tensor::broadcast(Extents to) const {
  std::array<int64_t, max_rank> to_strides{};
  bool fits = to.size() >= rank() && to.size() <= max_rank;
  size_t skipped = fits ? to.size() - rank() : 0;
  for (size_t d = skipped; fits && d < to.size(); ++d) {
    int64_t extent = body_->shape[d - skipped];
    fits = extent == to[d] || extent == 1;
    to_strides[d] = extent == to[d] ? body_->strides[d - skipped] : 0;
  }
  if (!fits)
    throw_value_error(
        cat("a tensor of shape ", shape_text(shape()), " cannot be stretched to the shape ", shape_text(to)));
  return view(data(), to, {to_strides.data(), to.size()});
}

/// Copies the description of the tensor and shares its memory; the copy constructor of Body omits the
/// history.
Tensor Tensor::detached() const { return Tensor(make_in_buffer<Body>(*body_)); }

Tensor Tensor::read_only() const {
  Tensor out = detached();
  out.set_history(history());
  out.body_->is_read_only = true;
  return out;
}

std::string shape_text(Extents shape) {
  std::string out = "(";
  for (size_t d = 0; d < shape.size(); ++d) out += cat(d ? ", " : "", shape[d]);
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string type_text(DType dtype, Extents shape) {
  std::string out = cat(numpy_name(dtype), "[");
  for (size_t d = 0; d < shape.size(); ++d) out += cat(d ? ", " : "", shape[d]);
  return out + "]";
}

std::vector<int64_t> broadcast_shape(Extents a, Extents b) {
  std::vector<int64_t> out(std::max(a.size(), b.size()));
  for (size_t k = 0; k < out.size(); ++k) {  // from the last dimension to the first
    int64_t x = k < a.size() ? a[a.size() - 1 - k] : 1, y = k < b.size() ? b[b.size() - 1 - k] : 1;
    if (x != y && x != 1 && y != 1)
      throw_value_error(cat("the shapes ", shape_text(a), " and ", shape_text(b), " do not fit together"));
    out[out.size() - 1 - k] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace kw
