// Functions of the text by which the threads of a team combine what each has accumulated or selected:
// `kw_fold`, `kw_select`, `kw_add_block` and their like for blocks. A text has them once, behind the prelude.
#pragma once

#include <string_view>

namespace kw {

/// Returns the functions that combine the values of the threads of a warp, in terms of the prelude, and those
/// for the warps of a block.
std::string_view cuda_team_functions();
std::string_view cuda_block_functions();

}  // namespace kw
