// Memory of a thread, also where there is none.
#include "runtime/cpu/scratch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "support/thread_end.h"
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

/// Asks for memory once more when the thread's arenas may be gone already.
void ask_again(void *) { std::memset(scratch_arena().need(size_t{1} << 17), 1, size_t{1} << 17); }

TEST(Scratch, of_a_thread_that_ended_is_freed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer holds freed memory for a while";
#endif
  static const AtThreadEnd at_end(ask_again);
  constexpr size_t bytes = size_t{1} << 17;
  for (bool late : {false, true}) {
    int64_t before = unit::resident_pages();
    for (int turn = 0; turn < 300; ++turn)
      std::thread([=] {
        std::memset(scratch_arena().need(bytes), 1, bytes);
        std::memset(workspace_arena().need(bytes), 1, bytes);
        EXPECT_TRUE(!late || at_end.watch(&scratch_arena()));
      }).join();
    EXPECT_LT(unit::resident_pages() - before, 8000);  // of 19,200 pages that were used
  }
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
