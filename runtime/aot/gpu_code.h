// The code for GPUs that a library holds, to compare it with a device before a launch fails without a word.
// Reads the file itself; loads nothing.
#pragma once

#include <string>
#include <vector>

#include "runtime/aot/elf_sections.h"

namespace kw {

/// One version of a library's kernels: machine code of a compute capability (90 for 9.0), or PTX, which the
/// driver translates for that capability and later ones.
struct GpuCode {
  int capability;
  bool is_ptx;

  friend bool operator==(const GpuCode &, const GpuCode &) = default;
};

/// Returns what a section `.nv_fatbin` of a file holds, as its headers say; nothing if one is not as we know
/// it.
std::vector<GpuCode> gpu_code_in(const std::string &path, const SectionPlace &section);

/// Returns whether a device of this compute capability can run some of the code. Machine code runs on later
/// devices of its major version (CUDA C++ Programming Guide, "Binary Compatibility").
bool can_run(const std::vector<GpuCode> &code, int capability);

/// Returns the code for messages: "sm_80, compute_90".
std::string gpu_code_text(const std::vector<GpuCode> &code);

}  // namespace kw
