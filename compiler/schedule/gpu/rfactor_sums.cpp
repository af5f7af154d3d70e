// Goes down each path of the nest to the first loop that reduces.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

class SumChooser {
 public:
  explicit SumChooser(const LoopNest &nest) : nest_(nest) {}

  /// Returns the iterators of the chosen loops in source order.
  std::vector<Sym> run() {
    block(nest_.region());
    return std::move(chosen_);
  }

 private:
  void block(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      const For *n = as<For>(s);
      if (!n) return for_each_block(s, [&](const Stmt &inner) { block(inner); });
      uint32_t loop = *find_loop(nest_.nest(), n->iter);
      auto trips = most_trips(*n);
      bool is_small = trips && *trips < static_cast<uint64_t>(warp_threads);
      if (Verdict v = nest_.legal(Grid{loop, 1}); v.ok() && v.accumulators.empty() && !is_small) return;
      // One team is as fast for a loop that surely fits a block.
      bool is_long = !trips || *trips > static_cast<uint64_t>(sum_block);
      if (n->hint != Hint::serial && is_long && nest_.legal(Rfactor{loop}).ok())
        chosen_.push_back(n->iter);
      else
        block(n->body);
    });
  }

  const LoopNest &nest_;
  std::vector<Sym> chosen_;
};

}  // namespace

void rfactor_sums(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  for (const Sym &iter : SumChooser(nest).run()) nest.try_apply(Rfactor{*find_loop(nest.nest(), iter)});
}

}  // namespace kw
