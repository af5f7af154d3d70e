// Distributes a body at the places where the order of its sums changes, from the last place to the first.
#include "schedule/steps/steps.h"

#include "analysis/nest/reduce.h"
#include "ir/match.h"
#include "schedule/tree/statement_list.h"

namespace kw {

namespace {

/// Returns the order of a sum; nothing if the statement is no sum.
std::optional<Order> order_of_sum(const Stmt &s, const For &loop) {
  const Store *n = as<Store>(s);
  ReductionKind kind = n ? reduction_of(*n, {&loop}).mark.kind : ReductionKind::none;
  return is_sum_or_product(kind) ? std::optional(n->order.order) : std::nullopt;
}

/// Returns the statements of a body after which the order of the sums changes; none if a statement is no sum.
std::vector<size_t> changes_in(const For &loop) {
  std::vector<size_t> out;
  std::optional<Order> before;
  StatementList body = statements_of(loop.body);
  for (size_t i = 0; i < body.size(); ++i) {
    std::optional<Order> order = body[i].opens ? std::nullopt : order_of_sum(body[i].s, loop);
    if (!order) return {};
    if (before && before != order) out.push_back(i - 1);
    before = order;
  }
  return out;
}

}  // namespace

void distribute_reductions(LoopNest &nest) {
  for (auto l = static_cast<uint32_t>(nest.nest().loops.size()); l-- > 0;) {
    const For *loop = nest.nest().loops[l].loop;
    if (!loop || loop->kind != ForKind::serial) continue;
    std::vector<size_t> changes = changes_in(*loop);
    for (size_t i = changes.size(); i-- > 0;) {
      Directive d{Distribute{l, static_cast<int64_t>(changes[i])}, "sums of two orders"};
      if (!nest.try_apply(d).ok()) break;
    }
  }
}

}  // namespace kw
