// Keeps processes from compiling the same kernel at the same time: a lock on a file beside the entry of the
// cache, "KEY.lock" (design.md 8). It saves work only; entries are whole without it (runtime/cache).
#pragma once

#include <chrono>
#include <string>

namespace kw {

/// The lock of one key while this object lives. Whoever waits for it looks into the cache afterwards. The
/// owner removes the file before it unlocks, so a process that opened the file before takes a new one. The
/// system unlocks the file of a killed owner, which the next process then takes; only if the owner had forked
/// meanwhile, as long as the child lives, do others wait for their whole patience.
class CompileLock {
 public:
  /// Locks the file, which is created if needed. Returns without the lock after `patience`, and at once where
  /// the file cannot be locked: then the caller compiles beside others.
  explicit CompileLock(const std::string &path,
                       std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~CompileLock();
  CompileLock(const CompileLock &) = delete;

  bool is_held() const { return fd_ >= 0; }

 private:
  enum class Try : uint8_t { held, busy, impossible };
  Try take();

  std::string path_;
  int fd_ = -1;
};

}  // namespace kw
