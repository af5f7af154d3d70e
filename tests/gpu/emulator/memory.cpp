// The functions that g++ calls for each access of code compiled with -fsanitize=thread. The library of that
// option is not linked.
#include "memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "fibres.h"
#include "races.h"
#include "requests.h"

namespace emulator {

Place here;
OwnMemory own;

namespace {

constexpr size_t page = 4096, arena_bytes = size_t{2} << 30;  // address space, of which little is used

struct Arena {
  char *memory = nullptr;
  Note *notes = nullptr;
  size_t end = 0;  ///< of what was ever allocated, in whole pages
  Arena() {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *m = ::mmap(nullptr, arena_bytes, PROT_NONE, flags, -1, 0);
    void *n = ::mmap(nullptr, arena_bytes * sizeof(Note), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (m == MAP_FAILED || n == MAP_FAILED) std::abort();
    memory = static_cast<char *>(m), notes = static_cast<Note *>(n);
  }
  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(memory); }
  bool holds(uintptr_t p) const { return p - begin() < arena_bytes; }
};
Arena &arena() {
  static Arena a;
  return a;
}

struct Block {
  size_t bytes, pages;
  int device;
};
std::recursive_mutex running;  // of the thread that runs a kernel, which reads what follows without `mutex`
std::mutex mutex;              // guards what follows
std::map<uintptr_t, Block> blocks;
std::multimap<size_t, uintptr_t> freed;  ///< by pages
std::map<int, size_t> used;
std::vector<std::pair<uintptr_t, uintptr_t>> pinned;
int unlocked = 0;

/// Returns the allocation that holds an address, or none.
std::map<uintptr_t, Block>::iterator block_of(uintptr_t p) {
  auto next = blocks.upper_bound(p);
  if (next == blocks.begin()) return blocks.end();
  auto found = std::prev(next);
  return p - found->first < found->second.bytes ? found : blocks.end();
}

void protect(int how) {
  if (arena().end) ::mprotect(arena().memory, arena().end, how);
}

std::string text(const char *format, uint64_t a, uint64_t b, uint64_t c) {
  char out[200];
  std::snprintf(out, sizeof out, format, static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b), static_cast<unsigned long long>(c));
  return out;
}

/// Reports an access outside of all memory that kernels may touch, with the nearest allocation before it.
[[noreturn]] void out_of_bounds(uintptr_t p, size_t size, bool writes) {
  std::string what =
      std::string("out of bounds ") + (writes ? "write of " : "read of ") + std::to_string(size) + " bytes: ";
  auto next = blocks.upper_bound(p);
  if (!arena().holds(p) || next == blocks.begin()) report(what + "an address of the host, or of nobody");
  auto before = std::prev(next);
  report(what + text("byte %llu of memory of %llu bytes", p - before->first, before->second.bytes, 0));
}

/// Reports a race of this access with earlier ones of the launch to the same byte.
template <class Where>
void check_race(const Note &n, Access how, Where where) {
  auto raced = [&](const char *format, const Accessors &others) {
    report(text(format, others.thread() - 1, here.thread - 1, 0) + where());
  };
  bool writes = how != Access::read;
  if (how != Access::atomic && !n.atomics.precede(here))
    report(text("race: thread %llu accesses what atomic operations change", here.thread - 1, 0, 0) + where());
  if (!n.writer.precede(here))
    raced(writes ? "race: threads %llu and %llu write" : "race: thread %llu writes and thread %llu reads",
          n.writer);
  if (writes && !n.readers.precede(here))
    report(text("race: thread %llu writes what another thread reads", here.thread - 1, 0, 0) + where());
  if (how != Access::write && !n.is_written) report("read of memory that was never written" + where());
}

/// The allocation of the last access, because most are to the same one.
std::map<uintptr_t, Block>::iterator last = blocks.end();

}  // namespace

void access(const volatile void *address, size_t size, Access how, const void *site) {
  auto p = reinterpret_cast<uintptr_t>(address);
  bool writes = how != Access::read;
  if (!arena().holds(p)) {
    auto within = [&](uintptr_t begin, uintptr_t end) { return p >= begin && p + size <= end; };
    bool fine = within(own.stack_begin, own.stack_end) || within(own.data_begin, own.data_end) ||
                is_on_fibre(p, p + size);
    for (const auto &[begin, end] : pinned) fine = fine || within(begin, end);
    if (!fine) out_of_bounds(p, size, writes);
    return;
  }
  if (last == blocks.end() || p - last->first >= last->second.bytes) last = block_of(p);
  if (last == blocks.end() || p - last->first + size > last->second.bytes) out_of_bounds(p, size, writes);
  if (p % size != 0) report(text("misaligned access of %llu bytes", size, 0, 0));
  if (counts_requests && site && how != Access::atomic)
    add_request({site, p, static_cast<uint32_t>(size), writes, last->second.device == no_device});
  Note *notes = arena().notes + (p - arena().begin());
  for (size_t i = 0; i < size; ++i) {
    Note &n = notes[i];
    if (n.launch != here.launch) n = {here.launch, n.is_written, n.is_under_way, {}, {}, {}};
    if (n.is_under_way)
      report(text("accesses byte %llu of memory of %llu bytes before a copy to it has ended",
                  p + i - last->first, last->second.bytes, 0));
    check_race(n, how, [&] {
      return text(" at byte %llu of memory of %llu bytes", p + i - last->first, last->second.bytes, 0);
    });
    if (how == Access::read) n.readers.add(here);
    if (how == Access::write) n.writer.add(here), n.is_written = true;
    if (how == Access::atomic) n.atomics.add(here);
  }
}

bool is_shared(const void *p) { return device_of(reinterpret_cast<uintptr_t>(p)) == no_device; }

void set_under_way(const void *p, size_t bytes, bool on) {
  Note *notes = arena().notes + (reinterpret_cast<uintptr_t>(p) - arena().begin());
  for (size_t i = 0; i < bytes; ++i) notes[i].is_under_way = on;
}

Running::Running() { running.lock(); }
Running::~Running() { running.unlock(); }

uint64_t allocate(int device, size_t bytes, size_t limit) {
  Running none;
  std::scoped_lock lock(mutex);
  if (used[device] + bytes > limit) return 0;
  // a page before and one after each block belongs to nobody
  size_t pages = (bytes + page - 1) / page + 1;
  uintptr_t p = 0;
  if (auto found = freed.find(pages); found != freed.end()) {
    p = found->second;
    freed.erase(found);
  } else {
    if (arena().end + (pages + 1) * page > arena_bytes) return 0;
    p = arena().begin() + arena().end + page;
    arena().end += (pages + 1) * page;
    if (unlocked) protect(PROT_READ | PROT_WRITE);
  }
  blocks[p] = {bytes, pages, device};
  used[device] += bytes;
  std::memset(static_cast<void *>(arena().notes + (p - arena().begin())), 0, bytes * sizeof(Note));
  return p;
}

bool release(uint64_t memory) {
  Running none;
  std::scoped_lock lock(mutex);
  auto found = blocks.find(memory);
  if (found == blocks.end()) return false;
  used[found->second.device] -= found->second.bytes;
  freed.emplace(found->second.pages, memory);
  if (last == found) last = blocks.end();
  blocks.erase(found);
  return true;
}

size_t used_bytes(int device) {
  std::scoped_lock lock(mutex);
  return used[device];
}

int device_of(uint64_t p) {
  std::scoped_lock lock(mutex);
  auto found = block_of(p);
  return found == blocks.end() ? -1 : found->second.device;
}

bool is_allocated(uint64_t begin, size_t bytes) {
  std::scoped_lock lock(mutex);
  auto found = block_of(begin);
  return found != blocks.end() && begin - found->first + bytes <= found->second.bytes;
}

void note_written(uint64_t begin, size_t bytes) {
  Note *notes = arena().notes + (begin - arena().begin());
  for (size_t i = 0; i < bytes; ++i) notes[i].is_written = true;
}

void copy_notes(uint64_t to, uint64_t from, size_t bytes) {
  Note *a = arena().notes + (to - arena().begin()), *b = arena().notes + (from - arena().begin());
  for (size_t i = 0; i < bytes; ++i) a[i].is_written = b[i].is_written;
}

void add_pinned(const void *begin, size_t bytes) {
  std::scoped_lock lock(mutex);
  pinned.emplace_back(reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(begin) + bytes);
}

bool is_pinned(const void *begin, size_t bytes) {
  std::scoped_lock lock(mutex);
  auto p = reinterpret_cast<uintptr_t>(begin);
  for (const auto &[first, end] : pinned)
    if (p >= first && p + bytes <= end) return true;
  return false;
}

Unlocked::Unlocked() {
  std::scoped_lock lock(mutex);
  if (unlocked++ == 0) protect(PROT_READ | PROT_WRITE);
}
Unlocked::~Unlocked() {
  std::scoped_lock lock(mutex);
  if (--unlocked == 0) protect(PROT_NONE);
}

}  // namespace emulator

using enum emulator::Access;

/// The instruction that accesses memory is where the function of the C interface returns to.
[[gnu::always_inline]] static inline void hook(void *p, size_t size, emulator::Access how) {
  emulator::access(p, size, how, __builtin_return_address(0));
}

extern "C" {
void kw_emulator_atomic(void *p, unsigned size) { emulator::access(p, size, atomic, nullptr); }
void kw_emulator_access(const void *p, unsigned size, bool writes, int line) {
  emulator::access(p, size, writes ? write : read, reinterpret_cast<const void *>(intptr_t{line}));
}
void __tsan_read1(void *p) { hook(p, 1, read); }
void __tsan_read2(void *p) { hook(p, 2, read); }
void __tsan_read4(void *p) { hook(p, 4, read); }
void __tsan_read8(void *p) { hook(p, 8, read); }
void __tsan_read16(void *p) { hook(p, 16, read); }
void __tsan_write1(void *p) { hook(p, 1, write); }
void __tsan_write2(void *p) { hook(p, 2, write); }
void __tsan_write4(void *p) { hook(p, 4, write); }
void __tsan_write8(void *p) { hook(p, 8, write); }
void __tsan_write16(void *p) { hook(p, 16, write); }
void __tsan_unaligned_read1(void *p) { hook(p, 1, read); }
void __tsan_unaligned_read2(void *p) { hook(p, 2, read); }
void __tsan_unaligned_read4(void *p) { hook(p, 4, read); }
void __tsan_unaligned_read8(void *p) { hook(p, 8, read); }
void __tsan_unaligned_read16(void *p) { hook(p, 16, read); }
void __tsan_unaligned_write1(void *p) { hook(p, 1, write); }
void __tsan_unaligned_write2(void *p) { hook(p, 2, write); }
void __tsan_unaligned_write4(void *p) { hook(p, 4, write); }
void __tsan_unaligned_write8(void *p) { hook(p, 8, write); }
void __tsan_unaligned_write16(void *p) { hook(p, 16, write); }
// what is volatile is meant for several threads: the record of faults and the words of the host
void __tsan_volatile_read1(void *) {}
void __tsan_volatile_read2(void *) {}
void __tsan_volatile_read4(void *) {}
void __tsan_volatile_read8(void *) {}
void __tsan_volatile_write1(void *) {}
void __tsan_volatile_write2(void *) {}
void __tsan_volatile_write4(void *) {}
void __tsan_volatile_write8(void *) {}
void __tsan_read_range(void *p, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) hook(static_cast<char *>(p) + i, 1, read);
}
void __tsan_write_range(void *p, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) hook(static_cast<char *>(p) + i, 1, write);
}
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
}
