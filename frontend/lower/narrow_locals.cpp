// Liveness of one cell at a time, on the tree: what a statement does to it has a closed form, so that no
// loop needs a fixed point.
#include "frontend/lower/narrow_locals.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Whether a value of the cell before a statement may be read: always (`reads`), or if it may be read where
/// this way of leaving the statement goes on.
struct Flow {
  bool reads = false, next = true, breaks = false, continues = false;
};

Flow then(const Flow &first, const Flow &second) {
  return {first.reads || (first.next && second.reads), first.next && second.next,
          first.breaks || (first.next && second.breaks), first.continues || (first.next && second.continues)};
}

Flow either(const Flow &a, const Flow &b) {
  return {a.reads || b.reads, a.next || b.next, a.breaks || b.breaks, a.continues || b.continues};
}

/// Where the value of a cell is read behind a place: at the next statement, behind the loop, at its head.
struct Live {
  bool next = false, behind_loop = false, at_head = false;

  bool before(const Flow &f) const {
    return f.reads || (f.next && next) || (f.breaks && behind_loop) || (f.continues && at_head);
  }
};

/// What statements do to one cell, and which loops could have a cell of their own in its place.
class CellFlow {
 public:
  explicit CellFlow(Buf cell) : cell_(std::move(cell)) {}

  /// Calls `found` for each loop that hands no value of the cell on.
  template <class F>
  void for_each_private(const Stmt &root, const Live &after, const F &found) {
    for (const Stmt *s = &root; s; s = chain_next(*s->p)) {
      if (const Seq *list = as<Seq>(*s)) {
        Live live = after;
        for (size_t i = list->items.size(); i-- > 0;) {
          if (i + 1 < list->items.size()) for_each_private(list->items[i], live, found);
          live.next = live.before(of(list->items[i]));
        }
      } else if (const If *n = as<If>(*s)) {
        for_each_private(n->yes, after, found);
        if (n->no) for_each_private(n->no, after, found);
      } else if (const For *loop = as<For>(*s)) {
        in_loop(*s, loop->body, of(loop->body).reads, after.next, found);
      } else if (const While *w = as<While>(*s)) {
        in_loop(*s, w->body, of(*s).reads, after.next, found);
      }
    }
  }

 private:
  template <class F>
  void in_loop(const Stmt &loop, const Stmt &body, bool read_at_head, bool read_behind, const F &found) {
    if (!read_at_head && !read_behind) found(loop);
    bool at_head = read_at_head || read_behind;
    for_each_private(body, {at_head, read_behind, at_head}, found);
  }

  const Flow &of(const Stmt &root) {
    std::vector<const Stmt *> chain;
    for (const Stmt *s = &root; s && !flows_.count(s->p.get()); s = chain_next(*s->p)) chain.push_back(s);
    for (size_t i = chain.size(); i-- > 0;) flows_.emplace(chain[i]->p.get(), flow(*chain[i]));
    return flows_.at(root.p.get());
  }

  /// Of a statement whose successor in the chain is known.
  Flow flow(const Stmt &s) {
    return match(
        s, [&](const Store &n) { return Flow{reads(n.value) || reads(n.index), n.buf != cell_}; },
        [&](const Let &n) { return then({reads(n.value)}, of(n.body)); },
        [&](const Alloc &n) { return then({reads(n.buf->extents)}, of(n.body)); },
        [&](const For &n) { return Flow{reads(n.lo) || reads(n.hi) || of(n.body).reads}; },
        [&](const While &n) {
          const Flow &body = of(n.body);
          return Flow{reads(n.cond) || body.reads, as_int(n.cond) != 1 || body.breaks};
        },
        [&](const Jump &n) {
          bool breaks = n.kind == JumpKind::break_loop;
          return Flow{false, false, breaks, !breaks};
        },
        [&](const If &n) { return then({reads(n.cond)}, either(of(n.yes), n.no ? of(n.no) : Flow{})); },
        [&](const Check &n) { return Flow{reads(n.cond)}; },
        [&](const Seq &n) {
          Flow all;
          for (auto item = n.items.rbegin(); item != n.items.rend(); ++item) all = then(of(*item), all);
          return all;
        });
  }

  bool reads(const Expr &e) const {
    bool found = false;
    walk(e, [&](const Load &n, const Expr &) { found |= n.buf == cell_; });
    return found;
  }
  bool reads(const std::vector<Expr> &list) const {
    return std::any_of(list.begin(), list.end(), [&](const Expr &e) { return reads(e); });
  }

  Buf cell_;
  std::unordered_map<const StmtNode *, Flow> flows_;
};

bool is_cell(const Alloc &n) {
  return n.buf->space == Space::registers && n.buf->extents.empty() && n.fill == Fill::none;
}

int stores_of(const Buf &cell, const Stmt &s) {
  int stores = 0;
  walk(s, [&](const Store &n, const Stmt &) { stores += n.buf == cell; });
  return stores;
}

bool occurs(const Buf &cell, const Stmt &s) {
  bool found = stores_of(cell, s) > 0;
  walk(s, [&](const Load &n, const Expr &) { found |= n.buf == cell; });
  return found;
}

size_t direct_store(const Seq &list, const Buf &cell) {
  auto stores = [&](const Stmt &s) { return as<Store>(s) && as<Store>(s)->buf == cell; };
  return static_cast<size_t>(std::find_if(list.items.begin(), list.items.end(), stores) - list.items.begin());
}

/// True when the one store of the cell runs exactly once in the statement.
bool stored_once(const Stmt &body, const Buf &cell) {
  if (stores_of(cell, body) != 1) return false;
  for (const Stmt *s = &body; s; s = chain_next(*s->p))
    if (const Seq *list = as<Seq>(*s); list && direct_store(*list, cell) < list->items.size()) return true;
  return false;
}

/// The body of a loop with the cell declared in it.
Stmt with_own_cell(const Stmt &body, const Buf &cell) {
  const Sym &name = cell->sym;
  if (stored_once(body, cell)) {
    Sym sym = make_sym(SymKind::local, cell->dtype, name->name, name->loc);
    return rewrite(
        body, [&](const Load &n, const Expr &e) { return n.buf == cell ? ref(sym, e.loc()) : e; },
        [&](const Seq &n, const Stmt &s) {
          size_t at = direct_store(n, cell);
          if (at == n.items.size()) return s;
          std::vector<Stmt> items(n.items.begin(), n.items.begin() + static_cast<std::ptrdiff_t>(at));
          Stmt rest = seq({n.items.begin() + static_cast<std::ptrdiff_t>(at) + 1, n.items.end()});
          items.push_back(let(sym, as<Store>(n.items[at])->value, rest, n.items[at].loc()));
          return seq(std::move(items), s.loc());
        });
  }
  Buf own = make_buf(make_sym(SymKind::buffer, cell->dtype, name->name, name->loc), {}, Space::registers);
  Stmt renamed = rewrite(
      body, [&](const Load &n, const Expr &e) { return n.buf == cell ? load(own, {}, e.loc()) : e; },
      [&](const Store &n, const Stmt &s) {
        return n.buf == cell ? store(own, {}, n.value, s.loc(), n.order) : s;
      });
  return alloc(own, Fill::none, renamed, name->loc);
}

}  // namespace

Func narrow_locals(const Func &f) {
  std::unordered_set<const BufNode *> in_loops;
  auto stored = [&](const Stmt &body) {
    walk(body, [&](const Store &n, const Stmt &) { in_loops.insert(n.buf.get()); });
  };
  walk(
      f.body, [&](const For &n, const Stmt &) { stored(n.body); },
      [&](const While &n, const Stmt &) { stored(n.body); });
  std::unordered_map<const StmtNode *, std::vector<Buf>> private_cells;
  walk(f.body, [&](const Alloc &n, const Stmt &) {
    if (!is_cell(n) || in_loops.count(n.buf.get()) == 0) return;
    CellFlow(n.buf).for_each_private(n.body, {},
                                     [&](const Stmt &loop) { private_cells[loop.p.get()].push_back(n.buf); });
  });
  if (private_cells.empty()) return f;
  auto narrowed = [&](const Stmt &loop, Stmt body) {
    if (auto found = private_cells.find(loop.p.get()); found != private_cells.end())
      for (const Buf &cell : found->second)
        if (stores_of(cell, body) > 0) body = with_own_cell(body, cell);
    return body;
  };
  Func out = f;
  out.body = rewrite(
      f.body,
      [&](const For &n, const Stmt &s, const Stmt &original) {
        For loop = n;
        loop.body = narrowed(original, n.body);
        return loop.body.p == n.body.p ? s : for_loop(std::move(loop), s.loc());
      },
      [&](const While &n, const Stmt &s, const Stmt &original) {
        Stmt body = narrowed(original, n.body);
        return body.p == n.body.p ? s : make_stmt(s.loc(), While{n.cond, body});
      },
      [&](const Alloc &n, const Stmt &s) { return is_cell(n) && !occurs(n.buf, n.body) ? n.body : s; });
  return out;
}

}  // namespace kw
