// Parts of one piece of pinned memory.
#include "runtime/cuda/staging.h"

#include <cstring>

#include "runtime/cuda/device.h"

namespace kw {

void StagingBuffer::open() {
  const CudaDriver &driver = device_.driver();
  for (Part &p : parts_)
    if (!p.done) device_.check(driver.cuEventCreate(&p.done, no_timing), "cuEventCreate");
  void *pinned = nullptr;
  device_.check(driver.cuMemAllocHost_v2(&pinned, most_bytes * parts_.size()), "cuMemAllocHost");
  for (size_t i = 0; i < parts_.size(); ++i)
    parts_[i].data = static_cast<std::byte *>(pinned) + i * most_bytes;
}

bool StagingBuffer::is_done(const Part &part) {
  CuResult r = device_.driver().cuEventQuery(part.done);
  if (r != cu_not_ready) device_.check(r, "cuEventQuery");
  return r != cu_not_ready;
}

/// Returns the part of the stream if it has room, else one without copies under way; null if there is none.
StagingBuffer::Part *StagingBuffer::part_for(size_t bytes, CuStream stream) {
  for (Part &p : parts_)
    if (p.used > 0 && p.stream == stream && most_bytes - p.used >= bytes) return &p;
  for (Part &p : parts_)
    if (p.used == 0 || is_done(p)) {
      p.used = 0;
      return &p;
    }
  return nullptr;
}

bool StagingBuffer::copy(CuPointer to, const void *from, size_t bytes, CuStream stream) {
  constexpr size_t alignment = 64;  // a cache line
  const CudaDriver &driver = device_.driver();
  std::scoped_lock lock(mutex_);
  device_.refuse_capture(stream, "cuMemcpyHtoDAsync");
  if (!parts_[0].data) open();
  Part *part = part_for(bytes, stream);
  if (!part) return false;
  // A stream may have the address of one that was destroyed: it waits for the copies of that one, too, so
  // that the event stands behind all of the part.
  if (part->used > 0) device_.check(driver.cuStreamWaitEvent(stream, part->done, 0), "cuStreamWaitEvent");
  std::byte *place = part->data + part->used;
  std::memcpy(place, from, bytes);
  device_.check(driver.cuMemcpyHtoDAsync_v2(to, place, bytes, stream), "cuMemcpyHtoDAsync");
  part->used = std::min(most_bytes, part->used + (bytes + alignment - 1) / alignment * alignment);
  part->stream = stream;
  // recorded at once: later, the stream may be destroyed, or captured
  device_.check(driver.cuEventRecord(part->done, stream), "cuEventRecord");
  return true;
}

}  // namespace kw
