// Walks loop bodies without inner loops, and follows the definitions of locals.
#include "ir/loops.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

/// Divides by a step other than 1 in u64, which holds the distance of any two i64 values.
Expr steps_between(const Expr &low, const Expr &high, int64_t step) {
  uint64_t size = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  if (size == 1) return sub(high, low);
  auto word = [](const Expr &e) { return cast(DType::u64, e); };
  Expr steps = binary(BinOp::floor_div, sub(word(high), word(low)), constant(Value{DType::u64, size}));
  return cast(DType::i64, steps);
}

/// Gives these forms for steps of 3 and of 1:
///     range(lo, hi, 3)   →   (max(hi - 1, lo) - lo) // 3 + 1 if lo < hi else 0
///     range(lo, hi)      →   hi - lo if lo < hi else 0
Expr trips_between(const Expr &lo, const Expr &hi, int64_t step) {
  if (step == 1 && as_int(lo) == 0 && is_extent(hi)) return hi;  // >= 0
  const Expr &low = step > 0 ? lo : hi, &high = step > 0 ? hi : lo;
  // The space for sums is planned from both sides of the select: this side gives one trip at least.
  auto last = [&] { return binary(BinOp::max, sub(high, const_int(1)), low); };
  bool is_one = step == 1 || step == -1;
  Expr all = is_one ? sub(high, low) : add(steps_between(low, last(), step), const_int(1));
  return select(binary(BinOp::lt, low, high), all, const_int(0));
}

Expr trips_of(const For &n) { return trips_between(n.lo, n.hi, n.step); }

bool accumulates_by_atomics(const For &n, const Buf &b) {
  return std::find(n.atomics.begin(), n.atomics.end(), b) != n.atomics.end();
}

bool fills_vector_register(const For &n) {
  bool fills = false;
  if (n.kind != ForKind::vector) return false;
  for_each_statement(n.body, [&](const Stmt &s) {
    const Store *to = as<Store>(s);
    // stores in inner loops do not count: the iterations of those are not lanes
    fills |= to && to->buf->space == Space::registers && to->buf->rank() == 1;
    return !as<For>(s) && !as<While>(s);
  });
  return fills;
}

bool fits_one_vector(const For &n) {
  return n.kind == ForKind::vector && n.how.max_trips > 0 && n.how.max_trips <= n.how.vector_width;
}

const For *loop_to_collapse(const For &n) {
  std::unordered_set<const SymNode *> made{n.iter.get()};
  // the Lets before the inner loop have a value only inside `n`, so that its bounds must not use them
  const Stmt *s = &n.body;
  for (; as<Let>(*s); s = &as<Let>(*s)->body) made.insert(as<Let>(*s)->sym.get());
  const For *inner = as<For>(*s);
  bool parallel = n.kind == ForKind::parallel && inner && inner->kind == ForKind::parallel;
  if (!parallel || n.how.chunk || inner->how.chunk) return nullptr;
  bool apart = true;
  for (const Expr &end : {inner->lo, inner->hi})
    walk(
        end, [&](const Ref &r, const Expr &) { apart = apart && !made.count(r.sym.get()); },
        [&](const Load &, const Expr &) { apart = false; });
  return apart ? inner : nullptr;
}

const For *only_loop(const Stmt &body) {
  const Stmt *s = &body;
  while (const Let *n = as<Let>(*s)) s = &n->body;
  return as<For>(*s);
}

bool holds_long_loop(const Stmt &root) {
  bool found = false;
  for_each_statement(root, [&](const Stmt &s) {
    const For *n = as<For>(s);
    const Alloc *alloc = as<Alloc>(s);  // filling a buffer is a loop
    found |= as<While>(s) || (n && !fills_vector_register(*n) && !fits_one_vector(*n)) ||
             (alloc && alloc->fill != Fill::none);
    return !found;
  });
  return found;
}

bool always_jumps(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    // control does not pass a statement that always jumps: one statement of the chain decides
    if (as<Jump>(*s)) return true;
    const If *n = as<If>(*s);
    if (n && n->no && always_jumps(n->yes) && always_jumps(n->no)) return true;
    const Seq *list = as<Seq>(*s);
    for (size_t i = 0; list && i + 1 < list->items.size(); ++i)
      if (always_jumps(list->items[i])) return true;
  }
  return false;
}

Stmt number_loops(const Stmt &body) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, LoopId> of_place;
  std::unordered_map<const SymNode *, LoopId> ids;
  LoopId count = 0;
  // first all numbers in source order, then the loops that carry them: nodes are immutable
  walk(body, [&](const For &n, const Stmt &) {
    Loc at = n.iter->loc;
    ids[n.iter.get()] =
        at.known() ? of_place.try_emplace({at.source, at.begin, at.end}, count + 1).first->second : count + 1;
    count = std::max(count, ids[n.iter.get()]);
  });
  return rewrite(body, [&](const For &n, const Stmt &s) {
    For loop = n;
    loop.id = ids.at(n.iter.get());
    return for_loop(std::move(loop), s.loc());
  });
}

/// Skips inner loops, because their jumps end only them.
Jumps jumps_of(const Stmt &body) {
  Jumps out;
  for_each_statement(body, [&](const Stmt &s) {
    if (const Jump *n = as<Jump>(s)) {
      bool breaks = n->kind == JumpKind::break_loop;
      if (breaks && !out.breaks) out.first_break = s.loc();
      (breaks ? out.breaks : out.continues) = true;
    }
    return !as<For>(s) && !as<While>(s);
  });
  return out;
}

bool may_change(const Expr &e, const Stmt &by, Overlap overlap) {
  std::unordered_set<const BufNode *> read;
  bool reads_argument = false, found = false;
  walk(e, [&](const Load &n, const Expr &) {
    read.insert(n.buf.get());
    reads_argument |= n.buf->space == Space::param;
  });
  // values without loads never change
  if (read.empty()) return false;
  walk(by, [&](const Store &n, const Stmt &) {
    bool shared = overlap == Overlap::possible && reads_argument && n.buf->space == Space::param;
    found |= shared || read.count(n.buf.get()) > 0;
  });
  return found;
}

LoopInvariance::LoopInvariance(const For &loop, Overlap overlap) : own_(loop.iter.get()) {
  walk(
      loop.body, [&](const Let &n, const Stmt &) { locals_.emplace(n.sym.get(), n.value); },
      [&](const For &n, const Stmt &) { inner_.insert(n.iter.get()); },
      [&](const Store &n, const Stmt &) {
        written_.insert(n.buf.get());
        writes_arguments_ |= overlap == Overlap::possible && n.buf->space == Space::param;
      },
      // each iteration makes a buffer of its own, so that it counts as written
      [&](const Alloc &n, const Stmt &) { written_.insert(n.buf.get()); });
}

bool LoopInvariance::changes(const std::vector<Expr> &list, bool inner_iterators) const {
  std::vector<Expr> parts = list;
  std::unordered_set<const SymNode *> seen;
  bool found = false;
  // the list grows in the loop: every local that occurs adds its definition, once
  for (size_t i = 0; i < parts.size() && !found; ++i)
    walk(
        Expr(parts[i]),
        [&](const Load &n, const Expr &) {
          found |= written_.count(n.buf.get()) > 0 || (writes_arguments_ && n.buf->space == Space::param);
        },
        [&](const Ref &n, const Expr &) {
          const SymNode *sym = n.sym.get();
          found |= sym == own_ || (inner_iterators && inner_.count(sym) > 0);
          auto local = locals_.find(sym);
          if (local != locals_.end() && seen.insert(sym).second) parts.push_back(local->second);
        });
  return found;
}

bool LoopInvariance::holds(const std::vector<Expr> &list) const { return !changes(list, true); }
bool LoopInvariance::holds_at_one_place(const std::vector<Expr> &list) const { return !changes(list, false); }

Expr LoopInvariance::without_locals(const Expr &e) const {
  return rewrite(e, [&](const Ref &n, const Expr &r) {
    auto local = locals_.find(n.sym.get());
    return local == locals_.end() ? r : without_locals(local->second);
  });
}

}  // namespace kw
