// Memory of one GPU: a pool of the driver, and freed memory kept by size and stream, because a call that
// allocates costs as much as a launch. Memory is used in the order of streams and freed without a wait.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/driver.h"

namespace kw {

class CudaDevice;

/// What the memory of a device is used for, in bytes.
struct MemoryUse {
  size_t used = 0;  ///< allocated and not freed
  size_t kept = 0;  ///< freed, for later allocations
  size_t free = 0;  ///< of the device, for every process
};

/// Thread-safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(CudaDevice &device) : device_(device) {}
  DeviceMemory(const DeviceMemory &) = delete;
  /// Makes the pool. The device's context must be current, here and in each function below.
  void open(CuDevice handle);

  /// Returns memory that the stream may use at once; its contents are unspecified. Throws OpError without
  /// memory, after all that we and others keep was given back, and ResolvedError (E506) while the stream is
  /// captured.
  CuPointer allocate(size_t bytes, CuStream stream);
  /// Frees it in the order of the stream that used it last. Ignores failures of the device.
  void release(CuPointer memory) noexcept;
  /// Says that a stream is about to use memory that holds this place: it will wait for the stream that used
  /// the memory before. Memory of others is ignored.
  void use(CuPointer inside, CuStream stream);
  /// Lets one stream wait for the work that another one has so far.
  void order(CuStream first, CuStream then);
  /// Gives the kept memory back to the driver.
  void trim();

  MemoryUse usage();

 private:
  struct Block {
    size_t bytes;
    CuStream stream;  ///< that used it last
  };
  void trim_locked();
  void order_locked(CuStream first, CuStream then);
  /// Returns the message of an allocation that failed.
  std::string shortage_text(size_t wanted) const;

  CudaDevice &device_;
  std::mutex mutex_;
  CuPool pool_ = nullptr;
  std::map<CuPointer, Block> blocks_;
  std::map<std::pair<CuStream, size_t>, std::vector<CuPointer>> kept_;
  CuEvent event_ = nullptr;  ///< for waits between streams
  size_t used_ = 0, kept_bytes_ = 0;
};

}  // namespace kw
