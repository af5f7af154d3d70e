// Counts what the memory of a GPU would have to serve: the accesses that the threads of a warp make with one
// instruction at a time are one request.
#pragma once

#include <cstdint>

namespace emulator {

/// An access of a thread to memory of the device or to shared memory.
struct Request {
  const void *site;  ///< the instruction
  uint64_t address;
  uint32_t bytes;
  bool writes, is_shared;
};

/// Whether accesses are counted, which needs much memory and time.
extern bool counts_requests;

/// Adds an access of the present thread (`here`).
void add_request(const Request &r);
/// Adds the requests of the launch to the counts of its kernel.
void finish_requests(const char *kernel);

}  // namespace emulator
