// A loaded artifact that can run: machine code, or IR for the interpreter. Immutable after loading and shared
// by threads.
#pragma once

#include <memory>
#include <string>

#include "codegen/artifact.h"
#include "runtime/abi.h"
#include "runtime/cpu/map_code.h"

namespace kw {

/// Machine code or IR with its artifact, which the kernel owns. Several threads may call `run` at once.
class LoadedKernel {
 public:
  /// Loads an artifact. Returns null and sets `error` if the code cannot be loaded (a corrupt entry).
  /// Profilers and debuggers show its functions by `name`.
  static std::shared_ptr<const LoadedKernel> load(Artifact artifact, const std::string &name,
                                                  std::string &error);

  const Artifact &artifact() const { return artifact_; }
  size_t dim_count() const { return dim_count_; }
  size_t scalar_count() const { return scalar_count_; }
  size_t output_count() const { return output_count_; }
  /// Returns the most bytes of stack that its code can use.
  size_t stack_bytes() const { return stack_bytes_; }

  /// Runs the kernel once and returns the status of the ABI. `dims` has dim_count() words, `scalars`
  /// scalar_count().
  int32_t run(const KwEnv *env, void *const *data, const int64_t *dims, const uint64_t *scalars,
              void *workspace, KwFault *fault) const {
    if (entry_) [[likely]]
      return entry_(env, data, dims, scalars, workspace, fault);
    return run_ir(env, data, dims, scalars, fault);
  }

 private:
  /// Interprets the IR. The interpreter needs no workspace from the caller.
  int32_t run_ir(const KwEnv *env, void *const *data, const int64_t *dims, const uint64_t *scalars,
                 KwFault *fault) const;

  Artifact artifact_;
  CodeMapping code_;
  KwEntry entry_ = nullptr;
  std::shared_ptr<void> announced_;  ///< what debuggers know of the code; released before it
  std::shared_ptr<const Func> ir_;
  size_t dim_count_ = 0, scalar_count_ = 0, output_count_ = 0, stack_bytes_ = 0;
};

}  // namespace kw
