// What runs when threads end.
#include "support/thread_end.h"

#include <gtest/gtest.h>

#include <thread>

namespace kw {
namespace {

TEST(AtThreadEnd, runs_once_for_each_thread_that_asked) {
  static const AtThreadEnd end([](void *count) { ++*static_cast<int *>(count); });
  int count = 0;
  std::thread([&] {
    EXPECT_TRUE(end.watch(&count));
    EXPECT_TRUE(end.watch(&count));
  }).join();
  std::thread([] {}).join();
  EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace kw
