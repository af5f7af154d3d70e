// The words of emitted kernels. A text for NVRTC begins with them; a host compiler gets them from a header of
// the tests.
#pragma once

#include <string_view>

namespace kw {

/// Returns the words that every text may use, as the beginning of a translation unit.
std::string_view cuda_prelude();

}  // namespace kw
