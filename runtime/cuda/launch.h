// Evaluates launch programs (codegen/launch_program): decides which kernels a call launches, in which sizes,
// and what memory they share. Total for every byte string. Launches nothing itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "codegen/launch_program.h"
#include "runtime/versions/stack_machine.h"

namespace kw {

/// One launch: the kernel and what its call knows beyond the arguments.
struct LaunchCall {
  uint32_t kernel = 0;
  std::array<int64_t, 3> blocks{};       ///< x, y, z; each at least 1
  std::span<const int64_t> bytes{};      ///< of the temporaries of one thread
  std::span<const int64_t> iterators{};  ///< of the host's loops, outermost first
};

/// What runs the launches of a program, in order. A member returns false to end the program.
class LaunchQueue {
 public:
  virtual ~LaunchQueue() = default;
  /// Provides at least so many bytes for a slot; their contents are unspecified if the size changes.
  virtual bool reserve(uint32_t slot, int64_t bytes) = 0;
  /// Sets the bytes of a slot to 0.
  virtual bool fill(uint32_t slot) = 0;
  virtual bool launch(const LaunchCall &call) = 0;
  /// Waits for the launches so far and reads the first byte of a slot into `word`.
  virtual bool read(uint32_t slot, bool &word) = 0;
};

struct LaunchResult {
  enum class Error : uint8_t {
    none,
    overflow,   ///< a size does not fit 64 bits or is too large for memory
    malformed,  ///< the program is damaged
    stopped,    ///< a member of the queue returned false
    fault,      ///< a check of the host failed
  };
  Error error = Error::none;
  uint32_t site = 0;  ///< of a fault
  int64_t value = 0, bound = 0;
  bool reads_scalars = false;  ///< if false, all follows from extents, strides and the alignment of arrays
};

/// Runs a program on the extents, strides, scalars and alignment of a call.
LaunchResult run_launches(const LaunchProgram &program, const StackOperands &operands, LaunchQueue &queue);

}  // namespace kw
