// The threads that kernels run on. A parallel region is a number of chunks; its caller and the workers claim
// chunks one by one, and the caller waits only for chunks that a worker has claimed: workers that sleep, are
// preempted or do not exist cost no more than the time of running alone. Knows nothing of kernels.
#pragma once

#include <cstdint>

namespace kw {

/// Chunks 0 … chunks - 1 of work, in any order and on any threads; a body throws nothing.
struct Region {
  void (*body)(void *frame, int64_t chunk, int32_t worker) = nullptr;
  void *frame = nullptr;
  int64_t chunks = 0;
  uint32_t threads = 1;                       ///< at most so many run it, the caller among them
  const volatile uint32_t *cancel = nullptr;  ///< not null; where it is not 0, chunks are left out
};

/// Returns when no chunk runs any more. `worker` is below `threads`, and one thread's during a region. A
/// region inside another one, or beside one of another caller, runs in its caller alone.
void run_region(const Region &region) noexcept;

/// Workers that have been started in this process and are still there (tests).
uint32_t pool_workers() noexcept;

}  // namespace kw
