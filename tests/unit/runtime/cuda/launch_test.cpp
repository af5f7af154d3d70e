// Launch programs: what they ask of a device, in order, and damaged ones.
#include "runtime/cuda/launch.h"

#include <gtest/gtest.h>

#include <random>

#include "support/text.h"
#include "tests/unit/helpers.h"
#include "tests/unit/runtime/cuda/recorder.h"

namespace kw {
namespace {

/// What a kernel over i64 p[n] and an integer k asks for, with k = 3.
std::string asked(std::string_view lines, int turns = 0, int64_t n = 100) {
  LaunchProgram program = launches_of(lines);
  int64_t dims[] = {n};
  uint64_t scalars[] = {3};
  Recorder queue(turns);
  LaunchResult r = run_launches(program, {dims, 1, scalars, 1}, queue);
  EXPECT_EQ(r.error, LaunchResult::Error::none);
  return queue.text();
}

TEST(Launches, blocks_cover_the_iterations) {
  EXPECT_EQ(asked("for i in grid(0, n, 1, per_block=32):\n  p[i] = 1"), "launch 0 4,1,1");
  EXPECT_EQ(asked("for i in grid(0, n, 1):\n  for j in grid(2, n, 3, per_block=8):\n    p[j] = i"),
            "launch 0 5,100,1");
  EXPECT_EQ(asked("for i in grid(n, n, 1):\n  p[i] = 1"), "");  // no iteration is no launch
}

TEST(Launches, more_blocks_than_a_row_has_go_on_in_the_next_row) {
  constexpr int64_t row = int64_t{1} << 30;
  auto blocks = [](int64_t n) { return asked("for i in grid(0, n, 1, per_block=256):\n  p[i] = 1", 0, n); };
  EXPECT_EQ(blocks(256 * row), "launch 0 1073741824,1,1");
  EXPECT_EQ(blocks(256 * row + 1), "launch 0 1073741824,1,2");
  EXPECT_EQ(blocks((int64_t{1} << 46) - 1), "launch 0 1073741824,1,256");
}

TEST(Launches, the_host_runs_loops_conditions_and_memory) {
  EXPECT_EQ(asked("for t in serial(k, 0, -1):\n  for i in grid(0, t, 1):\n    p[i] = t"),
            "launch 0 3,1,1 at 3; launch 0 2,1,1 at 2; launch 0 1,1,1 at 1");
  EXPECT_EQ(asked("if k < 2:\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = 1\nelse:\n  p[0] = 2"),
            "launch 1 1,1,1");
  EXPECT_EQ(asked("t = alloc(i64, (n,), 'heap', fill='zero')\nfor i in grid(0, n, 1, per_block=32):\n"
                  "  t[i] = p[i]"),
            "slot 0:832; fill 0; launch 0 4,1,1");
}

TEST(Launches, what_one_thread_executes_waits_for_more_of_it) {
  auto around = [](std::string_view element) {
    return asked(cat("t = alloc(i64, (n,), 'heap')\np[0] = 1\nfor i in grid(0, n, 1, per_block=32):\n  ",
                     element, "\np[1] = t[3]"));
  };
  EXPECT_EQ(around("t[i] = 1"), "slot 0:832; launch 0 4,1,1; launch 1 1,1,1");
  EXPECT_EQ(around("t[i] = p[i]"), "slot 0:832; launch 0 1,1,1; launch 1 4,1,1; launch 2 1,1,1");
  EXPECT_EQ(
      asked("p[0] = 1\nfor t in serial(0, k, 1):\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = t"),
      "launch 0 1,1,1; launch 1 4,1,1 at 0; launch 1 4,1,1 at 1; launch 1 4,1,1 at 2");
}

TEST(Launches, branches_begin_and_end_with_what_stands_around_them) {
  auto branches = [](std::string_view condition) {
    return asked(cat("p[0] = 1\nif ", condition,
                     ":\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = p[i] + 1\n",
                     "else:\n  p[2] = 2\np[1] = 3"));
  };
  EXPECT_EQ(branches("k < 9"), "launch 0 1,1,1; launch 1 4,1,1; launch 2 1,1,1");
  EXPECT_EQ(branches("k < 2"), "launch 3 1,1,1");
}

TEST(Launches, conditions_ask_whether_arrays_are_aligned) {
  LaunchProgram program = launches_of(
      "misaligned(off)\nif off == 0:\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = 1\nelse:\n"
      "  for i in grid(0, n, 1, per_block=64):\n    p[i] = 1");
  auto asked = [&](int64_t misaligned) {
    int64_t dims[] = {100};
    uint64_t scalars[] = {3};
    Recorder queue;
    run_launches(program, {dims, 1, scalars, 1, misaligned}, queue);
    return queue.text();
  };
  EXPECT_EQ(asked(0), "launch 0 4,1,1");
  EXPECT_EQ(asked(8), "launch 1 2,1,1");
}

TEST(Launches, a_loop_of_the_device_reads_its_word_each_time) {
  EXPECT_EQ(asked("while p[0] < k:\n  for i in grid(0, n, 1, per_block=32):\n    p[i] = p[i] + 1", 1),
            "slot 0:1; launch 0 1,1,1; read 0; launch 1 4,1,1; launch 0 1,1,1; read 0");
}

TEST(Launches, sizes_that_do_not_fit_are_an_error) {
  Func none;
  StackCode code(none);
  code.op(Op::push), code.operands().u64(INT64_MAX);
  code.op(Op::push), code.operands().u64(1);
  code.op(Op::add), code.op(Op::slot), code.operands().u32(0);
  Recorder queue;
  EXPECT_EQ(run_launches({code.take(), {}, 0}, {}, queue).error, LaunchResult::Error::overflow);
  EXPECT_EQ(queue.text(), "");
}

TEST(Launches, damaged_programs_end) {
  uint64_t seed = 20261127;
  std::mt19937_64 random(seed);
  for (int n = 0; n < 20'000; ++n) {
    std::string code;
    for (size_t size = random() % 60; code.size() < size;)
      code += static_cast<char>(random() % 3 ? random() % 36 : random() % 256);
    LaunchProgram program{code, {{"f_0", 0, 0, 32, 1, 0, {}}}, 0};
    int64_t dims[] = {5, -1};
    uint64_t scalars[] = {7};
    Recorder queue(3);
    LaunchResult r = run_launches(program, {dims, 2, scalars, 1}, queue);
    EXPECT_LE(static_cast<int>(r.error), static_cast<int>(LaunchResult::Error::fault)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kw
