// Finds the sums by the marks of the stores.
#include "schedule/tree/short_rows.h"

#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "transform/copy.h"

namespace kw {

Stmt with_short_rows(const Stmt &loop, const For &row) {
  std::unordered_set<const StmtNode *> stores;
  for_each_store(loop, [&](const Stmt &s, const Store &n, const std::vector<const For *> &around) {
    if (n.order != Order::lanes) return;
    std::vector<const For *> band = band_of(n, around);
    // A loop with the same bounds has as many iterations.
    bool is_short = band.size() == 1 && equal(band[0]->lo, row.lo) && equal(band[0]->hi, row.hi) &&
                    band[0]->step == row.step;
    if (is_short) stores.insert(s.p.get());
  });
  Stmt in_order = rewrite(loop, [&](const Store &n, const Stmt &s, const Stmt &original) {
    return stores.count(original.p.get()) ? store(n.buf, n.index, n.value, s.loc()) : s;
  });
  Expr few = binary(BinOp::lt, trips_of(row), const_int(sum_lanes), loop.loc());
  return if_else(few, copy_of(in_order), loop, loop.loc());
}

}  // namespace kw
