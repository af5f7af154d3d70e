// The disk cache (design.md 8): one checksummed file per entry, named by its key, published by one rename.
// Any problem on reading is a miss; without a usable directory the process works from memory. Stores bytes
// and does not know what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"

namespace kw {

struct CacheEntry {
  std::string key;  ///< 32 hexadecimal digits
  uint64_t bytes = 0;
  int64_t used = 0;     ///< time of last use, seconds since 1970
  int64_t used_ns = 0;  ///< and nanoseconds
};

/// What a file of the cache holds, whether or not the cache would use it.
struct StoredEntry {
  std::optional<std::string> bytes;
  bool is_readable = true;  ///< false where permissions keep this user from its bytes
  bool is_private = false;  ///< ours, and nobody else can write it; others are never used
};

/// One directory of the cache, shared with other processes. Files need no lock: entries appear by rename.
class DiskCache {
 public:
  /// Opens (and makes) the directory. When it cannot be used safely, `problem()` says why and the cache does
  /// nothing.
  DiskCache(std::string directory, uint64_t max_bytes);

  const std::string &directory() const { return directory_; }
  const std::string &problem() const { return problem_; }

  std::optional<std::string> read(const Hash128 &key) const;
  /// For judging a file by its bytes, apart from who may write it; does not count as a use.
  StoredEntry inspect(const Hash128 &key) const;
  /// Writes a temporary sibling and renames it; failures leave nothing behind and set `problem()` once.
  void write(const Hash128 &key, std::string_view bytes);
  void remove(const Hash128 &key) const;

  std::vector<CacheEntry> list() const;
  /// Removes all entries and leftovers; returns how many entries there were.
  size_t clear() const;
  /// Removes what writers that were killed left behind an hour ago and earlier, then least recently used
  /// entries until the directory is below the cap; returns how many files went.
  size_t trim();

 private:
  std::string path_of(const std::string &key) const { return directory_ + "/" + key + ".kwa"; }
  /// Calls `each(name, status)` for the files of the cache, entries and what is written now.
  template <class F>
  void for_each_file(F &&each) const;
  std::string check_directory() const;

  std::string directory_, problem_;
  bool trusted_ = false;  ///< a directory of ours that nobody else can write: entries are read from it
  uint64_t max_bytes_;
  uint64_t known_bytes_ = 0;  ///< of the directory at the last count, and what was written since
  bool counted_ = false;
};

/// KW_CACHE_DIR (~ and ~user lead to home directories), else $XDG_CACHE_HOME/kernelwright, else
/// ~/.cache/kernelwright.
std::string default_cache_directory();
/// KW_CACHE_SIZE ("500M", "2G", bytes), default 1 GiB.
uint64_t default_cache_size();
/// What is wrong with KW_CACHE_SIZE, or ""; the default is used then.
std::string cache_size_problem();

}  // namespace kw
