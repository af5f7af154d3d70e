// Running loaded kernels: in the caller, watched from outside, with workspace and faults. The kernels are IR.
#include "runtime/launch.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "elf_object.h"
#include "runtime/cpu/pool.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/cpu/watched_run.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel over an inout int64 tensor w of n elements from IR lines.
std::shared_ptr<const LoadedKernel> kernel(std::string_view body) {
  Artifact a;
  a.name = "f";
  a.params = {{"w", true, DType::i64, 1, ParamMode::inout, StrideClass::contiguous, Fill::none, 0}};
  a.results = {0};
  a.code_kind = CodeKind::ir;
  a.code = cat("# kw-ir 2\ndef f(w: inout(i64, (n,))):\n  fp('default')\n  dims(n)\n  site('E303', w, 0)\n",
               body, "  return w\n");
  std::string error;
  auto out = LoadedKernel::load(std::move(a), "kw_test", error);
  EXPECT_TRUE(out) << error;
  return out;
}

struct Call {
  std::vector<int64_t> w = std::vector<int64_t>(4);
  void *data[1] = {w.data()};
  int64_t dims[1] = {4};
  CallWords words{data, dims, nullptr, 0};
};

constexpr std::string_view count = "  for i in serial(0, n, 1):\n    w[i] = i + 1\n";
constexpr std::string_view endless =
    "  w[0] = 1\n  for i in serial(0, 9223372036854775807, 1):\n    w[1] = i\n";

TEST(Launch, here_runs_in_the_caller) {
  Call c;
  RunResult r = run_here(*kernel(count), c.words, nullptr);
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(c.w, (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST(Launch, here_sees_its_cancel_word) {
  Call c;
  volatile uint32_t cancel = 1;
  EXPECT_EQ(run_here(*kernel(endless), c.words, &cancel).status, 2);
}

TEST(Launch, a_fault_carries_site_value_and_bound) {
  Call c;
  RunResult r = run_here(*kernel("  check(cast(u64, n + 3) < cast(u64, n), site=0)\n"), c.words, nullptr);
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.fault.state, 2u);
  EXPECT_EQ(r.fault.site, 0u);
  EXPECT_EQ(r.fault.value, 7);
  EXPECT_EQ(r.fault.bound, 4);
}

TEST(Launch, watched_gives_the_same_result) {
  Call c;
  RunResult r = run_watched(*kernel(count), c.words, [] { return false; });
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(c.w, (std::vector<int64_t>{1, 2, 3, 4}));
  r = run_watched(*kernel("  check(cast(u64, n + 3) < cast(u64, n), site=0)\n"), c.words,
                  [] { return false; });
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.fault.value, 7);
}

/// The kernel would run for centuries; the test ends because looking cancels it.
TEST(Launch, watched_cancels_when_look_says_so) {
  Call c;
  int looks = 0;
  EXPECT_EQ(run_watched(*kernel(endless), c.words, [&] { return ++looks == 3; }).status, 2);
  EXPECT_GE(looks, 3);
  EXPECT_EQ(c.w[0], 1);
}

TEST(Launch, watched_looks_in_the_calling_thread) {
  Call c;
  std::thread::id looker;
  run_watched(*kernel(endless), c.words, [&] { return looker = std::this_thread::get_id(), true; });
  EXPECT_EQ(looker, std::this_thread::get_id());
}

TEST(Launch, watched_while_loops_are_cancelled_too) {
  Call c;
  EXPECT_EQ(run_watched(*kernel("  while True:\n    w[1] = w[1] + 1\n"), c.words, [] { return true; }).status,
            2);
}

/// In a child, because an exception that leaves the other thread ends the process.
TEST(Launch, an_error_of_the_interpreter_does_not_end_the_process) {
  if (!unit::children_may_start_threads && (pool_workers() > 0 || has_watched_thread()))
    GTEST_SKIP() << "other tests began threads";
  auto k = kernel("  x: f64 = log(2.0)\n  w[0] = 1\n");  // was not expanded
  int code = unit::run_in_child([&] {
    Call c;
    try {
      run_watched(*k, c.words, [] { return false; });
    } catch (const std::exception &) {
      return 0;
    }
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST(Launch, an_error_of_look_reaches_the_caller) {
  if (!unit::children_may_start_threads && (pool_workers() > 0 || has_watched_thread()))
    GTEST_SKIP() << "other tests began threads";
  auto k = kernel(endless);
  int code = unit::run_in_child([&] {
    Call c;
    try {
      run_watched(*k, c.words, []() -> bool { throw std::runtime_error("no more"); });
    } catch (const std::runtime_error &) {
      return 0;
    }
    return 1;
  });
  EXPECT_EQ(code, 0);
}

#if defined(__x86_64__)
/// Machine code that stores the workspace pointer into data[0][0] and the words of the environment behind it.
std::shared_ptr<const LoadedKernel> native() {
  unit::ElfObject o(EM_X86_64);
  // mov rax, [rsi]; mov [rax], r8; mov rcx, [rdi]; mov [rax+8], rcx; mov rcx, [rdx]; mov [rax+16], rcx; xor
  // eax, eax; ret
  std::string code(
      "\x48\x8B\x06\x4C\x89\x00\x48\x8B\x0F\x48\x89\x48\x08\x48\x8B\x0A\x48\x89\x48\x10\x31\xC0\xC3", 23);
  o.symbol("kw_entry", o.section(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code));
  Artifact a;
  a.name = "f";
  a.params = {{"w", true, DType::i64, 1, ParamMode::inout, StrideClass::contiguous, Fill::none, 0}};
  a.code = o.bytes();
  std::string error;
  auto out = LoadedKernel::load(std::move(a), "kw_test", error);
  EXPECT_TRUE(out) << error;
  return out;
}

TEST(Launch, workspace_is_aligned_and_large_enough) {
  auto k = native();
  for (int64_t bytes : {1, 64, 1000, 100000, 20 << 20}) {
    Call c;
    c.words.workspace_bytes = bytes;
    ASSERT_EQ(run_here(*k, c.words, nullptr).status, 0);
    ASSERT_NE(c.w[0], 0);
    EXPECT_EQ(c.w[0] % 64, 0);
  }
  Call c;
  ASSERT_EQ(run_here(*k, c.words, nullptr).status, 0);
  EXPECT_EQ(c.w[0], 0);  // none was asked for
}

TEST(Launch, an_impossible_workspace_is_out_of_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers end the process instead of refusing memory";
#endif
  Call c;
  c.words.workspace_bytes = int64_t{1} << 60;
  EXPECT_EQ(run_here(*native(), c.words, nullptr).status, 3);
  EXPECT_EQ(run_watched(*native(), c.words, [] { return false; }).status, 3);
  c.words.workspace_bytes = INT64_MAX;
  EXPECT_EQ(run_here(*native(), c.words, nullptr).status, 3);
  c.words.workspace_bytes = 64;
  EXPECT_EQ(run_here(*native(), c.words, nullptr).status, 0);  // the thread's arena is still usable
}

TEST(Launch, native_code_gets_the_environment_and_the_dims) {
  Call c;
  uint32_t before = thread_count();
  set_thread_count(3);
  ASSERT_EQ(run_here(*native(), c.words, nullptr).status, 0);
  set_thread_count(before);
  EXPECT_EQ(c.w[1] & 0xFFFFFFFF, KW_ABI_VERSION);
  EXPECT_EQ(c.w[1] >> 32, 3);  // threads
  EXPECT_EQ(c.w[2], 4);
}
#endif

TEST(LoadedKernel, counts_the_words_of_a_call) {
  Artifact a;
  a.params = {{"a", true, DType::f32, 3, ParamMode::in, StrideClass::general, Fill::none, 0},
              {"b", true, DType::f32, 2, ParamMode::inout, StrideClass::inner_unit, Fill::none, 1},
              {"p", false, DType::f32, 0, ParamMode::in, StrideClass::contiguous, Fill::none, 2},
              {"c", true, DType::f32, 2, ParamMode::out, StrideClass::general, Fill::none, -1},
              {"d", true, DType::f32, 0, ParamMode::in, StrideClass::inner_unit, Fill::none, 3}};
  a.code_kind = CodeKind::ir;
  a.code = "# kw-ir 2\ndef f():\n  fp('default')\n  dims()\n  pass\n  return \n";
  std::string error;
  auto k = LoadedKernel::load(std::move(a), "kw_test", error);
  ASSERT_TRUE(k) << error;
  EXPECT_EQ(k->scalar_count(), 1u);
  EXPECT_EQ(k->dim_count(), (3u + 3u) + (2u + 1u) + 2u);  // extents and strides; of an output only strides
}

TEST(LoadedKernel, code_that_cannot_be_loaded_gives_a_reason) {
  for (CodeKind kind : {CodeKind::ir, CodeKind::elf}) {
    Artifact a;
    a.code_kind = kind;
    a.code = "garbage";
    std::string error;
    EXPECT_FALSE(LoadedKernel::load(std::move(a), "kw_test", error));
    EXPECT_NE(error, "");
  }
}

TEST(LaunchThreads, one_kernel_runs_in_many_threads_at_once) {
  auto k = kernel(
      "  t = alloc(i64, (n,), 'heap', fill='zero')\n  for i in serial(0, n, 1):\n    t[i] = w[i] * 2\n"
      "  for i in serial(0, n, 1):\n    w[i] = t[n - (1 + i)]\n");
  std::vector<std::thread> threads;
  std::vector<int> wrong(8);
  for (size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int64_t round = 0; round < 200; ++round) {
        Call c;
        for (int64_t i = 0; i < 4; ++i) c.w[static_cast<size_t>(i)] = round + i;
        bool watched = round % 50 == 0;
        RunResult r =
            watched ? run_watched(*k, c.words, [] { return false; }) : run_here(*k, c.words, nullptr);
        wrong[t] += r.status != 0 || c.w[0] != 2 * (round + 3) || c.w[3] != 2 * round;
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(8));
}

}  // namespace
}  // namespace kw
