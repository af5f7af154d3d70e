// A loaded artifact that can run: machine code, IR for the interpreter, or code for a GPU. Immutable after
// loading and shared by threads.
#pragma once

#include <memory>
#include <string>

#include "codegen/artifact.h"
#include "runtime/abi.h"
#include "runtime/cpu/map_code.h"

namespace kw {

/// Where code comes from.
struct CodeOrigin {
  CodeOrigin(std::string name) : name(std::move(name)) {}  // NOLINT(google-explicit-constructor): often all
  CodeOrigin(const char *name) : name(name) {}             // NOLINT(google-explicit-constructor)
  CodeOrigin(std::string name, std::vector<TextPlace> places)
      : name(std::move(name)), places(std::move(places)) {}
  std::string name;                 ///< of its functions, for profilers and debuggers
  std::vector<TextPlace> places{};  ///< of the texts of the kernel and its callees
};

/// What the loader of another device than the CPU makes of an artifact.
struct DeviceCode {
  virtual ~DeviceCode() = default;
  /// Returns whether no call will compile or load a part of it any more.
  virtual bool is_whole() const = 0;
};

/// An artifact, which the kernel owns, and its code. Several threads may call `run` at once.
class LoadedKernel : public std::enable_shared_from_this<LoadedKernel> {
 public:
  /// Loads an artifact for the CPU. Returns null and sets `error` if the code cannot be loaded (a corrupt
  /// entry).
  static std::shared_ptr<const LoadedKernel> load(Artifact artifact, const CodeOrigin &origin,
                                                  std::string &error);
  /// Makes a kernel of what another loader made of an artifact.
  static std::shared_ptr<const LoadedKernel> with_device_code(Artifact artifact, const CodeOrigin &origin,
                                                              std::unique_ptr<const DeviceCode> code);

  const Artifact &artifact() const { return artifact_; }
  /// Returns its code for another device; null if it has code for the CPU.
  const DeviceCode *device_code() const { return device_code_.get(); }
  const std::vector<TextPlace> &places() const { return places_; }
  /// Returns ", defined at train.py:12", or "".
  std::string place_text() const;
  size_t dim_count() const { return dim_count_; }
  size_t scalar_count() const { return scalar_count_; }
  size_t output_count() const { return output_count_; }
  size_t buffer_count() const { return buffer_count_; }  ///< arguments and outputs that are arrays
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

  /// Counts the words of the ABI.
  void count_words(const Artifact &a);

  Artifact artifact_;
  std::vector<TextPlace> places_;
  std::unique_ptr<const DeviceCode> device_code_;
  CodeMapping code_;
  KwEntry entry_ = nullptr;
  std::shared_ptr<void> announced_;  ///< what debuggers know of the code; released before it
  std::shared_ptr<const Func> ir_;
  size_t dim_count_ = 0, scalar_count_ = 0, output_count_ = 0, buffer_count_ = 0, stack_bytes_ = 0;
};

}  // namespace kw
