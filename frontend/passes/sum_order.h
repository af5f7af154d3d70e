// Decides the order of sums and products on the source program (language.md 3): which accumulating stores are
// summed in lanes. Looks only at subscripts, including those in locals that are assigned once in a loop of
// the sum, never at strides, extents or the target. The mark stays on the Store unchanged.
#pragma once

#include "ir/func.h"

namespace kw {

/// Sets Store::order of every accumulation, with its band: `source` in strict mode; `lanes` where the rule
/// holds in default and fast mode; `any` for the rest in fast mode. If arguments may overlap, a sum into an
/// argument keeps source order when its loops access another argument: its terms may be partial sums.
Func mark_orders(const Func &f);

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
