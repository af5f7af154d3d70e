// Copies of tensors to another device.
#include <cstring>

#include "runtime/array_runs.h"
#include "runtime/op_error.h"
#include "runtime/tensor.h"

namespace kw {

namespace {

/// Returns a tensor of the host as a row-major one.
Tensor packed(const Tensor &t) {
  if (t.is_contiguous()) return t;
  Tensor out = Tensor::empty(t.dtype(), t.shape());
  auto *to = static_cast<char *>(out.data());
  for_each_run(t.array(), [&](const void *first, size_t bytes) {
    std::memcpy(to, first, bytes);
    to += bytes;
  });
  return out;
}

/// Returns a tensor of the host over a copy of the bytes of a tensor of a device, from the lowest element to
/// the highest, with the same strides.
Tensor fetched(const Tensor &t) {
  int64_t lowest = 0, highest = 0, item = static_cast<int64_t>(item_size(t.dtype()));
  for (size_t d = 0; d < t.rank(); ++d) {
    int64_t reach = t.strides()[d] * (t.shape()[d] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  auto bytes = static_cast<size_t>((highest - lowest + 1) * item);
  auto storage = Storage::allocate(bytes);
  const char *first = static_cast<const char *>(t.data()) + lowest * item;
  with_device_api(t.device().kind,
                  [&](const DeviceApi &api) { api.read(t.device(), storage->data(), first, bytes); });
  char *data = static_cast<char *>(storage->data()) - lowest * item;
  return Tensor::over(std::move(storage), data, t.dtype(), t.shape(), t.strides());
}

}  // namespace

Tensor Tensor::to(Device device) const {
  Tensor out = empty(dtype(), shape(), device);
  if (size() == 0) return out;
  bool from_host = this->device().kind == DeviceKind::cpu, to_host = device.kind == DeviceKind::cpu;
  auto count = static_cast<size_t>(bytes());
  if (this->device() == device && is_contiguous()) {
    out.assign(*this);
  } else if (to_host && !from_host && is_contiguous()) {
    with_device_api(this->device().kind,
                    [&](const DeviceApi &api) { api.read(this->device(), out.data(), data(), count); });
  } else {
    // between devices through the host, which takes any strides
    Tensor host = packed(from_host ? *this : fetched(*this));
    if (to_host) return host;
    with_device_api(device.kind,
                    [&](const DeviceApi &api) { api.write(device, out.data(), host.data(), count); });
  }
  return out;
}

void Tensor::assign(const Tensor &from) const {
  if (size() == 0) return;
  if (!is_contiguous() || !from.is_contiguous() || from.device() != device())
    throw_value_error("only row-major tensors of one device can be copied to one another");
  with_device_api(device().kind, [&](const DeviceApi &api) {
    api.copy(device(), data(), from.data(), static_cast<size_t>(bytes()), {});
  });
}

}  // namespace kw
