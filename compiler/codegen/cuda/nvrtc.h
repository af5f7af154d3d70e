// NVRTC through prototypes of our own, opened by dlopen at its first use: translation units → machine code
// for one architecture of GPUs. Needs no device and no driver, and no headers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

/// What NVRTC makes of a translation unit.
enum class NvrtcWant : uint8_t { cubin, ptx };

/// Figures of the kernels of a cubin, as the assembler reports them; the most of all kernels.
struct KernelFigures {
  int64_t registers = 0, spill_bytes = 0, stack_bytes = 0, shared_bytes = 0;
};

struct NvrtcResult {
  std::string bytes;  ///< an ELF image, or the text of PTX without its terminating zero
  std::string log;
};

/// Values of KW_RESIDENT (prelude.cpp) to compile with one after the other, until no kernel spills.
inline constexpr std::array<std::string_view, 3> nvrtc_attempts{"-DKW_RESIDENT=1536", "-DKW_RESIDENT=1280",
                                                                "-DKW_RESIDENT=1"};

/// Compiles a translation unit for an architecture, "sm_90". Throws CompileError: E502 without the library,
/// E503 with the log if it refuses the text. The caller keeps forks waiting (HoldForks): a child would find
/// locks of NVRTC, and the guard of its opening, held for ever.
NvrtcResult compile_by_nvrtc(std::string_view text, std::string_view arch, NvrtcWant want);

/// Waits until no thread compiles. For the end of the process: NVRTC destroys its static objects then,
/// whoever uses them.
void wait_for_nvrtc();

/// Returns the options of each compilation, which decide what a text means; for keys, with the attempts.
std::vector<std::string> nvrtc_options(std::string_view arch, NvrtcWant want);

/// Returns what tells the compilers of different NVRTC libraries apart: "13.0 " and the library's build id.
/// Throws CompileError, E502.
std::string nvrtc_identity();

/// Returns the newest architecture that the library can compile for, e.g. 120. Throws CompileError, E502.
int newest_nvrtc_arch();

/// Reads the figures from a log. Figures that it does not have are 0.
KernelFigures figures_of_log(std::string_view log);

/// Sets where packages of Python lie, in which the wheels of NVRTC are looked for.
void set_package_folders(std::vector<std::string> folders);

/// Says which version of CUDA the driver supports, 1000 · major + 10 · minor: it may not load what a later
/// major version of NVRTC makes. Has no effect once a library is open.
void set_newest_nvrtc(int version);

}  // namespace kw
