// Goes down each path of the nest to the first loop whose threads accumulate in what others do.
#include "schedule/gpu/steps.h"

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

class BinChooser {
 public:
  explicit BinChooser(const LoopNest &nest) : nest_(nest) {}

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
      if (n->kind != ForKind::serial || n->hint == Hint::serial) return;
      uint32_t loop = *find_loop(nest_.nest(), n->iter);
      auto trips = most_trips(*n);
      bool is_small = trips && *trips <= static_cast<uint64_t>(sum_block);  // one copy costs as much
      Verdict v = nest_.legal(Grid{loop, 1});
      if (v.ok() && v.accumulators.empty()) return;
      if (v.ok() && !is_small && nest_.legal(PrivateBins{loop}).ok())
        chosen_.push_back(n->iter);
      else
        block(n->body);
    });
  }

  const LoopNest &nest_;
  std::vector<Sym> chosen_;
};

}  // namespace

void privatize_bins(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  for (const Sym &iter : BinChooser(nest).run()) nest.try_apply(PrivateBins{*find_loop(nest.nest(), iter)});
}

}  // namespace kw
