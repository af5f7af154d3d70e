// Futexes on Linux; elsewhere the equivalent of the standard library. Holds no state.
#include "runtime/cpu/park.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kw {

#if defined(__linux__)
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void park_while(const std::atomic<uint32_t> &word, uint32_t value) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
void unpark_one(std::atomic<uint32_t> &word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
#else
void park_while(const std::atomic<uint32_t> &word, uint32_t value) noexcept { word.wait(value); }
void unpark_one(std::atomic<uint32_t> &word) noexcept { word.notify_one(); }
#endif

}  // namespace kw
