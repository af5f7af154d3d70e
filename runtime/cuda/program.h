// A kernel loaded for GPUs: its machine code in the driver, and its functions on each device that runs it.
// Starts nothing itself (runtime/cuda/run).
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/device.h"
#include "runtime/cuda/launch_cache.h"
#include "runtime/kernel.h"

namespace kw {

/// The kernels that every call launches are loaded at once. Those of one side of a condition are loaded when
/// a call takes that side; from the first such call on, the others are compiled in the background.
class CudaProgram : public DeviceCode {
 public:
  /// Finds or compiles machine code and loads it. Throws ResolvedError.
  explicit CudaProgram(const Artifact &artifact);

  bool is_whole() const override { return missing_.load(std::memory_order_acquire) == 0; }

  /// Returns the function of a kernel of this artifact on a device, whose context is current; loads it first
  /// if need be, for which `stream` must not be captured. Throws ResolvedError.
  CuFunction function(const Artifact &artifact, CudaDevice &device, uint32_t kernel, CuStream stream) const;
  /// Evaluates the launch program of this artifact.
  const LaunchCache &launches() const { return launches_; }

 private:
  /// By device, for the devices that have run it. Never changed: what more is loaded makes another one.
  struct OnDevice {
    uint32_t device;
    std::vector<CuFunction> functions;  ///< null for kernels that are not loaded
  };
  void load_side(const Artifact &artifact, uint32_t side) const;

  mutable std::mutex mutex_;
  mutable std::vector<CuKernel> kernels_;                ///< guarded by the mutex; null if not loaded
  mutable bool has_begun_others_ = false;                ///< guarded by the mutex
  mutable std::vector<std::unique_ptr<OnDevice>> made_;  ///< guarded by the mutex
  mutable std::atomic<const OnDevice *> last_{nullptr};
  mutable std::atomic<size_t> missing_{0};
  LaunchCache launches_;
};

}  // namespace kw
