// The question whether there is memory.
#include "support/memory.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(Memory, is_there_or_not) {
  EXPECT_TRUE(has_memory(1 << 20));
  EXPECT_TRUE(can_throw());
  EXPECT_FALSE(has_memory(size_t{1} << 60));
}

}  // namespace
}  // namespace kw
