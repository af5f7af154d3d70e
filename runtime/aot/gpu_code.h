// The code for GPUs that a library holds, to compare it with a device before a launch fails without a word.
// Reads the file itself; loads nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kw {

/// One version of a library's kernels: machine code of a compute capability (90 for 9.0), or PTX, which the
/// driver translates for that capability and later ones.
struct GpuCode {
  int capability;
  bool is_ptx;

  friend bool operator==(const GpuCode &, const GpuCode &) = default;
};

/// Returns what the section `.nv_fatbin` of a library holds, as its headers say. Nothing without the section,
/// or if a header is not as we know it.
std::optional<std::vector<GpuCode>> gpu_code_in(const std::string &path);

/// Returns whether a device of this compute capability can run some of the code. Machine code runs on later
/// devices of its major version (CUDA C++ Programming Guide, "Binary Compatibility").
bool can_run(const std::vector<GpuCode> &code, int capability);

/// Returns the code for messages: "sm_80, compute_90".
std::string gpu_code_text(const std::vector<GpuCode> &code);

}  // namespace kw
