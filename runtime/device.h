// The devices that hold tensors and run kernels: a table of functions for each kind. All tensors of a call
// lie on one device, which is a field of the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace kw {

class LoadedKernel;
struct Artifact;
struct CallPlace;
struct CallWords;
struct CodeOrigin;
struct RunResult;

enum class DeviceKind : uint8_t { cpu, cuda };
std::string_view device_name(DeviceKind kind);  ///< "CPU", "CUDA"

/// One device of the process.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  uint32_t index = 0;
  friend bool operator==(const Device &, const Device &) = default;
};

/// Returns "CPU" or "cuda:1", as `Tensor.device` does for GPUs; for messages.
std::string device_text(Device d);

/// A queue of a device, which executes in order. Without a handle, work is done when the function that starts
/// it returns.
struct DeviceStream {
  void *handle = nullptr;
  uint64_t thread = 0;  ///< number of the thread that works in it, if another one may call for it
  const CallPlace *place = nullptr;  ///< where the call stands in the user's text; null if unknown
};

/// What the runtime asks of the devices of one kind.
struct DeviceApi {
  DeviceKind kind;
  /// Allocates at least one byte, aligned to 64; all are zero if `zeroed`. Returns null without memory, or
  /// throws OpError that says more.
  void *(*allocate)(Device, size_t bytes, bool zeroed);
  /// Frees what `allocate` returned. Callable in any thread, also while threads and the process end.
  void (*free)(Device, void *data) noexcept;
  /// Sets bytes to 0.
  void (*zero)(Device, void *data, size_t bytes);
  /// Copies bytes between two places in memory of the device.
  void (*copy)(Device, void *to, const void *from, size_t bytes, DeviceStream);
  /// Copies bytes from the host, or to the host; returns when they are there. Faults of kernels that the copy
  /// waits for are thrown.
  void (*write)(Device, void *to, const void *from, size_t bytes);
  void (*read)(Device, void *to, const void *from, size_t bytes);
  /// Loads the code of an artifact. Returns null and sets `error` if it cannot be loaded; throws
  /// ResolvedError without what the load needs.
  std::shared_ptr<const LoadedKernel> (*load)(Artifact artifact, const CodeOrigin &origin,
                                              std::string &error);
  /// Starts a kernel, and on the CPU runs it; `cancel`, if not null, is polled meanwhile (runtime/launch).
  RunResult (*launch)(const LoadedKernel &kernel, const CallWords &words, DeviceStream,
                      const volatile uint32_t *cancel);
  /// Prepares this thread for code of users that works with this memory of the device: makes its context
  /// current. Returns the stream in which the code has to work. Faults of earlier kernels are thrown.
  DeviceStream (*enter)(Device, std::span<void *const> memory);
  /// Starts what a compilation for these devices needs, because a kernel is in no cache; returns at once.
  void (*prepare)();
};

void *allocate_on_cpu(Device, size_t bytes, bool zeroed) noexcept;
void free_on_cpu(Device, void *data) noexcept;
void zero_on_cpu(Device, void *data, size_t bytes);
void copy_on_cpu(Device, void *to, const void *from, size_t bytes, DeviceStream);
void copy_bytes(Device, void *to, const void *from, size_t bytes);
std::shared_ptr<const LoadedKernel> load_on_cpu(Artifact artifact, const CodeOrigin &origin,
                                                std::string &error);
RunResult launch_on_cpu(const LoadedKernel &kernel, const CallWords &words, DeviceStream,
                        const volatile uint32_t *cancel);
DeviceStream enter_cpu(Device, std::span<void *const> memory);
inline void prepare_cpu() {}

// The functions of the row of GPUs (runtime/cuda/device_api.cpp).
void *allocate_on_cuda(Device, size_t bytes, bool zeroed);
void free_on_cuda(Device, void *data) noexcept;
void zero_on_cuda(Device, void *data, size_t bytes);
void copy_on_cuda(Device, void *to, const void *from, size_t bytes, DeviceStream);
void write_to_cuda(Device, void *to, const void *from, size_t bytes);
void read_from_cuda(Device, void *to, const void *from, size_t bytes);
std::shared_ptr<const LoadedKernel> load_on_cuda(Artifact artifact, const CodeOrigin &origin,
                                                 std::string &error);
RunResult launch_on_cuda(const LoadedKernel &kernel, const CallWords &words, DeviceStream,
                         const volatile uint32_t *cancel);
DeviceStream enter_cuda(Device, std::span<void *const> memory);
void prepare_cuda();

/// The CPU's row of the table; here, so that its functions are called directly.
inline constexpr DeviceApi cpu_api = {DeviceKind::cpu, allocate_on_cpu, free_on_cpu, zero_on_cpu,
                                      copy_on_cpu,     copy_bytes,      copy_bytes,  load_on_cpu,
                                      launch_on_cpu,   enter_cpu,       prepare_cpu};

/// Returns the functions of a kind.
const DeviceApi &device_api(DeviceKind kind);

/// Calls `body` with the functions of a kind. For the CPU the compiler sees which they are: the indirect
/// calls of an allocation and a run were 2 % of a call of 100 ns (perf).
template <class Body>
auto with_device_api(DeviceKind kind, const Body &body) {
  if (kind == DeviceKind::cpu) [[likely]]
    return body(cpu_api);
  return body(device_api(kind));
}

}  // namespace kw
