// First calls of eight threads at once: one compilation, one result, and errors for all; children of a fork.
#include "runtime/versions/single_flight.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

#include "runtime/launch.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr int threads = 8;
const SingleFlight::Unlocked at_once = [](const std::function<void()> &body) { body(); };

/// c[i] = a[i] + 1 for the interpreter, without a cache.
std::shared_ptr<const LoadedKernel> compile_increment() {
  SourceText source{
      "def k(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
      "        c[i] = a[i] + 1\n    return c\n",
      "k.py",
      1,
      {}};
  Request r;
  r.name = "k";
  r.identity = hash_bytes(source.text).text();
  r.signature = unit::signature({unit::tensor(1, DType::f64)});
  r.target = unit::with_fma();
  r.backend = "interp";
  return Jit("", 0).compile(r, source);
}

/// Calls `body` in eight threads that begin together.
template <class F>
void together(F body) {
  std::latch begin(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      begin.arrive_and_wait();
      body(t);
    });
  for (std::thread &t : all) t.join();
}

TEST(Once, eight_threads_compile_once_and_run) {
  SingleFlight once;
  std::atomic<int> begun = 0, compiled = 0;
  std::shared_ptr<const LoadedKernel> seen[threads];
  together([&](int t) {
    ++begun;
    auto compile = [&] {
      while (begun < threads) std::this_thread::yield();  // so that all ask before it is done
      ++compiled;
      return compile_increment();
    };
    Compiled got = once.get("key", compile, at_once);
    ASSERT_TRUE(got.kernel) << (got.errors.empty() ? "" : got.errors[0].message);
    double a[] = {1, 2, static_cast<double>(t)}, c[3];
    void *data[] = {a, c};
    int64_t dims[] = {3};
    EXPECT_EQ(run_here(*got.kernel, {data, dims, nullptr, 0}, nullptr).status, 0);
    EXPECT_EQ(c[2], t + 1);
    seen[t] = std::move(got.kernel);
  });
  EXPECT_EQ(compiled, 1);
}

TEST(Once, a_thread_that_comes_later_gets_the_kernel_while_someone_holds_it) {
  SingleFlight once;
  int compiled = 0;
  auto compile = [&] {
    ++compiled;
    return compile_increment();
  };
  Compiled first = once.get("key", compile, at_once);
  EXPECT_EQ(once.get("key", compile, at_once).kernel, first.kernel);
  EXPECT_EQ(compiled, 1);
  first.kernel.reset();
  EXPECT_TRUE(once.get("key", compile, at_once).kernel);
  EXPECT_EQ(compiled, 2);
}

TEST(Once, keys_do_not_wait_for_each_other) {
  SingleFlight once;
  std::latch inside(threads);
  together([&](int t) {
    auto compile = [&] {
      inside.arrive_and_wait();  // all eight are compiling
      return compile_increment();
    };
    EXPECT_TRUE(once.get(std::to_string(t), compile, at_once).kernel);
  });
}

TEST(Once, those_who_wait_get_the_errors_too) {
  SingleFlight once;
  std::atomic<int> waiting = 0;
  std::atomic<bool> open = false;
  std::thread first([&] {
    auto fail = [&]() -> std::shared_ptr<const LoadedKernel> {
      open = true;
      while (waiting < 1) std::this_thread::yield();
      throw ResolvedError({Resolved{Code::E103, 3, 1, 2, {}, "no such name", {}, {}}});
    };
    Compiled got = once.get("key", fail, at_once);
    EXPECT_EQ(got.errors.at(0).code, Code::E103);
  });
  while (!open) std::this_thread::yield();
  auto announce = [&](const std::function<void()> &body) {
    ++waiting;  // the cell of the first thread is found by now
    body();
  };
  auto never = []() -> std::shared_ptr<const LoadedKernel> { throw std::logic_error("compiled twice"); };
  Compiled got = once.get("key", never, announce);
  first.join();
  EXPECT_FALSE(got.kernel);
  ASSERT_EQ(got.errors.size(), 1U);
  EXPECT_EQ(got.errors[0].message, "no such name");
}

TEST(Once, other_exceptions_become_internal_errors_and_nothing_is_kept) {
  SingleFlight once;
  auto fail = []() -> std::shared_ptr<const LoadedKernel> { throw std::runtime_error("broken"); };
  Compiled got = once.get("key", fail, at_once);
  ASSERT_EQ(got.errors.size(), 1U);
  EXPECT_EQ(got.errors[0].code, Code::E503);
  EXPECT_EQ(got.errors[0].message, "broken");
  EXPECT_TRUE(once.get("key", compile_increment, at_once).kernel);
}

TEST(Once, a_child_compiles_what_its_parent_was_compiling) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork of several threads";
#endif
  SingleFlight once;
  std::atomic<bool> open = false, close = false;
  std::thread parent([&] {
    auto slow = [&] {
      open = true;
      while (!close) std::this_thread::yield();
      return std::shared_ptr<const LoadedKernel>();
    };
    once.get("key", slow, at_once);
  });
  while (!open) std::this_thread::yield();
  int code = unit::run_in_child([&] {
    alarm(20);
    Compiled got = once.get("key", [] { return std::shared_ptr<const LoadedKernel>(); }, at_once);
    return got.errors.empty() ? 7 : 1;
  });
  close = true;
  parent.join();
  EXPECT_EQ(code, 7);
}

TEST(Once, a_caller_that_is_interrupted_leaves_the_compilation_running) {
  unit::TempDir temp;
  SingleFlight once;
  std::atomic<bool> go_on{false};
  std::atomic<int> compiled{0};
  auto compile = [&]() -> std::shared_ptr<const LoadedKernel> {
    while (!go_on) std::this_thread::yield();
    ++compiled;
    throw std::runtime_error("it is done");
  };
  EXPECT_TRUE(once.get("k", compile, at_once, [] { return true; }).is_interrupted);
  go_on = true;
  Compiled later = once.get("k", compile, at_once, [] { return false; });
  EXPECT_FALSE(later.is_interrupted);
  ASSERT_EQ(later.errors.size(), 1u);
  EXPECT_EQ(later.errors[0].message, "it is done");
  EXPECT_EQ(compiled, 1);
}

}  // namespace
}  // namespace kw
