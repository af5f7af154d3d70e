// The table of devices.
#include "runtime/device.h"

#include <cstring>
#include <utility>

#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/memory/buffer.h"
#include "support/text.h"

namespace kw {

namespace {
/// A row for each kind, in the order of DeviceKind.
constexpr DeviceApi device_table[] = {
    cpu_api,
    {DeviceKind::cuda, allocate_on_cuda, free_on_cuda, zero_on_cuda, copy_on_cuda, write_to_cuda,
     read_from_cuda, load_on_cuda, launch_on_cuda, enter_cuda, prepare_cuda}};
}  // namespace

void *allocate_on_cpu(Device, size_t bytes, bool zeroed) noexcept { return allocate_buffer(bytes, zeroed); }

void free_on_cpu(Device, void *data) noexcept { release_buffer(data); }

void zero_on_cpu(Device, void *data, size_t bytes) { std::memset(data, 0, bytes); }

void copy_on_cpu(Device, void *to, const void *from, size_t bytes, DeviceStream) {
  std::memcpy(to, from, bytes);
}

void copy_bytes(Device, void *to, const void *from, size_t bytes) { std::memcpy(to, from, bytes); }

std::shared_ptr<const LoadedKernel> load_on_cpu(Artifact artifact, const CodeOrigin &origin,
                                                std::string &error) {
  return LoadedKernel::load(std::move(artifact), origin, error);
}

RunResult launch_on_cpu(const LoadedKernel &kernel, const CallWords &words, DeviceStream,
                        const volatile uint32_t *cancel) {
  return run_here(kernel, words, cancel);
}

DeviceStream enter_cpu(Device, std::span<void *const>) { return {}; }

std::string_view device_name(DeviceKind kind) { return kind == DeviceKind::cpu ? "CPU" : "CUDA"; }

std::string device_text(Device d) {
  if (d == Device{}) return "CPU";
  return cat(d.kind == DeviceKind::cpu ? "CPU:" : "cuda:", d.index);
}

const DeviceApi &device_api(DeviceKind kind) { return device_table[static_cast<size_t>(kind)]; }

}  // namespace kw
