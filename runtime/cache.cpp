// The files of the disk cache.
#include "runtime/cache.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <tuple>

#include "runtime/cache_files.h"
#include "support/files.h"
#include "support/text.h"

namespace kw {

namespace {

constexpr int64_t touch_after = 3600;              ///< seconds; a use is recorded at most once in this time
constexpr int64_t abandoned_after_seconds = 3600;  // chosen: no write takes so long
constexpr int64_t clock_skew = 60;                 ///< seconds that the clock of a file system may be ahead
constexpr std::string_view lock_suffix = ".lock";

/// Creates a directory and its parents like mkdir -p, with mode 0700.
bool make_directories(const std::string &path) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at);
    std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
    if (at != std::string::npos) ++at;
  }
  return true;
}

/// Returns whether a name of a cache file is that of an entry, not of a lock or of a file that is being
/// written.
bool is_entry(const std::string &name) { return name.substr(32) == entry_suffix; }

}  // namespace

DiskCache::DiskCache(std::string directory, uint64_t max_bytes)
    : directory_(absolute(std::move(directory))), max_bytes_(max_bytes) {
  problem_ = check_directory();
  trusted_ = problem_.empty();
  if (trusted_ && ::access(directory_.c_str(), W_OK | X_OK) != 0)
    problem_ = cat(directory_, " is not writable");
}

/// Returns why entries of the directory cannot be trusted, or "". Loading an entry runs it as code, so nobody
/// else may be able to write or replace an entry.
std::string DiskCache::check_directory() const {
  if (directory_.empty()) return "there is no home directory for it";
  auto lies_in = [&](const std::string &folder) {
    return cat(directory_, " lies in ", folder, ", which others can write");
  };
  std::string folder = folder_of_others(directory_);
  if (!folder.empty()) return lies_in(folder);  // before any directory is created there
  if (!make_directories(directory_)) return cat(directory_, " cannot be made: ", std::strerror(errno));
  struct stat st{};
  if (::stat(directory_.c_str(), &st) != 0) return cat(directory_, " cannot be read: ", std::strerror(errno));
  if (!S_ISDIR(st.st_mode)) return cat(directory_, " is no directory");
  if (st.st_uid != ::geteuid()) return cat(directory_, " belongs to another user");
  if (st.st_mode & (S_IWGRP | S_IWOTH)) return cat(directory_, " can be written by others (chmod 700 it)");
  // a symbolic link may lead to a place that others can write, so the real path is checked too
  folder = real_folder_of_others(directory_);
  return folder.empty() ? "" : lies_in(folder);
}

std::string DiskCache::path_of(const std::string &key) const {
  return cat(directory_, "/", key, entry_suffix);
}

std::string DiskCache::lock_path(const Hash128 &key) const {
  return cat(directory_, "/", key.text(), lock_suffix);
}

std::optional<std::string> DiskCache::read(const Hash128 &key) const {
  if (!trusted_) return std::nullopt;
  OpenEntry entry = open_trusted(path_of(key.text()), is_private);
  if (entry.file.fd() < 0) return std::nullopt;
  std::optional<std::string> bytes = read_all(entry.file.fd(), entry.status.st_size);
  // The modification time serves as the time of last use. It is set at most once an hour, so most reads write
  // nothing.
  int64_t age = std::time(nullptr) - entry.status.st_mtime;
  if (bytes && (age > touch_after || age < -clock_skew)) ::futimens(entry.file.fd(), nullptr);
  return bytes;
}

StoredEntry DiskCache::inspect(const Hash128 &key) const {
  StoredEntry out;
  File file(open_entry(path_of(key.text())));
  struct stat st{};
  out.is_readable = file.fd() >= 0 || (errno != EACCES && errno != EPERM);
  if (file.fd() < 0 || ::fstat(file.fd(), &st) != 0 || !S_ISREG(st.st_mode)) return out;
  out.is_private = is_private(st);
  out.bytes = read_all(file.fd(), st.st_size);
  return out;
}

void DiskCache::write(const Hash128 &key, std::string_view bytes) {
  if (!problem_.empty()) return;
  std::string final_path = path_of(key.text());
  // a sibling, because rename replaces a file atomically only within one file system
  std::string temporary = final_path + ".XXXXXX";
  int fd = ::mkstemp(temporary.data());
  if (fd < 0) {
    problem_ = cat(directory_, " cannot be written: ", std::strerror(errno));
    return;
  }
  bool ok = false;
  {
    File file(fd);
    ok = write_all(fd, bytes);
  }
  bool blocked = false;
  if (ok) {
    ok = ::rename(temporary.c_str(), final_path.c_str()) == 0;
    blocked = !ok && errno == EISDIR;  // a directory has the name of this entry
  }
  if (!ok) {
    if (!blocked) problem_ = cat(directory_, " cannot be written: ", std::strerror(errno));
    ::unlink(temporary.c_str());
    return;
  }
  known_bytes_ += bytes.size();
  // the first write of a process measures the directory, later writes only add their bytes
  if (!counted_ || known_bytes_ > max_bytes_) trim();
}

void DiskCache::remove(const Hash128 &key) const { ::unlink(path_of(key.text()).c_str()); }

template <class F>
void DiskCache::for_each_file(F &&each) const {
  DIR *dir = ::opendir(directory_.c_str());
  if (!dir) return;
  while (dirent *d = ::readdir(dir)) {
    // 32 hexadecimal digits and a entry_suffix; files that are being written have more characters after it
    std::string name = d->d_name;
    bool ours = name.find_first_not_of("0123456789abcdef") == 32 &&
                (name.substr(32, entry_suffix.size()) == entry_suffix || name.substr(32) == lock_suffix);
    struct stat st{};
    if (ours && ::lstat((directory_ + "/" + name).c_str(), &st) == 0) each(name, st);
  }
  ::closedir(dir);
}

std::vector<CacheEntry> DiskCache::list() const {
  std::vector<CacheEntry> out;
  for_each_file([&](const std::string &name, const struct stat &st) {
    if (is_entry(name) && S_ISREG(st.st_mode))
      out.push_back({name.substr(0, 32), static_cast<uint64_t>(st.st_size), st.st_mtime, st.st_mtim.tv_nsec});
  });
  // a time of use in the future comes from a wrong clock, so its true value is unknown
  int64_t latest = std::time(nullptr) + clock_skew;
  auto order = [&](const CacheEntry &e) {
    return e.used > latest ? std::tuple<int64_t, int64_t>(INT64_MIN, 0) : std::tuple(e.used, e.used_ns);
  };
  std::sort(out.begin(), out.end(), [&](const CacheEntry &a, const CacheEntry &b) {
    return std::tuple(order(a), a.key) < std::tuple(order(b), b.key);
  });
  return out;
}

size_t DiskCache::clear() const {
  size_t entries = list().size();
  for_each_file(
      [&](const std::string &name, const struct stat &) { ::unlink((directory_ + "/" + name).c_str()); });
  return entries;
}

/// Trims in two passes. Leftovers of killed writers go first, because they are never used; then the oldest
/// entries.
size_t DiskCache::trim() {
  size_t removed = 0;
  uint64_t total = 0;
  int64_t now = std::time(nullptr);
  for_each_file([&](const std::string &name, const struct stat &st) {
    if (is_entry(name) || !S_ISREG(st.st_mode)) return;
    bool is_left = now - st.st_mtime > abandoned_after_seconds || st.st_mtime - now > abandoned_after_seconds;
    if (is_left && ::unlink((directory_ + "/" + name).c_str()) == 0)
      ++removed;
    else
      total += static_cast<uint64_t>(st.st_size);
  });
  std::vector<CacheEntry> entries = list();
  for (const CacheEntry &e : entries) total += e.bytes;
  for (const CacheEntry &e : entries) {
    if (total <= max_bytes_) break;
    if (::unlink(path_of(e.key).c_str()) == 0) total -= e.bytes, ++removed;
  }
  known_bytes_ = total;
  counted_ = true;
  return removed;
}

/// Returns the value of an environment variable; "" if it is not set.
static std::string env(const char *name) {
  const char *v = std::getenv(name);
  return v ? v : "";
}

std::string default_cache_directory() {
  if (std::string own = env("KW_CACHE_DIR"); !own.empty()) return expand_home(own);
  if (std::string xdg = env("XDG_CACHE_HOME"); !xdg.empty() && xdg[0] == '/') return xdg + "/kernelwright";
  std::string home = env("HOME");
  return home.empty() ? "" : home + "/.cache/kernelwright";
}

/// Parses a size such as "500M", "2g" or "1000"; returns nothing for other texts.
static std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc{} || unit.size() > 1) return std::nullopt;
  if (unit.empty()) return value;
  char letter = static_cast<char>(unit[0] | 0x20);
  int shift = letter == 'k' ? 10 : letter == 'm' ? 20 : letter == 'g' ? 30 : 0;
  if (!shift) return std::nullopt;
  return value > (UINT64_MAX >> shift) ? UINT64_MAX : value << shift;
}

uint64_t default_cache_size() {
  const char *text = std::getenv("KW_CACHE_SIZE");
  return (text ? parse_size(text) : std::nullopt).value_or(uint64_t{1} << 30);
}

std::string cache_size_problem() {
  const char *text = std::getenv("KW_CACHE_SIZE");
  return !text || !*text || parse_size(text) ? "" : cat("KW_CACHE_SIZE is '", text, "', which is no size");
}

}  // namespace kw
