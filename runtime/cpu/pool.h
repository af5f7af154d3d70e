// The threads that kernels run on. A parallel region is a number of chunks, which its caller and the workers
// claim one by one. The caller waits only for chunks that a worker has claimed. So workers that sleep, are
// preempted or do not exist cost no more time than running alone. Knows nothing of kernels.
#pragma once

#include <cstdint>

namespace kw {

/// Chunks 0 … chunks - 1 of work, run in any order and on any threads; the body must not throw.
struct Region {
  void (*body)(void *frame, int64_t chunk, int32_t worker) = nullptr;
  void *frame = nullptr;
  int64_t chunks = 0;
  uint32_t threads = 1;                       ///< the most threads that run the region, the caller included
  const volatile uint32_t *cancel = nullptr;  ///< not null; when nonzero, the remaining chunks are skipped
};

/// Runs a region; returns when no chunk runs any more. `worker` is below `threads` and unique to one thread
/// during a region. A nested region, or one while another caller's region runs, runs in its caller alone.
void run_region(const Region &region) noexcept;

/// Returns the number of workers that were started in this process and still exist (tests).
uint32_t pool_workers() noexcept;

}  // namespace kw
