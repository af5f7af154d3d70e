// A perfect nest as loop heads and the innermost body. Permuting its loops adjusts bounds that mention outer
// iterators, if these bounds are sums. Knows nothing about dependences.
#pragma once

#include <optional>
#include <vector>

#include "analysis/nest/nest.h"

namespace kw {

struct PerfectNest {
  struct Head {
    For loop;  ///< its body has no meaning
    Loc loc;
  };
  std::vector<Head> heads;  ///< outermost first
  Stmt body;
};

/// Returns these loops, outermost first; nothing unless each loop is the only statement of the loop before.
std::optional<PerfectNest> perfect_nest_of(const Nest &nest, const std::vector<uint32_t> &loops);
/// Returns the loops of a set in source order if each is the parent of the next.
std::optional<std::vector<uint32_t>> in_text_order(const Nest &nest, std::vector<uint32_t> loops);

/// Returns whether a bound of the loop mentions the symbol.
bool bounds_mention(const For &loop, const Sym &sym);

/// Returns whether a loop may change its place: a serial loop that no hint keeps where it is.
bool may_move(const Nest &nest, uint32_t loop);
/// Returns the perfectly nested loops that may move, from this one inwards, up to a loop whose bounds depend
/// on a loop before it.
std::vector<uint32_t> movable_loops_from(const Nest &nest, uint32_t loop);
/// Returns the iterators of the outermost loops of perfect nests of two movable loops or more.
std::vector<Sym> roots_of_perfect_nests(const Nest &nest);

/// Returns the nest with its loops in the given order and the same iterations. Returns nothing if a bound is
/// too large, is read from memory, or is no sum with iterators times 1 or -1.
std::optional<PerfectNest> permuted(const Nest &nest, const std::vector<uint32_t> &text_order,
                                    const std::vector<uint32_t> &order);

/// Joins the heads and the body to one statement.
Stmt statement_of(const PerfectNest &nest);

}  // namespace kw
