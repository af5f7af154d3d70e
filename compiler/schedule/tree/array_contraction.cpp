// Counts accesses in the loop and in the whole tree. If the loop has fewer, the buffer stays an array.
#include "schedule/tree/array_contraction.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/tree/statement_list.h"

namespace kw {

namespace {

/// The number of loads and stores of one buffer in a tree.
struct Uses {
  size_t loads = 0, stores = 0;
  friend bool operator==(const Uses &, const Uses &) = default;
};

Uses uses_of(const Stmt &root, const Buf &buf) {
  Uses out;
  walk(root, [&](const Store &n, const Stmt &) { out.stores += n.buf == buf; });
  for_each_evaluated(
      root, [&](const Expr &e) { walk(e, [&](const Load &n, const Expr &) { out.loads += n.buf == buf; }); });
  return out;
}

/// Returns the first statement of the body that uses the buffer if it is a store that does not read the
/// buffer; else null.
const Store *first_use(const Stmt &body, const Buf &buf) {
  for (const ListItem &link : statements_of(body)) {
    // The value of a Let may read the buffer; the head of an Alloc accesses nothing.
    if (link.opens) {
      const Let *n = as<Let>(link.s);
      bool reads = false;
      if (n) walk(n->value, [&](const Load &l, const Expr &) { reads = reads || l.buf == buf; });
      if (reads) return nullptr;
      continue;
    }
    Uses uses = uses_of(link.s, buf);
    if (uses == Uses{}) continue;
    const Store *n = as<Store>(link.s);
    return n && n->buf == buf && uses.loads == 0 ? n : nullptr;
  }
  return nullptr;
}

}  // namespace

bool is_temporary(const Stmt &region, const Buf &buf) {
  bool found = false;
  walk(region, [&](const Alloc &n, const Stmt &) { found = found || n.buf == buf; });
  return found && buf->rank() > 0 && buf->space != Space::constant;
}

bool uses_one_element(const Stmt &region, const For &loop, const Buf &buf) {
  const Store *first = first_use(loop.body, buf);
  if (!first || !(uses_of(region, buf) == uses_of(loop.body, buf))) return false;
  // A subscript that reads memory could name another element later in the same iteration.
  bool fine = std::none_of(first->index.begin(), first->index.end(), has_load);
  walk(
      loop.body,
      [&](const Load &n, const Expr &) { fine = fine && (n.buf != buf || equal(n.index, first->index)); },
      [&](const Store &n, const Stmt &) { fine = fine && (n.buf != buf || equal(n.index, first->index)); },
      [&](const Alloc &n, const Stmt &) { fine = fine && n.buf != buf; });
  return fine;
}

Stmt contracted(const Stmt &region, const For &loop, const Buf &buf) {
  Buf cell =
      make_buf(make_sym(SymKind::local, buf->dtype, buf->sym->name, buf->sym->loc), {}, Space::registers);
  auto scalars = [&](const Stmt &body) {
    return rewrite(
        body, [&](const Load &n, const Expr &e) { return n.buf == buf ? load(cell, {}, e.loc()) : e; },
        [&](const Store &n, const Stmt &s) {
          return n.buf == buf ? store(cell, {}, n.value, s.loc(), n.order) : s;
        });
  };
  Stmt inside = replace_loop(region, &loop, [&](const Stmt &s) {
    For changed = *as<For>(s);
    changed.body = alloc(cell, Fill::none, scalars(changed.body), buf->sym->loc);
    return StatementList{{loop_like(s, std::move(changed))}};
  });
  // No access to the array is left, so its Alloc goes.
  return rewrite(inside, [&](const Alloc &n, const Stmt &s) { return n.buf == buf ? n.body : s; });
}

}  // namespace kw
