// Checks every invariant of IR in one place. Runs after each pass in debug builds and repairs nothing. The
// invariants are listed at the function below.
#pragma once

#include <string>

#include "ir/func.h"

namespace kw {

/// Returns the first violated invariant as text, or "". The invariants:
/// - operands of Binary and Select have equal dtypes; conditions, Logic operands and facts are b1;
///   indices, loop bounds and extents are i64
/// - every Sym is bound once (parameter, extent, Let, For) and before use; every buffer is declared once and
///   accessed only where visible
/// - the number of indices equals the rank; a stored value has the buffer's dtype, a Let's value its symbol's
/// - no loop writes memory that its bounds read, which passes may evaluate again in its body
/// - the plan of a loop sets only fields of its kind (LoopPlan); an unroll loop has 2 copies or more
/// - step is not 0; a Jump is inside a serial For or a While
/// - the order of a sum names enclosing loops, outermost first; no iteration of these changes the element of
///   the sum. In the order `lanes`, the store adds to its element or multiplies it. That order names at least
///   one loop, and no bound of its loops depends on another of them. No inner loop that it does not name
///   changes the element either
/// - no parallel, grid or block loop stores to a register buffer that was made outside it, except in a sum
///   that threads may share: in the order `lanes`, or of a grid or block loop that its mark names
/// - grid loops stand in serial loops only, up to three of them directly in one another; block loops in
///   a grid loop and in no other block loop; parallel loops in no grid loop
/// - an array in the space `shared` has a constant size, stands around block loops and in none
/// - no Seq is an item of a Seq
/// - Check sites are in range; results are parameters; depth is at most 1,000
std::string verify(const Func &f);

}  // namespace kw
