// Notes each access; one at another place, or that only some iterations make, refuses its array.
#include "schedule/launches/row_accesses.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/certain_loads.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

std::vector<RowAccess> row_accesses(const For &loop,
                                    const std::function<bool(const std::vector<Expr> &)> &is_place) {
  std::vector<RowAccess> out;
  std::unordered_set<const BufNode *> refused;
  auto note = [&](const Buf &b, const std::vector<Expr> &index, bool RowAccess::*how) {
    if (b->space == Space::registers) return;
    if (b->space == Space::constant || !is_place(index)) refused.insert(b.get());
    auto known = std::find_if(out.begin(), out.end(), [&](const RowAccess &r) { return r.buf == b; });
    if (known == out.end()) known = out.insert(out.end(), {b, index});
    if (how) (*known).*how = true;
    if (!equal(known->index, index)) refused.insert(b.get());
  };
  // What an iteration loads under a condition exists if it loads it in any case, too.
  std::vector<Load> certain;
  for_each_in_block(loop.body, [&](const Stmt &s) {
    for_each_expression(
        s, [&](const Expr &e) { for_each_certain_load(e, [&](const Load &l) { certain.push_back(l); }); });
  });
  auto refuse = [&](const Expr &e) {
    walk(e, [&](const Load &l, const Expr &) {
      bool exists = std::any_of(certain.begin(), certain.end(),
                                [&](const Load &c) { return c.buf == l.buf && equal(c.index, l.index); });
      if (!exists) refused.insert(l.buf.get());
    });
  };
  walk(
      loop.body, [&](const Store &s, const Stmt &) { note(s.buf, s.index, &RowAccess::is_stored); },
      [&](const If &i, const Stmt &) {
        for (const Stmt &side : {i.yes, i.no}) {
          if (!side) continue;
          for_each_evaluated(side, refuse);
          walk(side, [&](const Store &s, const Stmt &) { refused.insert(s.buf.get()); });
        }
      },
      [&](const Select &s, const Expr &) { refuse(s.yes), refuse(s.no); },
      [&](const Logic &l, const Expr &) { refuse(l.b); });
  // What an iteration has stored it need not find there.
  std::unordered_set<const BufNode *> stored;
  auto note_loads = [&](const Expr &root) {
    walk(root, [&](const Load &l, const Expr &) {
      note(l.buf, l.index, stored.count(l.buf.get()) ? nullptr : &RowAccess::is_loaded);
    });
  };
  for_each_in_block(loop.body, [&](const Stmt &s) {
    for_each_own(s, note_loads);
    if (const Store *n = as<Store>(s)) stored.insert(n->buf.get());
  });
  std::erase_if(out, [&](const RowAccess &r) { return refused.count(r.buf.get()); });
  return out;
}

bool can_copy_ahead(const RowAccess &r) { return r.is_loaded && item_size(r.buf->dtype) >= 4; }

bool is_straight(const Stmt &s) {
  bool straight = true;
  walk(
      s, [&](const For &, const Stmt &) { straight = false; },
      [&](const While &, const Stmt &) { straight = false; },
      [&](const Jump &, const Stmt &) { straight = false; },
      [&](const Check &, const Stmt &) { straight = false; },
      [&](const Alloc &n, const Stmt &) { straight = straight && n.buf->rank() == 0; });
  return straight;
}

}  // namespace kw
