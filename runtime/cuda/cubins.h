// Machine code for GPUs, kept on disk by the text that it was made of: a text is compiled once for an
// architecture, whatever kernel it comes from, and machine code needs neither a device nor a driver to be
// made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/artifact.h"
#include "codegen/cuda/nvrtc.h"
#include "runtime/jit.h"
#include "support/target.h"

namespace kw {

/// What is compiled: one kernel, for an architecture.
struct CubinSource {
  std::string text;  ///< a translation unit
  std::string arch;  ///< "sm_90"
  NvrtcWant want = NvrtcWant::cubin;
  std::string name;  ///< for messages
};

struct Cubin {
  std::string bytes;     ///< an ELF image, or PTX
  std::string log;       ///< of the compiler
  std::string identity;  ///< of the NVRTC that made it
  KernelFigures figures() const { return figures_of_log(log); }
};

/// Returns the sources of the kernels of an artifact for GPUs, in their order.
std::vector<CubinSource> cubin_sources(const Artifact &a, NvrtcWant want);

/// Returns whether an ELF image has machine code for an architecture, "sm_90", as its header says.
bool is_code_for(std::string_view image, std::string_view arch);

/// Returns machine code from the disk cache. Nothing on a miss, also if another NVRTC made it than the one
/// that this process has opened, or if its header names another architecture.
std::optional<Cubin> find_cubin(const CubinSource &source);
/// Compiles and stores it. Throws ResolvedError: E502 without NVRTC, E503 if NVRTC refuses the text, E507 if
/// KW_FROZEN forbids compiling.
Cubin compile_cubin(const CubinSource &source);

/// Makes text and machine code of a request for a GPU, which need not be here, and stores both. Returns the
/// artifact. Throws ResolvedError.
Artifact warm_device(const Request &r, const SourceText &source, bool &was_stored);

/// Finds or compiles each source, on two threads; the first error is thrown when all have ended.
std::vector<Cubin> obtain_cubins(const std::vector<CubinSource> &sources);

}  // namespace kw
