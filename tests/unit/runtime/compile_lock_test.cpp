// The lock on the compilation of one kernel: between processes, after a kill, without a file system that
// locks.
#include "runtime/compile_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "runtime/jit.h"
#include "support/log.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// A child that locks a file, says so, and holds the lock until it is told to end or is killed.
class Owner {
 public:
  explicit Owner(const std::string &path) {
    int held[2], end[2];
    EXPECT_EQ(::pipe(held) + ::pipe(end), 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::close(end[1]);
      char byte = 0;
      {
        CompileLock lock(path);
        byte = lock.is_held() ? 'y' : 'n';
        if (::write(held[1], &byte, 1) != 1) ::_exit(1);
        if (::read(end[0], &byte, 1) < 0) ::_exit(1);
      }
      ::_exit(0);
    }
    char byte = 0;
    EXPECT_EQ(::read(held[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    ::close(held[0]), ::close(held[1]), ::close(end[0]);
    end_ = end[1];
  }
  ~Owner() { end(); }
  Owner(const Owner &) = delete;

  /// Ends the child, which unlocks.
  void end() {
    if (child_ < 0) return;
    ::close(end_);  // the child reads the end of the pipe
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  void kill() {
    ::kill(child_, SIGKILL);
    end();
  }

 private:
  pid_t child_ = -1;
  int end_ = -1;
};

TEST(CompileLock, its_file_is_there_while_it_is_held) {
  unit::TempDir temp;
  std::string path = temp.path("a.lock");
  for (int again = 0; again < 2; ++again) {
    CompileLock lock(path);
    EXPECT_TRUE(lock.is_held());
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_TRUE(CompileLock(temp.path("b.lock")).is_held());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CompileLock, another_process_waits_until_the_owner_ends) {
  unit::TempDir temp;
  std::string path = temp.path("a.lock");
  Owner owner(path);
  EXPECT_FALSE(CompileLock(path, 30ms).is_held());
  EXPECT_TRUE(std::filesystem::exists(path)) << "a waiter removes nothing";
  std::thread ends([&] {
    std::this_thread::sleep_for(50ms);
    owner.end();
  });
  CompileLock lock(path);
  ends.join();
  EXPECT_TRUE(lock.is_held());
  EXPECT_TRUE(std::filesystem::exists(path)) << "the owner removes its own file only";
}

TEST(CompileLock, nobody_waits_for_the_file_of_a_killed_owner) {
  unit::TempDir temp;
  std::string path = temp.path("a.lock");
  Owner(path).kill();
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(CompileLock(path, 0ms).is_held());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CompileLock, a_child_forked_meanwhile_keeps_nobody_waiting) {
  unit::TempDir temp;
  std::string path = temp.path("a.lock");
  pid_t child = -1;
  int end[2];
  ASSERT_EQ(::pipe(end), 0);
  {
    CompileLock lock(path);
    child = ::fork();
    if (child == 0) {
      ::close(end[1]);
      char byte = 0;
      ::_exit(::read(end[0], &byte, 1) < 0);
    }
  }
  EXPECT_TRUE(CompileLock(path, 0ms).is_held());
  ::close(end[0]), ::close(end[1]);
  ::waitpid(child, nullptr, 0);
}

TEST(CompileLock, tells_for_what_it_waited_in_vain) {
  unit::TempDir temp;
  std::string path = temp.path("a.lock");
  CompileLock owner(path);
  ASSERT_TRUE(owner.is_held());
  take_log_records();
  EXPECT_FALSE(CompileLock(path, 1s).is_held());
  std::vector<LogRecord> told = take_log_records();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].text, cat("waited 1 s for another process that holds ", path, "; compiling here too"));
}

TEST(CompileLock, a_lock_whose_file_was_removed_is_no_lock) {
  unit::TempDir temp;
  std::string path = temp.path("a.lock");
  Owner first(path);
  std::filesystem::remove(path);  // the cache was cleared
  CompileLock second(path, 0ms);
  EXPECT_TRUE(second.is_held());
  first.end();
  EXPECT_TRUE(std::filesystem::exists(path)) << "the file is of the second one";
  EXPECT_FALSE(CompileLock(path, 0ms).is_held());
}

TEST(CompileLock, where_no_file_can_be_made_nobody_waits) {
  auto begin = Clock::now();
  EXPECT_FALSE(CompileLock("/proc/none/a.lock").is_held());
  EXPECT_LT(Clock::now() - begin, 5s);  // the patience is 10 s
}

TEST(CompileLock, of_processes_that_want_one_kernel_one_compiles) {
  unit::TempDir temp;
  SourceText source{
      "def f(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n"
      "        c[i] = a[i] + 1\n    return c\n",
      "k.py", 1};
  Request r;
  r.name = "f";
  r.identity = hash_bytes(source.text).text();
  r.signature = unit::signature({unit::tensor(1, DType::f64)});
  r.target = unit::with_fma();
  r.backend = "interp";
  Jit jit(temp.path("kw"), uint64_t{1} << 30);
  Owner owner(jit.cache().lock_path(key_of(r)));
  // The entry comes while the caller waits: a compilation would fail on this text.
  std::thread stores([&] {
    std::this_thread::sleep_for(50ms);
    Jit other(temp.path("kw"), uint64_t{1} << 30);
    std::string bytes = serialize(compile_request(r, source));
    other.cache().write(key_of(r), bytes);
    owner.end();
  });
  auto kernel = jit.compile(r, {"def f(", "k.py", 1});
  stores.join();
  EXPECT_TRUE(kernel);
  EXPECT_FALSE(std::filesystem::exists(jit.cache().lock_path(key_of(r))));
}

}  // namespace
}  // namespace kw
