// The row of GPUs in the table of devices.
#include "runtime/device.h"

#include "runtime/cuda/background.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/faults.h"
#include "runtime/cuda/program.h"
#include "runtime/cuda/run.h"
#include "support/options.h"

namespace kw {

namespace {

CuPointer pointer(const void *p) { return reinterpret_cast<CuPointer>(p); }

/// A device whose context is current, and the stream of an operation on it.
struct OnStream {
  CudaDevice &device;
  CuStream stream;
  ActingFor thread;

  /// Enters the device; takes the given stream, or that of this thread.
  explicit OnStream(Device d, DeviceStream given = {})
      : device(cuda_device(d.index)),
        stream(given.handle ? static_cast<CuStream>(given.handle) : present_stream(d.index)),
        thread(given.thread) {
    device.enter();
  }
  const CudaDriver &driver() const { return device.driver(); }
  void use(const void *memory) { device.memory().use(pointer(memory), stream); }
};

}  // namespace

void *allocate_on_cuda(Device d, size_t bytes, bool zeroed) {
  OnStream on(d);
  auto *memory = reinterpret_cast<void *>(on.device.memory().allocate(bytes, on.stream));
  if (zeroed) zero_on_cuda(d, memory, bytes);
  return memory;
}

void zero_on_cuda(Device d, void *data, size_t bytes) {
  if (bytes == 0) return;
  OnStream on(d);
  on.use(data);
  on.device.check(on.driver().cuMemsetD8Async(pointer(data), 0, bytes, on.stream), "cuMemsetD8Async");
}

void free_on_cuda(Device d, void *data) noexcept {
  // a child of fork cannot reach the device, and a failed one has lost its memory
  CudaDevice *device = find_driver() ? find_used_device(d.index) : nullptr;
  if (device) device->memory().release(pointer(data));
}

void copy_on_cuda(Device d, void *to, const void *from, size_t bytes, DeviceStream given) {
  if (bytes == 0) return;
  OnStream on(d, given);
  on.use(to), on.use(from);
  on.device.check(on.driver().cuMemcpyDtoDAsync_v2(pointer(to), pointer(from), bytes, on.stream),
                  "cuMemcpyDtoDAsync");
}

void write_to_cuda(Device d, void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  OnStream on(d);
  on.use(to);
  if (bytes <= StagingBuffer::most_bytes && on.device.staging().copy(pointer(to), from, bytes, on.stream))
    return;
  on.device.check(on.driver().cuMemcpyHtoDAsync_v2(pointer(to), from, bytes, on.stream), "cuMemcpyHtoDAsync");
  wait_for_stream(on.device, on.stream);  // the caller's memory may change afterwards
}

void read_from_cuda(Device d, void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  OnStream on(d);
  on.use(from);
  on.device.check(on.driver().cuMemcpyDtoHAsync_v2(to, pointer(from), bytes, on.stream), "cuMemcpyDtoHAsync");
  wait_for_stream(on.device, on.stream);
  raise_late_fault(on.device, FaultLog::Whose::all);
}

std::shared_ptr<const LoadedKernel> load_on_cuda(Artifact artifact, const CodeOrigin &origin,
                                                 std::string &error) {
  if (artifact.code_kind != CodeKind::cuda) {
    error = "no code for a GPU";
    return nullptr;
  }
  auto code = std::make_unique<CudaProgram>(artifact);
  return LoadedKernel::with_device_code(std::move(artifact), origin, std::move(code));
}

void prepare_cuda() { open_nvrtc_in_background(); }

RunResult launch_on_cuda(const LoadedKernel &kernel, const CallWords &words, DeviceStream given,
                         const volatile uint32_t *cancel) {
  OnStream on(words.device, given);
  raise_late_fault(on.device, FaultLog::Whose::own);
  for (size_t i = 0; i < kernel.buffer_count(); ++i) on.use(words.data[i]);
  if (!kernel.device_code()) return run_on_host(on.device, kernel, words, on.stream, cancel);
  return start_on_device(on.device, kernel, words, on.stream, cancel, words.waits || debug_options().wait);
}

DeviceStream enter_cuda(Device d, std::span<void *const> memory) {
  OnStream on(d);
  raise_late_fault(on.device, FaultLog::Whose::own);
  for (const void *m : memory) on.use(m);
  return {on.stream, number_of_thread()};
}

}  // namespace kw
