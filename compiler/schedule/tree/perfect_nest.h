// A perfect nest: loops that stand directly in one another, taken apart into heads and the innermost body.
// Bounds that mention outer iterators of it follow when two loops change places, where they are sums. Knows
// nothing of dependences.
#pragma once

#include <optional>
#include <vector>

#include "analysis/nest/nest.h"

namespace kw {

struct PerfectNest {
  struct Head {
    For loop;  ///< its body means nothing
    Loc loc;
  };
  std::vector<Head> heads;  ///< outermost first
  Stmt body;
};

/// These loops of a nest, outermost first; nothing unless each is all that is in the one before.
std::optional<PerfectNest> perfect_nest_of(const Nest &nest, const std::vector<uint32_t> &loops);
/// The loops of a set in their order of the text, when each is the parent of the next.
std::optional<std::vector<uint32_t>> in_text_order(const Nest &nest, std::vector<uint32_t> loops);

/// True when a bound of the loop mentions the symbol.
bool bounds_mention(const For &loop, const Sym &sym);

/// The loops with the same iterations in the order of these loops; nothing when a bound is no sum with
/// iterator times 1 or -1, is too large, or comes from memory.
std::optional<PerfectNest> permuted(const Nest &nest, const std::vector<uint32_t> &text_order,
                                    const std::vector<uint32_t> &order);

/// The loops and the body as one statement again.
Stmt statement_of(const PerfectNest &nest);

}  // namespace kw
