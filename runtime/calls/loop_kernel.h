// A kernel given as text, called with tensors from C++: compiled at its first call for each signature,
// through the cache, checked and run as a kernel of Python is. Reads no Python objects.
#pragma once

#include <mutex>
#include <variant>

#include "runtime/tensor.h"
#include "runtime/versions/signature_words.h"
#include "runtime/versions/single_flight.h"
#include "runtime/versions/version.h"
#include "support/fixed_list.h"

namespace kw {

/// An argument: a tensor, or a number that is weak as Python's are (language.md 2).
using Operand = std::variant<Tensor, bool, int64_t, double>;

/// At most `max_args` operands taken apart in the order of the ABI.
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

/// New tensors for the outputs of a kernel, in their order, whose pointers go to the end of `call.data`.
std::vector<Tensor> make_outputs(const LoadedKernel &kernel, std::span<const int64_t> out_extents,
                                 OperandWords &call);

/// One kernel given as text, with a version for each signature it was called with. Versions live as long as
/// the kernel.
class LoopKernel {
 public:
  /// `text` is one `def`, which `name` is the name of; `path` is where errors say that it stands.
  LoopKernel(std::string name, std::string text, std::string path, CodegenOptions options = {});

  /// What the kernel returns: new tensors, or arguments that it changed. In any number of threads. Throws
  /// ResolvedError for what the language, the types or the run refuse, OpError for wrong arguments, and
  /// std::bad_alloc.
  std::vector<Tensor> operator()(std::span<const Operand> operands);
  std::vector<Tensor> operator()(std::initializer_list<Operand> operands) {
    return (*this)(std::span<const Operand>(operands.begin(), operands.size()));
  }

  const std::string &name() const { return name_; }
  const std::string &path() const { return source_.path; }

 private:
  struct Call;
  struct Known : Version {
    std::vector<uint16_t> words;
    uint8_t mode = 0;  ///< execution_mode() that it is for
  };
  /// What a run needs of a version, taken while the lock is held.
  struct Entry {
    std::shared_ptr<const LoadedKernel> kernel;
    std::vector<int64_t> out_extents;
    int64_t workspace = 0, work = 0;
  };

  /// The call itself; operator() adds the path of the text to its errors.
  std::vector<Tensor> run(std::span<const Operand> operands);
  Known &find_version(const Call &call, std::unique_lock<std::mutex> &lock);
  /// Finds or compiles one body with `lock` released meanwhile. Throws ResolvedError and std::bad_alloc.
  std::shared_ptr<const LoadedKernel> obtain(const Request &r, std::unique_lock<std::mutex> &lock);
  Entry enter_call(Known &v, const Call &call, std::unique_lock<std::mutex> &lock);
  void check_written(const Known &v, Call &call) const;

  std::string name_;
  SourceText source_;
  CodegenOptions options_;
  std::mutex mutex_;  // of what follows; compilations run without it
  std::optional<size_t> parameters_;
  std::vector<std::unique_ptr<Known>> versions_;
  SingleFlight compiler_;
};

}  // namespace kw
