// Files of cache directories: opening them, and who may write them. Loading an entry runs it as code, so
// trust is decided here, by owners and modes.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kw {

/// Owns a file descriptor; -1 is none.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File &) = delete;
  File(File &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~File();
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// The end of the names of entries, behind their key.
inline constexpr std::string_view entry_suffix = ".kwa";

/// Opens an entry for reading, or returns -1. Refuses symbolic links; a named pipe does not block.
int open_entry(const std::string &path);
/// Reads `size` bytes; nothing if the file is shorter, unreadable or larger than any entry.
std::optional<std::string> read_all(int fd, off_t size);

/// An open entry; a negative descriptor without one.
struct OpenEntry {
  File file;
  struct stat status{};
};
/// Opens an entry that `is_trusted` accepts, by the status of the open file: a check of the path could see
/// another file than the one that is read.
OpenEntry open_trusted(const std::string &path, bool (*is_trusted)(const struct stat &));

/// Returns whether a file is owned by this user and writable by nobody else: the check of design.md 8.
bool is_private(const struct stat &st);
/// Returns the outermost enclosing folder of a path that others can write, or "". Whoever can write a folder
/// can replace what is in it.
std::string folder_of_others(const std::string &path);
/// Likewise for the place that the path leads to through symbolic links.
std::string real_folder_of_others(const std::string &path);

/// Returns an absolute path: a relative one is relative to the process's working directory at this moment.
std::string absolute(std::string path);
/// Replaces a leading ~ or ~user as a shell does, because shells do not expand it everywhere. Returns "" if
/// there is no such home.
std::string expand_home(const std::string &path);

}  // namespace kw
