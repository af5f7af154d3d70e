// The verifier: every invariant of IR in one place. Runs after each pass in debug builds; it mends nothing.
// The invariants are listed at the function below.
#pragma once

#include <string>

#include "ir/func.h"

namespace kw {

/// The first violated invariant as text, or "". The invariants:
/// - operands of Binary and Select have equal dtypes; conditions, Logic operands and facts are b1;
///   indices, loop bounds and extents are i64
/// - every Sym is bound once (parameter, extent, Let, For) and before use; every buffer is declared once and
///   accessed only where visible
/// - the number of indices equals the rank; a stored value has the buffer's dtype, a Let's value its symbol's
/// - no loop writes memory that its bounds read, which passes may evaluate again in its body
/// - the plan of a loop sets only fields of its kind (LoopPlan); an unroll loop has 2 copies or more
/// - step is not 0; Jump stands inside a serial For or a While
/// - the order of a sum names loops around it, outermost first; no iteration of them changes the element of
///   the sum. In lanes the store adds to its element or multiplies it, the order names at least one loop, a
///   bound of none depends on another one, and a loop inside one that it does not name changes the element
///   neither
/// - no parallel loop stores to a cell that was made outside it
/// - no Seq stands directly in a Seq
/// - Check sites are in range; results are parameters; depth is at most 1,000
std::string verify(const Func &f);

}  // namespace kw
