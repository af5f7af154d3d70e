// A kernel given as text and called with tensors from C++. It is compiled at its first call for each
// signature, through the cache, and checked and run like a kernel of Python. Reads no Python objects.
#pragma once

#include <mutex>
#include <variant>

#include "runtime/tensor.h"
#include "runtime/versions/signature_words.h"
#include "runtime/versions/single_flight.h"
#include "runtime/versions/version.h"
#include "support/fixed_list.h"

namespace kw {

/// An argument: a tensor, or a number, which is weak as in Python (language.md 2).
using Operand = std::variant<Tensor, bool, int64_t, double>;

/// At most `max_args` operands, split into the lists of the ABI.
struct OperandWords {
  FixedList<uint16_t, max_args> words;
  FixedList<void *, max_args + max_outputs> data;
  FixedList<int64_t, 2 * max_args * max_rank> extents;
  FixedList<int64_t, max_args * max_rank> strides;
  FixedList<uint64_t, max_args> scalars;

  explicit OperandWords(std::span<const Operand> operands);
  explicit OperandWords(std::span<const Tensor> tensors);
  CallSizes sizes() const { return {extents, scalars}; }

 private:
  void add(const Tensor &t);
};

/// Makes tensors for the outputs of a kernel, in their order, and appends their pointers to `call.data`. A
/// tensor of `given`, one for each result, that is row-major and has the dtype and size of that output is
/// used in its place.
std::vector<Tensor> make_outputs(const LoadedKernel &kernel, std::span<const int64_t> out_extents,
                                 OperandWords &call, std::span<const Tensor> given = {});

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
  struct Call;
  struct Known : Version {
    std::vector<uint16_t> words;
    uint8_t mode = 0;  ///< the execution_mode() for which it was compiled
  };
  /// The parts of a specialization that a run needs, copied while the lock is held.
  struct Entry {
    std::shared_ptr<const LoadedKernel> kernel;
    std::vector<int64_t> out_extents;
    int64_t workspace = 0, work = 0;
  };

  /// Runs the call; operator() adds the path of the text to its errors.
  std::vector<Tensor> run(std::span<const Operand> operands, std::span<const Tensor> outputs);
  Known &find_version(const Call &call, std::unique_lock<std::mutex> &lock);
  /// Finds or compiles one body; `lock` is released meanwhile. Throws ResolvedError and std::bad_alloc.
  std::shared_ptr<const LoadedKernel> obtain(const Request &r, std::unique_lock<std::mutex> &lock);
  Entry enter_call(Known &v, const Call &call, std::unique_lock<std::mutex> &lock);
  void check_written(const Known &v, Call &call) const;

  std::string name_;
  SourceText source_;
  CodegenOptions options_;
  std::mutex mutex_;  // guards the members below; compilations run without it
  std::optional<size_t> parameters_;
  std::vector<std::unique_ptr<Known>> versions_;
  SingleFlight compiler_;
};

}  // namespace kw
