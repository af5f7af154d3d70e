// Groups the interleaved loads of a vector loop, with an element stride of 2 to 4, that can share contiguous
// loads.
//     x[2 * i] + x[2 * i + 1]   →   one group: contiguous loads from x[2 * i] on give two elements per lane
#pragma once

#include <deque>
#include <unordered_map>

#include "analysis/vector/vectorization.h"

namespace kw {

/// Loads that always execute together and lie less than one stride apart, so that the elements of two lanes
/// do not overlap.
struct InterleavedGroup {
  Buf buf;
  std::vector<Expr> index;  ///< of the first load in source order; `first` and `last` count from it
  int64_t step = 0;         ///< the element stride
  int64_t first = 0, last = 0;

  uint32_t size() const { return static_cast<uint32_t>(last - first + 1); }
};

struct InterleavedLoad {
  const InterleavedGroup *window;
  int64_t element;  ///< counts as `first` and `last` do
};

/// The interleaved groups of one loop. Must not outlive the loop.
class InterleavedLoads {
 public:
  InterleavedLoads(const For &loop, VectorizationAnalysis &view);

  /// Returns the group of a load; nothing if a lazy operator guards the load or several statements share it.
  std::optional<InterleavedLoad> find(const Load &n) const;

 private:
  void chain(const Stmt &root);
  void statement(const Stmt &s, uint32_t here);
  void certain(const Expr &e, uint32_t here);
  void mentions(const Expr &e, uint32_t here);
  void join(const Load &n, uint32_t home);

  VectorizationAnalysis &view_;
  uint32_t chains_ = 0;
  std::unordered_map<const Load *, std::optional<uint32_t>> homes_;  ///< statement list; nothing for several
  std::vector<std::pair<const Load *, uint32_t>> certain_;
  std::deque<std::pair<uint32_t, InterleavedGroup>> windows_;  ///< with the number of their statement list
  std::unordered_map<const Load *, InterleavedLoad> found_;
};

}  // namespace kw
