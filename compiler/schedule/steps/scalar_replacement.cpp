// Replaces one value of each loop. Reads the nest only if a loop carries a value.
#include "schedule/steps/steps.h"

#include "analysis/nest/access_stride.h"
#include "ir/walk.h"
#include "schedule/tree/carried_values.h"

namespace kw {

void scalar_replacement(LoopNest &nest) {
  std::vector<std::pair<Sym, Buf>> found;
  walk(nest.region(), [&](const For &n, const Stmt &) {
    if (std::vector<CarriedValue> values = carried_values(n); !values.empty())
      found.emplace_back(n.iter, values.front().buf);
  });
  // Directives keep the iterators of loops, but may change their numbers.
  for (const auto &[iter, buf] : found)
    if (auto loop = find_loop(nest.nest(), iter)) nest.try_apply(ReplaceWithScalar{buf, *loop});
}

}  // namespace kw
