// The GPUs of the process: their contexts, what code is compiled for them, and whether they still work. A
// device is made at its first use and lives to the end of the process.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "runtime/cuda/call_log.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/fault_log.h"
#include "runtime/cuda/memory.h"
#include "runtime/cuda/staging.h"
#include "runtime/device.h"
#include "runtime/request.h"
#include "support/target.h"

namespace kw {

constexpr uint32_t most_devices = 64;  // chosen: more than any machine has

/// Returns 90 for "sm_90" and "sm_90a".
int arch_number(std::string_view arch);

/// Returns true if the caller no longer wants what it waits for.
using WaitLook = std::function<bool()>;

/// Pinned words of the host that kernels see.
struct SharedWords {
  volatile uint64_t faults;  ///< that kernels of the process have found; never less than before
  volatile uint32_t cancel;  ///< set: loops that may run for ever end
};

/// One GPU. Its functions need no lock of the caller's.
class CudaDevice {
 public:
  CudaDevice(const CudaDriver &driver, uint32_t index);
  CudaDevice(const CudaDevice &) = delete;

  const CudaDriver &driver() const { return driver_; }
  uint32_t index() const { return index_; }
  const std::string &name() const { return name_; }
  /// What kernels are compiled for: the newest architecture that we know and that its code runs on.
  const Target &target() const { return target_; }
  int compute_capability() const { return capability_; }  ///< 90 for 9.0
  /// Returns whether machine code for its target runs on it. Devices of a family that we do not know
  /// translate PTX.
  bool runs_machine_code() const { return capability_ / 10 == arch_number(target_.arch) / 10; }
  DeviceMemory &memory() { return memory_; }
  CallLog &calls() { return calls_; }
  FaultLog &faults() { return faults_; }
  StagingBuffer &staging() { return staging_; }
  SharedWords &words() const { return *words_; }

  /// Makes its context that of this thread. Throws ResolvedError, E504, if the device has failed.
  void enter();
  /// Throws for the result of a function of the driver, unless it is success: E504 if the device no longer
  /// works, an OpError without memory, and E506 for what a stream that is captured does not allow.
  void check(CuResult result, const char *function);
  /// Throws E506 if a stream is captured: `function` is not allowed then.
  void refuse_capture(CuStream stream, const char *function);
  /// Waits until a stream has done all its work. `look`, if given, is asked every 50 ms; when it returns
  /// true, loops that may run for ever are told to end. Returns whether that happened.
  bool wait(CuStream stream, const WaitLook &look = {});

 private:
  [[noreturn]] void fail() const;

  const CudaDriver &driver_;
  uint32_t index_;
  CuDevice handle_ = 0;
  CuContext context_ = nullptr;
  std::string name_;
  int capability_ = 0;
  Target target_;
  SharedWords *words_ = nullptr;
  std::atomic<CuResult> failure_{cu_success};  ///< the first result after which the context is lost
  DeviceMemory memory_;
  CallLog calls_;
  FaultLog faults_;
  StagingBuffer staging_;
};

/// Returns why kernels cannot run on the first device: there is no driver, or the device is too old; "" if
/// they can. Opens no context.
std::string why_no_first_device();
/// Returns a device of the process; throws ResolvedError, E501 if there is none with this number.
CudaDevice &cuda_device(uint32_t index);
/// Returns the number of the device that an address belongs to; throws OpError for memory of no device.
uint32_t device_of_memory(const void *address);
/// Returns a device for whose target kernels are compiled to PTX, because it runs no machine code for it;
/// null if there is none.
const CudaDevice *find_ptx_device(std::string_view arch);
/// Returns a device that the process has already used, or null.
CudaDevice *find_used_device(uint32_t index);

/// Sets what the bodies of a call on this device are compiled for. GPUs run their own code; with debug=True,
/// and while kernels are interpreted, code for the host runs on copies (runtime/cuda/run.h).
void set_target(Request &r, Device device);

/// Sets what waits of this process look at, for interrupts of the user; without one they look at nothing.
void set_interrupt_look(bool (*look)());
/// Sets what asks other libraries of the process for memory of devices that they keep; asked when there is no
/// other left. `ask` may wait for the GIL.
void set_memory_request(void (*ask)());
void ask_others_for_memory();
/// Returns whether the thread's call shall end, by the look of set_interrupt_look.
bool is_interrupted();
/// How often loops of the host, and waits, look for interrupts.
constexpr auto look_for_interrupts_each = std::chrono::milliseconds(50);
/// Waits for a stream and looks for interrupts; throws WaitInterrupted if there was one.
void wait_for_stream(CudaDevice &device, CuStream stream);

/// Returns the stream in which this thread works on a device: the one that set_stream chose, else the legacy
/// default stream.
CuStream present_stream(uint32_t device);
/// Chooses the stream of this thread for a device, and returns the one before.
CuStream set_stream(uint32_t device, CuStream stream);

}  // namespace kw
