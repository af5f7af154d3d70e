// Hoists the checks that can run before the kernel, then the checks that can leave single loops.
#include "transform/passes.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/equal.h"
#include "ir/loops.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "transform/place_checks.h"

namespace kw {

namespace {

constexpr int64_t block_size = 1024;  ///< iterations between two tests for a failed check

using Symbols = std::unordered_map<const SymNode *, Expr>;
using Buffers = std::unordered_set<const BufNode *>;

Expr replaced(const Expr &e, const Symbols &by) {
  return rewrite(e, [&](const Ref &n, const Expr &same) {
    auto found = by.find(n.sym.get());
    return found == by.end() ? same : found->second;
  });
}

bool is_cheap(BinOp op) { return op != BinOp::floor_div && op != BinOp::floor_mod && op != BinOp::true_div; }

Buffers stored_in(const Stmt &s) {
  Buffers out;
  for_each_store(s, [&](const Stmt &, const Store &n, const auto &) { out.insert(n.buf.get()); });
  return out;
}

/// Returns the condition that the loop runs at least once; null if extents of at least 1 make that certain.
Expr runs(const For &n, const Expr &lo, const Expr &hi) {
  if (n.step > 0 && as_int(lo) == 0 && is_extent(hi)) return {};
  Expr cond = n.step > 0 ? binary(BinOp::lt, lo, hi) : binary(BinOp::lt, hi, lo);
  return as_int(cond) == 1 ? Expr{} : cond;
}

/// Returns whether a nest stores to places that are data, and the order of its outermost loop shows in the
/// result. Threads can then share only an inner loop, and a check in it keeps it from going outwards:
///     for i: for j: check(idx[i] < m); y[idx[i], j] += v[i, j]
bool is_ordered_scatter(const For &nest, const Func &f) {
  bool has_inner = false, found = false;
  walk(nest.body, [&](const For &, const Stmt &) { has_inner = true; });
  walk(nest.body, [&](const Check &c, const Stmt &) {
    const Buf &buf = f.sites[c.site].buf;
    if (!buf || found || can_be_atomic(nest.body, buf)) return;
    for_each_store(nest.body, [&](const Stmt &, const Store &s, const auto &) {
      bool is_own = std::any_of(s.index.begin(), s.index.end(),
                                [&](const Expr &e) { return mentions(e, nest.iter) && !has_load(e); });
      found = found || (s.buf == buf && !is_own);
    });
  });
  return has_inner && found;
}

/// A check with the loops that its condition depends on, outermost first.
struct EarlyCheck {
  Expr cond;  ///< over iterators, extents, parameters and arguments
  uint32_t site;
  Loc loc;
  std::vector<const For *> loops;
  std::vector<Expr> only_if;  ///< all must hold: every other enclosing loop runs, and the guards hold
  const StmtNode *statement = nullptr, *nest = nullptr;  ///< the check; the outermost loop around it
};

/// Finds the checks that may run before the kernel; with `only_scatters`, those of ordered scatters.
class EarlyChecks {
 public:
  EarlyChecks(const Func &f, bool only_scatters)
      : f_(f), only_scatters_(only_scatters), stored_(stored_in(f.body)) {
    visit(f.body);
    while (drop_unprotected(f)) {
    }
    for (const EarlyCheck &c : found) statements.insert(c.statement);
  }

  /// Returns the bounds of a loop over extents, parameters and outer iterators.
  std::pair<Expr, Expr> bounds_of(const For &n) const {
    return {replaced(n.lo, values_), replaced(n.hi, values_)};
  }

  std::vector<EarlyCheck> found;
  std::unordered_set<const StmtNode *> statements;

 private:
  void visit(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Let *n = as<Let>(s)) values_[n->sym.get()] = replaced(n->value, values_);
      if (const Check *n = as<Check>(s)) note(*n, s);
      if (const If *n = as<If>(s)) guarded(*n);
      if (const For *n = as<For>(s); n && !jumps_of(n->body).any()) {
        if (loops_.empty() && only_scatters_ && !is_ordered_scatter(*n, f_)) return;
        if (loops_.empty()) nest_ = s.p.get();
        loops_.push_back(n);
        visit(n->body);
        loops_.pop_back();
      }
    });
  }

  /// Visits a conditional. A condition on the call's own scalars and sizes guards early checks, too.
  void guarded(const If &n) {
    Expr cond = replaced(n.cond, values_);
    if (!is_of_call(cond)) return;
    guards_.push_back(cond);
    visit(n.yes);
    guards_.back() = unary(UnOp::logical_not, cond, cond.loc());
    if (n.no) visit(n.no);
    guards_.pop_back();
  }

  /// Returns whether an expression is cheap integer arithmetic on values that are known before the kernel
  /// begins.
  bool is_early(const Expr &e, bool may_load) const {
    bool fine = true;
    walk(
        e, [&](const Load &n, const Expr &) { fine = fine && may_load && is_constant(n.buf); },
        [&](const Ref &n, const Expr &) { fine = fine && n.sym->kind != SymKind::local; },
        [&](const Call &, const Expr &) { fine = false; }, [&](const Logic &, const Expr &) { fine = false; },
        [&](const Select &, const Expr &) { fine = false; },
        [&](const Binary &n, const Expr &) { fine = fine && is_cheap(n.op) && !is_float(n.a.dtype()); },
        [&](const Cast &n, const Expr &) { fine = fine && !is_float(n.a.dtype()); });
    return fine;
  }
  bool is_constant(const Buf &b) const { return b->space == Space::param && !stored_.count(b.get()); }

  void note(const Check &n, const Stmt &s) {
    if (loops_.empty()) return;
    const Binary *compares = as<Binary>(n.cond);
    Expr cond = compares ? unfolded(compares->op, replaced(compares->a, values_),
                                    replaced(compares->b, values_), n.cond.loc())
                         : replaced(n.cond, values_);
    EarlyCheck out{cond, n.site, s.loc(), {}, {}, s.p.get(), nest_};
    if (!is_early(out.cond, true)) return;
    std::vector<Expr> depends{out.cond};
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      Expr lo = replaced((*loop)->lo, values_), hi = replaced((*loop)->hi, values_);
      if (!is_early(lo, false) || !is_early(hi, false)) return;
      if (mentions(depends, (*loop)->iter)) {
        out.loops.insert(out.loops.begin(), *loop);
        depends.push_back(lo), depends.push_back(hi);
      } else if (Expr some = runs(**loop, lo, hi)) {
        out.only_if.insert(out.only_if.begin(), some);
        depends.push_back(some);
      }
    }
    if (!out.loops.empty() && out.loops.back()->step != 1) return;
    out.only_if.insert(out.only_if.begin(), guards_.begin(), guards_.end());
    found.push_back(std::move(out));
  }

  /// Drops checks that read what a check at its old place protects: they must stay behind it.
  bool drop_unprotected(const Func &f) {
    std::unordered_set<const StmtNode *> early;
    for (const EarlyCheck &c : found) early.insert(c.statement);
    Buffers late;
    walk(f.body, [&](const Check &n, const Stmt &s) {
      if (!early.count(s.p.get())) late.insert(f.sites[n.site].buf.get());
    });
    size_t before = found.size();
    std::erase_if(found, [&](const EarlyCheck &c) {
      bool reads = false;
      walk(c.cond, [&](const Load &n, const Expr &) { reads |= late.count(n.buf.get()) > 0; });
      return reads;
    });
    return found.size() < before;
  }

  const Func &f_;
  bool only_scatters_;
  Buffers stored_;
  Symbols values_;
  std::vector<const For *> loops_;
  const StmtNode *nest_ = nullptr;
  std::vector<Expr> guards_;
};

/// A group of checks over the same loops, none of which reads what another one protects.
struct Group {
  std::vector<EarlyCheck> checks;
  Buffers protects;  ///< also by checks that were omitted because the group has an equal one

  bool takes(const EarlyCheck &c) const {
    if (c.loops != checks.front().loops) return false;
    bool reads_protected = false;
    walk(c.cond, [&](const Load &n, const Expr &) { reads_protected |= protects.count(n.buf.get()) > 0; });
    return !reads_protected;
  }
  bool has(const EarlyCheck &c) const {
    return std::any_of(checks.begin(), checks.end(), [&](const EarlyCheck &other) {
      bool same_guard =
          std::equal(c.only_if.begin(), c.only_if.end(), other.only_if.begin(), other.only_if.end(),
                     [](const Expr &a, const Expr &b) { return equal(a, b); });
      return same_guard && c.loops == other.loops && equal(c.cond, other.cond);
    });
  }
};

Stmt guarded_by(const Expr &cond, Stmt s) { return cond ? if_else(cond, std::move(s), {}) : s; }

/// Returns the loop with an iterator of its own, which replaces the old one in `iterators`.
For copy_of(const For &loop, Symbols &iterators, const EarlyChecks &source) {
  auto [lo, hi] = source.bounds_of(loop);
  For copy = loop;
  copy.lo = replaced(lo, iterators), copy.hi = replaced(hi, iterators);
  copy.iter = make_sym(SymKind::iter, DType::i64, loop.iter->name), copy.id = 0;
  copy.kind = ForKind::serial, copy.hint = Hint::none;
  iterators[loop.iter.get()] = kw::ref(copy.iter);
  return copy;
}

/// Returns the conjunction of all conditions; null for none.
Expr all_of(const std::vector<Expr> &conditions) {
  Expr out;
  for (auto c = conditions.rbegin(); c != conditions.rend(); ++c) out = out ? logic(true, *c, out) : *c;
  return out;
}

/// Returns the guard around the loops: the conditions that are the same in all iterations. Without it, the
/// loops could have more iterations than anyone waits for.
Expr take_guard(Group &group) {
  auto varies = [&](const Expr &e) {
    return std::any_of(group.checks[0].loops.begin(), group.checks[0].loops.end(),
                       [&](const For *loop) { return mentions(e, loop->iter); });
  };
  std::vector<Expr> guards;
  for (EarlyCheck &c : group.checks) {
    auto rest =
        std::stable_partition(c.only_if.begin(), c.only_if.end(), [&](const Expr &e) { return !varies(e); });
    Expr fixed = all_of({c.only_if.begin(), rest});
    if (!fixed) return {};
    auto same = [&](const Expr &e) { return equal(e, fixed); };
    if (std::none_of(guards.begin(), guards.end(), same)) guards.push_back(fixed);
  }
  if (guards.size() == 1)
    for (EarlyCheck &c : group.checks) std::erase_if(c.only_if, [&](const Expr &e) { return !varies(e); });
  Expr any = guards[0];
  for (size_t i = 1; i < guards.size(); ++i) any = logic(false, any, guards[i]);
  return any;
}

Stmt checks_of(const Group &group, const Symbols &iterators) {
  std::vector<Stmt> items;
  for (const EarlyCheck &c : group.checks) {
    Stmt one = check(replaced(c.cond, iterators), c.site, c.loc);
    Expr guard = all_of(c.only_if);
    items.push_back(guarded_by(guard ? replaced(guard, iterators) : Expr{}, one));
  }
  return seq(std::move(items));
}

/// Returns a value that is negative if the condition may be false. For an index below an extent, neither the
/// index nor the room above it may be negative.
Expr alarm_of(const Expr &cond) {
  const Binary *inside = as<Binary>(cond);
  const Cast *place = inside && inside->op == BinOp::lt ? as<Cast>(inside->a) : nullptr;
  const Cast *extent = place ? as<Cast>(inside->b) : nullptr;
  bool is_index = extent && inside->a.dtype() == DType::u64 && place->a.dtype() == DType::i64 &&
                  extent->a.dtype() == DType::i64;
  if (!is_index) return select(cond, const_int(0), const_int(-1));
  Expr above = sub(sub(extent->a, const_int(1)), place->a);
  return binary(BinOp::bit_or, place->a, above);
}

/// Returns loops with this body.
Stmt nest_of(std::vector<For> loops, Stmt body, Loc loc = {}) {
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body = std::move(body);
    body = for_loop(std::move(*loop), loc);
  }
  return body;
}

/// On a CPU, runs the innermost loop in blocks: one run of a block detects whether any check fails; only then
/// another run finds the first failure. On a GPU, threads share the loops.
Stmt run_early(Group group, const EarlyChecks &source, bool is_gpu) {
  const std::vector<const For *> &loops = group.checks.front().loops;
  if (loops.empty()) return checks_of(group, {});
  Expr guard = take_guard(group);
  Symbols iterators;
  std::vector<For> nest;
  for (const For *loop : loops) nest.push_back(copy_of(*loop, iterators, source));
  if (is_gpu)
    return guarded_by(guard, nest_of(std::move(nest), checks_of(group, iterators), group.checks.front().loc));
  For &blocks = nest.back();
  blocks.step = block_size;
  Expr first = kw::ref(blocks.iter), left = cast(DType::u64, sub(blocks.hi, first));  // right for any bounds
  Expr size = cast(DType::i64, binary(BinOp::min, left, cast(DType::u64, const_int(block_size))));
  auto within_block = [&](const std::function<Stmt(const Symbols &)> &body) {
    Sym k = make_sym(SymKind::iter, DType::i64, "k");
    Symbols here = iterators;
    here[loops.back()->iter.get()] = add(first, kw::ref(k));
    return for_loop({k, const_int(0), size, 1, ForKind::serial, Hint::none, {}, body(here)});
  };

  Buf bad = make_buf(make_sym(SymKind::buffer, DType::i64, "bad"), {}, Space::registers);
  Stmt notice = within_block([&](const Symbols &here) {
    Expr fails;  // of all checks: one term of a reduction
    for (const EarlyCheck &c : group.checks) {
      Expr one = alarm_of(replaced(c.cond, here));
      if (Expr only = all_of(c.only_if)) one = select(replaced(only, here), one, const_int(0));
      fails = fails ? binary(BinOp::bit_or, fails, one) : one;
    }
    return store(bad, {}, binary(BinOp::bit_or, load(bad, {}), fails));
  });
  Stmt find = within_block([&](const Symbols &here) { return checks_of(group, here); });
  Expr failed = binary(BinOp::lt, load(bad, {}), const_int(0));
  Stmt body = alloc(bad, Fill::none, seq({store(bad, {}, const_int(0)), notice, if_else(failed, find, {})}));
  return guarded_by(guard, nest_of(std::move(nest), std::move(body)));
}

Func run_checks_early(Func f, bool is_gpu) {
  EarlyChecks early(f, is_gpu);
  if (early.found.empty()) return f;
  std::vector<Group> groups;
  for (EarlyCheck &c : early.found) {
    const BufNode *protects = f.sites[c.site].buf.get();
    auto same = std::find_if(groups.begin(), groups.end(), [&](const Group &g) { return g.has(c); });
    if (same == groups.end()) {
      if (groups.empty() || !groups.back().takes(c)) groups.push_back({});
      same = std::prev(groups.end());
      same->checks.push_back(std::move(c));
    }
    same->protects.insert(protects);
  }
  std::vector<Stmt> items;
  Placed before;  // on a GPU, launches of earlier nests find their faults first
  for (const Group &group : groups) {
    std::vector<Stmt> &place = is_gpu ? before[group.checks.front().nest] : items;
    place.push_back(run_early(group, early, is_gpu));
  }
  Stmt rest = rewrite(place_checks(f.body, before), [&](const Check &, const Stmt &s, const Stmt &original) {
    return early.statements.count(original.p.get()) ? Stmt{} : s;
  });
  items.push_back(rest);
  f.body = seq(std::move(items));
  return f;
}

/// Returns whether a statement is a check, or a check under the condition that a loop runs.
bool is_check(const Stmt &s) {
  const If *n = as<If>(s);
  return as<Check>(s) || (n && n->yes && !n->no && as<Check>(n->yes));
}

/// Returns whether no iteration of the loop changes the value.
bool is_invariant(const Expr &e, const For &loop, const Buffers &stored) {
  bool fine = !mentions(e, loop.iter);
  walk(e, [&](const Load &n, const Expr &) { fine = fine && !stored.count(n.buf.get()); });
  return fine;
}
bool is_invariant_check(const Stmt &s, const For &loop, const Buffers &stored) {
  const If *guard = as<If>(s);
  const Check *n = as<Check>(guard ? guard->yes : s);
  return is_invariant(n->cond, loop, stored) && (!guard || is_invariant(guard->cond, loop, stored));
}

/// Returns the offset from the loop's iterator to the index that the check compares with an extent. Null
/// unless offset and extent are the same in each iteration.
Expr offset_of(const Check &c, const For &loop, const Buffers &stored) {
  const Binary *inside = as<Binary>(c.cond);
  const Cast *place = inside && inside->op == BinOp::lt ? as<Cast>(inside->a) : nullptr;
  if (!place || inside->a.dtype() != DType::u64 || place->a.dtype() != DType::i64) return {};
  auto is_iterator = [&](const Expr &e) { return as<Ref>(e) && as<Ref>(e)->sym == loop.iter; };
  Expr out = is_iterator(place->a) ? const_int(0) : Expr{};
  if (const Binary *n = as<Binary>(place->a); n && (n->op == BinOp::add || n->op == BinOp::sub)) {
    Expr other = n->op == BinOp::sub ? binary(BinOp::sub, const_int(0), n->b) : n->b;
    if (is_iterator(n->a)) out = other;
    if (is_iterator(n->b) && n->op == BinOp::add) out = n->a;
  }
  bool fine = out && is_invariant(out, loop, stored) && is_invariant(inside->b, loop, stored);
  return fine ? out : Expr{};
}

/// Adds the checks of a loop that steps by 1 and runs. They test its first index, and its last one or, if
/// that is out of range, the first index out of range.
void check_range(const Check &c, const For &loop, const Expr &offset, Loc loc, std::vector<Stmt> &out) {
  const Expr &extent = as<Binary>(c.cond)->b;
  auto word = [](const Expr &e) { return cast(DType::u64, e); };
  Expr first = add(loop.lo, offset), steps = word(sub(sub(loop.hi, loop.lo), const_int(1)));
  Expr room = binary(BinOp::sub, extent, word(first));
  Expr last = add(first, cast(DType::i64, binary(BinOp::min, steps, room)));
  for (const Expr &index : {first, last})
    out.push_back(check(unfolded(BinOp::lt, word(index), extent), c.site, loc));
}

/// Moves checks at the head of a loop's body in front of the loop if they need not run in each iteration.
/// Checks of a whole range are placed with the loop under the condition that it runs.
Stmt step_out(const For &n, const Stmt &s) {
  const Seq *body = as<Seq>(n.body);
  if (!body || body->items.empty() || !is_check(body->items.front()) || jumps_of(n.body).any()) return s;
  Buffers stored = stored_in(n.body);
  Expr some = runs(n, n.lo, n.hi);
  std::vector<Stmt> before, ranges;
  size_t count = 0;
  for (; count + 1 < body->items.size() && is_check(body->items[count]); ++count) {
    const Stmt &item = body->items[count];
    if (is_invariant_check(item, n, stored)) {
      ranges.empty() ? before.push_back(guarded_by(some, item)) : ranges.push_back(item);
      continue;
    }
    const Check *c = n.step == 1 ? as<Check>(item) : nullptr;
    Expr offset = c ? offset_of(*c, n, stored) : Expr{};
    if (!offset) break;
    check_range(*c, n, offset, item.loc(), ranges);
  }
  if (count == 0) return s;
  For rest = n;
  rest.body = seq({body->items.begin() + static_cast<ptrdiff_t>(count), body->items.end()});
  bool ranged = !ranges.empty();
  ranges.push_back(for_loop(rest, s.loc()));
  Stmt all = seq(std::move(ranges), s.loc());
  before.push_back(ranged ? guarded_by(some, all) : all);
  return seq(std::move(before), s.loc());
}

}  // namespace

Func hoist_checks(const Func &f, const Target &target) {
  if (!has_check(f.body)) return f;
  Func out = run_checks_early(f, target.is_gpu());
  // On GPUs the loops around a check are to be launched as one, so nothing may stand between them. Numbers of
  // iterations tell the order of faults there.
  if (target.is_gpu()) return out;
  out.body = rewrite(out.body, [](const For &n, const Stmt &s) { return step_out(n, s); });
  return out;
}

}  // namespace kw
