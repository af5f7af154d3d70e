// Unrolls a loop of constant trip count in full if all copies fit; else, and if the count is unknown, by a
// power of two.
#include "schedule/steps/unroll_hints.h"

#include <algorithm>
#include <bit>

#include "analysis/cost_model.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace kw {

namespace {

// Copies of a loop with an unknown trip count. Chosen.
constexpr uint64_t copies_of_unknown_count = 8;

/// Returns the copies of the body that an inner loop has, or will have.
uint64_t copies_in(const For &n) {
  if (n.kind == ForKind::unroll) return n.how.unroll;
  return n.hint == Hint::unroll && n.kind == ForKind::serial ? unroll_plan(n).copies : 1;
}

uint64_t operations_of(const Stmt &body) {
  uint64_t out = 0;
  auto count = [&](const auto &, const auto &) { ++out; };
  walk(
      body, [&](const Load &n, const Expr &e) { count(n, e); },
      [&](const Unary &n, const Expr &e) { count(n, e); },
      [&](const Binary &n, const Expr &) { out += static_cast<uint64_t>(cost_of(n).code); },
      [&](const Logic &n, const Expr &e) { count(n, e); },
      [&](const Select &n, const Expr &e) { count(n, e); },
      [&](const Cast &n, const Expr &e) { count(n, e); },
      [&](const Call &n, const Expr &) { out += static_cast<uint64_t>(cost_of(n.fn).code); },
      [&](const Store &n, const Stmt &s) { count(n, s); },
      [&](const For &n, const Stmt &) { out += 1 + (copies_in(n) - 1) * operations_of(n.body); },
      [&](const While &n, const Stmt &s) { count(n, s); }, [&](const If &n, const Stmt &s) { count(n, s); });
  return std::max<uint64_t>(out, 1);
}

/// Returns whether nothing needs the loop whole: it is serial, holds no vector or parallel loop, and only
/// sums in source order.
bool is_plain(const For &n) {
  bool plain = n.kind == ForKind::serial;
  walk(
      n.body,
      [&](const For &inner, const Stmt &) {
        plain &= inner.kind == ForKind::serial || inner.kind == ForKind::unroll;
      },
      [&](const Store &s, const Stmt &) { plain &= s.order == Order::source; });
  return plain;
}

}  // namespace

UnrollPlan unroll_plan(const For &loop) {
  UnrollPlan plan;
  plan.trips = constant_trips(loop);
  plan.operations = operations_of(loop.body);
  plan.jumps = jumps_of(loop.body).any();
  if (plan.jumps) return plan;
  uint64_t fit = most_operations_written / plan.operations;
  uint64_t wanted = plan.trips ? std::max<uint64_t>(*plan.trips, 1) : copies_of_unknown_count;
  plan.copies = static_cast<uint32_t>(wanted <= fit ? wanted : std::bit_floor(std::max<uint64_t>(fit, 1)));
  return plan;
}

void unroll_hinted(LoopNest &nest) {
  std::vector<std::pair<Sym, int64_t>> found;
  for_each_loop(nest.region(), [&](const Stmt &, const For &n, const NestScope &) {
    if (n.hint == Hint::unroll && is_plain(n)) found.emplace_back(n.iter, unroll_plan(n).copies);
  });
  for (const auto &[iter, copies] : found)
    if (auto loop = find_loop(nest.nest(), iter); loop && copies >= 2) nest.try_apply(Unroll{*loop, copies});
}

}  // namespace kw
