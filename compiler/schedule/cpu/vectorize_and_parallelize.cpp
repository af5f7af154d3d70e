// On each path of the nest, takes the first loop that is legal and gains. transform/lowering/count_threads
// computes how many threads the work of a parallel loop is worth.
#include "schedule/cpu/steps.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/cost.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "schedule/cpu/register_model.h"
#include "schedule/cpu/serial_reasons.h"
#include "schedule/steps/steps.h"

namespace kw {

namespace {

class LoopChooser {
 public:
  LoopChooser(const LoopNest &nest, const Target &target) : nest_(nest), target_(target) {
    const std::vector<NestLoop> &loops = nest.nest().loops;
    for (uint32_t l = 0; l < loops.size(); ++l)
      if (loops[l].loop) numbers_[loops[l].loop] = l;
    choices_.resize(loops.size());
  }

  void run() { statements(nest_.region()); }

  /// Returns the directives of the choices, outer loops first.
  std::vector<Directive> marks() const {
    std::vector<Directive> out;
    for (uint32_t l = 0; l < choices_.size(); ++l) {
      const Choice &c = choices_[l];
      bool shares_sums = c.threads && c.width && !c.block;  // the blocks of a vector loop's sums
      if (c.threads && !shares_sums) out.emplace_back(Parallel{l, c.block});
      if (c.width) out.emplace_back(Vectorize{l, c.width});
      if (shares_sums) out.emplace_back(Parallel{l});
    }
    return out;
  }

  /// Records why loops stay serial: loops that no thread shares, and innermost loops that are not vectorized.
  void record(LoopNest &into) const {
    for (uint32_t l = 0; l < choices_.size(); ++l) {
      const For *n = into.nest().loops[l].loop;
      if (!n || n->kind != ForKind::serial) continue;
      bool threads = is_chosen(l, [](const Choice &c) { return c.threads; }, ForKind::parallel);
      bool vector = is_chosen(l, [](const Choice &c) { return c.width > 0; }, ForKind::vector);
      if (!threads) reject_parallel(into, l, choices_[l].block, target_);
      if (!vector && is_innermost(into.nest(), l)) reject_vectorize(into, l, target_);
    }
  }

 private:
  struct Choice {
    int64_t width = 0, block = 0;
    bool threads = false;
  };

  /// Returns whether a loop, or a loop around it, has this kind or is chosen for it.
  template <class F>
  bool is_chosen(uint32_t l, F &&chosen, ForKind kind) const {
    for (; l != NestLoop::no_loop; l = nest_.nest().loops[l].parent)
      if (const For *n = nest_.nest().loops[l].loop; chosen(choices_[l]) || (n && n->kind == kind))
        return true;
    return false;
  }

  /// Returns the iterations in one block of a parallel vector loop. A block stays on one thread. Chosen:
  /// without inner loops, a block has 1/32 as many iterations as operations are worth a thread.
  int64_t block_of(const For &loop, int64_t width) const {
    bool nested = false;
    walk(loop.body, [&](const For &, const Stmt &) { nested = true; });
    return nested ? width : std::max<int64_t>(target_.work_per_thread() >> 5, width);
  }

  /// Returns whether some loop in the block is vectorized.
  bool statements(const Stmt &root) {
    bool found = false;
    for_each_in_block(root, [&](const Stmt &s) {
      if (const For *n = as<For>(s))
        found |= loop(*n);
      else
        for_each_block(s, [&](const Stmt &block) { found |= statements(block); });
    });
    return found;
  }

  bool loop(const For &n) {
    uint32_t l = numbers_.at(&n);
    bool before = on_threads_, threads = (!on_threads_ || &n == next_) && may_run_on_threads(l, n);
    choices_[l].threads = threads;
    std::vector<Choice> choices_before = choices_;
    next_ = !before && threads ? next_in(n) : nullptr;
    on_threads_ = before || threads || n.kind == ForKind::parallel;
    bool found = statements(n.body);
    on_threads_ = before;
    if (!found && n.kind != ForKind::serial) return true;
    int64_t width = found || n.hint == Hint::serial ? 0 : width_of(l, n);
    if (width >= 2) {
      choices_ = std::move(choices_before);  // loops in a vector loop run on its thread
      choices_[l].width = width;
      if (threads) {
        choices_[l].block = block_of(n, width);
        choices_[l].threads = nest_.legal(Parallel{l, choices_[l].block}).ok();
      }
    }
    bool is_vector = found || width >= 2;
    if (is_vector && !threads && !on_threads_ && may_sum_on_threads(l, n)) choices_[l].threads = true;
    return is_vector;
  }

  /// Returns the loop that is all a parallel loop does, or null. If the parallel loop has few iterations,
  /// threads share those of both.
  static const For *next_in(const For &n) {
    const For *inner = only_loop(n.body);
    return inner && !as_int(inner->hi) ? inner : nullptr;
  }

  bool may_sum_on_threads(uint32_t l, const For &n) const {
    if (n.kind != ForKind::serial || n.hint == Hint::serial || !counts_lanes(n)) return false;
    return !is_surely_short(n, target_) && nest_.legal(Parallel{l}).ok();
  }

  bool may_run_on_threads(uint32_t l, const For &n) const {
    auto trips = most_trips(n);
    if (n.kind != ForKind::serial || n.hint == Hint::serial || (trips && *trips < 2)) return false;
    if (is_surely_short(n, target_)) return false;
    if (has_cut_inside(n)) return false;
    if (counts_lanes(n)) return false;  // not even when nothing runs: threads share the blocks of such a sum
    return nest_.legal(Parallel{l}).ok();
  }

  int64_t width_of(uint32_t l, const For &n) const {
    VectorizationAnalysis view(n);
    if (!view.is_vectorizable()) return 0;
    uint32_t width = lanes_of_loop(target_, n, view);
    return width >= 2 && nest_.legal(Vectorize{l, width}).ok() ? width : 0;
  }

  const LoopNest &nest_;
  const Target &target_;
  std::unordered_map<const For *, uint32_t> numbers_;
  std::vector<Choice> choices_;  ///< of each loop
  bool on_threads_ = false;      ///< the place is inside a parallel loop
  const For *next_ = nullptr;    ///< the loop that a parallel loop consists of, or null
};

}  // namespace

bool is_surely_short(const For &loop, const Target &target) {
  if (!most_trips(loop)) return false;
  WorkEstimate work = estimate_work(loop);
  auto operations = as_int(work.operations);
  return operations && work.bounded && *operations < 2 * target.work_per_thread();
}

/// Chooses for each loop alone if the nest is too large to be analysed as one.
static void choose_in_parts(LoopNest &nest, const Target &target) {
  nest.reject("analysis of all loops together",
              "the kernel is too large: each loop is parallelized and vectorized alone");
  std::vector<LoopAlone> parts = nest.loops_alone();
  for (LoopAlone &part : parts) vectorize_and_parallelize(part.nest, target);
  nest.take_parts(parts);
}

void vectorize_and_parallelize(LoopNest &nest, const Target &target) {
  if (!nest.nest().complete) return choose_in_parts(nest, target);
  if (nest.nest().loops.empty()) return;
  LoopChooser chooser(nest, target);
  chooser.run();
  if (nest.is_recording()) chooser.record(nest);
  nest.apply_marks(chooser.marks());
}

}  // namespace kw
