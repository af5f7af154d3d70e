// Cache directories that somebody else filled: those of an image, a package or an administrator
// (KW_CACHE_SHARED). Looked up after the user's own directory; never written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/hash.h"

namespace kw {

class SharedCache {
 public:
  /// Opens a directory. If its entries cannot be trusted, `problem()` says why and none is read.
  explicit SharedCache(std::string directory);

  const std::string &directory() const { return directory_; }
  const std::string &problem() const { return problem_; }
  /// Returns the bytes of an entry that root or this user owns and nobody else can write.
  std::optional<std::string> read(const Hash128 &key) const;
  /// Returns the keys of its entries, in no order.
  std::vector<Hash128> keys() const;

 private:
  std::string check_directory() const;
  std::string directory_, problem_;
};

/// Opens the directories of KW_CACHE_SHARED, which colons separate; ~ and ~user mean home directories.
std::vector<SharedCache> open_shared_caches();

}  // namespace kw
