// Walks the blocks of the region.
#include "schedule/gpu/first_loops.h"

#include "analysis/nest/access_stride.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

static void look_into(const LoopNest &nest, const Stmt &root,
                      const std::function<Choice(const For &, uint32_t)> &choose, std::vector<Sym> &out) {
  for_each_in_block(root, [&](const Stmt &s) {
    const For *n = as<For>(s);
    Choice choice = n ? choose(*n, *find_loop(nest.nest(), n->iter)) : Choice::enter;
    if (choice == Choice::take) out.push_back(n->iter);
    if (choice == Choice::enter)
      for_each_block(s, [&](const Stmt &inner) { look_into(nest, inner, choose, out); });
  });
}

std::vector<Sym> first_loops(const LoopNest &nest,
                             const std::function<Choice(const For &, uint32_t)> &choose) {
  std::vector<Sym> out;
  look_into(nest, nest.region(), choose, out);
  return out;
}

}  // namespace kw
