// One rewrite of the loops whose bounds read memory.
#include "frontend/lower/fix_bounds.h"

#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Whether the bound reads memory that the body may write.
bool may_change(const Expr &bound, const Stmt &body, Overlap overlap) {
  if (!has_load(bound)) return false;
  std::unordered_set<const BufNode *> written;
  bool argument = false;
  walk(body, [&](const Store &n, const Stmt &) {
    written.insert(n.buf.get());
    argument |= n.buf->space == Space::param;
  });
  bool found = false;
  walk(bound, [&](const Load &n, const Expr &) {
    bool shared = overlap == Overlap::possible && argument && n.buf->space == Space::param;
    found |= shared || written.count(n.buf.get()) > 0;
  });
  return found;
}

}  // namespace

Func fix_bounds(const Func &f, Overlap overlap) {
  Func out = f;
  out.body = rewrite(f.body, [&](const For &n, const Stmt &s) {
    std::vector<std::pair<Sym, Expr>> names;
    For loop = n;
    for (Expr *bound : {&loop.lo, &loop.hi}) {
      if (!may_change(*bound, n.body, overlap)) continue;
      Sym name = make_sym(SymKind::local, DType::i64, "bound", bound->loc());
      names.emplace_back(name, *bound);
      *bound = ref(name, bound->loc());
    }
    if (names.empty()) return s;
    Stmt fixed = for_loop(std::move(loop), s.loc());
    for (size_t i = names.size(); i-- > 0;)
      fixed = let(names[i].first, names[i].second, std::move(fixed), names[i].second.loc());
    return fixed;
  });
  return out;
}

}  // namespace kw
