// The user's wish first, then what is known without the dependences, then these, then profit.
#include "schedule/cpu/serial_reasons.h"

#include "analysis/nest/privatize.h"
#include "analysis/nest/reduce.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/loops.h"
#include "schedule/cpu/register_model.h"
#include "schedule/cpu/vectorize_and_parallelize.h"
#include "support/text.h"

namespace kw {

static constexpr std::string_view kept_serial = "`serial` keeps it in order";

void reject_parallel(LoopNest &nest, uint32_t loop, int64_t block, const Target &target) {
  const For &n = *nest.nest().loops[loop].loop;
  Directive d = Parallel{loop};
  auto trips = most_trips(n);
  if (n.hint == Hint::serial) return nest.reject(d, std::string(kept_serial));
  if ((trips && *trips < 2) || is_surely_short(n, target))
    return nest.reject(d, "its work is worth one thread only");
  if (has_check(n.body)) return nest.reject(d, "subscripts are checked in it, and the first bad one is told");
  // The nest of the loop alone has fewer unknowns than that of the kernel.
  Rejection::Proof proof = nest.prove_alone(loop, Claim::parallel);
  if (!proof.verdict.ok()) return nest.reject(d, std::move(proof));
  // Reductions satisfy the claim, but somebody would have to combine the results of the threads.
  std::vector<std::string> shared;
  for (const SharedReduction &r : proof.verdict.shared) shared.emplace_back(reduction_noun(r.kind));
  if (!shared.empty()) return nest.reject(d, cat("its iterations share ", join_text(shared, " and ")));
  if (jumps_of(n.body).any()) return nest.reject(d, "`continue` ends some of its iterations early");
  if (writes_outer_scalar(n.body)) return nest.reject(d, "it writes a scalar that is made outside it");
  // Blocks begin at places that are computed, so they need a range with known bounds.
  if (block && !nest.legal(Parallel{loop, block}).ok())
    nest.reject(d, "it is vectorized, and its range does not follow from shapes alone");
}

void reject_vectorize(LoopNest &nest, uint32_t loop, const Target &target) {
  const For &n = *nest.nest().loops[loop].loop;
  Directive d = Vectorize{loop};
  if (n.hint == Hint::serial) return nest.reject(d, std::string(kept_serial));
  if (has_check(n.body)) return nest.reject(d, "subscripts are checked in it, one after the other");
  Rejection::Proof proof = nest.prove_alone(loop, Claim::vectorize);
  if (!proof.verdict.ok()) return nest.reject(d, std::move(proof));
  VectorizationAnalysis view(n);
  if (!view.is_vectorizable())
    return nest.reject(d, "it holds a statement that cannot be vectorized", view.blocker());
  // Chosen, as the limit of lanes_of_loop: fewer iterations fill no register.
  constexpr uint64_t few = 4;
  if (auto trips = most_trips(n); trips && *trips < few)
    return nest.reject(d, cat("it runs ", counted(*trips, "time"), " at most"));
  const VectorizationAnalysis::Work &work = view.work();
  // Last, since profit is asked only of loops that could be vectorized.
  uint32_t apart = work.gathers + work.scatters;
  if (apart > 0 && lanes_of_loop(target, n, view) == 0)
    return nest.reject(d, cat("elements lie apart in memory: ", apart, " access", apart == 1 ? "" : "es",
                              " one by one for ", counted(work.operations, "vector operation")));
  Verdict v = nest.legal(Vectorize{loop, 2});
  if (v.reason == Reason::inapplicable) nest.reject(d, std::string(v.why));
}

}  // namespace kw
