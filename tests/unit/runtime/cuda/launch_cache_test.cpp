// What a launch program did once is done again, for the same sizes only.
#include "runtime/cuda/launch_cache.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/runtime/cuda/recorder.h"

namespace kw {
namespace {

constexpr const char *grid_over_n = "for i in grid(0, n, 1, per_block=32):\n  p[i] = 1";
constexpr const char *grid_over_k = "for i in grid(0, k, 1, per_block=32):\n  p[i] = 1";
constexpr const char *with_memory =
    "t = alloc(i64, (n,), 'heap', fill='zero')\nfor i in grid(0, n, 1, per_block=32):\n  t[i] = p[i]";
constexpr const char *with_condition =
    "if k < n:\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = 1\nelse:\n  p[0] = 2";
constexpr const char *with_host_loop = "for t in serial(0, k, 1):\n  for i in grid(0, t, 1):\n    p[i] = t";

struct Sizes {
  int64_t n;
  uint64_t k;
};

/// Returns what a program asks for, through a cache or without one.
std::string asked(const LaunchProgram &program, Sizes s, const LaunchCache *cache = nullptr) {
  StackOperands operands{&s.n, 1, &s.k, 1};
  Recorder queue;
  LaunchResult r = cache ? cache->run(program, operands, queue) : run_launches(program, operands, queue);
  EXPECT_EQ(r.error, LaunchResult::Error::none);
  return queue.text();
}

/// Returns whether a cache repeats for `second` what a program did for `first`: then it does so for another
/// program too, because it does not look at it.
bool repeats(const char *lines, Sizes first, Sizes second) {
  LaunchCache cache;
  std::string done = asked(launches_of(lines), first, &cache);
  return asked(launches_of("for i in grid(0, 4000, 1, per_block=8):\n  p[i] = 1"), second, &cache) == done;
}

TEST(LaunchCache, a_call_of_the_same_sizes_repeats_the_last_one) {
  for (const char *lines : {grid_over_n, grid_over_k, with_memory, with_condition}) {
    EXPECT_TRUE(repeats(lines, {100, 3}, {100, 3})) << lines;
    EXPECT_FALSE(repeats(lines, {100, 3}, {101, 3})) << lines;
  }
}

TEST(LaunchCache, only_scalars_that_the_program_reads_count) {
  EXPECT_TRUE(repeats(grid_over_n, {100, 70}, {100, 40}));
  EXPECT_FALSE(repeats(grid_over_k, {100, 70}, {100, 40}));
  EXPECT_FALSE(repeats(with_condition, {100, 70}, {100, 140}));
}

TEST(LaunchCache, arrays_that_are_aligned_otherwise_are_another_call) {
  LaunchProgram program = launches_of(
      "misaligned(off)\nif off == 0:\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = 1\nelse:\n  p[0] = "
      "2");
  LaunchCache cache;
  int64_t n = 100;
  uint64_t k = 3;
  for (int64_t misaligned : {0, 8, 0}) {
    StackOperands operands{&n, 1, &k, 1, misaligned};
    Recorder queue;
    cache.run(program, operands, queue);
    EXPECT_EQ(queue.text(), misaligned ? "launch 1 1,1,1" : "launch 0 4,1,1");
  }
}

TEST(LaunchCache, loops_of_the_host_run_each_time) {
  EXPECT_FALSE(repeats(with_host_loop, {100, 3}, {100, 3}));
}

TEST(LaunchCache, any_calls_ask_for_what_the_program_asks) {
  uint64_t seed = 20261130;
  std::mt19937_64 random(seed);
  for (const char *lines : {grid_over_n, grid_over_k, with_memory, with_condition, with_host_loop}) {
    LaunchProgram program = launches_of(lines);
    LaunchCache cache;
    for (int call = 0; call < 200; ++call) {
      Sizes s{static_cast<int64_t>(random() % 3 * 40 + 1), random() % 3 * 30};
      EXPECT_EQ(asked(program, s, &cache), asked(program, s)) << lines << ", seed " << seed;
    }
  }
}

TEST(LaunchCache, a_queue_may_end_a_repeated_call) {
  struct Ending : Recorder {
    bool launch(const LaunchCall &) override { return false; }
  };
  LaunchProgram program = launches_of(with_memory);
  LaunchCache cache;
  Sizes s{100, 3};
  asked(program, s, &cache);
  Ending queue;
  EXPECT_EQ(cache.run(program, {&s.n, 1, &s.k, 1}, queue).error, LaunchResult::Error::stopped);
  EXPECT_EQ(queue.text(), "slot 0:832; fill 0");
}

TEST(LaunchCache, a_call_that_ends_early_is_not_repeated) {
  struct Ending : Recorder {
    bool fill(uint32_t) override { return false; }
  };
  LaunchProgram program = launches_of(with_memory);
  LaunchCache cache;
  Sizes s{100, 3};
  Ending queue;
  EXPECT_EQ(cache.run(program, {&s.n, 1, &s.k, 1}, queue).error, LaunchResult::Error::stopped);
  EXPECT_EQ(asked(program, s, &cache), asked(program, s));
}

}  // namespace
}  // namespace kw
