// flock on a file that its owner removes.
#include "runtime/compile_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "support/log.h"
#include "support/text.h"

namespace kw {

/// Returns whether the path still names the open file, which its last owner may have removed.
static bool names(const std::string &path, int fd) {
  struct stat open_file{}, named{};
  return ::fstat(fd, &open_file) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

/// Tries once to lock the file that the path names now.
CompileLock::Try CompileLock::take() {
  int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return Try::impossible;
  int failure = ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (failure == 0 && names(path_, fd)) {
    fd_ = fd;
    return Try::held;
  }
  ::close(fd);
  return failure == 0 || failure == EWOULDBLOCK || failure == EINTR ? Try::busy : Try::impossible;
}

CompileLock::CompileLock(const std::string &path, std::chrono::milliseconds patience) : path_(path) {
  using std::chrono::milliseconds;
  auto end = std::chrono::steady_clock::now() + patience;
  // Chosen: most kernels compile in 5 to 50 ms, and a waiter learns of it a quarter later at most.
  constexpr milliseconds longest_pause{10};
  for (milliseconds pause{1}; take() == Try::busy && std::chrono::steady_clock::now() < end;
       pause = std::min(pause * 2, longest_pause))
    std::this_thread::sleep_for(pause);
  if (fd_ < 0 && std::chrono::steady_clock::now() >= end)
    log_message(LogArea::cache, LogLevel::info,
                cat("waited ", std::chrono::duration_cast<std::chrono::seconds>(patience).count(),
                    " s for another process that holds ", path, "; compiling here too"));
}

CompileLock::~CompileLock() {
  if (fd_ < 0) return;
  // Before it is unlocked: whoever locks the file next sees that it is gone. Another process may have cleared
  // the cache, and then the path names a lock of somebody else.
  if (names(path_, fd_)) ::unlink(path_.c_str());
  // A child that was forked meanwhile has the file open too, so closing it here would not unlock it.
  ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

}  // namespace kw
