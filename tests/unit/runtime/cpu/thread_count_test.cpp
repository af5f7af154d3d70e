// The number of threads: what users write, and what control groups of both versions allow.
#include "runtime/cpu/thread_count.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A system of files below a folder of its own.
struct Files {
  unit::TempDir folder;
  void write(const std::string &path, const std::string &text) const {
    std::filesystem::path full = folder.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  std::optional<uint32_t> quota() const { return quota_threads(folder.path()); }
};

TEST(ThreadCount, reads_whole_numbers_from_1) {
  EXPECT_EQ(parse_thread_count("1"), 1u);
  EXPECT_EQ(parse_thread_count("16"), 16u);
  EXPECT_EQ(parse_thread_count("1024"), 1024u);
  for (const char *text : {"", "0", "-1", "1025", "2x", "x", " 2", "2 ", "1.5", "0x2", "99999999999"})
    EXPECT_EQ(parse_thread_count(text), std::nullopt) << text;
}

TEST(ThreadCount, is_the_one_that_was_set) {
  uint32_t before = thread_count();
  EXPECT_GE(before, 1u);
  EXPECT_LE(before, max_threads);
  set_thread_count(5);
  EXPECT_EQ(thread_count(), 5u);
  set_thread_count(before);
}

TEST(ThreadCount, comes_from_the_environment_where_it_is_sound) {
  auto in_child = [](const char *text) {
    return unit::run_in_child([&] {
      setenv("KW_THREADS", text, 1);
      set_thread_count(0);  // undecided, as at the start of a process
      return static_cast<int>(thread_count());
    });
  };
  EXPECT_EQ(in_child("7"), 7);
  auto available = static_cast<int>(available_threads());
  for (const char *text : {"", "0", "many"}) EXPECT_EQ(in_child(text), available) << text;
}

TEST(ThreadCount, tells_what_is_wrong_with_the_environment) {
  auto text = [](const char *value) {
    setenv("KW_THREADS", value, 1);
    std::string out = thread_count_problem();
    unsetenv("KW_THREADS");
    return out;
  };
  EXPECT_EQ(text("3"), "");
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("two"),
            "KW_THREADS is 'two', which is no number of threads: give a whole number from 1 to 1024");
}

TEST(Quota, none_without_groups_or_limits) {
  Files f;
  EXPECT_EQ(f.quota(), std::nullopt);
  f.write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(f.quota(), std::nullopt);
  f.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(f.quota(), std::nullopt);
  f.write("/sys/fs/cgroup/cpu.max", "nonsense\n");
  EXPECT_EQ(f.quota(), std::nullopt);
}

TEST(Quota, of_the_second_version_is_rounded_up) {
  Files f;
  f.write("/proc/self/cgroup", "0::/a/b\n");
  for (auto [text, count] : {std::pair{"200000 100000", 2u}, std::pair{"150000 100000", 2u},
                             std::pair{"1000 100000", 1u}, std::pair{"100000 100000\n", 1u}}) {
    f.write("/sys/fs/cgroup/a/b/cpu.max", text);
    EXPECT_EQ(f.quota(), count) << text;
  }
}

TEST(Quota, is_the_least_of_a_group_and_those_around_it) {
  Files f;
  f.write("/proc/self/cgroup", "0::/a/b\n");
  f.write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000");
  f.write("/sys/fs/cgroup/a/cpu.max", "300000 100000");
  f.write("/sys/fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(f.quota(), 3u);
}

TEST(Quota, of_the_first_version) {
  Files f;
  f.write("/proc/self/cgroup", "5:memory:/m\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/s\n");
  f.write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "250000\n");
  f.write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(f.quota(), 3u);
  f.write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(f.quota(), std::nullopt);
}

/// In a container the name of the group is one outside, and its files are those at the top.
TEST(Quota, of_a_group_that_cannot_be_seen_by_its_name) {
  Files f;
  f.write("/proc/self/cgroup", "3:cpuacct,cpu:/docker/0123\n");
  f.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  f.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(f.quota(), 4u);
}

}  // namespace
}  // namespace kw
