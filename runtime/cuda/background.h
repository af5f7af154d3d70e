// Compiles in threads of its own what a later call may need, while the program goes on. Errors are left to
// the call that needs the code. KW_BACKGROUND=0 starts nothing.
#pragma once

#include <vector>

#include "runtime/cuda/cubins.h"

namespace kw {

/// Opens NVRTC and compiles an empty kernel, once in a process: the first kernel of the program is then
/// compiled as fast as later ones.
void open_nvrtc_in_background();

/// Finds or compiles each source and puts it into the disk cache.
void compile_in_background(std::vector<CubinSource> sources);

}  // namespace kw
