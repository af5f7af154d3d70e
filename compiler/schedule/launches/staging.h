// Symbols and sizes that the rewrites of this folder use alike: loops over tiles, parts and rows, and loads
// from shared memory.
#pragma once

#include <string>

#include "analysis/gpu/vector_accesses.h"
#include "ir/limits.h"
#include "ir/node.h"

namespace kw {

/// Rows and columns of a square tile of a warp.
inline constexpr int64_t tile_side = warp_threads;
/// Columns of a team where few columns are all that is parallel: a row of a tile is a sector of 32 bytes, for
/// elements of 4 bytes.
inline constexpr int64_t few_columns = 8;
/// Iterations that are written out, so that a thread waits for several loads from shared memory, of some 30
/// cycles, at once. Chosen.
inline constexpr uint32_t shared_loads_at_once = 8;
/// Copies of one element that are written out: those to shared memory that run ahead, for which no thread
/// waits, and those of results back to memory. Chosen.
inline constexpr uint32_t copies_ahead_at_once = 2, copies_back_at_once = 4;

/// Returns how many iterations are written out of a loop that loads from shared memory. With functions, eight
/// take NVRTC a third longer than four (softmax of short rows: 272 ms and 208, NVRTC 13.0).
inline uint32_t shared_iterations_at_once(const For &n) {
  return operations_on_gpu(n) < operations_of_function ? shared_loads_at_once : shared_loads_at_once / 2;
}

/// Returns the columns of a team that is given a width, or 0.
inline int64_t columns_of_team(int64_t width) { return width ? width : tile_side; }

/// Lets each thread of a team execute iterations of a loop side by side, if vectors fit.
inline void vectorize_team(For &loop) {
  if (int64_t vector = team_vector_width(loop); vector > 1)
    loop.how.vector_width = static_cast<uint32_t>(vector);
}
/// Lets each thread of a team execute several iterations of a loop at once, apart or side by side.
inline void plan_team(For &loop) {
  loop.how.unroll = team_unroll(loop);
  vectorize_team(loop);
}

inline Sym new_iterator(const std::string &name) { return make_sym(SymKind::iter, DType::i64, name); }
inline Sym new_local(const std::string &name) { return make_sym(SymKind::local, DType::i64, name); }

}  // namespace kw
