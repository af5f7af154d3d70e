// Finds the bands by the marks of the stores. Each band with bounds that are constant in a call adds one
// condition.
#include "schedule/cpu/short_sums.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "transform/copy.h"
#include "transform/lowering/reduction_plan.h"

namespace kw {

namespace {

/// Returns the condition that a band has fewer than 64 iterations. More than 64 iterations of one loop count
/// as 64, so that no product leaves 64 bits.
Expr few_trips(const std::vector<const For *> &band) {
  Expr count = const_int(1);
  for (const For *n : band) count = mul(count, binary(BinOp::min, trips_of(*n), const_int(sum_lanes)));
  return binary(BinOp::lt, count, const_int(sum_lanes));
}

/// Counts the loops that are vectorized although they contain a loop, as short sums allow.
size_t outer_vector_loops(const Func &f) {
  size_t count = 0;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.kind != ForKind::vector) return;
    bool holds = false;
    walk(n.body, [&](const For &, const Stmt &) { holds = true; });
    count += holds;
  });
  return count;
}

}  // namespace

std::optional<ShortSums> short_sums(const Func &f) {
  Expr condition;
  std::unordered_set<const StmtNode *> stores;
  std::vector<std::vector<const For *>> seen;
  for_each_store(f.body, [&](const Stmt &s, const Store &n, const std::vector<const For *> &around) {
    if (n.order != Order::lanes) return;
    std::vector<const For *> band = band_of(n, around);
    // The condition is tested once per call, so the bounds must have one value in the whole call.
    auto of_call = [](const For *l) { return is_of_call(l->lo) && is_of_call(l->hi); };
    if (!std::all_of(band.begin(), band.end(), of_call)) return;
    stores.insert(s.p.get());
    // Sums over the same band need one condition.
    if (std::find(seen.begin(), seen.end(), band) != seen.end()) return;
    Expr few = few_trips(band);
    condition = condition ? logic(true, condition, few) : few;
    seen.push_back(std::move(band));
  });
  if (!condition) return std::nullopt;
  ShortSums out{condition, f};
  out.func.body = rewrite(f.body, [&](const Store &n, const Stmt &s, const Stmt &original) {
    // A store without an order is in source order.
    return stores.count(original.p.get()) ? store(n.buf, n.index, n.value, s.loc()) : s;
  });
  return out;
}

bool vectorizes_more(const Func &version, const Func &main) {
  return outer_vector_loops(version) > outer_vector_loops(main);
}

Func with_short_sums(Func main, const Expr &condition, const Func &version) {
  // Both bodies come from one function: the copy gives one of them symbols of its own.
  main.body = if_else(condition, copy_of(version.body), std::move(main.body));
  for (const Diagnostic &d : version.warnings) {
    // Steps ran on both bodies and may have given the same warning twice.
    auto same = [&](const Diagnostic &known) { return known.code == d.code && known.message == d.message; };
    if (std::none_of(main.warnings.begin(), main.warnings.end(), same)) main.warnings.push_back(d);
  }
  return main;
}

}  // namespace kw
