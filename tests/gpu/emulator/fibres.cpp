// Barriers, exchanges and shared memory of a block. One thread runs until it waits; a seed chooses which one
// is next.
#include "fibres.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "copies.h"
#include "memory.h"
#include "races.h"

// kw_switch_fibre(&present, next) keeps the registers that a function must keep on the present stack, stores
// the end of that stack, and goes on where the other stack was left.
#if defined(__x86_64__)
asm(R"(
.text
.hidden kw_switch_fibre
.globl kw_switch_fibre
kw_switch_fibre:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
constexpr size_t saved_words = 8, place_of_return = 6;  // one word is left, for the alignment
#elif defined(__aarch64__)
asm(R"(
.text
.hidden kw_switch_fibre
.globl kw_switch_fibre
kw_switch_fibre:
  sub sp, sp, #160
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  stp x19, x20, [sp, #8]
  stp x21, x22, [sp, #24]
  stp x23, x24, [sp, #40]
  stp x25, x26, [sp, #56]
  stp x27, x28, [sp, #72]
  str x29, [sp, #88]
  str x30, [sp]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x19, x20, [sp, #8]
  ldp x21, x22, [sp, #24]
  ldp x23, x24, [sp, #40]
  ldp x25, x26, [sp, #56]
  ldp x27, x28, [sp, #72]
  ldr x29, [sp, #88]
  ldr x30, [sp]
  add sp, sp, #160
  ret
)");
constexpr size_t saved_words = 20, place_of_return = 0;
#endif
extern "C" void kw_switch_fibre(void **present, void *next);

namespace emulator {

namespace {

constexpr size_t stack_bytes = 64 << 10, most_threads = 1024, most_shared = 48 << 10;

enum class Wait : uint8_t { none, block, warp, exchange };

struct Fibre {
  void *stack = nullptr;  ///< where it was left
  bool has_ended = false;
  Wait waits = Wait::none;
  int line = 0;
  bool vote = false;  ///< given to a barrier; then whether any thread of it gave true
  uint64_t word = 0;  ///< given to an exchange; then what it returns
  uint32_t lane = 0;  ///< whose word an exchange wants
  size_t arrays = 0;  ///< of shared memory that it has asked for
};

struct SharedArray {
  uint64_t memory;
  size_t bytes;
};

struct Block {
  std::vector<Fibre> fibres;
  Fibre *present = nullptr;
  void *outside = nullptr;  ///< the stack of the one that runs the block
  bool is_inside = false;   ///< a thread runs
  bool is_left = false;     ///< by a report
  uint64_t seed = 0;
  uint64_t first = 0;  ///< number of its first thread in the launch
  void (*run)(void *state, unsigned thread) = nullptr;
  void *state = nullptr;
  std::vector<SharedArray> shared;
  size_t shared_bytes = 0;
  uint32_t block_epoch = 1;
  std::vector<uint32_t> warp_epochs;
};
Block block;

char *stacks() {
  static char *all = [] {
    void *m = ::mmap(nullptr, stack_bytes * most_threads, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) std::abort();
    return static_cast<char *>(m);
  }();
  return all;
}

uint32_t number_of(const Fibre &f) { return static_cast<uint32_t>(&f - block.fibres.data()); }

/// Makes a thread the present one, for all that it accesses from now on.
void become(Fibre &f) {
  block.present = &f;
  uint32_t n = number_of(f);
  here.thread = static_cast<uint32_t>(block.first + n + 1);
  here.block_epoch = block.block_epoch, here.warp_epoch = block.warp_epochs[n / warp_size];
}

void go_outside() {
  Fibre &f = *block.present;
  kw_switch_fibre(&f.stack, block.outside);
}

/// What a fibre runs first.
void begin_fibre() {
  Fibre &f = *block.present;
  block.run(block.state, number_of(f));
  end_copies();
  f.has_ended = true;
  go_outside();
  std::abort();  // a thread that has ended goes on
}

void make_fibre(Fibre &f) {
  // As a call leaves it: the end of the stack is a multiple of 16 before the address to return to.
  auto **end = reinterpret_cast<void **>(stacks() + (number_of(f) + 1) * stack_bytes) - 2;
  void **top = end - saved_words;
  std::memset(static_cast<void *>(top), 0, (saved_words + 2) * sizeof *top);
  top[place_of_return] = reinterpret_cast<void *>(&begin_fibre);
  f.stack = top;
}

/// Returns the threads that take part in what a thread waits for.
std::pair<size_t, size_t> group_of(const Fibre &f) {
  if (f.waits == Wait::block) return {0, block.fibres.size()};
  size_t begin = number_of(f) / warp_size * warp_size;
  return {begin, std::min(begin + warp_size, block.fibres.size())};
}

/// Lets the threads go on that wait for one another, if all are there. If nothing else can run, reports why
/// not.
void release_group(Fibre &f, bool is_stuck = false) {
  auto [begin, end] = group_of(f);
  bool vote = false;
  for (size_t i = begin; i < end; ++i) {
    const Fibre &other = block.fibres[i];
    if (other.has_ended)
      report("waits at line " + std::to_string(f.line) + " for thread " + std::to_string(block.first + i) +
             ", which has ended");
    if (other.waits == Wait::none || (other.waits != f.waits && !is_stuck)) return;
    if (other.waits != f.waits || other.line != f.line)
      report("waits at line " + std::to_string(f.line) + ", thread " + std::to_string(block.first + i) +
             " at line " + std::to_string(other.line));
    vote = vote || other.vote;
  }
  if (f.waits == Wait::block) {
    ++block.block_epoch;
    for (uint32_t &epoch : block.warp_epochs) ++epoch;
  }
  if (f.waits == Wait::warp) ++block.warp_epochs[begin / warp_size];
  std::vector<uint64_t> words;
  for (size_t i = begin; i < end; ++i) words.push_back(block.fibres[i].word);
  for (size_t i = begin; i < end; ++i) {
    Fibre &other = block.fibres[i];
    if (other.waits == Wait::exchange && other.lane >= words.size())
      report("exchange with lane " + std::to_string(other.lane) + " of " + std::to_string(words.size()));
    if (other.waits == Wait::exchange) other.word = words[other.lane];
    other.vote = vote, other.waits = Wait::none;
  }
}

void wait(Wait what, int line) {
  Fibre &f = *block.present;
  f.waits = what, f.line = line;
  release_group(f);
  if (f.waits != Wait::none) go_outside();
  become(f);
}

/// Runs threads until all have ended. A thread that waits is passed over.
void run_all(uint64_t seed) {
  size_t n = block.fibres.size(), left = n;
  uint64_t random = seed;
  for (size_t at = 0, passed = 0; left; at = (at + 1) % n) {
    if (seed && passed == 0) {  // begins somewhere else after each thread
      random = random * 6364136223846793005ull + 1442695040888963407ull;
      at = (random >> 33) % n;
    }
    Fibre &f = block.fibres[at];
    if (f.has_ended || f.waits != Wait::none) {
      if (++passed <= n) continue;
      for (Fibre &stuck : block.fibres)
        if (!stuck.has_ended) become(stuck), release_group(stuck, true);
    }
    passed = 0;
    become(f);
    block.is_inside = true;
    kw_switch_fibre(&block.outside, f.stack);
    block.is_inside = false;
    if (block.is_left) {
      block = {};
      leave_kernel();
    }
    left -= f.has_ended;
  }
}

}  // namespace

bool is_on_fibre(uintptr_t begin, uintptr_t end) {
  auto first = reinterpret_cast<uintptr_t>(stacks());
  return block.present && begin >= first && end <= first + stack_bytes * most_threads;
}

uint64_t seed_of_block() { return block.seed; }

bool leave_fibre() {
  if (!block.is_inside) return false;
  block.is_left = true;
  go_outside();
  std::abort();
}

}  // namespace emulator

using namespace emulator;

extern "C" {

/// Runs `run(state, k)` for the threads k of a block; the first one has number `first` in the launch.
void kw_emulator_run_block(unsigned threads, unsigned long long first, unsigned long long seed,
                           void (*run)(void *, unsigned), void *state) {
  block = {};
  block.fibres.resize(threads);
  block.warp_epochs.assign((threads + warp_size - 1) / warp_size, 1);
  block.seed = seed, block.first = first, block.run = run, block.state = state;
  forget_copies();
  for (Fibre &f : block.fibres) make_fibre(f);
  run_all(seed);
  for (const SharedArray &a : block.shared) release(a.memory);
  block = {};
}

bool kw_emulator_wait(bool is_block, bool vote, int line) {
  Fibre &f = *block.present;
  f.vote = vote;
  wait(is_block ? Wait::block : Wait::warp, line);
  return f.vote;
}

unsigned long long kw_emulator_exchange(unsigned long long word, unsigned lane, int line) {
  Fibre &f = *block.present;
  f.word = word, f.lane = lane;
  wait(Wait::exchange, line);
  return f.word;
}

/// Returns an array that the threads of the block share: all ask for the same ones in the same order.
void *kw_emulator_shared(unsigned bytes) {
  size_t number = block.present->arrays++;
  if (number == block.shared.size()) {
    if (block.shared_bytes += bytes; block.shared_bytes > most_shared)
      report("more shared memory than 48 KB");
    uint64_t memory = allocate(no_device, bytes, SIZE_MAX);
    std::memset(reinterpret_cast<void *>(memory), 0xCD, bytes);
    block.shared.push_back({memory, bytes});
  }
  if (block.shared[number].bytes != bytes) report("threads ask for different arrays of shared memory");
  return reinterpret_cast<void *>(block.shared[number].memory);
}

}  // extern "C"
