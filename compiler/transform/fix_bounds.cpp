// Rewrites the loops whose bounds read memory.
#include "transform/passes.h"

#include "ir/loops.h"
#include "ir/rewrite.h"

namespace kw {

Func fix_bounds(const Func &f, const Target &) {
  Func out = f;
  out.body = rewrite(f.body, [&](const For &n, const Stmt &s) {
    std::vector<std::pair<Sym, Expr>> names;
    For loop = n;
    for (Expr *bound : {&loop.lo, &loop.hi}) {
      // a bound that the body cannot change stays in place
      if (!may_change(*bound, n.body, f.overlap)) continue;
      Sym name = make_sym(SymKind::local, DType::i64, "bound", bound->loc());
      names.emplace_back(name, *bound);
      *bound = ref(name, bound->loc());
    }
    if (names.empty()) return s;
    Stmt fixed = for_loop(std::move(loop), s.loc());
    // the lower bound becomes the outermost Let, because bounds are evaluated in source order
    for (size_t i = names.size(); i-- > 0;)
      fixed = let(names[i].first, names[i].second, std::move(fixed), names[i].second.loc());
    return fixed;
  });
  return out;
}

}  // namespace kw
