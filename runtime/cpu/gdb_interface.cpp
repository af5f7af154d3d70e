// The names and the layout are GDB's: it sets a breakpoint at __jit_debug_register_code and then reads
// __jit_debug_descriptor.
#include "runtime/cpu/gdb_interface.h"

#include <cstdint>
#include <mutex>

#include "support/fork_mutex.h"

extern "C" {

enum JitAction : uint32_t { JIT_NOACTION = 0, JIT_REGISTER = 1, JIT_UNREGISTER = 2 };

struct JitCodeEntry {
  JitCodeEntry *next, *previous;
  const char *object;
  uint64_t size;
};

struct JitDescriptor {
  uint32_t version, action;
  JitCodeEntry *relevant, *first;
};

/// GDB stops here. The statement keeps the call.
__attribute__((noinline, used)) void __jit_debug_register_code() { asm volatile("" ::: "memory"); }

__attribute__((used)) JitDescriptor __jit_debug_descriptor = {1, JIT_NOACTION, nullptr, nullptr};
}

namespace kw {

namespace {

ForkMutex mutex;  // made when the library is loaded: a child of fork must not find it half made

void tell(JitAction action, JitCodeEntry *entry) {
  __jit_debug_descriptor.action = action;
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_register_code();
}

/// One registered object.
class Registered {
 public:
  explicit Registered(std::string object) : object_(std::move(object)) {
    std::scoped_lock lock(mutex);
    entry_ = {__jit_debug_descriptor.first, nullptr, object_.data(), object_.size()};
    if (entry_.next) entry_.next->previous = &entry_;
    __jit_debug_descriptor.first = &entry_;
    tell(JIT_REGISTER, &entry_);
  }
  ~Registered() {
    std::scoped_lock lock(mutex);
    (entry_.previous ? entry_.previous->next : __jit_debug_descriptor.first) = entry_.next;
    if (entry_.next) entry_.next->previous = entry_.previous;
    tell(JIT_UNREGISTER, &entry_);
  }
  Registered(const Registered &) = delete;

 private:
  std::string object_;
  JitCodeEntry entry_{};
};

}  // namespace

std::shared_ptr<void> register_with_gdb(std::string object) {
  return std::make_shared<Registered>(std::move(object));
}

}  // namespace kw
