// Checks the statements between the loops, then the body of the innermost one.
#include "analysis/perfect_reduction.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/interval.h"
#include "ir/accumulation.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

bool is_perfect_reduction(const std::vector<const For *> &band, const std::vector<const For *> &around) {
  // the band is innermost first: each loop must be all that the next one executes
  for (size_t d = 1; d < band.size(); ++d)
    if (only_loop(band[d]->body) != band[d - 1]) return false;
  const Stmt &body = band.back()->body;
  bool pure = true;
  std::unordered_set<const BufNode *> own;
  walk(
      body, [&](const Alloc &n, const Stmt &) { own.insert(n.buf.get()); },
      [&](const Check &, const Stmt &) { pure = false; }, [&](const While &, const Stmt &) { pure = false; },
      [&](const Jump &, const Stmt &) { pure = false; });
  if (!pure) return false;
  for_each_store(body, [&](const Stmt &, const Store &n, const std::vector<const For *> &inner) {
    // other stores may only write temporaries in registers that the body declares
    if (n.order != Order::lanes) {
      pure = pure && own.count(n.buf.get()) && n.buf->space == Space::registers;
      return;
    }
    std::vector<const For *> loops = around;
    loops.push_back(band.back());
    loops.insert(loops.end(), inner.begin(), inner.end());
    pure = pure && band_of(n, loops) == band;
  });
  return pure;
}

bool has_call_constant_bounds(const std::vector<const For *> &band) {
  return std::all_of(band.begin(), band.end(),
                     [](const For *n) { return is_size_of_call(n->lo) && is_size_of_call(n->hi); });
}

std::vector<const For *> perfect_reduction_at(const For &outermost, const std::vector<const For *> &around) {
  std::vector<const For *> band{&outermost};
  bool sums = false;
  for (const For *n = only_loop(outermost.body); n; n = only_loop(n->body)) band.insert(band.begin(), n);
  walk(band.front()->body, [&](const Store &n, const Stmt &) { sums = sums || n.order == Order::lanes; });
  return sums && is_perfect_reduction(band, around) ? band : std::vector<const For *>{};
}

}  // namespace kw
