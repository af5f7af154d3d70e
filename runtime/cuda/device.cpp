// Devices by their numbers, and the results of the driver's functions.
#include "runtime/cuda/device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "codegen/cuda/nvrtc.h"
#include "codegen/llvm_library.h"
#include "runtime/op_error.h"
#include "runtime/resolved_error.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr int oldest_capability = 80;  // texts use cp.async and cvt of bfloat16, which begin there

/// Returns whether a context is lost after this result.
bool is_sticky(CuResult r) {
  constexpr CuResult sticky[] = {cu_uncorrectable_ecc,
                                 cu_illegal_address,
                                 cu_timeout,
                                 cu_assert,
                                 cu_hardware_stack_error,
                                 cu_illegal_instruction,
                                 cu_misaligned_address,
                                 cu_invalid_address_space,
                                 cu_invalid_pc,
                                 cu_launch_failed};
  return std::find(std::begin(sticky), std::end(sticky), r) != std::end(sticky);
}

/// Returns the target for a device: its own architecture, or the newest one of the same family before it.
std::optional<Target> target_for(int capability) {
  for (int c = capability; c / 10 == capability / 10 && c >= oldest_capability; --c)
    if (auto t = target_of_class(cat("sm_", c))) return t;
  // A family that we do not know runs PTX of an older one.
  for (int c = capability / 10 * 10 - 1; c >= oldest_capability; --c)
    if (auto t = target_of_class(cat("sm_", c))) return t;
  return std::nullopt;
}

std::atomic<bool (*)()> interrupt_look{nullptr};
std::atomic<void (*)()> memory_request{nullptr};
std::array<std::atomic<CudaDevice *>, most_devices> devices{};
std::mutex making;  // of devices

/// The streams that this thread has chosen; most threads have none.
thread_local std::vector<std::pair<uint32_t, CuStream>> chosen;

/// Returns the attributes that tell a device's compute capability as one number, 90 for 9.0.
int capability_of(const CudaDriver &driver, CuDevice device, CuResult &result) {
  int major = 0, minor = 0;
  result = driver.cuDeviceGetAttribute(&major, cu_major, device);
  if (result == cu_success) result = driver.cuDeviceGetAttribute(&minor, cu_minor, device);
  return major * 10 + minor;
}

std::string too_old_text(uint32_t index, const std::string &name, int capability) {
  return cat("device ", index, " (", name, ") has compute capability ", capability / 10, ".", capability % 10,
             ", and 8.0 or newer is needed");
}

}  // namespace

int arch_number(std::string_view arch) { return std::atoi(std::string(arch.substr(3)).c_str()); }

CudaDevice::CudaDevice(const CudaDriver &driver, uint32_t index)
    : driver_(driver), index_(index), memory_(*this), faults_(*this), staging_(*this) {
  check(driver.cuDeviceGet(&handle_, static_cast<int>(index)), "cuDeviceGet");
  std::array<char, 256> text{};
  check(driver.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, handle_), "cuDeviceGetName");
  name_ = text.data();
  CuResult result = cu_success;
  capability_ = capability_of(driver, handle_, result);
  check(result, "cuDeviceGetAttribute");
  auto target = target_for(capability_);
  if (!target) throw_no_device(too_old_text(index, name_, capability_));
  target_ = std::move(*target);
  check(driver.cuDevicePrimaryCtxRetain(&context_, handle_), "cuDevicePrimaryCtxRetain");
  enter();
  void *pinned = nullptr;
  check(driver.cuMemAllocHost_v2(&pinned, sizeof(SharedWords)), "cuMemAllocHost");
  words_ = new (pinned) SharedWords{};
  memory_.open(handle_);
  faults_.open();
}

void CudaDevice::enter() {
  if (failure_ != cu_success) [[unlikely]]
    fail();
  CuContext now = nullptr;
  if (driver_.cuCtxGetCurrent(&now) == cu_success && now == context_) [[likely]]
    return;
  check(driver_.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

void CudaDevice::fail() const {
  Resolved e;
  e.code = Code::E504;
  e.message = cat("device ", index_, " failed: ", name_of_result(driver_, failure_));
  for (const std::string &call : calls_.last_calls(8)) e.notes.push_back(call);
  e.help = {"start a new process; please report it"};
  throw ResolvedError({e});
}

void CudaDevice::check(CuResult result, const char *function) {
  if (result == cu_success || result == cu_deinitialized) [[likely]]
    return;
  if (is_sticky(result)) {
    CuResult none = cu_success;
    failure_.compare_exchange_strong(none, result);
    fail();
  }
  if (result == cu_out_of_memory)
    throw OpError(OpError::Kind::memory, cat(function, ": device ", index_, " is out of memory"));
  if (result >= cu_stream_capture_unsupported && result <= cu_stream_capture_implicit) {
    Resolved e;
    e.code = Code::E506;
    e.message = cat(function, ": a stream that is captured allows no compilation, no new memory and no wait");
    e.help = {"call the kernel once before the capture"};
    throw ResolvedError({e});
  }
  throw_runtime_error(cat(function, " on device ", index_, ": ", name_of_result(driver_, result)));
}

void CudaDevice::refuse_capture(CuStream stream, const char *function) {
  enter();  // the default stream is that of the thread's context
  int is_captured = 0;
  CuResult state = driver_.cuStreamIsCapturing(stream, &is_captured);
  check(state == cu_success && is_captured ? cu_stream_capture_unsupported : state, function);
}

bool CudaDevice::wait(CuStream stream, const WaitLook &look) {
  if (!look) {
    check(driver_.cuStreamSynchronize(stream), "cuStreamSynchronize");
    return false;
  }
  // short waits are polled without a pause; the pauses grow to the interval between two looks
  auto began = std::chrono::steady_clock::now(), looked = began;
  bool stopped = false;
  for (auto pause = std::chrono::microseconds(0);;) {
    CuResult r = driver_.cuStreamQuery(stream);
    if (r != cu_not_ready) {
      check(r, "cuStreamQuery");
      break;
    }
    auto now = std::chrono::steady_clock::now();
    if (now - looked >= look_for_interrupts_each) {
      looked = now;
      if (!stopped && look()) {
        stopped = true;
        words_->cancel = 1;
      }
    }
    // a wait of 1 ms is worth a processor; longer ones sleep a tenth of what they have taken so far
    if (now - began > std::chrono::milliseconds(1)) {
      pause = std::min(std::chrono::duration_cast<std::chrono::microseconds>(now - began) / 10,
                       std::chrono::microseconds(1000));
      std::this_thread::sleep_for(pause);
    }
  }
  if (stopped) words_->cancel = 0;
  return stopped;
}

std::string why_no_first_device() {
  const CudaDriver *driver = find_driver();
  if (!driver) return why_no_cuda();
  CuDevice handle = 0;
  std::array<char, 256> name{};
  CuResult result = driver->cuDeviceGet(&handle, 0);
  if (result == cu_success)
    result = driver->cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, handle);
  int capability = result == cu_success ? capability_of(*driver, handle, result) : 0;
  // other failures are told where the device is used
  return result == cu_success && !target_for(capability) ? too_old_text(0, name.data(), capability) : "";
}

CudaDevice *find_used_device(uint32_t index) {
  return index < most_devices ? devices[index].load() : nullptr;
}

CudaDevice &cuda_device(uint32_t index) {
  const CudaDriver &driver = need_driver();
  if (CudaDevice *d = find_used_device(index)) return *d;
  if (index >= static_cast<uint32_t>(driver.devices) || index >= most_devices)
    throw_no_device(cat("there is no device ", index, ", only ", counted(driver.devices, "device")),
                    driver.devices == 1
                        ? "the device is called \"cuda\""
                        : cat("devices are called \"cuda:0\" to \"cuda:", driver.devices - 1, "\""));
  HoldForks whole;
  std::scoped_lock lock(making);
  if (CudaDevice *d = find_used_device(index)) return *d;
  set_newest_nvrtc(driver.version);
  auto made = std::make_unique<CudaDevice>(driver, index);
  devices[index] = made.get();
  return *made.release();
}

const CudaDevice *find_ptx_device(std::string_view arch) {
  for (const std::atomic<CudaDevice *> &d : devices)
    if (const CudaDevice *device = d; device && device->target().arch == arch && !device->runs_machine_code())
      return device;
  return nullptr;
}

uint32_t device_of_memory(const void *address) {
  constexpr int device_ordinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  int index = -1;
  CuResult r =
      need_driver().cuPointerGetAttribute(&index, device_ordinal, reinterpret_cast<CuPointer>(address));
  if (r != cu_success || index < 0) throw_value_error("the array lies in memory of no GPU of this process");
  return static_cast<uint32_t>(index);
}

void set_interrupt_look(bool (*look)()) { interrupt_look = look; }

void set_memory_request(void (*ask)()) { memory_request = ask; }
void ask_others_for_memory() {
  if (auto ask = memory_request.load()) ask();
}

bool is_interrupted() {
  bool (*look)() = interrupt_look;
  return look && look();
}

void wait_for_stream(CudaDevice &device, CuStream stream) {
  bool (*look)() = interrupt_look;
  if (device.wait(stream, look ? WaitLook(look) : WaitLook())) throw WaitInterrupted();
}

void set_target(Request &r, Device device) {
  set_present_target(r);
  if (device.kind == DeviceKind::cpu || interpreting() || r.options.debug || r.options.body != Body::main)
    return;
  r.target = cuda_device(device.index).target();
  r.backend = "cuda";
}

CuStream present_stream(uint32_t device) {
  for (const auto &[index, stream] : chosen)
    if (index == device) return stream;
  return legacy_stream();
}

CuStream set_stream(uint32_t device, CuStream stream) {
  for (auto &[index, present] : chosen)
    if (index == device) return std::exchange(present, stream);
  chosen.emplace_back(device, stream);
  return legacy_stream();
}

}  // namespace kw
