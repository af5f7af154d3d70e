// Shared caches: what is read from them, and which are not trusted.
#include "runtime/shared_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/cache.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Hash128 key(uint64_t n) { return {n, n * 31}; }

/// Makes a directory with one entry, as a user's own cache has it.
void fill(const std::string &directory, std::string_view bytes) {
  DiskCache(directory, uint64_t{1} << 30).write(key(1), bytes);
}

TEST(SharedCache, reads_entries_and_writes_nothing) {
  unit::TempDir temp;
  fill(temp.path("shared"), "bytes");
  SharedCache cache(temp.path("shared"));
  EXPECT_EQ(cache.problem(), "");
  EXPECT_EQ(cache.read(key(1)), "bytes");
  EXPECT_EQ(cache.read(key(2)), std::nullopt);
  EXPECT_EQ(cache.keys(), std::vector{key(1)});
  SharedCache absent(temp.path("absent"));
  EXPECT_EQ(absent.problem(), "it cannot be read: No such file or directory");
  EXPECT_TRUE(absent.read(key(1)) == std::nullopt && absent.keys().empty());
  EXPECT_FALSE(std::filesystem::exists(temp.path("absent")));
}

TEST(SharedCache, what_others_can_write_is_not_read) {
  unit::TempDir temp;
  fill(temp.path("open/shared"), "bytes");
  std::string entry = cat(temp.path("open/shared"), "/", key(1).text(), ".kwa");
  ::chmod(entry.c_str(), 0644);
  EXPECT_EQ(SharedCache(temp.path("open/shared")).read(key(1)), "bytes");
  ::chmod(entry.c_str(), 0646);
  EXPECT_EQ(SharedCache(temp.path("open/shared")).read(key(1)), std::nullopt);
  ::chmod(entry.c_str(), 0644);
  ::chmod(temp.path("open/shared").c_str(), 0775);
  EXPECT_EQ(SharedCache(temp.path("open/shared")).problem(), "others can write it");
  ::chmod(temp.path("open/shared").c_str(), 0755);
  ::chmod(temp.path("open").c_str(), 0757);
  EXPECT_EQ(SharedCache(temp.path("open/shared")).problem(),
            cat("it lies in ", temp.path("open"), ", which others can write"));
  ::chmod(temp.path("open").c_str(), 0755);
  std::filesystem::create_symlink(entry, cat(temp.path("open/shared"), "/", key(2).text(), ".kwa"));
  EXPECT_EQ(SharedCache(temp.path("open/shared")).read(key(2)), std::nullopt);
}

TEST(SharedCache, several_directories_stand_in_one_variable) {
  unit::TempDir temp;
  fill(temp.path("a"), "of a");
  ::setenv("KW_CACHE_SHARED", cat(temp.path("a"), "::", temp.path("b")).c_str(), 1);
  std::vector<SharedCache> found = open_shared_caches();
  ::unsetenv("KW_CACHE_SHARED");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].directory(), temp.path("a"));
  EXPECT_TRUE(found[0].problem().empty() && !found[1].problem().empty());
  EXPECT_TRUE(open_shared_caches().empty());
}

}  // namespace
}  // namespace kw
