// Compiles in threads of its own what a later call may need, while the program goes on. Errors are left to
// the call that needs the code. KW_BACKGROUND=0 starts nothing.
#pragma once

#include <vector>

#include "runtime/cuda/cubins.h"

namespace kw {

/// Lets this process work in the background. The caller promises to call end_background before the handlers
/// of exit run: NVRTC destroys its static objects there, and a thread that compiled would crash. (This
/// library cannot have such a handler itself: third_party/cmake/keep_statics.cpp.)
void allow_background();
/// Drops what has not begun, lets nothing begin any more, and waits for what is being compiled.
void end_background() noexcept;

/// Opens NVRTC and compiles an empty kernel, once in a process: the first kernel of the program is then
/// compiled as fast as later ones. Called when a kernel for a GPU is in no cache.
void open_nvrtc_in_background();

/// Finds or compiles each source and puts it into the disk cache.
void compile_in_background(std::vector<CubinSource> sources);

}  // namespace kw
