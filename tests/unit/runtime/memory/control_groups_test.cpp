// Which folders are looked at, for both versions and for controllers that share a hierarchy.
#include "runtime/memory/control_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The folders below /sys/fs/cgroup, those of the first version with a 1, for a process in these groups.
std::string visited(const std::string &groups, std::string_view controller) {
  unit::TempDir folder;
  std::filesystem::create_directories(folder.path() + "/proc/self");
  std::ofstream(folder.path() + "/proc/self/cgroup") << groups;
  std::string out, top = folder.path() + "/sys/fs/cgroup";
  for_each_control_group(folder.path(), controller, [&](const std::string &at, bool second_version) {
    out +=
        cat(out.empty() ? "" : " ", at == top ? "." : at.substr(top.size() + 1), second_version ? "" : "=1");
  });
  return out;
}

TEST(ControlGroups, a_group_and_those_around_it_are_visited) {
  EXPECT_EQ(visited("0::/a/b\n", "memory"), "a/b a . unified/a/b unified/a unified");
  EXPECT_EQ(visited("0::/\n", "cpu"), ". unified");
}

TEST(ControlGroups, controllers_may_share_a_hierarchy) {
  EXPECT_EQ(visited("4:cpu,cpuacct:/x\n3:memory:/y\n", "cpu"), "cpu,cpuacct/x=1 cpu,cpuacct=1 cpu/x=1 cpu=1");
  EXPECT_EQ(visited("3:memory,hugetlb:/\n", "memory"), "memory,hugetlb=1 memory=1");
  EXPECT_EQ(visited("3:cpuset:/\n", "cpu"), "");
}

TEST(ControlGroups, lines_that_are_none_are_passed_by) {
  EXPECT_EQ(visited("", "cpu"), "");
  EXPECT_EQ(visited("nothing\n1:cpu\n", "cpu"), "");
}

}  // namespace
}  // namespace kw
