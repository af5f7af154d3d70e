// An overlapped tail needs no mask and no second body, but repeats work.
#include "analysis/vector/vector_plan.h"

#include <algorithm>

#include "ir/intrinsics.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace kw {

bool may_run_again(const For &n, const VectorizationAnalysis &view) {
  if (!view.reductions().empty() || !view.arg_reductions().empty()) return false;
  bool fine = true;
  std::unordered_set<const BufNode *> written;
  walk(n.body, [&](const Store &s, const Stmt &) {
    fine = fine && s.order != Order::lanes && (s.buf->space != Space::registers || view.is_own(s.buf));
    if (!view.is_own(s.buf)) written.insert(s.buf.get());
  });
  walk(n.body, [&](const Load &l, const Expr &) { fine = fine && !written.count(l.buf.get()); });
  return fine;
}

/// Returns whether the body calls an elementary function whose code (transform/math) is too long to repeat.
/// Only exp and, for f32, the functions in `like_exp` are short.
static bool calls_long_function(const Stmt &body) {
  bool found = false;
  walk(body, [&](const Call &n, const Expr &e) {
    if (row_of(n.fn).cost != Cost::function) return;
    static constexpr Fn like_exp[] = {Fn::log,  Fn::log2, Fn::log10, Fn::exp2,    Fn::expm1,
                                      Fn::tanh, Fn::sinh, Fn::cosh,  Fn::sigmoid, Fn::erf};
    bool is_short = e.dtype() == DType::f32 && std::ranges::count(like_exp, n.fn);
    found |= n.fn != Fn::exp && !is_short;
  });
  return found;
}

static Tail best_tail(const For &n, const VectorizationAnalysis &view, const Target &target, bool in_loop) {
  // Operations per iteration. Chosen: repeating a longer body costs more than a masked remainder.
  constexpr uint32_t few = 64;
  bool masks = can_mask(view, target);
  bool overlaps = in_loop && view.work().operations <= few && !holds_long_loop(n.body) &&
                  !calls_long_function(n.body) && may_run_again(n, view);
  if (overlaps) return masks ? Tail::overlapped_or_masked : Tail::overlapped;
  return masks ? Tail::masked : Tail::scalar;
}

VectorPlan best_plan(const For &n, const VectorizationAnalysis &view, const Target &target, bool in_loop) {
  VectorPlan out;
  out.tail = best_tail(n, view, target, in_loop);
  out.prefetch = !view.reductions().empty() || !view.arg_reductions().empty();
  if (view.work().strided)
    for (const auto &[buf, length] : view.assumed_row_lengths()) out.rows.push_back({buf, length});
  return out;
}

}  // namespace kw
