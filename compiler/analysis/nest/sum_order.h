// Decides the order of sums and products on the source program (language.md 3): which accumulating stores are
// summed in lanes. Looks only at subscripts, including those in locals that are assigned once in a loop of
// the sum, never at strides, extents or the target.
#pragma once

#include "ir/func.h"

namespace kw {

/// An accumulating store, its order, and the rule that decided it.
struct OrderedSum {
  Stmt store;
  Order order;
  std::string_view why;
  std::vector<Sym> band;  ///< the loops that the sum runs over, outermost first
};
/// Returns the sums and products of a function before the pipeline, in source order.
std::vector<OrderedSum> find_sums(const Func &f);

}  // namespace kw
