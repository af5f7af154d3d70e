// Arrays of the runtime, without Python: a dtype, a shape and strides over shared memory, and their autograd
// history if gradients are recorded. Does no arithmetic.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/dtype.h"
#include "runtime/array_view.h"
#include "runtime/device.h"
#include "runtime/shape.h"

namespace kw {

struct Node;  // runtime/calls/tape.h

/// Memory that tensors share. Counts the writes of kernels into it, so that a gradient can detect changes of
/// saved memory. Writes of other code are not seen. So memory that other code may write is flagged
/// (is_viewed), and gradients copy what they save of it; memory that gradients need (is_pinned) is given to
/// no other code for writing, except to functions that declare their writes, which are counted.
class Storage {
 public:
  /// Allocates memory of a device; throws std::bad_alloc, and OpError if there is no such device.
  static std::shared_ptr<Storage> allocate(size_t bytes, bool zeroed = false, Device device = {});
  /// Wraps foreign memory. `release` runs once, in any thread, when no tensor needs the memory
  /// any more.
  static std::shared_ptr<Storage> adopt(void *data, bool writable, std::function<void()> release,
                                        Device device = {});
  struct Key;  ///< only the two functions above make one
  Storage(const Key &, Device device, void *data, bool writable, std::function<void()> release)
      : device_(device), data_(data), writable_(writable), release_(std::move(release)) {}
  Storage(const Storage &) = delete;
  ~Storage();

  Device device() const { return device_; }
  void *data() const { return data_; }
  bool writable() const { return writable_; }
  /// Counts writes of kernels in its lower 32 bits (written_between), and arrays through which other code may
  /// have written in its upper ones.
  uint64_t writes() const { return writes_.load(std::memory_order_relaxed); }
  void note_write() const { writes_.fetch_add(1, std::memory_order_relaxed); }
  void note_array() const { writes_.fetch_add(uint64_t{1} << 32, std::memory_order_relaxed); }
  static bool written_between(uint64_t before, uint64_t after) {
    return static_cast<uint32_t>(before) != static_cast<uint32_t>(after);
  }
  /// The number of the last recorded call that wrote the memory in place; 0 if none did. Tensors over it
  /// without a history do not know of that call.
  uint64_t recorded_write() const { return recorded_write_.load(std::memory_order_relaxed); }
  void note_recorded_write(uint64_t number) const {
    recorded_write_.store(number, std::memory_order_relaxed);
  }
  /// Count the writable views that other code has. Whoever adds one looks at is_pinned afterwards, and
  /// whoever pins looks at is_viewed afterwards, so one of two threads sees the other.
  void add_view() const { views_.fetch_add(1); }
  void drop_view() const { views_.fetch_sub(1); }
  bool is_viewed() const { return views_.load() != 0; }
  /// Count the recorded calls whose gradients need the memory as it is.
  void pin() const { pins_.fetch_add(1); }
  void unpin() const { pins_.fetch_sub(1); }
  bool is_pinned() const { return pins_.load() != 0; }

 private:
  Device device_;
  void *data_;
  bool writable_;
  // beside the others: each recorded call reads them
  mutable std::atomic<uint32_t> views_{0}, pins_{0};
  mutable std::atomic<uint64_t> writes_{0}, recorded_write_{0};
  std::function<void()> release_;  ///< empty: `allocate` made the memory
};

/// The origin of a tensor when gradients are recorded: output `output` of a node. It is valid while its
/// memory was written `writes` times; more writes came through another tensor over the same memory.
struct AutogradMeta {
  std::shared_ptr<Node> node;
  uint32_t output = 0;
  uint64_t writes = 0;
  explicit operator bool() const { return node != nullptr; }
};

/// A handle: copies refer to the same tensor. Strides count elements. Up to 8 dimensions.
class Tensor {
 public:
  Tensor() = default;  ///< an empty handle: no tensor
  /// Allocates uninitialized row-major memory. Throws std::bad_alloc, and OpError for extents that are
  /// negative or too large.
  static Tensor empty(DType dtype, Extents shape, Device device = {}) {
    return make(dtype, shape, false, device);
  }
  static Tensor zeros(DType dtype, Extents shape, Device device = {}) {
    return make(dtype, shape, true, device);
  }
  static Tensor ones(DType dtype, Extents shape, Device device = {});
  /// Makes a view of memory; row-major if `strides` is empty.
  static Tensor over(std::shared_ptr<Storage> storage, void *data, DType dtype, Extents shape,
                     Extents strides);

  explicit operator bool() const { return body_ != nullptr; }
  bool is(const Tensor &o) const { return body_ == o.body_; }
  DType dtype() const { return body_->dtype; }
  size_t rank() const { return body_->shape.size(); }
  Extents shape() const { return body_->shape; }
  Extents strides() const { return body_->strides; }
  int64_t size() const;   ///< number of elements
  int64_t bytes() const;  ///< bytes of its elements
  void *data() const { return body_->data; }
  Device device() const { return body_->storage->device(); }
  /// Returns a row-major copy on a device, without history. Throws OpError without memory.
  Tensor to(Device device) const;
  /// Copies the elements of a tensor of the same device, dtype and shape. Both are row-major.
  void assign(const Tensor &from) const;
  /// Sets all elements to zero; they are row-major.
  void set_zero() const;
  Storage &storage() const { return *body_->storage; }
  const std::shared_ptr<Storage> &shared_storage() const { return body_->storage; }
  /// Returns how calls read it; valid while a handle of the tensor exists.
  ArrayView array() const {
    return {data(),
            body_->shape.data(),
            body_->strides.data(),
            item_size(dtype()),
            dtype(),
            static_cast<uint8_t>(rank()),
            writable()};
  }
  StrideClass stride_class() const { return body_->stride_class; }
  bool is_contiguous() const { return stride_class() == StrideClass::contiguous; }

  /// Returns another view of its memory, from `data` on; row-major if `strides` is empty.
  Tensor view(void *data, Extents shape, Extents strides) const;
  /// Returns the same elements in another shape of equal size; an empty Tensor if that needs a copy.
  Tensor reshaped(Extents shape) const;
  /// Returns a view whose dimension d is dimension axes[d] of this tensor.
  Tensor permuted(std::span<const size_t> axes) const;
  /// Returns a view broadcast by NumPy's rules; throws OpError.
  Tensor broadcast(Extents shape) const;
  /// Returns another tensor over the same memory, without history.
  Tensor detached() const;
  /// Returns another tensor with its history that forbids writes to the memory, also through its views.
  Tensor read_only() const;
  bool writable() const { return !body_->is_read_only && body_->storage->writable(); }

  const AutogradMeta &history() const { return body_->history; }
  void set_history(AutogradMeta history) const { body_->history = std::move(history); }
  /// Returns whether no other handle of this tensor exists; then the caller may take its node.
  bool is_only_handle() const { return body_.use_count() == 1; }
  std::shared_ptr<Node> take_node() { return std::exchange(body_->history.node, nullptr); }

 private:
  struct Body {
    /// Makes row-major strides if `strides` is empty. Throws OpError if the strides reach too far.
    Body(std::shared_ptr<Storage> storage, void *data, DType dtype, Extents shape, Extents strides);
    /// Copies everything except the history.
    Body(const Body &o)
        : storage(o.storage),
          data(o.data),
          dtype(o.dtype),
          stride_class(o.stride_class),
          is_read_only(o.is_read_only),
          shape(o.shape),
          strides(o.strides) {}
    std::shared_ptr<Storage> storage;
    void *data;
    DType dtype;
    StrideClass stride_class = StrideClass::contiguous;  ///< found once, because each call asks
    bool is_read_only = false;
    Shape shape, strides;
    AutogradMeta history;
  };
  explicit Tensor(std::shared_ptr<Body> body) : body_(std::move(body)) {}
  static Tensor make(DType dtype, Extents shape, bool zeroed, Device device);
  std::shared_ptr<Body> body_;
};

/// Returns the type for messages: "float32[2, 3]".
std::string type_text(DType dtype, Extents shape);
/// Returns the shape for messages: "(2, 3)", "(2,)".
std::string shape_text(Extents shape);
/// Returns NumPy's broadcast shape of two shapes; throws OpError that names both.
std::vector<int64_t> broadcast_shape(Extents a, Extents b);

}  // namespace kw
