// Decides whether a directive keeps the meaning of a nest. Knows nothing about profit: it judges the hints of
// the user, the choices of the scheduler and replayed schedules alike. A refusal names two accesses and, if
// the search finds one, a pair of iterations that conflict.
#pragma once

#include "analysis/nest/dependence.h"
#include "schedule/directives/directives.h"

namespace kw {

/// A claim about the iterations of a loop. The user makes claims by hints, the scheduler by directives.
enum class Claim : uint8_t {
  parallel,   ///< the iterations may run in any order, at the same time
  vectorize,  ///< groups of iterations may run statement by statement
  reduce,     ///< the iterations share nothing but reductions
  // No hint claims these.
  /// The iterations may run in any order, at the same time, if each accumulation is an atomic operation.
  atomic,
  /// The iterations may run at the same time on threads that combine their reductions at the end.
  team,
};

/// Returns what a hint claims; nothing for hints that claim nothing.
std::optional<Claim> claim_of(Hint hint);
/// Returns the hint that makes the claim, as it is written in a kernel; "" if none does.
std::string_view claim_name(Claim claim);

/// Why no directive may move the iterations of a loop that holds a Check.
inline constexpr std::string_view ordered_checks =
    "subscripts in it are checked in order, so that the first bad one is reported";

enum class Reason : uint8_t {
  legal,
  conflict,      ///< two iterations touch one element, shown by a witness
  repeated,      ///< two iterations may write one element, if index data holds a value twice
  ordered,       ///< iterations share only a reduction, whose order is fixed
  unproved,      ///< neither a proof nor a witness was found
  jump,          ///< a `break` in one iteration decides whether later iterations run
  inapplicable,  ///< the tree does not have the form that the directive needs, see Verdict::why
};

/// Two concrete iterations at the ends of a dependence, with sizes for which both run and every linear access
/// is in bounds.
struct Witness {
  std::vector<std::pair<Expr, int64_t>> sizes;  ///< values of extents and other symbols of the call
  std::vector<int64_t> source, sink;            ///< one value per loop around the statement
  std::vector<int64_t> element;                 ///< the common subscripts
  bool certain = true;  ///< false: the search ignored a condition, so there may be no conflict
};

/// A reduction that the iterations of a legal loop share.
struct SharedReduction {
  ReductionKind kind = ReductionKind::none;
  bool free = false;       ///< any order gives the same bits
  bool in_memory = false;  ///< accumulates in elements of an array, not in a scalar
};

struct Verdict {
  Reason reason = Reason::legal;
  std::optional<Dependence> dependence{};
  std::optional<Witness> witness{};
  std::optional<uint32_t> cause{};        ///< the variable that is not affine (repeated, unproved)
  Loc jump{};                             ///< the place in the way (jump, inapplicable)
  std::vector<SharedReduction> shared{};  ///< the reductions of a legal directive, each once
  std::vector<Buf> accumulators{};        ///< the buffers of these reductions, each once
  bool in_step = false;    ///< legal for vectorize only: lockstep keeps the order of the accesses
  std::string_view why{};  ///< the reason of an inapplicable directive, as a phrase

  bool ok() const { return reason == Reason::legal; }
};

/// Checks a claim on a loop of `f` against the dependences of `nest`. LoopNest::legal asks for more before it
/// applies a directive. With `shown`, searches for a witness, which takes longer than the verdict.
Verdict legal(const Func &f, const Nest &nest, Claim claim, uint32_t loop, bool shown = true);

}  // namespace kw
