// Identity of this build: a hash of all sources, compiler flags and the LLVM version. Part of every cache
// key, so that artifacts of another build are never used.
#pragma once

#include <string_view>

namespace kw {

std::string_view build_id();

}  // namespace kw
