// Looks at the stores of the loop once, after its selections.
#include "analysis/gpu/combined_values.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

CombinedValues::CombinedValues(const For &loop) : loop_(loop), invariance_(loop) {
  walk(loop.body, [&](const Alloc &a, const Stmt &) { own_.insert(a.buf.get()); });
  for (const Buf &b : loop.atomics) own_.insert(b.get());  // which threads accumulate in memory
  walk(loop.body, [&](const If &n, const Stmt &) { select(n); });
  walk(loop.body, [&](const Store &s, const Stmt &) { accumulate(s); });
}

void CombinedValues::select(const If &n) {
  ArgReductionForm form = match_arg_reduction(n);
  auto is_outer_cell = [&](const Buf &b) { return b->space == Space::registers && !own_.count(b.get()); };
  if (!form || !std::all_of(form.kept.begin(), form.kept.end(), is_outer_cell)) return;
  for (const Buf &b : form.kept) own_.insert(b.get());
  selections.push_back({&n, std::move(form)});
}

void CombinedValues::accumulate(const Store &s) {
  bool is_known = std::any_of(accumulators.begin(), accumulators.end(),
                              [&](const Accumulator &a) { return a.cell == s.buf; });
  if (is_known || own_.count(s.buf.get()) || changes_nothing(s)) return;
  Accumulation a = accumulation_of(s);
  bool is_fused = fused_accumulator_of(s) != nullptr;
  // An element that each iteration has for itself lies elsewhere in the next one.
  if (s.buf->rank() && !((a.term || is_fused) && invariance_.holds(s.index))) return;
  std::vector<Expr> index = s.index;
  for (Expr &e : index) e = invariance_.without_locals(e);
  BinOp op = !a.term || a.op == BinOp::sub ? BinOp::add : a.op;
  Order order = s.order.names(loop_.iter) ? s.order.order : Order::any;
  accumulators.push_back({s.buf, s.index, std::move(index), op, order, is_fused});
}

}  // namespace kw
