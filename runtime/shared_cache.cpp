// Trusts what root or this user owns and nobody else can write: both could change this program as well.
#include "runtime/shared_cache.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/cache_files.h"
#include "support/text.h"

namespace kw {

static bool is_trusted(const struct stat &st) {
  return (st.st_uid == 0 || st.st_uid == ::geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

SharedCache::SharedCache(std::string directory) : directory_(absolute(std::move(directory))) {
  problem_ = check_directory();
}

/// Returns why entries of the directory cannot be trusted, or "".
std::string SharedCache::check_directory() const {
  struct stat st{};
  if (::stat(directory_.c_str(), &st) != 0) return cat("it cannot be read: ", std::strerror(errno));
  if (!S_ISDIR(st.st_mode)) return "it is no directory";
  if (st.st_uid != 0 && st.st_uid != ::geteuid()) return "it belongs to another user than root and you";
  if (!is_trusted(st)) return "others can write it";
  std::string folder = folder_of_others(directory_);
  if (folder.empty()) folder = real_folder_of_others(directory_);
  return folder.empty() ? "" : cat("it lies in ", folder, ", which others can write");
}

std::optional<std::string> SharedCache::read(const Hash128 &key) const {
  if (!problem_.empty()) return std::nullopt;
  OpenEntry entry = open_trusted(cat(directory_, "/", key.text(), entry_suffix), is_trusted);
  if (entry.file.fd() < 0) return std::nullopt;
  return read_all(entry.file.fd(), entry.status.st_size);
}

std::vector<Hash128> SharedCache::keys() const {
  std::vector<Hash128> out;
  DIR *dir = problem_.empty() ? ::opendir(directory_.c_str()) : nullptr;
  if (!dir) return out;
  while (dirent *d = ::readdir(dir)) {
    std::string_view name = d->d_name;
    if (name.size() != 32 + entry_suffix.size() || !name.ends_with(entry_suffix)) continue;
    if (auto key = Hash128::parse(name.substr(0, 32))) out.push_back(*key);
  }
  ::closedir(dir);
  return out;
}

std::vector<SharedCache> open_shared_caches() {
  std::vector<SharedCache> out;
  const char *text = std::getenv("KW_CACHE_SHARED");
  for (const std::string &directory : split_text(text ? text : "", ':'))
    if (!directory.empty()) out.emplace_back(expand_home(directory));
  return out;
}

}  // namespace kw
