// Memory of a thread, also where there is none.
#include "runtime/cpu/scratch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <thread>

#include "tests/unit/helpers.h"

namespace kw {
namespace {

TEST(Scratch, it_grows_on_demand_and_is_aligned) {
  void *small = scratch_arena().need(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0u);
  EXPECT_EQ(scratch_arena().need(50), small);
  EXPECT_NE(scratch_arena().need(size_t{1} << 20), nullptr);
  EXPECT_NE(workspace_arena().need(100), scratch_arena().need(100));
  EXPECT_EQ(scratch_arena().need(SIZE_MAX / 2), nullptr);
  EXPECT_NE(scratch_arena().need(100), nullptr);
}

TEST(Scratch, a_thread_without_memory_goes_on) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers need memory of their own";
#endif
  int code = unit::run_in_child([] {
    int found = 1;
    std::thread([&] {
      rlimit none{1, 1};
      if (setrlimit(RLIMIT_AS, &none) != 0) return;
      for (size_t bytes = size_t{1} << 20; bytes >= 16; bytes /= 2)
        while (void *taken = std::malloc(bytes)) *static_cast<volatile char *>(taken) = 1;
      scratch_arena().shrink();
      found = scratch_arena().need(size_t{1} << 32) ? 2 : 0;
    }).join();
    return found;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace kw
