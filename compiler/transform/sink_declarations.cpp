// Liveness of 64 cells at a time, one bit each, on the tree. The effect of a statement on a cell has a closed
// form, so no loop needs fixed-point iteration.
#include "transform/passes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// A set of cells of one batch, one bit each.
using CellBits = uint64_t;
constexpr CellBits none = 0, all = ~CellBits{0};
constexpr size_t batch_size = 64;

/// The cells whose value from before a statement may be read. `reads`: inside the statement. The other
/// fields: after it, if control leaves the statement in that way.
struct Flow {
  CellBits reads = none, next = all, breaks = none, continues = none;
};

/// Returns the flow of `first`, then `second`. Values that `first` does not overwrite reach `second`.
Flow then(const Flow &first, const Flow &second) {
  return {first.reads | (first.next & second.reads), first.next & second.next,
          first.breaks | (first.next & second.breaks), first.continues | (first.next & second.continues)};
}

/// Returns the flow of a branch that takes one of two sides.
Flow either(const Flow &a, const Flow &b) {
  return {a.reads | b.reads, a.next | b.next, a.breaks | b.breaks, a.continues | b.continues};
}

/// The cells whose values may be read later: in the next statement, after the loop, or at the loop's head.
struct Live {
  CellBits next = none, behind_loop = none, at_head = none;

  CellBits before(const Flow &f) const {
    return f.reads | (f.next & next) | (f.breaks & behind_loop) | (f.continues & at_head);
  }
};

/// Computes the effect of statements on the cells of a batch, and the cells that each loop could declare
/// itself.
class CellFlow {
 public:
  explicit CellFlow(const std::vector<Buf> &cells) {
    for (size_t i = 0; i < cells.size(); ++i) bits_[cells[i].get()] = CellBits{1} << i;
  }

  /// Calls `found` for each loop with the enclosing cells that carry no value out of an iteration.
  template <class F>
  void for_each_loop(const Stmt &root, const F &found) {
    in(root, none, {}, found);
  }

 private:
  template <class F>
  /// Visits the loops of a statement. `declared`: the cells whose Alloc encloses it; `after`: the cells live
  /// after it.
  void in(const Stmt &root, CellBits declared, Live after, const F &found) {
    for (const Stmt *s = &root; s; s = next_in_block(*s->p)) {
      if (const Seq *list = as<Seq>(*s)) {
        Live live = after;
        for (size_t i = list->items.size(); i-- > 0;) {
          if (i + 1 < list->items.size()) in(list->items[i], declared, live, found);
          live.next = live.before(of(list->items[i]));
        }
      } else if (const If *n = as<If>(*s)) {
        in(n->yes, declared, after, found);
        if (n->no) in(n->no, declared, after, found);
      } else if (const Alloc *cell = as<Alloc>(*s)) {
        // a cell does not exist after the scope of its Alloc, so it is live at no exit of the scope
        CellBits others = ~bit(cell->buf);
        declared |= ~others;
        after = {after.next & others, after.behind_loop & others, after.at_head & others};
      } else if (const For *loop = as<For>(*s)) {
        in_loop(*s, loop->body, of(loop->body).reads, declared, after.next, found);
      } else if (const While *w = as<While>(*s)) {
        in_loop(*s, w->body, of(*s).reads, declared, after.next, found);
      }
    }
  }

  template <class F>
  /// Visits one loop. A cell is live at the head of a loop if an iteration, or code after the loop, may read
  /// the value from before. All other declared cells carry no value out of an iteration.
  void in_loop(const Stmt &loop, const Stmt &body, CellBits read_at_head, CellBits declared,
               CellBits read_behind, const F &found) {
    CellBits at_head = read_at_head | read_behind;
    if (CellBits own = declared & ~at_head) found(loop, own);
    in(body, declared, {at_head, read_behind, at_head}, found);
  }

  /// Returns the flow of a statement and of the rest of its block. The chain of Lets is computed from its
  /// end, so long blocks need no recursion.
  const Flow &of(const Stmt &root) {
    std::vector<const Stmt *> chain;
    for (const Stmt *s = &root; s && !flows_.count(s->p.get()); s = next_in_block(*s->p)) chain.push_back(s);
    for (size_t i = chain.size(); i-- > 0;) flows_.emplace(chain[i]->p.get(), flow(*chain[i]));
    return flows_.at(root.p.get());
  }

  /// Returns the flow of a statement whose successor in the chain is already computed.
  Flow flow(const Stmt &s) {
    Flow own{};
    for_each_expression(s, [&](const Expr &e) { own.reads |= reads(e); });
    if (const Store *store = as<Store>(s)) own.next = ~bit(store->buf);
    if (const Let *name = as<Let>(s)) return then(own, of(name->body));
    if (const Alloc *cell = as<Alloc>(s)) {
      Flow body = of(cell->body);
      body.reads &= ~bit(cell->buf);
      for (const Expr &extent : cell->buf->extents) own.reads |= reads(extent);
      return then(own, body);
    }
    if (const Jump *jump = as<Jump>(s)) {
      // a jump never reaches the next statement: every old value leaves through the jump
      bool breaks = jump->kind == JumpKind::break_loop;
      return {none, none, breaks ? all : none, breaks ? none : all};
    }
    if (const If *n = as<If>(s)) return then(own, either(of(n->yes), n->no ? of(n->no) : Flow{}));
    if (const Seq *list = as<Seq>(s)) {
      Flow items;
      for (auto item = list->items.rbegin(); item != list->items.rend(); ++item)
        items = then(of(*item), items);
      return items;
    }
    // a loop may run zero times, so it overwrites nothing for certain (`next` stays all)
    for_each_block(s, [&](const Stmt &body) { own.reads |= of(body).reads; });
    // only a jump leaves `while True`
    if (const While *loop = as<While>(s); loop && as_int(loop->cond) == 1) own.next = of(loop->body).breaks;
    return own;
  }

  CellBits bit(const Buf &b) const {
    auto found = bits_.find(b.get());
    return found == bits_.end() ? none : found->second;
  }
  CellBits reads(const Expr &e) const {
    CellBits found = none;
    walk(e, [&](const Load &n, const Expr &) { found |= bit(n.buf); });
    return found;
  }

  std::unordered_map<const BufNode *, CellBits> bits_;
  std::unordered_map<const StmtNode *, Flow> flows_;
};

/// Returns whether an Alloc declares a cell: a scalar in registers without a fill.
bool is_cell(const Alloc &n) {
  return n.buf->space == Space::registers && n.buf->extents.empty() && n.fill == Fill::none;
}

/// Decides what becomes of each cell that moves into a body: a Let if its one store executes exactly once,
/// else a cell.
class OwnCells {
 public:
  OwnCells(const std::vector<Buf> &cells, const Stmt &body) {
    std::unordered_map<const BufNode *, size_t> stores;
    for (const Buf &b : cells) stores[b.get()] = 0;
    walk(body, [&](const Store &n, const Stmt &) {
      if (auto found = stores.find(n.buf.get()); found != stores.end()) ++found->second;
    });
    // a store in the block of the body itself executes once per iteration; a store in a branch may not
    for (const Stmt *s = &body; s; s = next_in_block(*s->p))
      if (const Seq *list = as<Seq>(*s))
        for (const Stmt &item : list->items)
          if (const Store *n = as<Store>(item))
            if (auto found = stores.find(n->buf.get()); found != stores.end() && found->second == 1)
              names_[n->buf.get()] =
                  make_sym(SymKind::local, n->buf->dtype, n->buf->sym->name, n->buf->sym->loc);
    for (const Buf &b : cells) {
      // a cell that the body does not store to stays where it is
      if (stores[b.get()] == 0 || names_.count(b.get())) continue;
      Sym sym = make_sym(SymKind::buffer, b->dtype, b->sym->name, b->sym->loc);
      cells_[b.get()] = make_buf(std::move(sym), {}, Space::registers);
      order_.push_back(b);
    }
  }

  /// Returns the body with its cells declared in it.
  Stmt declared_in(const Stmt &body) const {
    if (names_.empty() && cells_.empty()) return body;
    Stmt out = rewrite(
        body, [&](const Load &n, const Expr &e) { return read(n, e); },
        [&](const Store &n, const Stmt &s) {
          auto own = cells_.find(n.buf.get());
          return own == cells_.end() ? s : store(own->second, {}, n.value, s.loc(), n.order);
        },
        [&](const Seq &n, const Stmt &s) { return with_names(n, s); });
    for (const Buf &b : order_) out = alloc(cells_.at(b.get()), Fill::none, out, b->sym->loc);
    return out;
  }

 private:
  Expr read(const Load &n, const Expr &e) const {
    if (auto name = names_.find(n.buf.get()); name != names_.end()) return ref(name->second, e.loc());
    auto own = cells_.find(n.buf.get());
    return own == cells_.end() ? e : load(own->second, {}, e.loc());
  }

  /// Replaces the stores of Let cells in a list by Lets over the rest of the list:
  ///   seq(a, t = e, b)    →    seq(a, let(t, e, seq(b)))
  Stmt with_names(const Seq &n, const Stmt &s) const {
    std::vector<Stmt> rest;  // reversed
    bool changed = false;
    for (auto item = n.items.rbegin(); item != n.items.rend(); ++item) {
      const Store *set = as<Store>(*item);
      auto name = set ? names_.find(set->buf.get()) : names_.end();
      if (name == names_.end()) {
        rest.push_back(*item);
        continue;
      }
      changed = true;
      Stmt body = seq({rest.rbegin(), rest.rend()});
      rest = {let(name->second, set->value, std::move(body), item->loc())};
    }
    return changed ? seq({rest.rbegin(), rest.rend()}, s.loc()) : s;
  }

  std::unordered_map<const BufNode *, Sym> names_;
  std::unordered_map<const BufNode *, Buf> cells_;
  std::vector<Buf> order_;  ///< keys of cells_, in order
};

/// Returns, for each loop, the cells that carry no value from one iteration to another or out of the loop.
std::unordered_map<const StmtNode *, std::vector<Buf>> private_cells(const Func &f) {
  std::unordered_set<const BufNode *> in_loops;
  auto stored = [&](const Stmt &body) {
    walk(body, [&](const Store &n, const Stmt &) { in_loops.insert(n.buf.get()); });
  };
  walk(
      f.body, [&](const For &n, const Stmt &) { stored(n.body); },
      [&](const While &n, const Stmt &) { stored(n.body); });
  // only cells that some loop stores to can move
  std::vector<Buf> cells;
  walk(f.body, [&](const Alloc &n, const Stmt &) {
    if (is_cell(n) && in_loops.count(n.buf.get()) > 0) cells.push_back(n.buf);
  });
  std::unordered_map<const StmtNode *, std::vector<Buf>> out;
  for (size_t begin = 0; begin < cells.size(); begin += batch_size) {
    std::vector<Buf> batch(
        cells.begin() + static_cast<std::ptrdiff_t>(begin),
        cells.begin() + static_cast<std::ptrdiff_t>(std::min(begin + batch_size, cells.size())));
    CellFlow(batch).for_each_loop(f.body, [&](const Stmt &loop, CellBits own) {
      for (size_t i = 0; i < batch.size(); ++i)
        if (own >> i & 1) out[loop.p.get()].push_back(batch[i]);
    });
  }
  return out;
}

/// Returns the function without the cells that nothing uses any more.
Func without_unused_cells(Func f) {
  std::unordered_set<const BufNode *> used;
  walk(
      f.body, [&](const Store &n, const Stmt &) { used.insert(n.buf.get()); },
      [&](const Load &n, const Expr &) { used.insert(n.buf.get()); });
  f.body = rewrite(f.body, [&](const Alloc &n, const Stmt &s) {
    return is_cell(n) && used.count(n.buf.get()) == 0 ? n.body : s;
  });
  return f;
}

}  // namespace

Func sink_declarations(const Func &f, const Target &) {
  auto found = private_cells(f);
  if (found.empty()) return f;
  auto narrowed = [&](const Stmt &loop, const Stmt &body) {
    auto cells = found.find(loop.p.get());
    return cells == found.end() ? body : OwnCells(cells->second, body).declared_in(body);
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
      });
  return without_unused_cells(std::move(out));
}

}  // namespace kw
