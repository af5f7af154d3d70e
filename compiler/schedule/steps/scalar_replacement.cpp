// Reads the nest only if a loop carries a value.
#include "schedule/steps/steps.h"

#include "analysis/nest/access_stride.h"
#include "ir/walk.h"
#include "schedule/tree/carried_values.h"

namespace kw {

namespace {

/// Directives keep the iterators of loops, but may change their numbers.
void replace(LoopNest &nest, const std::vector<std::pair<Sym, Buf>> &values) {
  for (const auto &[iter, buf] : values)
    if (auto loop = find_loop(nest.nest(), iter)) nest.try_apply(ReplaceWithScalar{buf, *loop});
}

}  // namespace

void scalar_replacement(LoopNest &nest) {
  std::vector<std::pair<Sym, Buf>> found;
  walk(nest.region(), [&](const For &n, const Stmt &) {
    if (std::vector<CarriedValue> values = carried_values(n); !values.empty())
      found.emplace_back(n.iter, values.front().buf);
  });
  replace(nest, found);
}

void replace_carried_values(LoopNest &nest, const std::vector<Sym> &loops) {
  std::vector<std::pair<Sym, Buf>> found;
  for (const Sym &iter : loops)
    for (const CarriedValue &v : carried_values(*nest.nest().loops[*find_loop(nest.nest(), iter)].loop))
      found.emplace_back(iter, v.buf);
  replace(nest, found);
}

}  // namespace kw
