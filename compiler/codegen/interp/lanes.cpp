// Folds the lanes of blocks, and blocks.
#include "codegen/interp/lanes.h"

namespace kw {

/// Returns `before` plus (or times) the total. First the 64 lanes of each block fold to one value: lane l
/// takes lane l + 32, then l + 16, and so on. Then neighbouring blocks fold pairwise until one is left.
Value RunningLanes::finish(const Value &before) {
  std::vector<Value> sums;
  for (auto &b : blocks_) {
    for (size_t half = sum_lanes / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) b[i] = apply(op_, b[i], b[i + half]);
    sums.push_back(b[0]);
  }
  while (sums.size() > 1) {
    std::vector<Value> next;
    for (size_t i = 0; i + 1 < sums.size(); i += 2) next.push_back(apply(op_, sums[i], sums[i + 1]));
    // The last of an odd number of blocks waits for the next round.
    if (sums.size() % 2) next.push_back(sums.back());
    sums = std::move(next);
  }
  return apply(op_, before, sums.empty() ? identity_ : sums[0]);
}

}  // namespace kw
