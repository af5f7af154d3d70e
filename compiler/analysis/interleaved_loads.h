// Loads of a loop in lanes whose lanes lie two to four elements apart: which of them can read the same rows.
//     x[2 * i] + x[2 * i + 1]   →   one window of two elements for each lane, in rows from x[2 * i] on
#pragma once

#include <deque>
#include <unordered_map>

#include "analysis/vectorization.h"

namespace kw {

/// The elements that a lane reads by several loads, all of which run whenever one of them does. They lie
/// less than a step apart, so that windows of lanes do not overlap.
struct InterleavedGroup {
  Buf buf;
  std::vector<Expr> index;  ///< of the first load in the text, from which the ends are counted
  int64_t step = 0;         ///< elements from lane to lane
  int64_t first = 0, last = 0;

  uint32_t size() const { return static_cast<uint32_t>(last - first + 1); }
};

struct InterleavedLoad {
  const InterleavedGroup *window;
  int64_t element;  ///< counted as its ends are
};

/// Valid as long as the loop.
class InterleavedLoads {
 public:
  InterleavedLoads(const For &loop, VectorizationAnalysis &view);

  /// Nothing for a load that stands under a condition of its own expression, or in several places.
  std::optional<InterleavedLoad> find(const Load &n) const;

 private:
  void chain(const Stmt &root);
  void statements(const Stmt &root, uint32_t here);
  void certain(const Expr &e, uint32_t here);
  void mentions(const Expr &e, uint32_t here);
  void join(const Load &n, uint32_t home);

  VectorizationAnalysis &view_;
  uint32_t chains_ = 0;
  std::unordered_map<const Load *, std::optional<uint32_t>> homes_;  ///< the chain; nothing: several
  std::vector<std::pair<const Load *, uint32_t>> certain_;
  std::deque<std::pair<uint32_t, InterleavedGroup>> windows_;  ///< with the chain
  std::unordered_map<const Load *, InterleavedLoad> found_;
};

}  // namespace kw
