// A body qualifies if it is straight-line code of few operations that carries nothing in a register.
#include "transform/lowering/passes.h"

#include <unordered_set>

#include "analysis/cost_model.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "transform/lowering/if_convert.h"

namespace kw {

namespace {

/// Operations of a body that is unrolled, and its copies. Chosen: the branch of the loop costs one or two.
constexpr int64_t most_operations = 20;
constexpr int copies = 4;

using Cells = std::unordered_set<const BufNode *>;

/// Returns whether the body is straight-line code within most_operations. A negative `left` stands for a body
/// that is too long or has a refused form, such as a store to a scalar from outside the body.
bool is_short_and_straight(const Stmt &body, const Cells &in_vectors) {
  int64_t left = most_operations;
  Cells own;
  auto pay = [&](const Expr &e) {
    walk(
        e, [&](const Load &n, const Expr &) { left -= n.index.empty() ? 0 : 1; },
        [&](const Binary &n, const Expr &) { left -= as<Const>(n.b) ? 0 : cost_of(n).code; },
        [&](const Call &n, const Expr &) { left -= cost_of(n.fn).code; },
        [&](const Select &, const Expr &) { left = -1; }, [&](const Logic &, const Expr &) { left = -1; });
  };
  for_each_statement(body, [&](const Stmt &one) {
    const If *branch = as<If>(one);
    const Store *store = branch ? store_to_select(*branch, in_vectors) : as<Store>(one);
    if (branch) pay(branch->cond);
    if (store) pay(store->value);
    if (store && store->buf->space == Space::registers && !own.count(store->buf.get())) left = -1;
    if (const Alloc *alloc = as<Alloc>(one)) own.insert(alloc->buf.get());
    if (const Let *let = as<Let>(one)) pay(let->value);
    if (!store && !as<Let>(one) && !as<Alloc>(one)) left = -1;
    return !branch && left >= 0;
  });
  return left >= 0;
}

/// Returns whether the loop has few iterations. A loop that is known to be short runs without polls, and LLVM
/// unrolls it. Other loops may have fewer iterations than copies.
bool has_few_trips(const For &n) {
  auto lo = as_int(n.lo), hi = as_int(n.hi);
  int64_t most = n.how.max_trips;
  bool is_known = lo && hi && (most > 0 || *lo >= *hi);
  return (is_known && most <= max_trips_without_poll) || (most > 0 && most < copies);
}

}  // namespace

Func unroll_inner_loops(const Func &f, const Target &) {
  Cells in_vectors = cells_in_vectors(f.body);
  Func out = f;
  out.body = rewrite(f.body, [&](const For &n, const Stmt &s) {
    bool one_by_one = n.kind == ForKind::serial || n.kind == ForKind::parallel;
    bool fits = one_by_one && !n.how.flatten && !holds_long_loop(n.body) && !has_few_trips(n) &&
                is_short_and_straight(n.body, in_vectors);
    if (!fits) return s;
    For loop = n;
    loop.how.unroll = copies;
    return for_loop(std::move(loop), s.loc());
  });
  return out;
}

}  // namespace kw
