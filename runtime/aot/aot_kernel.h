// Kernels that users compiled ahead of time, by MindSpore's C interface. Each operator has one function, and
// optional functions that prepare it and infer its outputs. Compiles nothing.
#pragma once

#include <mutex>
#include <span>

#include "runtime/aot/library.h"
#include "runtime/calls/attr.h"
#include "runtime/calls/registry.h"

namespace kw {

class AotKernel {
 public:
  /// Opens the function `name` of a library, with the attributes that it may request. `image` holds the bytes
  /// of the library, which messages call `path`; if it is empty, the file at `path` is loaded. Throws OpError
  /// in MindSpore's words if the file or the function is missing.
  AotKernel(std::string_view image, std::string path, std::string name, Attrs attrs);
  AotKernel(const AotKernel &) = delete;
  ~AotKernel();

  /// Returns the kind of devices on whose memory the library works.
  DeviceKind device() const;
  bool infers_shapes() const;
  bool infers_types() const;
  /// Returns the shapes of the outputs, by the library's own function. `several`: it returns one shape per
  /// output.
  std::vector<std::vector<int64_t>> infer_shapes(std::span<const Tensor> inputs, bool several);
  std::vector<DType> infer_types(std::span<const Tensor> inputs, bool several);
  /// Runs the kernel on row-major tensors of one device; on a GPU in the stream of this thread, without
  /// waiting for it. Throws OpError if the kernel throws or returns a value other than 0.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kw
