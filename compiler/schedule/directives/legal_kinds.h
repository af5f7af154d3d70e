// Decides whether a loop may run on threads, or be vectorized: its dependences (schedule/directives/legal),
// and how the results of its iterations come together. The one place that answers these two questions.
#pragma once

#include "schedule/directives/legal.h"

namespace kw {

/// A loop of a function, and all that encloses it there.
struct LoopPlace {
  Stmt at;
  NestScope scope;
};

/// Both ask the dependences of `nest`, and where these refuse, of the nest of the loop alone, which has fewer
/// unknowns. With `shown` a refusal has a witness if one is found.
Verdict legal_parallel(const Func &f, const Nest &nest, const Parallel &d, const LoopPlace &place,
                       bool shown);
Verdict legal_vectorize(const Func &f, const Nest &nest, const Vectorize &d, const LoopPlace &place,
                        bool shown);

}  // namespace kw
