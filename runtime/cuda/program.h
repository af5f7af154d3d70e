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
#include "runtime/kernel.h"

namespace kw {

class CudaProgram : public DeviceCode {
 public:
  /// Finds or compiles the machine code of all kernels and loads it. Throws ResolvedError.
  explicit CudaProgram(const Artifact &artifact);

  /// Returns whether its launch program reads what kernels have computed.
  bool reads_device() const { return reads_device_; }

  /// Returns the function of a kernel on a device, whose context is current.
  CuFunction function(CudaDevice &device, uint32_t kernel) const;

 private:
  std::vector<CuKernel> kernels_;
  bool reads_device_ = false;
  /// By device, for the devices that have run it; made once each, never changed.
  struct OnDevice {
    uint32_t device;
    std::vector<CuFunction> functions;
  };
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<OnDevice>> made_;  ///< guarded by the mutex
  mutable std::atomic<const OnDevice *> last_{nullptr};
};

}  // namespace kw
