// How many iterations of a loop one thread of a GPU can execute, and which accesses load or store the
// elements of several at once. Judges no dependences: the iterations may run in any order.
#pragma once

#include <vector>

#include "analysis/gpu/side_by_side.h"
#include "ir/node.h"

namespace kw {

/// Bytes of the widest load and store of a thread (CUDA C++ Programming Guide, 5.3.2).
inline constexpr int64_t widest_access = 16;

/// Accesses to one element of a buffer for each iteration, in a row. Its first one is aligned where `base` is
/// a multiple of the iterations that a thread executes side by side.
struct VectorAccess {
  Buf buf;
  std::vector<Expr> index;
  Expr base{};
  bool is_loaded = false;  ///< before it is stored
  bool is_stored = false;
};

/// A loop of which a thread executes several iterations side by side.
struct VectorLoop {
  GuardedBody parts;
  std::vector<VectorAccess> accesses;
};
/// Returns the parts of the body, and the accesses that every iteration executes where its guard holds, whose
/// last subscript goes up by one and whose others do not change over `width` iterations; in a flat loop those
/// to its element. A buffer that the loop stores to and accesses in other forms is left out. Whether the
/// guard holds and each base is a multiple is left to test.
VectorLoop vector_loop(const For &n, int64_t width);
/// Returns the values that must be multiples of the width for an access of a loop over rows to be aligned
/// wherever its buffer is.
std::vector<Expr> multiples_in_rows(const VectorAccess &a);
/// Returns whether an access that is not among `vectors` moves with the iterator, other than in a tile:
/// threads that are apart access different banks of it.
bool moves_otherwise(const For &n, const VectorLoop &vectors);

/// Returns the iterations whose elements fill 16 bytes, the widest access of a thread; 1 if the loop is not
/// worth it: it accesses nothing in rows (a grid loop: stores), its body is long, or threads would spread
/// what they access otherwise, as `x[j + 1]` beside `x[j]`, over more memory than with one iteration each.
int64_t vector_width_on_gpu(const For &n);
/// Likewise of a loop that a team shares; 1 also if it sums in lanes or computes functions.
int64_t team_vector_width(const For &n);

/// Returns whether the threads of a team share an array if it stands in no block loop: one that a rewrite has
/// made for them, or a small one of the kernel.
inline bool is_team_array(const BufNode &b) {
  return b.rank() && (b.space == Space::shared || b.space == Space::stack);
}

/// The cost of exp and the like, in operations. Chosen: a body with two of them is long.
inline constexpr uint32_t operations_of_function = 12;

/// Returns the operations of the values that an iteration stores or tests, without those of subscripts, of
/// the guard of a block loop, and of names that no value mentions.
uint32_t operations_on_gpu(const For &n);

/// Returns whether a thread can execute several iterations of a loop in source order so that it loads ahead:
/// the body is short and has no loop and no check.
bool is_short_on_gpu(const For &n);

/// Returns how many iterations of a loop that a team shares a thread executes at once, so that their loads
/// come first; 0 for one after the other.
uint32_t team_unroll(const For &n);

}  // namespace kw
