// Whether a directive keeps the meaning of a nest. Knows nothing of profit: the user's hints, the engine's
// own choices and replayed schedules are all asked here. A refusal names two accesses and, where one is
// found, a pair of iterations that conflict.
#pragma once

#include "analysis/nest/dependence.h"
#include "schedule/directives/directives.h"

namespace kw {

enum class Reason : uint8_t {
  legal,
  conflict,      ///< two iterations touch one element, shown by a witness
  repeated,      ///< they may write one element, when an index that is data holds a value twice
  ordered,       ///< they share only a reduction, whose order is fixed
  unproved,      ///< no proof and no witness
  jump,          ///< a `break` lets an iteration decide whether later ones run
  inapplicable,  ///< the tree has not the form that the directive needs, see Verdict::why
};

/// Two concrete iterations at the ends of a dependence, and sizes for which they run and no access that is
/// linear leaves its tensor.
struct Witness {
  std::vector<std::pair<Expr, int64_t>> sizes;  ///< of extents and other symbols of the call
  std::vector<int64_t> source, sink;            ///< one value per loop around that statement
  std::vector<int64_t> element;                 ///< the subscripts that meet
  bool certain = true;  ///< false: it is no conflict when a condition that depends on data does not hold
};

/// What iterations of a legal loop share all the same.
struct SharedReduction {
  ReductionKind kind = ReductionKind::none;
  bool free = false;       ///< its order changes no bit
  bool in_memory = false;  ///< in elements of an array, not in a scalar
};

struct Verdict {
  Reason reason = Reason::legal;
  std::optional<Dependence> dependence{};
  std::optional<Witness> witness{};
  std::optional<uint32_t> cause{};        ///< repeated, unproved: the variable of the nest that is not affine
  Loc jump{};                             ///< jump, inapplicable: what stands in the way
  std::vector<SharedReduction> shared{};  ///< of a legal directive, each once
  bool in_step = false;    ///< legal for lanes only: a later iteration writes what an earlier one reads
  std::string_view why{};  ///< of an inapplicable directive: a phrase

  bool ok() const { return reason == Reason::legal; }
};

/// Of parallel, vectorize and reduce, as claims: schedule/directives/loop_nest asks more before it applies
/// one. `f` is the function that the nest lies in. With `shown` a witness is looked for, which takes longer
/// than the verdict.
Verdict legal(const Func &f, const Nest &nest, const Directive &directive, bool shown = true);

}  // namespace kw
