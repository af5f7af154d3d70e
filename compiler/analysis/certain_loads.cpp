// The first operand of a lazy operator is certain, its others are not.
#include "analysis/certain_loads.h"

#include "ir/match.h"

namespace kw {

void for_each_certain_load(const Expr &e, const std::function<void(const Load &)> &f) {
  match(
      e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &n) { f(n); },
      [&](const Unary &n) { for_each_certain_load(n.a, f); },
      [&](const Binary &n) { for_each_certain_load(n.a, f), for_each_certain_load(n.b, f); },
      [&](const Logic &n) { for_each_certain_load(n.a, f); },
      [&](const Select &n) { for_each_certain_load(n.cond, f); },
      [&](const Cast &n) { for_each_certain_load(n.a, f); },
      [&](const Call &n) {
        for (const Expr &a : n.args) for_each_certain_load(a, f);
      });
}

}  // namespace kw
