// Decides whether a loop may be parallelized or vectorized, by its dependences (schedule/directives/legal)
// and by how the results of its iterations are combined. No other place answers these two questions.
#pragma once

#include "schedule/directives/legal.h"

namespace kw {

/// A loop of a function, and the scope that encloses it.
struct LoopPlace {
  Stmt at;
  NestScope scope;
};

/// Return whether the directive is legal. If the dependences of `nest` forbid it, the nest of the loop alone
/// is asked, which has fewer unknowns. With `shown`, a refusal has a witness if one is found.
Verdict legal_parallel(const Func &f, const Nest &nest, const Parallel &d, const LoopPlace &place,
                       bool shown);
/// Accumulations that iterations share are legal as atomic operations; the verdict names their buffers.
Verdict legal_grid(const Func &f, const Nest &nest, const Grid &d, const LoopPlace &place, bool shown);
/// Threads combine the reductions of scalars at the end of the loop. Sums in the order `lanes` run over this
/// loop alone.
Verdict legal_team(const Func &f, const Nest &nest, const Team &d, const LoopPlace &place, bool shown);
/// The two loops share nothing.
Verdict legal_stage(const Func &f, const Nest &nest, const Stage &d, const LoopPlace &place, bool shown);
/// Of stage_rows and stage_columns.
Verdict legal_stage_rows(const Func &f, const Nest &nest, uint32_t loop, const LoopPlace &place, bool shown);
/// The same of all loops of the reduction.
Verdict legal_scan(const Func &f, const ScanLoop &d, const LoopPlace &place, bool shown);
Verdict legal_private_bins(const Func &f, const Nest &nest, const PrivateBins &d, const LoopPlace &place,
                           bool shown);
Verdict legal_rfactor(const Func &f, const Nest &nest, const Rfactor &d, const LoopPlace &place, bool shown);
Verdict legal_vectorize(const Func &f, const Nest &nest, const Vectorize &d, const LoopPlace &place,
                        bool shown);

/// What the iterations of a loop are to be free for.
enum class FreeFor : uint8_t {
  any_order,  ///< they share nothing, not even reductions
  threads,    ///< and store to no scalar that is made outside the loop
  lanes,      ///< and hold neither a While nor a Check
  any_kind,   ///< any_order; of an innermost loop also what can only be vectorized
};
/// The weaker question of steps that make room for parallel and vector loops: about a loop that may still
/// change, in this nest only, so that many trials stay cheap.
bool is_free(const Func &f, const Nest &nest, uint32_t loop, FreeFor use);

}  // namespace kw
