// Pinned memory of the host through which small arrays go to a device, so that the caller needs no wait: the
// driver copies from other memory only when the stream has come so far.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "runtime/cuda/driver.h"

namespace kw {

class CudaDevice;

/// A ring of parts. A part is used by one stream at a time, and by the next one when its copies have ended.
/// Thread-safe.
class StagingRing {
 public:
  /// What larger arrays need for the copy is worth a wait.
  static constexpr size_t most_bytes = size_t{64} << 10;  // chosen: 64 KB take 3 us by PCIe 4

  explicit StagingRing(CudaDevice &device) : device_(device) {}
  StagingRing(const StagingRing &) = delete;

  /// Copies at most `most_bytes` to the device in the order of a stream. Waits only for copies of long ago.
  /// Throws as CudaDevice::check does; E506 while the stream is captured.
  void copy(CuPointer to, const void *from, size_t bytes, CuStream stream);

 private:
  struct Part {
    std::byte *data = nullptr;
    size_t used = 0;
    CuStream stream = nullptr;
    CuEvent done = nullptr;
    bool is_recorded = false;
  };
  void begin_part(CuStream stream);

  CudaDevice &device_;
  std::mutex mutex_;
  std::array<Part, 16> parts_;
  size_t present_ = 0;
};

}  // namespace kw
