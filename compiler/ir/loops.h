// Questions about one loop: the jumps by which its iterations end early, and what is the same in all of its
// iterations. Answers questions only: it moves nothing, and knows nothing of conditions.
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

/// True when control surely leaves the statement by a jump.
bool always_jumps(const Stmt &s);

/// The jumps in a loop's body that belong to this loop.
Jumps jumps_of(const Stmt &body);

/// Whether a statement may write memory that an expression reads. Where arguments overlap, a store to one of
/// them may change what is read from another.
bool may_change(const Expr &e, const Stmt &by, Overlap overlap);

/// Returns how many whole steps, up or down, lie between two numbers, low <= high, which may be 2^63 apart.
Expr steps_between(const Expr &low, const Expr &high, int64_t step);
/// Returns the number of iterations from `lo` to `hi`, computed without overflow for any bounds.
Expr trips_between(const Expr &lo, const Expr &hi, int64_t step);
/// Returns the trip count of a loop.
Expr trips_of(const For &n);

/// Returns whether a vector loop stores to a register buffer with an element for each lane. Its iterations
/// are the lanes of that buffer.
bool fills_vector_register(const For &n);
/// Returns whether one vector iteration executes the whole loop.
bool fits_one_vector(const For &n);
/// Returns the parallel loop that is all a parallel loop does, when the bounds of both are known before them;
/// or null.
const For *loop_to_collapse(const For &n);
/// Returns the loop that is all of a body but for the names of values before it, or null.
///     x = a[i]; for j in (0, n): …   →   the loop over j
const For *only_loop(const Stmt &body);
/// Returns whether a statement holds a loop that may run long: one that is neither of the two.
bool holds_long_loop(const Stmt &root);

/// Gives every loop of a function body the number of its source loop (LoopId). Loops whose iterators stand at
/// one place of the source, as the copies of a loop in an expanded `const_range`, get one number.
Stmt number_loops(const Stmt &body);

/// Loop invariance: whether an expression has the same value in all iterations of a loop. Follows the
/// definitions of locals and asks what the loop writes; the loop variable need not stand in an expression
/// that changes.
class LoopInvariance {
 public:
  /// Reads the body of the loop once; the loop must outlive this object. With `Overlap::possible` a store to
  /// one argument changes all of them.
  explicit LoopInvariance(const For &loop, Overlap overlap = Overlap::none);

  /// Returns whether `e`, evaluated anywhere in the body, has one value per execution of the loop: it depends
  /// on no iterator of the loop or of a loop inside, and on no memory that the body writes or allocates,
  /// neither directly nor through locals. Mutable scalars are memory.
  bool holds(const Expr &e) const { return holds(std::vector<Expr>{e}); }
  bool holds(const std::vector<Expr> &list) const;
  /// Like `holds`, but takes the iterators of inner loops as fixed: the value is the same in two iterations
  /// of this loop in which the inner loops are at the same place.
  bool holds_at_one_place(const std::vector<Expr> &list) const;

  /// Returns an invariant expression in terms of what is defined outside of the loop: replaces each local of
  /// the body by its value.
  Expr without_locals(const Expr &e) const;

 private:
  bool changes(const std::vector<Expr> &list, bool inner_iterators) const;

  const SymNode *own_;
  std::unordered_map<const SymNode *, Expr> locals_;  ///< of the body
  std::unordered_set<const SymNode *> inner_;         ///< iterators of loops inside
  std::unordered_set<const BufNode *> written_;       ///< or allocated in the body
  bool writes_arguments_ = false;                     ///< any of them, whichever the store names
};

}  // namespace kw
