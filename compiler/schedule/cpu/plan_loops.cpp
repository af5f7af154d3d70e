// Analyses each outermost vector loop once. Needs no dependences: no plan moves an iteration.
#include "schedule/cpu/steps.h"

#include "analysis/vector/register_transpose.h"
#include "analysis/vector/row_collapse.h"
#include "analysis/vector/streams.h"
#include "analysis/vector/vector_plan.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Collects the directives that set plans, from the outermost loops inwards. Loops inside a vector loop are
/// searched for transposes only.
class LoopPlanner {
 public:
  LoopPlanner(const Func &f, const Target &target) : f_(f), target_(target) {}

  std::vector<LoopNest::LoopMark> run(const Stmt &region) {
    block(region);
    return std::move(marks_);
  }

 private:
  /// Visits the loops of a block. A While encloses its body like a loop, since the body repeats.
  void block(const Stmt &root) {
    for_each_statement(root, [&](const Stmt &s) {
      if (const While *n = as<While>(s)) {
        Around inside(*this, true, in_region_);
        block(n->body);
        return false;
      }
      const For *n = as<For>(s);
      if (n) loop(*n);
      return n == nullptr;
    });
  }

  void loop(const For &n) {
    bool parallel = n.kind == ForKind::parallel;
    if (n.kind == ForKind::vector) return vector_loop(n);
    if (parallel && !in_region_ && loop_to_collapse(n)) mark(n, Collapse{});
    const For *row = row_of(n, in_region_ || parallel);
    if (row && can_flatten(n, *row, view_of(*row))) mark(n, Flatten{});
    Around inside(*this, true, in_region_ || parallel);
    block(n.body);
  }

  /// Plans an outermost vector loop: its tail, assumed row lengths, prefetches, streams and transposes.
  void vector_loop(const For &n) {
    VectorizationAnalysis &view = view_of(n);
    if (!view.is_vectorizable() || view.has_lane_sums()) return;  // lower_reductions rewrites the latter
    VectorPlan plan = best_plan(n, view, target_, in_loop_);
    // Loop number 0 stands for none: set_plans finds the loop by its iterator.
    if (plan.tail != Tail::scalar) mark(n, SetTail{0, plan.tail});
    for (const RowLength &row : plan.rows) mark(n, AssumeRows{row.buf, 0, row.length});
    if (plan.prefetch) mark(n, Prefetch{});
    if (target_.stream_bytes() && gains_by_streams(n, view, outputs())) mark(n, Stream{});
    uint32_t bits = view.widest_element();
    if (TransposedBlocks::supports(bits, n.how.vector_width, target_.vector_bytes()))
      transposes(n.body, view, bits);
  }

  /// Marks innermost loops whose accesses a transpose in registers makes contiguous.
  void transposes(const Stmt &body, VectorizationAnalysis &view, uint32_t bits) {
    walk(body, [&](const For &n, const Stmt &) {
      if (n.kind != ForKind::serial || holds_long_loop(n.body)) return;
      TransposedBlocks blocks(n, view, bits);
      if (blocks.blocks().empty()) return;
      mark(n, Transpose{});
      bool stores = false;
      for (const TransposedBlocks::Block &b : blocks.blocks())
        stores |= b.is_store && outputs().count(b.buf.get()) > 0;
      if (stores && target_.stream_bytes()) mark(n, Stream{});
    });
  }

  /// Returns the outputs that are only written. Reads the function at the first call only.
  const BufferSet &outputs() {
    if (!outputs_) outputs_ = write_only_outputs(f_);
    return *outputs_;
  }

  /// Returns the analysis of a vector loop. Keeps the last one: a loop over rows asks for that of its row.
  VectorizationAnalysis &view_of(const For &n) {
    if (std::exchange(viewed_, &n) != &n) view_.emplace(n);
    return *view_;
  }

  void mark(const For &n, Directive d) { marks_.push_back({n.iter, std::move(d)}); }

  /// Sets in_loop_ and in_region_ for the life of a scope.
  struct Around {
    Around(LoopPlanner &p, bool in_loop, bool in_region)
        : planner(p),
          outer_loop(std::exchange(p.in_loop_, in_loop)),
          outer_region(std::exchange(p.in_region_, in_region)) {}
    ~Around() { planner.in_loop_ = outer_loop, planner.in_region_ = outer_region; }
    Around(const Around &) = delete;
    LoopPlanner &planner;
    bool outer_loop, outer_region;
  };

  const Func &f_;
  const Target &target_;
  std::vector<LoopNest::LoopMark> marks_;
  std::optional<BufferSet> outputs_;
  std::optional<VectorizationAnalysis> view_;
  const For *viewed_ = nullptr;
  /// A loop encloses the current place (in_region_: a parallel loop).
  bool in_loop_ = false, in_region_ = false;
};

}  // namespace

void plan_loops(LoopNest &nest, const Target &target) {
  nest.set_plans(LoopPlanner(nest.func(), target).run(nest.region()));
}

}  // namespace kw
