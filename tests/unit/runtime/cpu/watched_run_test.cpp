// Work beside its caller: where it runs, who looks around meanwhile, callers at once, forks.
#include "runtime/cpu/watched_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/cpu/float_control.h"
#include "runtime/cpu/pool.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

/// Runs a callable aside; how often the caller looked.
template <class F>
int looks_during(F &&work) {
  int looks = 0;
  run_in_watched_thread([](void *f) { (*static_cast<F *>(f))(); }, &work, milliseconds(2), [&] { ++looks; });
  return looks;
}

TEST(WatchedThread, runs_each_work_once_in_another_thread) {
  std::thread::id worker;
  int ran = 0;
  for (int k = 1; k <= 2000; ++k) {
    looks_during([&] { worker = std::this_thread::get_id(), ++ran; });
    ASSERT_EQ(ran, k);
    ASSERT_NE(worker, std::this_thread::get_id());
  }
  EXPECT_TRUE(has_watched_thread());
}

TEST(WatchedThread, wakes_the_thread_that_is_kept) {
  for (int k = 0; k < 5; ++k) {
    std::this_thread::sleep_for(milliseconds(3));  // longer than it spins
    bool ran = false;
    looks_during([&] { ran = true; });
    ASSERT_TRUE(ran);
  }
}

TEST(WatchedThread, the_caller_looks_until_the_work_has_ended) {
  std::atomic<int> seen{0};
  int looks = 0;
  std::thread::id looker;
  auto wait = [](void *until) {
    while (static_cast<std::atomic<int> *>(until)->load() < 3) std::this_thread::yield();
  };
  run_in_watched_thread(wait, &seen, milliseconds(1),
                        [&] { looker = std::this_thread::get_id(), ++looks, ++seen; });
  EXPECT_GE(looks, 3);
  EXPECT_EQ(looker, std::this_thread::get_id());
}

TEST(WatchedThread, callers_at_once_and_inside_each_other_all_get_a_thread) {
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int k = 0; k < 50; ++k) looks_during([&] { looks_during([&] { ++ran; }); });
    });
  for (std::thread &c : callers) c.join();
  EXPECT_EQ(ran, 200);
}

TEST(WatchedThread, computes_as_the_caller_does) {
  uint64_t before = float_control(), other = 0, usual = 0;
  looks_during([&] { usual = float_control(); });
#if defined(__x86_64__)
  set_float_control(before ^ 0x8000);  // flushes subnormals
#endif
  uint64_t mine = float_control();
  looks_during([&] { other = float_control(); });
  set_float_control(before);
  EXPECT_EQ(usual, before);
  EXPECT_EQ(other, mine);
}

TEST(WatchedThread, a_child_of_fork_begins_its_own_thread) {
  looks_during([] {});
  if (!unit::children_may_start_threads) GTEST_SKIP() << "this process has other threads";
  EXPECT_EQ(unit::run_in_child([] {
              if (has_watched_thread()) return 1;
              bool ran = false;
              looks_during([&] { ran = true; });
              return ran && has_watched_thread() ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace kw
