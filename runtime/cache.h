// The disk cache (design.md 8): one checksummed file per entry, named by its key, published by one rename.
// Any problem on reading is a miss; without a usable directory the process works from memory. Stores bytes
// and does not know their meaning.
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
  int64_t used_ns = 0;  ///< nanoseconds of the time of last use
};

/// The contents of a file of the cache, whether or not the cache would use it.
struct StoredEntry {
  std::optional<std::string> bytes;
  bool is_readable = true;  ///< false if permissions keep this user from its bytes
  bool is_private = false;  ///< owned by this user and writable by nobody else; other files are never used
};

/// One directory of the cache, shared with other processes. Files need no lock: entries appear by rename.
class DiskCache {
 public:
  /// Opens the directory, and creates it if needed. If it cannot be used safely, `problem()` says why and the
  /// cache does nothing.
  DiskCache(std::string directory, uint64_t max_bytes);

  const std::string &directory() const { return directory_; }
  const std::string &problem() const { return problem_; }

  std::optional<std::string> read(const Hash128 &key) const;
  /// Reads a file so that its bytes can be judged, whoever may write it. Does not count as a use.
  StoredEntry inspect(const Hash128 &key) const;
  /// Writes an entry to a temporary sibling and renames it. Failures leave nothing behind and set `problem()`
  /// once.
  void write(const Hash128 &key, std::string_view bytes);
  void remove(const Hash128 &key) const;
  /// Returns the path of the file that whoever compiles an entry locks (runtime/compile_lock).
  std::string lock_path(const Hash128 &key) const;

  std::vector<CacheEntry> list() const;
  /// Removes all entries, leftovers and locks; returns the number of entries removed.
  size_t clear() const;
  /// Removes the leftovers of killed writers and compilers that are at least an hour old. Then removes least
  /// recently used entries until the directory is below the cap. Returns the number of files removed.
  size_t trim();

 private:
  std::string path_of(const std::string &key) const;
  /// Calls `each(name, status)` for the files of the cache: entries, files that are being written, and locks.
  template <class F>
  void for_each_file(F &&each) const;
  std::string check_directory() const;

  std::string directory_, problem_;
  bool trusted_ = false;  ///< the directory is ours and nobody else can write it, so its entries are read
  uint64_t max_bytes_;
  uint64_t known_bytes_ = 0;  ///< bytes of the directory at the last count, plus bytes written since
  bool counted_ = false;
};

/// Returns KW_CACHE_DIR (~ and ~user mean home directories), else $XDG_CACHE_HOME/kernelwright, else
/// ~/.cache/kernelwright.
std::string default_cache_directory();
/// Returns the size in bytes from KW_CACHE_SIZE ("500M", "2G", bytes); default 1 GiB.
uint64_t default_cache_size();
/// Returns the error in KW_CACHE_SIZE, or ""; if there is an error, the default is used.
std::string cache_size_problem();

}  // namespace kw
