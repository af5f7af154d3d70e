// Pinned memory of the host through which small arrays go to a device, so that the caller needs no wait: the
// driver reads other memory only when the stream has come so far.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "runtime/cuda/driver.h"

namespace kw {

class CudaDevice;

/// Parts of pinned memory. A part is used by one stream, and again when its copies have ended. Thread-safe.
class StagingBuffer {
 public:
  /// Larger arrays are copied with a wait, which takes less time than the copy.
  static constexpr size_t most_bytes = size_t{64} << 10;  // chosen: 64 KB take 3 us by PCIe 4

  explicit StagingBuffer(CudaDevice &device) : device_(device) {}
  StagingBuffer(const StagingBuffer &) = delete;

  /// Copies at most `most_bytes` to the device in the order of a stream, without a wait. Returns false if
  /// every part is in use. Throws as CudaDevice::check does; E506 while the stream is captured.
  bool copy(CuPointer to, const void *from, size_t bytes, CuStream stream);

 private:
  struct Part {
    std::byte *data = nullptr;
    size_t used = 0;
    CuStream stream = nullptr;
    CuEvent done = nullptr;  ///< behind its last copy
  };
  void open();
  Part *part_for(size_t bytes, CuStream stream);
  bool is_done(const Part &part);

  CudaDevice &device_;
  std::mutex mutex_;
  std::array<Part, 16> parts_;
};

}  // namespace kw
