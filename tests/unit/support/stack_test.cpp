// Stacks of threads: what is left of one, and threads that have as much as was asked for.
#include "support/stack.h"

#include <gtest/gtest.h>

#include <csignal>

namespace kw {
namespace {

/// Bytes left below a frame of 64 KB.
__attribute__((noinline)) size_t left_behind_a_frame() {
  volatile char frame[64 << 10];
  frame[0] = 0;
  return stack_left() + static_cast<size_t>(frame[0]);
}

TEST(Stack, shrinks_with_each_frame) {
  size_t before = stack_left();
  EXPECT_GE(before - left_behind_a_frame(), size_t{64} << 10);
}

TEST(Stack, threads_that_compile_have_enough_of_it_and_take_no_signals) {
  size_t left = 0;
  bool blocked = false;
  pthread_t thread;
  ASSERT_TRUE(start_thread(
      [&] {
        left = stack_left();
        sigset_t now;
        blocked = pthread_sigmask(SIG_BLOCK, nullptr, &now) == 0 && sigismember(&now, SIGINT) == 1;
      },
      &thread));
  pthread_join(thread, nullptr);
  EXPECT_GT(left, compile_stack / 8 * 7);
  EXPECT_TRUE(blocked);
}

TEST(Stack, a_smaller_default_is_raised_and_a_larger_one_kept) {
  for (size_t given : {size_t{64} << 10, 2 * compile_stack}) {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    pthread_attr_setstacksize(&attributes, given);
    want_stack(attributes, compile_stack);
    size_t size = 0;
    pthread_attr_getstacksize(&attributes, &size);
    EXPECT_EQ(size, std::max(given, compile_stack));
    pthread_attr_destroy(&attributes);
  }
}

}  // namespace
}  // namespace kw
