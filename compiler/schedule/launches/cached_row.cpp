// Looks at the statements of an iteration in their order.
#include "schedule/launches/cached_row.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/nest/nest.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/launches/linear_grid.h"
#include "schedule/launches/row_accesses.h"
#include "schedule/launches/staging.h"
#include "schedule/tree/condition_parts.h"
#include "schedule/tree/statement_list.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Bytes of the rows of a block. Chosen: seven blocks of 256 threads fit a multiprocessor of 228 KB, which
/// then has 56 of its 64 warps.
constexpr int64_t most_row_bytes = 32 << 10;

/// What a block loop does with the row, in the order of its statements.
struct Use {
  bool is_straight = true;  ///< all accesses are at the one place of the iteration
  bool stores_first = false, always_stores = false, loads = false, loads_after = false;
};

Use use_of(const For &n, const Buf &b, std::vector<Expr> &place) {
  Use out;
  auto at = [&](const std::vector<Expr> &index) {
    bool fits = !index.empty() && is_iterator(index.back(), n.iter);
    for (size_t d = 0; d + 1 < index.size(); ++d) {
      fits = fits && !mentions(index[d], n.iter) && !has_load(index[d]);
      walk(n.body, [&](const Let &l, const Stmt &) { fits = fits && !mentions(index[d], l.sym); });
    }
    if (place.empty() && fits) place = index;
    for (size_t d = 0; fits && d + 1 < index.size(); ++d) fits = equal(index[d], place[d]);
    out.is_straight = out.is_straight && fits;
  };
  walk(n.body, [&](const Store &s, const Stmt &) {
    if (s.buf == b) at(s.index);
  });
  for_each_evaluated(n.body, [&](const Expr &root) {
    walk(root, [&](const Load &l, const Expr &) {
      if (l.buf == b) at(l.index), out.loads = true;
    });
  });
  out.stores_first = is_stored_first(n.body, b);
  bool has_stored = false;
  for_each_in_block(n.body, [&](const Stmt &s) {
    const Store *store = as<Store>(s);
    bool holds_store = !as<Let>(s) && !as<Alloc>(s) && stores_to(s, b), reads = false;
    for_each_own(s, [&](const Expr &e) { reads = reads || loads(e, b); });
    // In a conditional that stores, the load may be the later one.
    out.loads_after = out.loads_after || (reads && (has_stored || (holds_store && !store)));
    has_stored = has_stored || holds_store;
    out.always_stores = out.always_stores || (holds_store && store);
  });
  return out;
}

/// Returns whether bounds are the same for all teams, and known before them.
bool is_fixed(const For &n, const For &grid) {
  std::unordered_set<const SymNode *> own{grid.iter.get()};
  walk(
      grid.body, [&](const Let &l, const Stmt &) { own.insert(l.sym.get()); },
      [&](const For &l, const Stmt &) { own.insert(l.iter.get()); });
  bool fixed = true;
  for (const Expr &bound : {n.lo, n.hi}) {
    fixed = fixed && !has_load(bound);
    walk(bound, [&](const Ref &r, const Expr &) { fixed = fixed && !own.count(r.sym.get()); });
  }
  return fixed;
}

/// Returns whether the conditions around a loop say that a number is at most `most`.
bool is_surely_at_most(const Stmt &region, const For &loop, const Expr &number, int64_t most) {
  bool surely = false;
  for_each_loop(region, [&](const Stmt &, const For &one, const NestScope &scope) {
    if (&one != &loop) return;
    for (const ScopeItem &item : scope) {
      if (!item.is_condition()) continue;
      for (const auto &[part, holds] : condition_parts(item.expr, item.holds)) {
        const Binary *n = as<Binary>(part);
        // not (c <= number)
        if (n && !holds && n->op == BinOp::le && equal(n->b, number))
          surely = surely || as_int(n->a).value_or(INT64_MAX) - 1 <= most;
      }
    }
  });
  return surely || as_int(number).value_or(INT64_MAX) <= most;
}

/// Two blocks of statements that one loop executes after the other for each of its iterations.
struct Halves {
  Stmt terms, sums;
};

/// Cuts the body of a loop behind the store of its term, if sums in the order `lanes` are all that follows.
/// All threads of a block can then compute terms, while each of its warps sums 4,096 of them.
std::optional<Halves> cut(const For &n, const CachedRow &row, const Load &term) {
  StatementList all = statements_of(n.body);
  auto is_term = [&](const ListItem &i) {
    const Store *s = as<Store>(i.s);
    return s && s->buf == row.buf;
  };
  auto at = std::find_if(all.begin(), all.end(), is_term);
  if (at == all.end() || at + 1 == all.end()) return {};
  StatementList terms(all.begin(), at + 1), sums(at + 1, all.end());
  for (const ListItem &i : sums) {
    const Store *s = as<Store>(i.s);
    if (i.opens || !s || s->order != Order::lanes || s->buf == row.buf) return {};
  }
  // What the sums take of the first part is its term, or what is not in it.
  Stmt rest = statement_of(sums);
  Substitution with;
  const Ref *named = as<Ref>(as<Store>(at->s)->value);
  bool is_own = named && std::any_of(terms.begin(), terms.end(), [&](const ListItem &i) {
                  const Let *l = i.opens ? as<Let>(i.s) : nullptr;
                  return l && l->sym == named->sym;
                });
  if (is_own) with.values[named->sym.get()] = load(term.buf, term.index);
  bool is_apart = true;
  for (const ListItem &i : terms) {
    const Let *l = i.opens ? as<Let>(i.s) : nullptr;
    is_apart = is_apart && (!i.opens || l);
    if (!l || (is_own && named->sym == l->sym)) continue;
    for_each_evaluated(rest, [&](const Expr &e) { is_apart = is_apart && !mentions(e, l->sym); });
  }
  if (!is_apart) return {};
  return Halves{statement_of(terms), substituted(rest, with)};
}

}  // namespace

std::optional<CachedRow> cacheable_row(const For &grid, const Buf &buf) {
  CachedRow out{buf, {}, nullptr, false, 0};
  std::vector<Expr> place;
  if (grid.kind != ForKind::grid || buf->rank() == 0) return {};
  bool fits = true, is_read = false;
  const For &teams = *grid_nest(grid).back();
  for_each_in_block(teams.body, [&](const Stmt &s) {
    const For *n = as<For>(s);
    if (!n || n->kind != ForKind::block) {
      for_each_own(s, [&](const Expr &e) { fits = fits && !loads(e, buf); });
      if (!as<Let>(s) && !as<Alloc>(s)) fits = fits && !stores_to(s, buf);
      return;
    }
    if (!accesses(n->body, buf)) return;
    Use use = use_of(*n, buf, place);
    fits = fits && use.is_straight && is_straight(n->body) && n->step == 1 && is_fixed(*n, grid);
    fits = fits && (out.loops.empty() ? use.stores_first
                                      : equal(n->lo, out.loops[0]->lo) && equal(n->hi, out.loops[0]->hi));
    out.is_read_after = use.always_stores ? use.loads_after : out.is_read_after || use.loads;
    if (stores_to(n->body, buf)) out.last_store = use.always_stores ? n : nullptr;
    is_read = is_read || (use.loads && !out.loops.empty());
    out.loops.push_back(n);
  });
  if (!fits || !is_read) return {};
  int64_t per_block = std::max<int64_t>(1, teams.how.per_block);
  out.elements = most_row_bytes / per_block / static_cast<int64_t>(item_size(buf->dtype));
  return out;
}

bool surely_fits(const Stmt &region, const For &grid, const CachedRow &row) {
  return is_surely_at_most(region, grid, trips_of(*row.loops[0]), row.elements);
}

Stmt with_cached_row(const Stmt &region, const Stmt &at, const CachedRow &row) {
  bool fits = surely_fits(region, *as<For>(at), row);
  const For *teams = grid_nest(*as<For>(at)).back();
  Buf kept = make_buf(make_sym(SymKind::buffer, row.buf->dtype, row.buf->sym->name + "_row"),
                      {const_int(row.elements)}, Space::shared);
  Stmt cached = rewrite(at, [&](const For &n, const Stmt &s, const Stmt &original) {
    if (as<For>(original) == teams) {
      For own = n;
      own.body = alloc(kept, Fill::none, n.body, s.loc());
      return for_loop(std::move(own), s.loc());
    }
    auto found = std::find(row.loops.begin(), row.loops.end(), as<For>(original));
    if (found == row.loops.end()) return s;
    bool is_last = *found == row.last_store, leaves = !row.last_store || is_last;
    std::vector<Expr> place{sub(kw::ref(n.iter), n.lo)};
    bool keeps = !is_last || row.is_read_after;
    auto kept_in = [&](const Stmt &body) {
      For changed = n;
      changed.body = rewrite(
          body,
          [&](const Load &l, const Expr &e) { return l.buf == row.buf ? load(kept, place, e.loc()) : e; },
          [&](const Store &x, const Stmt &old) {
            if (x.buf != row.buf || !keeps) return old;
            Stmt own = store(kept, place, x.value, old.loc(), x.order);
            if (!leaves) return own;
            return seq({own, store(x.buf, x.index, load(kept, place), old.loc())}, old.loc());
          });
      return for_loop(std::move(changed), s.loc());
    };
    bool is_block = n.how.threads == static_cast<uint32_t>(block_team_threads);
    auto halves = is_block && keeps ? cut(n, row, Load{kept, place}) : std::nullopt;
    if (!halves) return kept_in(n.body);
    // Without the sums, threads may execute several terms side by side.
    For terms = *as<For>(kept_in(halves->terms));
    plan_team(terms);
    return seq({for_loop(std::move(terms), s.loc()), copy_of(kept_in(halves->sums))}, s.loc());
  });
  if (fits) return cached;
  Expr room = binary(BinOp::le, trips_of(*row.loops[0]), const_int(row.elements));
  return if_else(room, copy_of(cached), at, at.loc());
}

}  // namespace kw
