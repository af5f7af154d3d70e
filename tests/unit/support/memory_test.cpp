// The question whether there is memory.
#include "support/memory.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Memory, is_there_or_not) {
  EXPECT_TRUE(has_memory(1 << 20));
  EXPECT_TRUE(can_throw());
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the process
  EXPECT_FALSE(has_memory(size_t{1} << 60));
#endif
}

}  // namespace
}  // namespace kw
