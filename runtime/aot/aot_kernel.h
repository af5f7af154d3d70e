// Kernels that users compiled ahead of time, by MindSpore's C interface: one function per operator, with
// optional functions beside it that prepare it and infer its outputs. Compiles nothing.
#pragma once

#include <mutex>
#include <span>

#include "runtime/aot/library.h"
#include "runtime/calls/attr.h"
#include "runtime/calls/registry.h"

namespace kw {

class AotKernel {
 public:
  /// The function `name` of a library, with the attributes that it may ask for. `image` holds the bytes of
  /// the library, which messages call `path`; without them the file of this path is loaded. Throws OpError in
  /// MindSpore's words when the file or the function is missing.
  AotKernel(std::string_view image, std::string path, std::string name, Attrs attrs);
  AotKernel(const AotKernel &) = delete;
  ~AotKernel();

  bool infers_shapes() const;
  bool infers_types() const;
  /// Shapes of the outputs by the library's own function; `several`: it returns one per output.
  std::vector<std::vector<int64_t>> infer_shapes(std::span<const Tensor> inputs, bool several);
  std::vector<DType> infer_types(std::span<const Tensor> inputs, bool several);
  /// Runs the kernel on row-major tensors. Throws OpError when it returns another value than 0 or throws.
  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace kw
