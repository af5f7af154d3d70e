// The pool: every chunk runs once, whoever runs it; nested and concurrent regions; forks; float control.
#include "runtime/cpu/pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "runtime/cpu/float_control.h"
#include "runtime/cpu/thread_count.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

const volatile uint32_t never = 0;

/// Runs `f(chunk, worker)` as a region.
template <class F>
void region(int64_t chunks, uint32_t threads, F f, const volatile uint32_t *cancel = &never) {
  auto body = [](void *frame, int64_t chunk, int32_t worker) { (*static_cast<F *>(frame))(chunk, worker); };
  run_region({body, &f, chunks, threads, cancel});
}

/// How often each chunk ran.
std::vector<int> counts(int64_t chunks, uint32_t threads) {
  std::vector<std::atomic<int>> ran(static_cast<size_t>(chunks));
  region(chunks, threads, [&](int64_t chunk, int32_t) { ++ran[static_cast<size_t>(chunk)]; });
  return {ran.begin(), ran.end()};
}

/// A region that ends only when `threads` threads are in it at once.
void meet(uint32_t threads, std::atomic<uint32_t> &here) {
  region(threads, threads, [&](int64_t, int32_t) {
    ++here;
    while (here < threads) std::this_thread::yield();
  });
}

TEST(Pool, runs_every_chunk_once) {
  for (uint32_t threads : {1u, 2u, 3u, 8u})
    for (int64_t chunks : {0, 1, 2, 7, 1000})
      for (int round = 0; round < 20; ++round)
        ASSERT_EQ(counts(chunks, threads), std::vector<int>(static_cast<size_t>(chunks), 1)) << threads;
}

TEST(Pool, takes_more_chunks_than_it_can_number) {
  constexpr int64_t chunks = (int64_t{1} << 24) + 5;
  std::atomic<int64_t> sum{0}, count{0};
  region(chunks, 3, [&](int64_t chunk, int32_t) {
    sum.fetch_add(chunk, std::memory_order_relaxed);
    count.fetch_add(1, std::memory_order_relaxed);
  });
  EXPECT_EQ(count, chunks);
  EXPECT_EQ(sum, chunks * (chunks - 1) / 2);
}

TEST(Pool, the_caller_is_worker_0_and_sees_what_workers_wrote) {
  std::vector<int64_t> out(1000);
  std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> wrong{0};
  for (int64_t round = 1; round < 200; ++round) {
    region(1000, 4, [&](int64_t chunk, int32_t worker) {
      out[static_cast<size_t>(chunk)] = chunk * round;
      wrong += worker < 0 || worker >= 4 || (worker == 0) != (std::this_thread::get_id() == caller);
    });
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i * round);
  }
  EXPECT_EQ(wrong, 0);
}

/// Each chunk waits for the other: the region ends only if a worker comes, awake or asleep.
TEST(Pool, workers_come_also_after_a_rest) {
  for (int rest : {0, 0, 1, 5}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(rest));
    for (uint32_t threads : {2u, 4u}) {
      std::atomic<uint32_t> here{0};
      meet(threads, here);
      EXPECT_EQ(here, threads);
    }
  }
}

/// The caller has nothing left to do and sleeps meanwhile.
TEST(Pool, the_caller_waits_for_a_slow_worker) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<uint32_t> here{0};
    int done = 0;
    region(2, 2, [&](int64_t, int32_t worker) {
      ++here;
      while (here < 2) std::this_thread::yield();
      if (worker == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
      done = 1;
    });
    ASSERT_EQ(done, 1);
  }
}

TEST(Pool, no_more_threads_take_part_than_asked_for) {
  std::atomic<uint32_t> here{0};
  meet(6, here);  // now there are five workers at least
  EXPECT_GE(pool_workers(), 5u);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> wrong{0};
    region(64, 2, [&](int64_t, int32_t worker) { wrong += worker > 1; });
    ASSERT_EQ(wrong, 0);
  }
}

TEST(Pool, regions_inside_a_region_run_in_their_caller) {
  std::vector<std::atomic<int>> ran(8 * 8);
  std::atomic<int> strangers{0};
  region(8, 4, [&](int64_t i, int32_t) {
    std::thread::id caller = std::this_thread::get_id();
    region(8, 4, [&](int64_t j, int32_t worker) {
      ++ran[static_cast<size_t>(8 * i + j)];
      strangers += worker != 0 || std::this_thread::get_id() != caller;
    });
  });
  for (auto &count : ran) EXPECT_EQ(count, 1);
  EXPECT_EQ(strangers, 0);
}

TEST(Pool, regions_of_many_callers_at_once_are_all_done) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> wrong{0};
  for (int t = 0; t < 32; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        std::vector<int64_t> out(50);
        region(50, 4, [&](int64_t chunk, int32_t) { out[static_cast<size_t>(chunk)] = chunk + round; });
        for (int64_t i = 0; i < 50; ++i) wrong += out[static_cast<size_t>(i)] != i + round;
      }
    });
  for (std::thread &t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pool, cancel_leaves_the_rest_out) {
  for (uint32_t threads : {1u, 2u, 4u}) {
    volatile uint32_t cancel = 0;
    std::atomic<int64_t> ran{0};
    auto body = [&](int64_t chunk, int32_t) {
      ++ran;
      if (chunk == 3) __atomic_store_n(&cancel, 1u, __ATOMIC_RELAXED);
    };
    region(int64_t{1} << 40, threads, body, &cancel);
    EXPECT_GE(ran, 4);
    EXPECT_LT(ran, int64_t{1} << 40);
  }
}

TEST(Pool, a_cancelled_region_runs_nothing) {
  volatile uint32_t cancel = 1;
  std::atomic<int> ran{0};
  region(100, 4, [&](int64_t, int32_t) { ++ran; }, &cancel);
  EXPECT_EQ(ran, 0);
}

TEST(Pool, workers_get_no_signals) {
  std::atomic<uint32_t> here{0}, blocked{0};
  region(2, 2, [&](int64_t, int32_t worker) {
    ++here;
    while (here < 2) std::this_thread::yield();
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (worker == 1) blocked = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM);
  });
  EXPECT_EQ(blocked, 1u);
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_FALSE(sigismember(&own, SIGINT));
}

#if defined(__x86_64__)
TEST(Pool, workers_compute_as_their_caller_does) {
  constexpr uint32_t to_zero = 0x8040, up = 0x4000, inexact_trap = 0x1000;
  uint32_t before = _mm_getcsr();
  for (uint32_t change : {0u, to_zero, up, 0u}) {
    _mm_setcsr((before & ~inexact_trap) | change);  // traps stay the caller's own
    std::atomic<uint32_t> here{0}, seen{0};
    region(2, 2, [&](int64_t, int32_t worker) {
      ++here;
      while (here < 2) std::this_thread::yield();
      if (worker == 1) seen = _mm_getcsr();
    });
    _mm_setcsr(before);
    EXPECT_EQ(seen & 0xFFC0, (before & 0xFFC0) | change | inexact_trap);
  }
}
#endif

TEST(Pool, a_child_of_fork_starts_its_own_workers) {
  if (!unit::children_may_start_threads) GTEST_SKIP() << "the sanitizer ends such children";
  std::atomic<uint32_t> here{0};
  meet(3, here);
  int code = unit::run_in_child([] {
    if (pool_workers() != 0) return 1;
    std::atomic<uint32_t> mine{0};
    meet(3, mine);
    if (mine != 3 || pool_workers() != 2) return 2;
    return counts(100, 3) == std::vector<int>(100, 1) ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
  here = 0;
  meet(3, here);  // and the parent still has them
  EXPECT_EQ(here, 3u);
}

TEST(Pool, does_without_threads_that_the_system_refuses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers need memory of their own";
#endif
  int code = unit::run_in_child([] {
    std::vector<int> once(100, 1);
    rlimit none{1, 1};
    if (setrlimit(RLIMIT_AS, &none) != 0) return 1;  // no new stacks; a few old ones may be there
    for (int round = 0; round < 3; ++round)
      if (counts(100, 64) != once) return 2;
    return pool_workers() < 63 ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
}

/// Forks come while another thread is somewhere in a region, also where it has claimed what nobody in the
/// child will finish.
TEST(Pool, a_child_of_fork_is_not_stuck_in_a_region_of_its_parent) {
  if (!unit::children_may_start_threads) GTEST_SKIP() << "the sanitizer ends such children";
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) region(64, 3, [](int64_t, int32_t) { sched_yield(); });
  });
  for (int round = 0; round < 20; ++round)
    EXPECT_EQ(unit::run_in_child([] { return counts(100, 3) == std::vector<int>(100, 1) ? 0 : 1; }), 0);
  stop = true;
  caller.join();
}

}  // namespace
}  // namespace kw
