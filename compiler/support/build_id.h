// Identifies this build by a hash of all sources, compiler flags and the LLVM version. It is part of every
// cache key, so that artifacts of another build are never used.
#pragma once

#include <string_view>

namespace kw {

std::string_view build_id();

}  // namespace kw
