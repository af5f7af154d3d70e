// Builds the statement of a list from its end, because a Let scopes over the items after it.
#include "frontend/lower/block_builder.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

/// Nests the items from the last to the first:
///
///   a; let x = e; b; c    →    seq(a, let(x, e, seq(b, c)))
Stmt BlockBuilder::finish(const std::vector<Buf> &cells) const {
  // the items read so far, as one statement
  Stmt tail;
  std::vector<Stmt> run;  // reversed
  auto flush = [&] {
    std::reverse(run.begin(), run.end());
    if (tail) run.push_back(tail);
    tail = run.empty() ? Stmt{} : seq(std::move(run));
    run.clear();
  };
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    if (item->stmt) {
      run.push_back(item->stmt);
      continue;
    }
    flush();
    if (!tail) tail = seq({});
    tail = item->sym ? let(item->sym, item->value, tail, item->loc)
                     : alloc(item->buf, item->fill, tail, item->loc);
  }
  flush();
  if (!tail) tail = seq({});
  // cells are declared around the whole list, because any statement of it may store to them
  for (auto cell = cells.rbegin(); cell != cells.rend(); ++cell)
    tail = alloc(*cell, Fill::none, tail, (*cell)->sym->loc);
  return tail;
}

namespace {

/// Returns whether a statement loads or stores an element of a tensor. Cells have no index and do not count.
bool uses_elements(const Stmt &s) {
  bool found = false;
  walk(
      s, [&](const Load &n, const Expr &) { found |= !n.index.empty(); },
      [&](const Store &n, const Stmt &) { found |= !n.index.empty(); });
  return found;
}

}  // namespace

bool BlockBuilder::uses_elements_from(size_t place) const {
  return std::any_of(items_.begin() + static_cast<std::ptrdiff_t>(place), items_.end(), [](const Item &item) {
    return !item.is_check && (item.stmt ? uses_elements(item.stmt) : item.sym && reads_elements(item.value));
  });
}

void read_elements(const Expr &e, BlockBuilder &builder) {
  if (reads_elements(e)) builder.add_let(make_sym(SymKind::local, e.dtype(), "unread", e.loc()), e, e.loc());
}

}  // namespace kw
