// Memory of the emulated devices. Nobody but a running kernel and the driver's copies may touch it; what
// kernels do with it is checked access by access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emulator {

/// Who accesses memory: one thread of one launch.
struct Place {
  uint32_t launch = 0;  ///< its number, from 1; 0: no kernel is running
  uint32_t thread = 0;  ///< its number in the launch, from 1
  const char *kernel = "";
  uint32_t threads = 1;                      ///< of a block
  uint32_t block_epoch = 0, warp_epoch = 0;  ///< barriers before it, of the block and of the warp

  bool shares_block(uint32_t other) const { return (other - 1) / threads == (thread - 1) / threads; }
  bool shares_warp(uint32_t other) const {
    return shares_block(other) && (other - 1) % threads / 32 == (thread - 1) % threads / 32;
  }
};
extern Place here;

/// The bounds of what else kernels may touch: the stack that they run on and the data of their library.
struct OwnMemory {
  uintptr_t stack_begin = 0, stack_end = 0, data_begin = 0, data_end = 0;
};
extern OwnMemory own;

constexpr int no_device = -1;  // holds shared memory

/// Returns memory of `bytes` whose bytes are not initialised; 0 if the device has no more.
uint64_t allocate(int device, size_t bytes, size_t limit);
/// Returns false if no such memory is allocated.
bool release(uint64_t memory);
size_t used_bytes(int device);
/// Returns the device whose memory holds an address; -1 for other addresses.
int device_of(uint64_t p);
/// Returns whether the bytes lie in one allocation.
bool is_allocated(uint64_t begin, size_t bytes);
/// Marks bytes as initialised.
void note_written(uint64_t begin, size_t bytes);
void copy_notes(uint64_t to, uint64_t from, size_t bytes);

/// Registers host memory that kernels may touch.
void add_pinned(const void *begin, size_t bytes);
/// Returns whether memory is of the kind that the driver reads in the order of the stream.
bool is_pinned(const void *begin, size_t bytes);

/// While one thread has it, no other one allocates or releases memory, or runs a kernel.
struct Running {
  Running();
  ~Running();
};

/// Makes device memory accessible during its lifetime.
struct Unlocked {
  Unlocked();
  ~Unlocked();
};

enum class Access : uint8_t { read, write, atomic };
/// Checks an access of the present thread (`here`) and notes it. The site tells instructions apart.
void access(const volatile void *address, size_t size, Access how, const void *site);
/// Whether memory is shared by the threads of a block.
bool is_shared(const void *p);
/// Marks bytes of shared memory to which a copy is under way: nobody may access them meanwhile.
void set_under_way(const void *p, size_t bytes, bool on);

/// Ends the running kernel with a report, as a device ends one with an error.
[[noreturn]] void report(const std::string &what);
/// Ends it without a further word, on the stack of the one that runs it.
[[noreturn]] void leave_kernel();

}  // namespace emulator
