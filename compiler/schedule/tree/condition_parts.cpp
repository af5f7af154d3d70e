// Goes down both sides as long as they are of the same kind.
#include "schedule/tree/condition_parts.h"

#include "ir/match.h"

namespace kw {

std::vector<std::pair<Expr, bool>> condition_parts(const Expr &condition, bool holds) {
  const Logic *n = as<Logic>(condition);
  if (!n || n->is_and != holds) return {{condition, holds}};
  std::vector<std::pair<Expr, bool>> out = condition_parts(n->a, holds), more = condition_parts(n->b, holds);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace kw
