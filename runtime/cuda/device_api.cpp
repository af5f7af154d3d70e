// The row of GPUs in the table of devices.
#include "runtime/device.h"

#include "runtime/cuda/device.h"
#include "runtime/cuda/faults.h"
#include "runtime/cuda/program.h"
#include "runtime/cuda/run.h"
#include "support/options.h"

namespace kw {

namespace {

CuPointer pointer(const void *p) { return reinterpret_cast<CuPointer>(p); }

/// The stream of a call: the given one, or that of this thread.
CuStream stream_of(Device d, DeviceStream stream) {
  return stream.handle ? static_cast<CuStream>(stream.handle) : present_stream(d.index);
}

}  // namespace

void *allocate_on_cuda(Device d, size_t bytes, bool zeroed) {
  CudaDevice &device = cuda_device(d.index);
  device.enter();
  auto *memory = reinterpret_cast<void *>(device.memory().allocate(bytes, present_stream(d.index)));
  if (zeroed) zero_on_cuda(d, memory, bytes);
  return memory;
}

void zero_on_cuda(Device d, void *data, size_t bytes) {
  if (bytes == 0) return;
  CudaDevice &device = cuda_device(d.index);
  device.enter();
  CuStream stream = present_stream(d.index);
  device.memory().use(pointer(data), stream);
  device.check(device.driver().cuMemsetD8Async(pointer(data), 0, bytes, stream), "cuMemsetD8Async");
}

void free_on_cuda(Device d, void *data) noexcept {
  // a child of fork cannot reach the device, and a failed one has lost its memory
  CudaDevice *device = find_driver() ? find_used_device(d.index) : nullptr;
  if (device) device->memory().release(pointer(data));
}

void copy_on_cuda(Device d, void *to, const void *from, size_t bytes, DeviceStream given) {
  if (bytes == 0) return;
  CudaDevice &device = cuda_device(d.index);
  device.enter();
  CuStream stream = stream_of(d, given);
  device.memory().use(pointer(to), stream), device.memory().use(pointer(from), stream);
  device.check(device.driver().cuMemcpyDtoDAsync_v2(pointer(to), pointer(from), bytes, stream),
               "cuMemcpyDtoDAsync");
}

void write_to_cuda(Device d, void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  CudaDevice &device = cuda_device(d.index);
  device.enter();
  CuStream stream = present_stream(d.index);
  device.memory().use(pointer(to), stream);
  device.check(device.driver().cuMemcpyHtoDAsync_v2(pointer(to), from, bytes, stream), "cuMemcpyHtoDAsync");
  device.wait(stream);  // the caller's memory may change afterwards
}

void read_from_cuda(Device d, void *to, const void *from, size_t bytes) {
  if (bytes == 0) return;
  CudaDevice &device = cuda_device(d.index);
  device.enter();
  CuStream stream = present_stream(d.index);
  device.memory().use(pointer(from), stream);
  device.check(device.driver().cuMemcpyDtoHAsync_v2(to, pointer(from), bytes, stream), "cuMemcpyDtoHAsync");
  wait_for_stream(device, stream);
  raise_late_fault(device);
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

RunResult launch_on_cuda(const LoadedKernel &kernel, const CallWords &words, DeviceStream given,
                         const volatile uint32_t *cancel) {
  CudaDevice &device = cuda_device(words.device.index);
  device.enter();
  raise_late_fault(device);
  CuStream stream = stream_of(words.device, given);
  for (size_t i = 0; i < kernel.buffer_count(); ++i) device.memory().use(pointer(words.data[i]), stream);
  if (!kernel.device_code()) return run_on_host(device, kernel, words, stream, cancel);
  return start_on_device(device, kernel, words, stream, cancel, debug_options().wait);
}

}  // namespace kw
