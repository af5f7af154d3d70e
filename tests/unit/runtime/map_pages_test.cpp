// Large mappings: where they lie, that they are zeros, the advice they carry, and that they go back.
#include "runtime/memory/map_pages.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

namespace kw {
namespace {

/// The VmFlags line of the mapping that holds an address; "" when there is none.
std::string flags_at(const void *address) {
  std::ifstream file("/proc/self/smaps");
  auto wanted = reinterpret_cast<uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    uintptr_t low = 0, high = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " ", &low, &high) == 2)
      inside = low <= wanted && wanted < high;
    if (inside && line.starts_with("VmFlags:")) return line + " ";
  }
  return {};
}

TEST(MapPages, lie_at_multiples_of_2_mb_and_are_zeros) {
  for (size_t bytes : {huge_page, huge_page + 1, 3 * huge_page - 4096, 5 * huge_page}) {
    auto *p = static_cast<unsigned char *>(map_pages(bytes));
    ASSERT_TRUE(p);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % huge_page, 0u);
    std::memset(p - before_mapping, 1, before_mapping);
    for (size_t i = 0; i < bytes; i += 997) ASSERT_EQ(p[i], 0) << i;
    p[bytes - 1] = 1;
    unmap_pages(p, bytes);
    EXPECT_EQ(flags_at(p), "");
    EXPECT_EQ(flags_at(p - 1), "");
    EXPECT_EQ(flags_at(p + bytes - 1), "");
  }
}

TEST(MapPages, are_advised_to_be_huge) {
  if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) GTEST_SKIP() << "no huge pages here";
  void *p = map_pages(2 * huge_page);
  ASSERT_TRUE(p);
  EXPECT_NE(flags_at(p).find(" hg "), std::string::npos) << flags_at(p);
  unmap_pages(p, 2 * huge_page);
}

TEST(MapPages, offered_ones_can_be_written_again) {
  auto *p = static_cast<unsigned char *>(map_pages(2 * huge_page));
  ASSERT_TRUE(p);
  std::memset(p, 7, 2 * huge_page);
  EXPECT_TRUE(offer_pages(p, 2 * huge_page));
  std::memset(p, 8, 2 * huge_page);
  for (size_t i = 0; i < 2 * huge_page; i += 997) ASSERT_EQ(p[i], 8) << i;
  unmap_pages(p, 2 * huge_page);
}

TEST(MapPages, refuses_what_no_machine_has) {
  EXPECT_EQ(map_pages(size_t{1} << 60), nullptr);
  EXPECT_EQ(map_pages(SIZE_MAX - 5), nullptr);
}

TEST(MapPages, usable_memory_is_at_most_that_of_the_machine) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE)),
       pages = static_cast<size_t>(sysconf(_SC_PHYS_PAGES));
  EXPECT_GT(usable_memory(), size_t{1} << 20);
  EXPECT_LE(usable_memory(), page * pages);
}

}  // namespace
}  // namespace kw
