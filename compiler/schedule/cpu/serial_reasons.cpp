// Checks the user's hint first, then what is known without dependences, then the dependences, then profit.
#include "schedule/cpu/serial_reasons.h"

#include "analysis/nest/reduce.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "schedule/cpu/register_model.h"
#include "schedule/cpu/steps.h"
#include "schedule/steps/steps.h"
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
  // The nest of the loop alone has fewer unknowns than that of the kernel.
  Rejection::Proof proof = nest.prove_alone(loop, Claim::parallel);
  if (!proof.verdict.ok()) return nest.reject(d, std::move(proof));
  // Reductions satisfy the claim, but nothing would combine the results of the threads.
  std::vector<std::string> shared;
  for (const SharedReduction &r : proof.verdict.shared) shared.emplace_back(reduction_noun(r.kind));
  if (!shared.empty()) return nest.reject(d, cat("its iterations share ", join_text(shared, " and ")));
  Verdict v = nest.legal(Parallel{loop, block});
  if (!v.why.empty()) return nest.reject(d, std::string(v.why));
  // What may run on threads and does not, since something else does.
  if (has_cut_inside(n)) return nest.reject(d, "it was split, and loops in its pieces run on threads");
  if (counts_lanes(n)) nest.reject(d, "sums in it are worth one thread only");
}

void reject_vectorize(LoopNest &nest, uint32_t loop, const Target &target) {
  const For &n = *nest.nest().loops[loop].loop;
  Directive d = Vectorize{loop};
  if (n.hint == Hint::serial) return nest.reject(d, std::string(kept_serial));
  Rejection::Proof proof = nest.prove_alone(loop, Claim::vectorize);
  if (!proof.verdict.ok()) return nest.reject(d, std::move(proof));
  VectorizationAnalysis view(n);
  if (!view.is_vectorizable() && !has_check(n.body))
    return nest.reject(d, "it holds a statement that cannot be vectorized", view.blocker());
  Verdict v = nest.legal(Vectorize{loop, 2});
  if (!v.why.empty()) return nest.reject(d, std::string(v.why));
  if (auto trips = most_trips(n); trips && *trips < fewest_lanes)
    return nest.reject(d, cat("it runs ", counted(*trips, "time"), " at most"));
  // Last, since profit is asked only of loops that could be vectorized.
  const VectorizationAnalysis::Work &work = view.work();
  uint32_t strided = work.gathers + work.scatters;
  if (strided > 0 && lanes_of_loop(target, n, view) == 0)
    nest.reject(d, cat("elements are not contiguous: ", strided, " access", strided == 1 ? "" : "es",
                       " one by one for ", counted(work.operations, "vector operation")));
}

}  // namespace kw
