// The pool: classes of sizes, reuse, limits with the oldest freed first, and what is offered to the system.
#include "runtime/memory/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/memory/map_pages.h"

namespace kw {
namespace {

constexpr size_t kb = 1024, mb = 1024 * kb, no_limit = size_t{1} << 40;

/// A block of the pool for `bytes`, filled with `value`.
Block *taken(BufferPool &pool, size_t bytes, int value = 1) {
  bool is_zero = false;
  Block *b = pool.take(size_class_of(bytes), is_zero);
  if (!b) return nullptr;
  open_block(b, bytes);
  std::memset(b->data(), value, bytes);
  return b;
}

void keep(BufferPool &pool, Block *b) {
  close_block(b);
  pool.keep(b);
}

TEST(BufferPool, classes_hold_their_sizes_with_at_most_a_quarter_more) {
  EXPECT_EQ(size_class_of(0), 0u);
  EXPECT_EQ(class_bytes(0), 64u);
  EXPECT_EQ(class_bytes(size_class_of(2 * mb)), 2 * mb);
  EXPECT_EQ(class_bytes(size_class_of(2 * mb + 1)), 2 * mb + 512 * kb);
  for (uint32_t c = 1; c < size_classes; ++c) {
    ASSERT_GT(class_bytes(c), class_bytes(c - 1)) << c;
    ASSERT_EQ(size_class_of(class_bytes(c)), c);
    ASSERT_EQ(size_class_of(class_bytes(c - 1) + 1), c);
    ASSERT_LE(class_bytes(c), std::max(class_bytes(c - 1) + 64, class_bytes(c - 1) * 5 / 4)) << c;
  }
  EXPECT_GE(size_class_of(SIZE_MAX), size_classes);
}

TEST(BufferPool, the_last_kept_block_of_a_class_is_taken_first) {
  BufferPool pool({no_limit, no_limit});
  Block *a = taken(pool, 100 * kb), *b = taken(pool, 100 * kb), *c = taken(pool, 4 * mb);
  EXPECT_NE(a, b);
  keep(pool, a);
  keep(pool, c);
  keep(pool, b);
  EXPECT_EQ(pool.kept_bytes(), 2 * class_bytes(size_class_of(100 * kb)) + 4 * mb);
  Block *first = taken(pool, 100 * kb), *second = taken(pool, 100 * kb), *third = taken(pool, 100 * kb);
  EXPECT_EQ(first, b);
  EXPECT_EQ(second, a);
  EXPECT_NE(third, a);
  EXPECT_EQ(taken(pool, 4 * mb), c);
  EXPECT_EQ(pool.kept_bytes(), 0u);
  for (Block *x : {first, second, third, c}) free_block(x);
}

TEST(BufferPool, new_mappings_are_known_to_be_zeros_and_used_ones_are_not) {
  BufferPool pool({no_limit, no_limit});
  bool is_zero = false;
  Block *b = pool.take(size_class_of(2 * mb), is_zero);
  EXPECT_TRUE(is_zero);
  keep(pool, b);
  EXPECT_EQ(pool.take(size_class_of(2 * mb), is_zero), b);
  EXPECT_FALSE(is_zero);
  free_block(b);
  b = pool.take(size_class_of(1 * mb), is_zero);
  EXPECT_FALSE(is_zero);
  free_block(b);
}

TEST(BufferPool, the_oldest_are_freed_beyond_the_limit) {
  for (size_t hot : {size_t{0}, 3 * mb, no_limit}) {
    BufferPool pool({hot, 10 * mb});
    Block *blocks[6];
    for (Block *&b : blocks) b = taken(pool, 2 * mb);
    for (Block *b : blocks) keep(pool, b);
    EXPECT_EQ(pool.kept_bytes(), 10 * mb);
    for (int i = 5; i >= 1; --i) EXPECT_EQ(taken(pool, 2 * mb), blocks[i]) << i;
    EXPECT_EQ(pool.kept_bytes(), 0u);
    for (int i = 5; i >= 1; --i) free_block(blocks[i]);
  }
}

TEST(BufferPool, small_blocks_are_freed_and_mapped_ones_offered_when_no_longer_hot) {
  BufferPool pool({5 * mb, no_limit});
  Block *small = taken(pool, 1 * mb), *large = taken(pool, 2 * mb), *last = taken(pool, 4 * mb);
  keep(pool, small);
  keep(pool, large);
  EXPECT_EQ(pool.kept_bytes(), 3 * mb);
  keep(pool, last);  // 7 MB: the small one goes, then the large one is offered
  EXPECT_EQ(pool.kept_bytes(), 6 * mb);
  EXPECT_TRUE(last->is_hot);
  EXPECT_FALSE(large->is_hot);
  EXPECT_EQ(taken(pool, 2 * mb, 3), large);
  for (size_t i = 0; i < 2 * mb; i += 997) ASSERT_EQ(static_cast<char *>(large->data())[i], 3);
  keep(pool, large);  // hot again: the other one is offered
  EXPECT_TRUE(large->is_hot);
  EXPECT_FALSE(last->is_hot);
}

TEST(BufferPool, a_block_beyond_all_limits_is_not_kept) {
  BufferPool pool({2 * mb, 8 * mb});
  keep(pool, taken(pool, 16 * mb));
  EXPECT_EQ(pool.kept_bytes(), 0u);
  keep(pool, taken(pool, 1 * mb));
  EXPECT_EQ(pool.kept_bytes(), 1 * mb);
}

TEST(BufferPool, asks_for_its_limits_once_and_late) {
  static int asked;
  asked = 0;
  BufferPool pool({4 * mb, 4 * mb}, [] {
    ++asked;
    return PoolLimits{8 * mb, 12 * mb};
  });
  Block *blocks[7];
  for (Block *&b : blocks) b = taken(pool, 2 * mb);
  for (int i = 0; i < 2; ++i) keep(pool, blocks[i]);
  EXPECT_EQ(asked, 0);
  for (int i = 2; i < 7; ++i) keep(pool, blocks[i]);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(pool.kept_bytes(), 12 * mb);
}

TEST(BufferPool, gives_all_back) {
  BufferPool pool({no_limit, no_limit});
  EXPECT_FALSE(pool.give_back());
  for (size_t bytes : {5 * kb, 100 * kb, 3 * mb, 64 * mb}) keep(pool, taken(pool, bytes));
  EXPECT_TRUE(pool.give_back());
  EXPECT_EQ(pool.kept_bytes(), 0u);
  EXPECT_FALSE(pool.give_back());
}

TEST(BufferPool, refuses_what_no_machine_has_and_then_holds_nothing) {
  BufferPool pool({no_limit, no_limit});
  keep(pool, taken(pool, 8 * mb));
  bool is_zero = false;
  EXPECT_EQ(pool.take(size_class_of(size_t{1} << 47), is_zero), nullptr);
  EXPECT_EQ(pool.kept_bytes(), 0u);
}

TEST(BufferPool, random_use_hands_no_block_out_twice) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  BufferPool pool({3 * mb, 9 * mb});
  struct Held {
    Block *block;
    size_t bytes;
    int value;
  };
  std::vector<Held> held;
  for (int step = 0; step < 4000; ++step) {
    if (held.size() < 12 && random() % 2) {
      size_t bytes = 5 * kb << random() % 10;
      held.push_back({taken(pool, bytes, step % 100), bytes, step % 100});
      ASSERT_TRUE(held.back().block);
      continue;
    }
    if (held.empty()) continue;
    std::swap(held[random() % held.size()], held.back());
    Held h = held.back();
    auto *data = static_cast<char *>(h.block->data());
    for (size_t i = 0; i < h.bytes; i += 251) ASSERT_EQ(data[i], h.value) << "step " << step;
    keep(pool, h.block);
    held.pop_back();
    ASSERT_LE(pool.kept_bytes(), 9 * mb);
  }
  for (const Held &h : held) keep(pool, h.block);
}

}  // namespace
}  // namespace kw
