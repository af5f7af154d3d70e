// Buffers: alignment, zeros, resizing, and use by many threads, ending threads and forked processes.
#include "runtime/memory/buffer.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "runtime/memory/map_pages.h"
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace kw {
namespace {

constexpr size_t sizes[] = {0,         1,        64, 65, 4000, 4096, 4097, 70'000, 1 << 20, huge_page - 1,
                            huge_page, 5'000'000};

bool is_filled(const void *data, size_t bytes, int value) {
  auto *p = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != value) return false;
  return true;
}

TEST(Buffer, is_aligned_and_lies_alone) {
  std::vector<std::pair<void *, size_t>> held;
  for (int turn = 0; turn < 3; ++turn)
    for (size_t bytes : sizes) {
      void *p = allocate_buffer(bytes);
      ASSERT_TRUE(p);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % (bytes >= huge_page ? huge_page : 64), 0u) << bytes;
      std::memset(p, static_cast<int>(held.size()), bytes);
      held.emplace_back(p, bytes);
    }
  for (size_t i = 0; i < held.size(); ++i) {
    EXPECT_TRUE(is_filled(held[i].first, held[i].second, static_cast<int>(i))) << held[i].second;
    release_buffer(held[i].first);
  }
}

TEST(Buffer, is_reused_and_zeroed_when_asked) {
  for (size_t bytes : sizes) {
    void *p = allocate_buffer(bytes);
    std::memset(p, 9, bytes);
    release_buffer(p);
    void *q = allocate_buffer(bytes, true);
    EXPECT_EQ(q, p) << bytes;
    EXPECT_TRUE(is_filled(q, bytes, 0)) << bytes;
    release_buffer(q);
    give_back_buffers();
    q = allocate_buffer(bytes, true);  // a new one
    EXPECT_TRUE(is_filled(q, bytes, 0)) << bytes;
    release_buffer(q);
  }
}

TEST(Buffer, keeps_its_contents_when_resized) {
  for (size_t from : sizes)
    for (size_t to : sizes) {
      void *p = allocate_buffer(from);
      std::memset(p, 5, from);
      p = resize_buffer(p, to);
      ASSERT_TRUE(p);
      EXPECT_TRUE(is_filled(p, std::min(from, to), 5)) << from << " to " << to;
      std::memset(p, 6, to);
      release_buffer(p);
    }
}

TEST(Buffer, stays_as_it_is_when_it_cannot_grow) {
  void *p = allocate_buffer(100);
  std::memset(p, 5, 100);
  EXPECT_EQ(resize_buffer(p, size_t{1} << 47), nullptr);
  EXPECT_EQ(resize_buffer(p, SIZE_MAX), nullptr);
  EXPECT_TRUE(is_filled(p, 100, 5));
  release_buffer(p);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(Buffer, is_closed_to_all_but_its_holder) {
  for (size_t bytes : {size_t{100}, size_t{70'000}, 2 * huge_page + 9}) {
    auto *p = static_cast<char *>(allocate_buffer(bytes));
    EXPECT_FALSE(__asan_region_is_poisoned(p, bytes));
    EXPECT_TRUE(__asan_address_is_poisoned(p + bytes)) << bytes;
    release_buffer(p);
    EXPECT_TRUE(__asan_address_is_poisoned(p));
    EXPECT_TRUE(__asan_address_is_poisoned(p + bytes - 1));
  }
}
#endif

TEST(Buffer, larger_than_any_memory_is_refused) {
  EXPECT_EQ(allocate_buffer(size_t{1} << 47), nullptr);
  EXPECT_EQ(allocate_buffer(SIZE_MAX), nullptr);
}

TEST(Buffer, kept_memory_makes_room_for_another_size) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need all of the address space";
#endif
  pid_t child = fork();
  if (child == 0) {  // a limit of the address space holds for good
    give_back_buffers();
    void *blocks[4];
    for (void *&b : blocks) b = allocate_buffer(size_t{8} << 20);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit{};
    limit.rlim_cur = limit.rlim_max = pages * 4096 + (4u << 20);
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    if (allocate_buffer(size_t{16} << 20)) _exit(4);
    for (void *b : blocks) release_buffer(b);
    if (kept_buffer_bytes() != size_t{32} << 20) _exit(5);
    void *p = allocate_buffer(size_t{16} << 20);
    _exit(p && kept_buffer_bytes() == 0 ? 0 : 6);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Buffer, goes_from_thread_to_thread) {
  constexpr int count = 2000;
  std::atomic<void *> slots[16] = {};
  std::atomic<bool> wrong = false;
  auto make = [&](int first) {
    for (int i = first; i < count; i += 2) {
      size_t bytes = sizes[static_cast<size_t>(i) % std::size(sizes)] + 8;
      if (bytes > 100'000) bytes = 100'000;
      auto *p = static_cast<unsigned char *>(allocate_buffer(bytes));
      std::memset(p, i & 255, bytes);
      std::memcpy(p, &bytes, sizeof bytes);
      void *old = slots[i % 16].exchange(p);
      if (!old) continue;
      std::memcpy(&bytes, old, sizeof bytes);
      auto *q = static_cast<unsigned char *>(old);
      wrong = wrong || !is_filled(q + 8, bytes - 8, bytes > 8 ? q[8] : 0);
      release_buffer(old);
    }
  };
  std::thread other(make, 1);
  make(0);
  other.join();
  EXPECT_FALSE(wrong);
  for (auto &s : slots)
    if (void *p = s.exchange(nullptr)) release_buffer(p);
}

/// Releases a buffer after the thread's lists are gone: made before them, so destroyed after them.
struct Late {
  void *data = nullptr;
  std::atomic<int> *good = nullptr;
  ~Late() {
    release_buffer(data);
    void *p = allocate_buffer(64, true);
    *good += is_filled(p, 64, 0);
    release_buffer(p);
  }
};

TEST(Buffer, is_released_while_a_thread_ends) {
  std::atomic<int> good = 0;
  for (int turn = 0; turn < 3; ++turn)
    std::thread([&] {
      thread_local Late late;
      late.good = &good;
      late.data = allocate_buffer(64);
      std::memset(late.data, 1, 64);
      release_buffer(allocate_buffer(128));
    }).join();
  EXPECT_EQ(good, 3);
}

struct LateMany {
  void *held[16] = {};
  void fill() {
    for (void *&p : held) std::memset(p = allocate_buffer(4096), 1, 4096);
  }
  void empty() {
    for (void *&p : held)
      if (p) release_buffer(std::exchange(p, nullptr));
  }
  ~LateMany() { empty(); }
};

TEST(Buffer, of_a_thread_that_ended_are_freed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer holds freed memory for a while";
#endif
  for (bool late : {false, true}) {
    int64_t before = unit::resident_pages();
    for (int turn = 0; turn < 1000; ++turn)
      std::thread([=] {
        thread_local LateMany many;
        many.fill();
        release_buffer(allocate_buffer(64));
        if (!late) many.empty();  // into the thread's lists
      }).join();
    EXPECT_LT(unit::resident_pages() - before, 8000);  // of 16,000 pages that were used
  }
}

TEST(Buffer, works_in_a_process_forked_while_threads_use_it) {
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) release_buffer(allocate_buffer(100'000));
  });
  int wrong = 0;
  for (int turn = 0; turn < 50; ++turn) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a lock that is held for ever ends the child with a signal
      void *p = allocate_buffer(100'000, true);
      bool ok = p && is_filled(p, 100'000, 0);
      release_buffer(p);
      _exit(ok ? 0 : 1);
    }
    int status = 1;
    wrong += waitpid(child, &status, 0) != child || status != 0;
  }
  stop = true;
  busy.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace kw
