// Checks the user's hints on loops. Warns of hints that are wrong or cannot be proved: W401 to W406, and
// W408. The loops keep their meaning either way. A kernel without hints costs one walk over its statements.
#pragma once

#include "ir/func.h"
#include "schedule/directives/legal.h"
#include "support/diagnostic.h"

namespace kw {

/// One hint, with the warning if it is not proved.
struct CheckedHint {
  const For *loop = nullptr;
  Hint hint = Hint::none;
  std::vector<SharedReduction> shared{};  ///< the shared reductions, if the hint is proved
  bool in_step = false;                   ///< Verdict::in_step, if the hint is proved
  std::optional<Diagnostic> refusal{};
};

/// Returns the hints of a function in source order.
std::vector<CheckedHint> checked_hints(const Func &f, const SourceMap &sources);

/// Returns the warnings of the hints that are not proved.
std::vector<Diagnostic> check_hints(const Func &f, const SourceMap &sources);

/// Returns one line that says why a claim does not hold for a loop, from a verdict on the nest at that loop.
std::string refusal_text(const Func &f, const SourceMap &sources, const Nest &nest, Claim claim,
                         const Verdict &verdict);

}  // namespace kw
