// O_NOFOLLOW refuses symbolic links; O_NONBLOCK keeps a named pipe from blocking the process.
#include "runtime/cache_files.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/text.h"

namespace kw {

constexpr off_t max_entry_bytes = off_t{256} << 20;

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

int open_entry(const std::string &path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

std::string absolute(std::string path) {
  char here[4096];
  if (path.empty() || path[0] == '/' || !::getcwd(here, sizeof here)) return path;
  return cat(here, "/", path);
}

bool is_private(const struct stat &st) {
  return st.st_uid == ::geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/// Returns whether a group is the user's own: it has the user's name, and by custom no other members.
static bool is_group_of_user(gid_t group) {
  std::vector<char> user_text(1 << 14), group_text(1 << 14);
  struct passwd user{}, *known_user = nullptr;
  struct group entry{}, *known_group = nullptr;
  if (group != ::getegid() ||
      ::getpwuid_r(::geteuid(), &user, user_text.data(), user_text.size(), &known_user) != 0 || !known_user ||
      ::getgrgid_r(group, &entry, group_text.data(), group_text.size(), &known_group) != 0 || !known_group)
    return false;
  bool has_others = false;
  for (char **member = entry.gr_mem; *member; ++member) has_others |= std::strcmp(*member, user.pw_name) != 0;
  return std::strcmp(entry.gr_name, user.pw_name) == 0 && !has_others;
}

/// Returns whether others can write a folder. They could then replace a directory in it, unless the folder is
/// sticky like /tmp. The owner of the folder does not matter: entries that are not ours are never used.
static bool is_for_others(const struct stat &folder) {
  if (folder.st_mode & S_ISVTX) return false;
  return (folder.st_mode & S_IWOTH) || ((folder.st_mode & S_IWGRP) && !is_group_of_user(folder.st_gid));
}

std::string folder_of_others(const std::string &path) {
  for (size_t at = 0; (at = path.find('/', at)) != std::string::npos; ++at) {
    std::string folder = path.substr(0, std::max<size_t>(at, 1));
    struct stat st{};
    if (folder != path && ::stat(folder.c_str(), &st) == 0 && is_for_others(st)) return folder;
  }
  return {};
}

OpenEntry open_trusted(const std::string &path, bool (*is_trusted)(const struct stat &)) {
  OpenEntry out{File(open_entry(path))};
  int fd = out.file.fd();
  if (fd >= 0 && ::fstat(fd, &out.status) == 0 && S_ISREG(out.status.st_mode) && is_trusted(out.status))
    return out;
  return {File(-1)};
}

std::optional<std::string> read_all(int fd, off_t size) {
  if (size > max_entry_bytes) return std::nullopt;  // larger than any entry of ours
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t n = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return std::nullopt;
    have += static_cast<size_t>(n);
  }
  return bytes;
}

std::string real_folder_of_others(const std::string &path) {
  std::string folder;
  if (char *real = ::realpath(path.c_str(), nullptr)) {
    if (path != real) folder = folder_of_others(real);
    std::free(real);
  }
  return folder;
}

/// Returns the home directory of this process; "" if HOME is not set.
static std::string home_of_process() {
  const char *v = std::getenv("HOME");
  return v ? v : "";
}

/// Returns the home directory of a named user; "" if there is no such user.
static std::string home_of(const std::string &user) {
  struct passwd entry{}, *found = nullptr;
  std::vector<char> buffer(1 << 14);
  if (::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found) return {};
  return found->pw_dir;
}

std::string expand_home(const std::string &path) {
  if (path[0] != '~') return path;
  size_t end = std::min(path.find('/'), path.size());
  std::string user = path.substr(1, end - 1), home = user.empty() ? home_of_process() : home_of(user);
  return home.empty() ? "" : home + path.substr(end);
}

}  // namespace kw
