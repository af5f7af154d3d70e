// A ring in pinned memory.
#include "runtime/cuda/staging.h"

#include <cstring>

#include "runtime/cuda/device.h"

namespace kw {

constexpr unsigned no_timing = 2;  // CU_EVENT_DISABLE_TIMING

/// Goes on to the next part, whose copies may have to end first.
void StagingRing::begin_part(CuStream stream) {
  const CudaDriver &driver = device_.driver();
  Part &last = parts_[present_];
  if (last.used > 0) {
    device_.check(driver.cuEventRecord(last.done, last.stream), "cuEventRecord");
    last.is_recorded = true;
  }
  size_t next = (present_ + 1) % parts_.size();
  Part &part = parts_[next];
  if (!part.data) {
    void *pinned = nullptr;
    device_.check(driver.cuMemAllocHost_v2(&pinned, most_bytes), "cuMemAllocHost");
    part.data = static_cast<std::byte *>(pinned);
    device_.check(driver.cuEventCreate(&part.done, no_timing), "cuEventCreate");
  }
  if (part.is_recorded) device_.check(driver.cuEventSynchronize(part.done), "cuEventSynchronize");
  part.is_recorded = false;
  part.used = 0;
  part.stream = stream;
  present_ = next;
}

void StagingRing::copy(CuPointer to, const void *from, size_t bytes, CuStream stream) {
  constexpr size_t alignment = 64;  // a cache line
  std::scoped_lock lock(mutex_);
  device_.refuse_capture(stream, "cuMemcpyHtoDAsync");
  Part *part = &parts_[present_];
  if (!part->data || part->stream != stream || most_bytes - part->used < bytes)
    begin_part(stream), part = &parts_[present_];
  std::byte *place = part->data + part->used;
  std::memcpy(place, from, bytes);
  device_.check(device_.driver().cuMemcpyHtoDAsync_v2(to, place, bytes, stream), "cuMemcpyHtoDAsync");
  part->used = std::min(most_bytes, part->used + (bytes + alignment - 1) / alignment * alignment);
}

}  // namespace kw
