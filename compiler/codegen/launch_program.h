// The program of a kernel for GPUs: the text of its launches, and what the host does around them. Stack code
// with launches, loops and conditions, which runtime/cuda evaluates.
#pragma once

#include <string>
#include <vector>

#include "codegen/cuda/emit.h"
#include "ir/func.h"

namespace kw {

/// The line of a loop, as in Resolved.
struct LoopLine {
  uint32_t text = 0;
  int32_t line = -1;

  friend auto operator<=>(const LoopLine &, const LoopLine &) = default;
};

/// One kernel of a program; its text is the prelude, what the kernels share, and this range of the code.
struct LaunchKernel {
  std::string name;
  uint32_t begin = 0, end = 0;  ///< in the code, behind what the kernels share
  uint32_t threads = 1;         ///< of a block
  uint32_t temporaries = 0;     ///< memories of its own, for the temporaries of its threads
  uint32_t side = 0;  ///< of a host condition, the same for all kernels of it; 0: outside all conditions
  std::vector<CudaParam> params;
  uint32_t block_bytes = 0;       ///< of memory that the threads of a block share
  std::vector<LoopLine> loops{};  ///< that it executes, each line once; filled in by the driver
  std::string condition{};        ///< of the host, under which a call launches it, or ""
  std::string stores{};           ///< names of the arrays that it stores to, or ""

  friend bool operator==(const LaunchKernel &, const LaunchKernel &) = default;
};

struct LaunchProgram {
  std::string code;  ///< codegen/stack_code; empty if the kernel has no launch
  std::vector<LaunchKernel> kernels;
  uint32_t shared_bytes = 0;  ///< of the code: functions and constants of all kernels
  bool reads_device = false;  ///< the host waits for what kernels compute
  bool has_loops = false;     ///< the host runs loops around launches
  std::string arch{};         ///< what the texts are made for, "sm_90"

  friend bool operator==(const LaunchProgram &, const LaunchProgram &) = default;
};

/// What a back end makes of a function.
struct EmittedCode {
  std::string bytes;
  LaunchProgram launches{};
  std::vector<std::vector<Loc>> loops{};  ///< of each kernel of the program
};

/// Emits a function in launch form: the bytes are the texts of its kernels, in which directives name the
/// lines of the source if `places` is given. Throws CompileError.
EmittedCode emit_launches(const Func &f, const Target &target, const SourcePlaces *places = nullptr);

/// Returns a translation unit with the kernels of a code, as a person reads it and as NVRTC compiles it.
std::string cuda_text(std::string_view code);

}  // namespace kw
