// The disk cache: entries, trimming, damage, and directories that cannot be used.
#include "runtime/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr uint64_t plenty = uint64_t{1} << 40;
Hash128 key(uint64_t n) { return {n, n * 31}; }
std::string file_of(const std::string &directory, const Hash128 &k) {
  return cat(directory, "/", k.text(), ".kwa");
}

/// Sets the time of last use, seconds before now.
void make_old(const std::string &path, int seconds) {
  timeval times[2];
  ::gettimeofday(&times[0], nullptr);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  ::utimes(path.c_str(), times);
}

TEST(DiskCache, what_was_written_is_read) {
  unit::TempDir temp;
  DiskCache cache(temp.path("kw"), plenty);
  EXPECT_EQ(cache.problem(), "");
  EXPECT_EQ(cache.read(key(1)), std::nullopt);
  std::string bytes("a\0b\n", 4);
  cache.write(key(1), bytes);
  cache.write(key(2), "");
  EXPECT_EQ(cache.read(key(1)), bytes);
  EXPECT_EQ(cache.read(key(2)), "");
  cache.write(key(1), "other");
  EXPECT_EQ(cache.read(key(1)), "other");
  EXPECT_EQ(DiskCache(temp.path("kw"), plenty).read(key(1)), "other");  // another process
}

TEST(DiskCache, directories_are_made_for_the_user_alone) {
  unit::TempDir temp;
  DiskCache cache(temp.path("a/b/c"), plenty);
  cache.write(key(1), "x");
  struct stat st{};
  ASSERT_EQ(::stat(temp.path("a/b/c").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat(file_of(temp.path("a/b/c"), key(1)).c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0077, 0u);
}

TEST(DiskCache, removal_and_listing) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), plenty);
  cache.write(key(1), "abc");
  cache.write(key(2), "de");
  make_old(file_of(temp.path(), key(2)), 500);
  std::vector<CacheEntry> entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].key, key(2).text());  // least recently used first
  EXPECT_EQ(entries[0].bytes, 2u);
  EXPECT_LT(entries[0].used, entries[1].used);
  cache.remove(key(2));
  EXPECT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.read(key(2)), std::nullopt);
}

TEST(DiskCache, foreign_files_are_neither_listed_nor_cleared) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), plenty);
  cache.write(key(1), "abc");
  std::ofstream(temp.path("notes.txt")) << "mine";
  std::ofstream(temp.path("0123456789abcdef0123456789ABCDEF.kwa")) << "no key";
  std::ofstream(file_of(temp.path(), key(7)) + ".Xy12Zq") << "left over by a crash";
  EXPECT_EQ(cache.list().size(), 1u);
  EXPECT_EQ(cache.clear(), 1u);
  EXPECT_EQ(cache.list().size(), 0u);
  EXPECT_TRUE(std::filesystem::exists(temp.path("notes.txt")));
  EXPECT_FALSE(std::filesystem::exists(file_of(temp.path(), key(7)) + ".Xy12Zq"));
}

TEST(DiskCache, locks_are_no_entries_and_go_when_their_owner_is_surely_gone) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), plenty);
  for (uint64_t i = 1; i <= 3; ++i) std::ofstream(cache.lock_path(key(i))) << "";
  make_old(cache.lock_path(key(1)), 2 * 3600);
  EXPECT_EQ(cache.list().size(), 0u);
  EXPECT_EQ(cache.trim(), 1u);
  EXPECT_FALSE(std::filesystem::exists(cache.lock_path(key(1))));
  EXPECT_TRUE(std::filesystem::exists(cache.lock_path(key(2))));
  EXPECT_EQ(cache.clear(), 0u);
  EXPECT_FALSE(std::filesystem::exists(cache.lock_path(key(2))));
}

TEST(DiskCache, a_write_leaves_no_temporary_file) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), plenty);
  for (uint64_t i = 0; i < 40; ++i) cache.write(key(i), "x");
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(temp.path())) files += entry.is_regular_file();
  EXPECT_EQ(files, 40u);
}

TEST(DiskCache, trimming_removes_the_least_recently_used) {
  unit::TempDir temp;
  DiskCache large(temp.path(), plenty);
  for (uint64_t i = 0; i < 10; ++i) {
    large.write(key(i), std::string(100, 'x'));
    make_old(file_of(temp.path(), key(i)), static_cast<int>(1000 - 10 * i));
  }
  make_old(file_of(temp.path(), key(0)), 1);  // used just now
  DiskCache small(temp.path(), 350);
  small.trim();
  EXPECT_EQ(small.list().size(), 3u);
  EXPECT_TRUE(small.read(key(0)) && small.read(key(9)) && small.read(key(8)));
  EXPECT_FALSE(small.read(key(1)));
}

TEST(DiskCache, writing_trims_by_itself) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), 1000);
  for (uint64_t i = 0; i < 200; ++i) cache.write(key(i), std::string(100, 'x'));
  EXPECT_LE(cache.list().size(), 10u + 16u);
}

TEST(DiskCache, a_read_renews_the_time_of_use_of_old_entries) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), plenty);
  cache.write(key(1), "x");
  make_old(file_of(temp.path(), key(1)), 100000);
  int64_t before = cache.list()[0].used;
  EXPECT_TRUE(cache.read(key(1)));
  EXPECT_GT(cache.list()[0].used, before + 90000);
}

TEST(DiskCache, what_is_no_plain_file_of_ours_is_a_miss) {
  unit::TempDir temp;
  DiskCache cache(temp.path(), plenty);
  cache.write(key(1), "x");
  ::chmod(file_of(temp.path(), key(1)).c_str(), 0666);
  EXPECT_EQ(cache.read(key(1)), std::nullopt);  // others could have written it
  std::filesystem::create_directory(file_of(temp.path(), key(2)));
  EXPECT_EQ(cache.read(key(2)), std::nullopt);
  std::ofstream(temp.path("elsewhere")) << "x";
  std::filesystem::create_symlink(temp.path("elsewhere"), file_of(temp.path(), key(3)));
  EXPECT_EQ(cache.read(key(3)), std::nullopt);
}

/// The message without the path, and that the cache then does nothing.
std::string problem_of(const std::string &directory) {
  DiskCache cache(directory, plenty);
  cache.write(key(1), "x");
  EXPECT_EQ(cache.read(key(1)), std::nullopt) << directory;
  std::string problem = cache.problem();
  return starts_with(problem, directory) ? problem.substr(directory.size()) : problem;
}

TEST(DiskCacheProblem, without_a_home) { EXPECT_EQ(problem_of(""), "there is no home directory for it"); }

TEST(DiskCacheProblem, a_file_in_the_place_of_the_directory) {
  unit::TempDir temp;
  std::ofstream(temp.path("file")) << "x";
  EXPECT_EQ(problem_of(temp.path("file")), " is no directory");
  EXPECT_EQ(problem_of(temp.path("file/below")), " cannot be made: Not a directory");
}

TEST(DiskCacheProblem, a_directory_that_others_can_write) {
  for (mode_t mode : {mode_t{0770}, mode_t{0702}, mode_t{0777}}) {
    unit::TempDir temp;
    DiskCache(temp.path("kw"), plenty).write(key(1), "planted");
    ::chmod(temp.path("kw").c_str(), mode);
    EXPECT_EQ(problem_of(temp.path("kw")), " can be written by others (chmod 700 it)");
  }
}

/// As a user without privileges, in a child process: 0 when the problem is `want`.
int checked_as_nobody(const std::string &directory, const std::string &want) {
  return unit::run_in_child([&] {
    if (::geteuid() == 0 && (::setresgid(65534, 65534, 65534) || ::setresuid(65534, 65534, 65534))) return 77;
    DiskCache cache(directory, plenty);
    cache.write(key(1), "x");
    return cache.problem() == directory + want && !cache.read(key(1)) ? 0 : 1;
  });
}

TEST(DiskCacheProblem, a_directory_that_is_read_only) {
  unit::TempDir temp;
  std::filesystem::create_directory(temp.path("kw"));
  ::chmod(temp.path("kw").c_str(), 0500);
  if (::geteuid() == 0) {
    ::chmod(temp.path().c_str(), 0755);
    ASSERT_EQ(::chown(temp.path("kw").c_str(), 65534, 65534), 0);
  }
  EXPECT_EQ(checked_as_nobody(temp.path("kw"), " is not writable"), 0);
}

TEST(DiskCacheProblem, a_directory_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs two users";
  unit::TempDir temp;
  std::filesystem::create_directory(temp.path("kw"));
  ::chmod(temp.path("kw").c_str(), 0755);
  ::chmod(temp.path().c_str(), 0755);
  EXPECT_EQ(checked_as_nobody(temp.path("kw"), " belongs to another user"), 0);
}

TEST(DiskCacheProblem, a_directory_that_vanishes_is_told_once_and_harms_nothing) {
  unit::TempDir temp;
  DiskCache cache(temp.path("kw"), plenty);
  std::filesystem::remove_all(temp.path("kw"));
  cache.write(key(1), "x");
  EXPECT_EQ(cache.problem(), temp.path("kw") + " cannot be written: No such file or directory");
  EXPECT_EQ(cache.read(key(1)), std::nullopt);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(cache.clear(), 0u);
}

/// Sets or removes an environment variable for the time of a test.
class Environment {
 public:
  Environment(const char *name, const char *value) : name_(name) {
    if (const char *old = std::getenv(name)) old_ = old;
    value ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char *name_;
  std::optional<std::string> old_;
};

TEST(CacheDefaults, the_directory_follows_the_environment) {
  Environment own("KW_CACHE_DIR", nullptr), xdg("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  EXPECT_EQ(default_cache_directory(), "");
  ::setenv("HOME", "/home/u", 1);
  EXPECT_EQ(default_cache_directory(), "/home/u/.cache/kernelwright");
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // the XDG specification has it ignored
  EXPECT_EQ(default_cache_directory(), "/home/u/.cache/kernelwright");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(default_cache_directory(), "/xdg/kernelwright");
  ::setenv("KW_CACHE_DIR", "/own", 1);
  EXPECT_EQ(default_cache_directory(), "/own");
}

TEST(CacheDefaults, the_size_has_units) {
  Environment size("KW_CACHE_SIZE", nullptr);
  constexpr uint64_t gib = uint64_t{1} << 30;
  EXPECT_EQ(default_cache_size(), gib);
  const std::pair<const char *, uint64_t> rows[] = {
      {"1000", 1000},  {"4k", 4096},    {"500M", 500u << 20},
      {"2G", 2 * gib}, {"2g", 2 * gib}, {"nonsense", gib},
      {"", gib},       {"0", 0},        {"99999999999999G", UINT64_MAX}};
  for (auto [text, want] : rows) {
    ::setenv("KW_CACHE_SIZE", text, 1);
    EXPECT_EQ(default_cache_size(), want) << text;
  }
}

TEST(CacheThreads, readers_see_whole_entries_while_writers_replace_and_trim_them) {
  unit::TempDir temp;
  std::vector<std::thread> threads;
  std::atomic<int> torn = 0, seen = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      DiskCache cache(temp.path(), t % 2 ? 2000 : plenty);
      for (int i = 0; i < 200; ++i) {
        uint64_t k = static_cast<uint64_t>(i % 5);
        if (t < 4)
          cache.write(key(k), std::string(100 + 50 * static_cast<size_t>(t), static_cast<char>('a' + k)));
        auto bytes = cache.read(key(k));
        if (!bytes) continue;
        ++seen;
        torn += bytes->find_first_not_of(static_cast<char>('a' + k)) != std::string::npos ||
                bytes->size() % 50 != 0;
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace kw
