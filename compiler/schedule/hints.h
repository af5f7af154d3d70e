// The user's claims on loops, checked: W401 to W406 and W408 for those that are false or cannot be proved.
// The loops keep their meaning either way. A kernel without such a claim costs one look at its statements.
#pragma once

#include "ir/func.h"
#include "schedule/directives/legal.h"
#include "support/diagnostic.h"

namespace kw {

/// One claim, and what is told when it does not hold; nothing when it is proved.
struct CheckedHint {
  const For *loop = nullptr;
  Directive::Verb verb = Directive::Verb::parallel;
  std::vector<SharedReduction> shared{};  ///< of a proved one
  bool in_step = false;                   ///< likewise, see Verdict
  std::optional<Diagnostic> refusal{};
};

/// The claims of a function in source order.
std::vector<CheckedHint> checked_hints(const Func &f, const SourceMap &sources);

/// The warnings of those that are not proved.
std::vector<Diagnostic> check_hints(const Func &f, const SourceMap &sources);

/// Why a loop may not be run as `verb` asks, in one line, for a verdict on the nest at that loop.
std::string refusal_text(const Func &f, const SourceMap &sources, const Nest &nest, Directive::Verb verb,
                         const Verdict &verdict);

}  // namespace kw
