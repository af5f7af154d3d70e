// Answers questions about one loop: which jumps end its iterations early, and which values are the same in
// all of its iterations. Moves nothing, and ignores conditions.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"
#include "support/options.h"

namespace kw {

struct Jumps {
  bool breaks = false, continues = false;
  Loc first_break = {};  ///< in source order
  bool any() const { return breaks || continues; }
};

/// Returns whether control surely leaves the statement by a jump.
bool always_jumps(const Stmt &s);

/// Returns the jumps in a loop's body that belong to this loop.
Jumps jumps_of(const Stmt &body);

/// Returns whether a statement may write memory that an expression reads. If arguments overlap, a store to
/// one may change values that are read from another.
bool may_change(const Expr &e, const Stmt &by, Overlap overlap);

/// Returns the number of whole steps, up or down, between two numbers, low <= high, which may be 2^63 apart.
Expr steps_between(const Expr &low, const Expr &high, int64_t step);
/// Returns the number of iterations from `lo` to `hi`, computed without overflow for any bounds.
Expr trips_between(const Expr &lo, const Expr &hi, int64_t step);
/// Returns the trip count of a loop.
Expr trips_of(const For &n);

/// Returns whether threads of a loop accumulate in a buffer by atomic operations.
bool accumulates_by_atomics(const For &n, const Buf &b);

/// Returns whether a vector loop stores to a register buffer with an element for each lane. Its iterations
/// are the lanes of that buffer.
bool fills_vector_register(const For &n);
/// Returns whether one vector iteration executes the whole loop.
bool fits_one_vector(const For &n);
/// Returns the parallel loop that a parallel loop consists of, if the bounds of both are known before them;
/// else null.
const For *loop_to_collapse(const For &n);
/// Returns the loop that is all of a body but for the names of values before it, or null.
///     x = a[i]; for j in (0, n): …   →   the loop over j
const For *only_loop(const Stmt &body);
/// Returns whether a statement holds a loop that may run long: one that is neither of the two.
bool holds_long_loop(const Stmt &root);

/// Gives every loop of a function body the number of its source loop (LoopId). Loops whose iterators have one
/// source location, such as the copies of a loop in an expanded `const_range`, get one number.
Stmt number_loops(const Stmt &body);

/// Loop invariance: whether an expression has the same value in all iterations of a loop. Follows the
/// definitions of locals and the writes of the loop: an expression may change without mentioning the loop
/// variable.
class LoopInvariance {
 public:
  /// Reads the body of the loop once; the loop must outlive this object. With `Overlap::possible` a store to
  /// one argument changes all of them.
  explicit LoopInvariance(const For &loop, Overlap overlap = Overlap::none);

  /// Returns whether `e`, evaluated anywhere in the body, has one value per execution of the loop. It must
  /// not depend, directly or through locals, on an iterator of this or an inner loop, nor on memory that the
  /// body writes or allocates. Mutable scalars are memory.
  bool holds(const Expr &e) const { return holds(std::vector<Expr>{e}); }
  bool holds(const std::vector<Expr> &list) const;
  /// Like `holds`, but treats the iterators of inner loops as fixed. The value is then the same in two
  /// iterations of this loop if the inner loops are at the same iteration.
  bool holds_at_one_place(const std::vector<Expr> &list) const;

  /// Returns an invariant expression over definitions outside of the loop: replaces each local of the body by
  /// its value.
  Expr without_locals(const Expr &e) const;

 private:
  bool changes(const std::vector<Expr> &list, bool inner_iterators) const;

  const SymNode *own_;
  std::unordered_map<const SymNode *, Expr> locals_;  ///< definitions in the body
  std::unordered_set<const SymNode *> inner_;         ///< iterators of inner loops
  std::unordered_set<const BufNode *> written_;       ///< written or allocated in the body
  bool writes_arguments_ = false;                     ///< a store to one of them may change any other
};

}  // namespace kw
