// Writes the orders that analysis/nest/sum_order finds.
#include "transform/passes.h"

#include <unordered_map>

#include "analysis/nest/sum_order.h"
#include "ir/rewrite.h"

namespace kw {

Func mark_orders(const Func &f, const Target &) {
  std::unordered_map<const StmtNode *, OrderMark> marks;
  for (const OrderedSum &sum : find_sums(f))
    if (sum.order != Order::source) marks[sum.store.p.get()] = {sum.order, sum.band};
  Func out = f;
  out.orders_open = false;
  if (marks.empty()) return out;
  out.body = rewrite(f.body, [&](const Store &n, const Stmt &s) {
    auto found = marks.find(s.p.get());
    if (found == marks.end()) return s;
    return store(n.buf, n.index, n.value, s.loc(), found->second);
  });
  return out;
}

}  // namespace kw
