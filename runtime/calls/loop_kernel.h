// A kernel given as text and called with tensors from C++. It is compiled at its first call for each
// signature, through the cache, and checked and run like a kernel of Python. Reads no Python objects.
#pragma once

#include <mutex>
#include <variant>

#include "runtime/calls/invocation.h"
#include "runtime/tensor.h"
#include "runtime/versions/single_flight.h"

namespace kw {

/// An argument: a tensor, or a number, which is weak as in Python (language.md 2).
using Operand = std::variant<Tensor, bool, int64_t, double>;

/// Makes tensors for the outputs of a kernel, in their order, and adds their data to the call. A tensor of
/// `given`, one for each result, that is row-major and has the dtype and size of that output is used in its
/// place.
std::vector<Tensor> make_outputs(const LoadedKernel &kernel, std::span<const int64_t> out_extents,
                                 Invocation &call, std::span<const Tensor> given = {});

/// One kernel given as text, with one specialization per signature of its calls. Specializations live as long
/// as the kernel.
class LoopKernel {
 public:
  /// `text` is one `def` of the function `name`; errors give `path` as its location.
  LoopKernel(std::string name, std::string text, std::string path, CodegenOptions options = {});

  /// Runs the kernel and returns its results: new tensors, or arguments that it changed. Writes new tensors
  /// into those of `outputs` that fit (make_outputs), which must share no memory with the operands.
  /// Thread-safe. Throws ResolvedError for errors of the language, the types or the run, OpError for wrong
  /// arguments, and std::bad_alloc.
  std::vector<Tensor> operator()(std::span<const Operand> operands, std::span<const Tensor> outputs = {});
  std::vector<Tensor> operator()(std::initializer_list<Operand> operands,
                                 std::span<const Tensor> outputs = {}) {
    return (*this)(std::span<const Operand>(operands.begin(), operands.size()), outputs);
  }

  const std::string &name() const { return name_; }
  const std::string &path() const { return source_.path; }

 private:
  /// Runs the call; operator() adds the path of the text to its errors.
  std::vector<Tensor> run(std::span<const Operand> operands, std::span<const Tensor> outputs);
  Version &find_version(const Invocation &call, std::unique_lock<std::mutex> &lock);
  /// Finds or compiles one body; `lock` is released meanwhile. Throws ResolvedError and std::bad_alloc.
  std::shared_ptr<const LoadedKernel> obtain(const Request &r, std::unique_lock<std::mutex> &lock);
  /// Throws OpError for a written argument that is read-only or overlaps itself.
  void compare_written(const Version &v, Invocation &call, std::span<const Operand> operands) const;

  std::string name_;
  SourceText source_;
  CodegenOptions options_;
  std::mutex mutex_;  // guards the members below; compilations run without it
  std::optional<size_t> parameters_;
  std::vector<std::unique_ptr<Version>> versions_;
  SingleFlight compiler_;
};

}  // namespace kw
