// Sibling loops of one serial loop share one decision: if only the longer ones ran on several threads, their
// results would move between caches in every iteration.
#include "transform/lowering/passes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/cost.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Chunks per thread. Chosen: an uneven iteration then delays the end by 1/16 of a thread's work at most.
constexpr uint32_t chunks_of_uneven_loops = 16;
/// Most sibling loops whose work is summed. Chosen: the code for the sum is repeated in each of the loops.
constexpr size_t most_phases = 16;
/// The part of a thread's work, as a power of two, that each of several loops needs on its own. Chosen.
constexpr uint32_t own_share = 2;

bool is_shared_evenly(const For &n) { return n.kind == ForKind::parallel && !n.how.chunk; }

class ThreadCounter {
 public:
  ThreadCounter(const Func &f, const Target &target) : grain_(target.log2_work_per_thread()) {
    find_outermost(f.body);
    walk(f.body, [&](const For &around, const Stmt &) {
      if (around.kind == ForKind::serial) note_phases(around.body);
    });
  }

  bool is_outermost(const For &n) const { return outermost_.count(n.iter.get()) > 0; }

  Expr threads(const For &n, const WorkEstimate &work) const {
    auto phases = phases_.find(n.iter.get());
    Expr worth = shifted(work.operations, grain_);
    if (phases != phases_.end() && phases->second->size() > 1) {
      const std::vector<const For *> &all = *phases->second;
      Expr sum = work.operations;
      if (all.size() > most_phases)
        sum = mul(sum, const_int(static_cast<int64_t>(all.size())));
      else
        for (const For *phase : all)
          if (phase->iter != n.iter) sum = add(sum, estimate_work(*phase).operations);
      Expr own = shifted(work.operations, grain_ - std::min(grain_, own_share));
      worth = binary(BinOp::min, shifted(sum, grain_), own);
    }
    return binary(BinOp::max, worth, const_int(1));
  }

 private:
  static Expr shifted(const Expr &e, uint32_t by) { return binary(BinOp::shr, e, const_int(by)); }

  void find_outermost(const Stmt &root) {
    for_each_statement(root, [&](const Stmt &s) {
      const For *n = as<For>(s);
      bool parallel = n && n->kind == ForKind::parallel;
      if (parallel) outermost_.insert(n->iter.get());
      return !parallel;
    });
  }

  /// Records the parallel loops directly in the body of a serial one.
  void note_phases(const Stmt &body) {
    auto found = std::make_shared<std::vector<const For *>>();
    for_each_in_block(body, [&](const Stmt &s) {
      const For *n = as<For>(s);
      if (n && is_shared_evenly(*n)) found->push_back(n);
    });
    for (const For *n : *found) phases_[n->iter.get()] = found;
  }

  uint32_t grain_;
  std::unordered_set<const SymNode *> outermost_;
  /// Sibling loops by iterator: the parallel loops, itself included, that run one after another in each
  /// iteration of a serial loop.
  std::unordered_map<const SymNode *, std::shared_ptr<const std::vector<const For *>>> phases_;
};

}  // namespace

Func count_threads(const Func &f, const Target &target) {
  bool any = false;
  walk(f.body, [&](const For &n, const Stmt &) { any |= is_shared_evenly(n); });
  if (!any) return f;
  ThreadCounter counter(f, target);
  Func out = f;
  out.body = rewrite(f.body, [&](const For &n, const Stmt &s) {
    if (!is_shared_evenly(n) || !counter.is_outermost(n)) return s;
    For loop = n;
    WorkEstimate work = estimate_work(n);
    loop.most_threads = counter.threads(n, work);
    if (!work.bounded) loop.how.chunks_per_thread = chunks_of_uneven_loops;
    return for_loop(std::move(loop), s.loc());
  });
  return out;
}

}  // namespace kw
