// A child of fork finds the mutex free, unless the thread that forked holds it.
#include "support/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <thread>

namespace kw {
namespace {

/// Runs `work` in a child of fork; returns whether it came to its end within five seconds.
template <class F>
bool ends_in_child(F &&work) {
  pid_t child = fork();
  if (child == 0) {
    alarm(5);
    work();
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(ForkMutex, a_child_finds_what_another_thread_held_free) {
  ForkMutex mutex;
  std::promise<void> held, done;
  std::thread holder([&] {
    std::scoped_lock lock(mutex);
    held.set_value();
    done.get_future().wait();
  });
  held.get_future().wait();
  EXPECT_TRUE(ends_in_child([&] {
    for (int k = 0; k < 2; ++k) std::scoped_lock lock(mutex);
  }));
  done.set_value();
  holder.join();
  EXPECT_TRUE(ends_in_child([&] { std::scoped_lock lock(mutex); }));
}

TEST(ForkMutex, the_thread_that_forks_holds_it_on) {
  ForkMutex mutex;
  mutex.lock();
  EXPECT_TRUE(ends_in_child([&] {
    mutex.unlock();
    std::scoped_lock lock(mutex);
  }));
  mutex.unlock();
}

TEST(ForkMutex, one_that_is_gone_is_left_alone) {
  std::make_unique<ForkMutex>().reset();
  EXPECT_TRUE(ends_in_child([] {}));
}

}  // namespace
}  // namespace kw
