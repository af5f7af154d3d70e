// The table of devices.
#include "runtime/device.h"

#include <cstring>
#include <utility>

#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/memory/buffer.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {
/// A row for each kind of this build.
constexpr DeviceApi device_table[] = {cpu_api};
}  // namespace

void *allocate_on_cpu(Device, size_t bytes, bool zeroed) noexcept { return allocate_buffer(bytes, zeroed); }

void free_on_cpu(Device, void *data) noexcept { release_buffer(data); }

void copy_on_cpu(Device, void *to, const void *from, size_t bytes, DeviceStream) {
  std::memcpy(to, from, bytes);
}

std::shared_ptr<const LoadedKernel> load_on_cpu(Artifact artifact, const std::string &name,
                                                std::string &error) {
  return LoadedKernel::load(std::move(artifact), name, error);
}

RunResult launch_on_cpu(const LoadedKernel &kernel, const CallWords &words, DeviceStream,
                        const volatile uint32_t *cancel) {
  return run_here(kernel, words, cancel);
}

std::string_view device_name(DeviceKind kind) { return kind == DeviceKind::cpu ? "CPU" : "CUDA"; }

std::string device_text(Device d) { return d == Device{} ? "CPU" : cat(device_name(d.kind), ":", d.index); }

const DeviceApi &device_api(DeviceKind kind) {
  for (const DeviceApi &api : device_table)
    if (api.kind == kind) return api;
  throw OpError(OpError::Kind::device, cat("no ", device_name(kind), " device"));
}

}  // namespace kw
