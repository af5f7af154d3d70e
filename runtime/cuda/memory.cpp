// Allocation by size and stream.
#include "runtime/cuda/memory.h"

#include <algorithm>
#include <bit>

#include "runtime/cuda/device.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr int release_threshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

/// Returns the size that is allocated for a request, so that requests of about one size share memory, and
/// what a program with ever new sizes keeps has an end. Chosen: eight sizes up to each power of two, so an
/// eighth may stay unused. The driver's own step is 512 bytes.
size_t rounded(size_t bytes) {
  bytes = std::max(bytes, size_t{1});
  size_t step = std::max(std::bit_floor(bytes) / 8, size_t{512});
  return bytes + (step - 1) - (bytes + (step - 1)) % step;
}

/// Returns "3.2 MB" and the like.
std::string bytes_text(size_t bytes) {
  constexpr const char *units[] = {"bytes", "KB", "MB", "GB"};
  size_t unit = 0, tenths = bytes * 10;
  // 1,024 of one unit are one of the next
  for (; tenths >= 10240 && unit < 3; tenths /= 1024) ++unit;
  return unit == 0 ? cat(bytes, " bytes") : cat(tenths / 10, ".", tenths % 10, " ", units[unit]);
}

}  // namespace

void DeviceMemory::open(CuDevice handle) {
  const CudaDriver &driver = device_.driver();
  CuPoolProps properties;
  properties.device = handle;
  device_.check(driver.cuMemPoolCreate(&pool_, &properties), "cuMemPoolCreate");
  uint64_t all = UINT64_MAX;  // else each wait for the device would give the pool's memory back
  device_.check(driver.cuMemPoolSetAttribute(pool_, release_threshold, &all), "cuMemPoolSetAttribute");
}

CuPointer DeviceMemory::allocate(size_t bytes, CuStream stream) {
  size_t size = rounded(bytes);
  std::unique_lock lock(mutex_);
  if (auto found = kept_.find({stream, size}); found != kept_.end() && !found->second.empty()) {
    CuPointer memory = found->second.back();
    found->second.pop_back();
    kept_bytes_ -= size, used_ += size;
    blocks_.emplace(memory, Block{size, stream});
    return memory;
  }
  const CudaDriver &driver = device_.driver();
  device_.refuse_capture(stream, "cuMemAllocFromPoolAsync");
  CuPointer memory = 0;
  CuResult r = driver.cuMemAllocFromPoolAsync(&memory, size, pool_, stream);
  for (bool were_asked = false; r == cu_out_of_memory; were_asked = true) {
    trim_locked();
    r = driver.cuMemAllocFromPoolAsync(&memory, size, pool_, stream);
    bool is_first = blocks_.empty();  // of the device, which other threads wait for meanwhile
    if (r != cu_out_of_memory || were_asked || is_first) break;
    lock.unlock();  // what others free may be ours
    ask_others_for_memory();
    lock.lock();
  }
  if (r == cu_out_of_memory) throw OpError(OpError::Kind::memory, shortage_text(size));
  device_.check(r, "cuMemAllocFromPoolAsync");
  used_ += size;
  blocks_.emplace(memory, Block{size, stream});
  return memory;
}

void DeviceMemory::release(CuPointer memory) noexcept {
  std::scoped_lock lock(mutex_);
  auto found = blocks_.find(memory);
  if (found == blocks_.end()) return;
  auto [size, stream] = found->second;
  blocks_.erase(found);
  used_ -= size;
  try {
    kept_[{stream, size}].push_back(memory);
    kept_bytes_ += size;
  } catch (const std::bad_alloc &) {
    device_.driver().cuMemFreeAsync(memory, stream);
  }
}

void DeviceMemory::order_locked(CuStream first, CuStream then) {
  if (first == then) return;
  const CudaDriver &driver = device_.driver();
  if (!event_) device_.check(driver.cuEventCreate(&event_, no_timing), "cuEventCreate");
  // a wait takes what the event has recorded by then, so one event serves all waits
  device_.check(driver.cuEventRecord(event_, first), "cuEventRecord");
  device_.check(driver.cuStreamWaitEvent(then, event_, 0), "cuStreamWaitEvent");
}

void DeviceMemory::order(CuStream first, CuStream then) {
  std::scoped_lock lock(mutex_);
  order_locked(first, then);
}

void DeviceMemory::use(CuPointer inside, CuStream stream) {
  std::scoped_lock lock(mutex_);
  auto next = blocks_.upper_bound(inside);
  if (next == blocks_.begin()) return;
  auto &[begin, block] = *std::prev(next);
  if (inside - begin >= block.bytes || block.stream == stream) return;
  order_locked(block.stream, stream);
  block.stream = stream;
}

void DeviceMemory::trim_locked() {
  const CudaDriver &driver = device_.driver();
  for (auto &[place, memories] : kept_) {
    for (CuPointer memory : memories) driver.cuMemFreeAsync(memory, place.first);
    kept_bytes_ -= place.second * memories.size();
    memories.clear();
  }
  // what is freed in the order of streams is back only when they have come so far
  driver.cuCtxSynchronize();
  driver.cuMemPoolTrimTo(pool_, 0);
}

void DeviceMemory::trim() {
  std::scoped_lock lock(mutex_);
  trim_locked();
}

MemoryUse DeviceMemory::usage() {
  MemoryUse out;
  {
    std::scoped_lock lock(mutex_);
    out.used = used_, out.kept = kept_bytes_;
  }
  size_t all = 0;
  device_.check(device_.driver().cuMemGetInfo_v2(&out.free, &all), "cuMemGetInfo");
  return out;
}

std::string DeviceMemory::shortage_text(size_t wanted) const {
  size_t free = 0, all = 0;
  device_.driver().cuMemGetInfo_v2(&free, &all);
  return cat("device ", device_.index(), " has no ", bytes_text(wanted), " left: ", bytes_text(free), " of ",
             bytes_text(all), " are free, and arrays of this process hold ", bytes_text(used_));
}

}  // namespace kw
