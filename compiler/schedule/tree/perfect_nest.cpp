// Takes perfect nests apart, and exchanges two of their loops.
#include "schedule/tree/perfect_nest.h"

#include <algorithm>

#include "analysis/affine.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "schedule/tree/statement_list.h"
#include "transform/copy.h"

namespace kw {

std::optional<std::vector<uint32_t>> in_text_order(const Nest &nest, std::vector<uint32_t> loops) {
  // Loops are numbered in source order, outer ones first.
  std::sort(loops.begin(), loops.end());
  for (size_t i = 0; i + 1 < loops.size(); ++i)
    if (nest.loops[loops[i + 1]].parent != loops[i]) return std::nullopt;
  return loops;
}

std::optional<PerfectNest> perfect_nest_of(const Nest &nest, const std::vector<uint32_t> &loops) {
  PerfectNest out;
  for (size_t i = 0; i < loops.size(); ++i) {
    const For *n = nest.loops[loops[i]].loop;
    if (!n || (i > 0 && as<For>(out.body) != n)) return std::nullopt;
    out.heads.push_back({*n, nest.loops[loops[i]].loc});
    out.heads.back().loop.body = {};
    out.body = n->body;
  }
  return out;
}

bool bounds_mention(const For &loop, const Sym &sym) {
  return mentions(loop.lo, sym) || mentions(loop.hi, sym);
}

Stmt statement_of(const PerfectNest &nest) {
  Stmt out = nest.body;
  for (auto head = nest.heads.rbegin(); head != nest.heads.rend(); ++head) {
    For loop = head->loop;
    loop.body = out;
    out = for_loop(std::move(loop), head->loc);
  }
  return out;
}

namespace {

/// A part of a bound as `factor` · iterator + rest, with factor -1, 0 or 1.
struct BoundPart {
  Expr whole, rest;
  int64_t factor = 0;
};

/// Collects the operands of a bound that is a max (or min). Returns false if one of them has no such form.
bool parts_of(const Expr &bound, BinOp joined_by, const Sym &iter, std::vector<BoundPart> &out) {
  if (const Binary *n = as<Binary>(bound); n && n->op == joined_by)
    return parts_of(n->a, joined_by, iter, out) && parts_of(n->b, joined_by, iter, out);
  auto form = affine_of(bound);
  if (!form) return false;
  BoundPart part{bound, {}, 0};
  Affine rest{{}, form->constant};
  for (const AffineTerm &t : form->terms) {
    const Ref *r = as<Ref>(t.atom);
    if (r && r->sym == iter)
      part.factor = t.coefficient;
    else if (mentions(t.atom, iter))
      return false;
    else
      rest.terms.push_back(t);
  }
  part.rest = to_expr(rest, bound.loc());
  out.push_back(std::move(part));
  return out.back().factor >= -1 && out.back().factor <= 1;
}

/// Returns `op(all, more)`, or `more` as the first operand.
Expr joined(BinOp op, Expr all, const Expr &more) { return all ? binary(op, all, more) : more; }

/// Exchanges an outer loop and an inner loop whose bounds mention the outer iterator; both count up by 1. The
/// new outer loop may run through more values than needed: the inner loop then has no iteration.
///     for i in (0, n): for j in (0, i + 1): S   →   for j in (0, n): for i in (max(0, j), n): S
bool exchange_triangular(For &outer, For &inner) {
  std::vector<BoundPart> low, high;
  if (outer.step != 1 || inner.step != 1 || !parts_of(inner.lo, BinOp::max, outer.iter, low) ||
      !parts_of(inner.hi, BinOp::min, outer.iter, high))
    return false;
  // Each operand of a bound takes the end of the outer range that makes the new outer range widest. The same
  // operand, solved for the old outer iterator, bounds the new inner loop.
  Expr last = sub(outer.hi, const_int(1)), one = const_int(1), at = kw::ref(inner.iter);
  auto with = [&](const BoundPart &p, const Expr &value) {
    Substitution s;
    s.values[outer.iter.get()] = value;
    return p.factor ? substituted(p.whole, s) : p.whole;
  };
  For new_outer = inner, new_inner = outer;
  new_outer.lo = new_outer.hi = {};
  for (const BoundPart &p : low) {
    new_outer.lo = joined(BinOp::max, new_outer.lo, with(p, p.factor == 1 ? outer.lo : last));
    if (p.factor == 1) new_inner.hi = binary(BinOp::min, new_inner.hi, add(sub(at, p.rest), one));
    if (p.factor == -1) new_inner.lo = binary(BinOp::max, new_inner.lo, sub(p.rest, at));
  }
  for (const BoundPart &p : high) {
    new_outer.hi = joined(BinOp::min, new_outer.hi, with(p, p.factor == 1 ? last : outer.lo));
    if (p.factor == 1) new_inner.lo = binary(BinOp::max, new_inner.lo, add(sub(at, p.rest), one));
    if (p.factor == -1) new_inner.hi = binary(BinOp::min, new_inner.hi, sub(p.rest, at));
  }
  outer = std::move(new_outer), inner = std::move(new_inner);
  return true;
}

}  // namespace

bool may_move(const Nest &nest, uint32_t loop) {
  const For *n = nest.loops[loop].loop;
  return n && n->kind == ForKind::serial && n->hint != Hint::serial;
}

std::vector<uint32_t> movable_loops_from(const Nest &nest, uint32_t loop) {
  std::vector<uint32_t> out;
  for (uint32_t l = loop; may_move(nest, l);) {
    const For &n = *nest.loops[l].loop;
    for (uint32_t outer : out)
      if (bounds_mention(n, nest.loops[outer].loop->iter)) return out;
    out.push_back(l);
    std::vector<uint32_t> inner = loops_in(nest, l);
    if (inner.size() != 1 || as<For>(n.body) != nest.loops[inner[0]].loop) return out;
    l = inner[0];
  }
  return out;
}

std::vector<Sym> roots_of_perfect_nests(const Nest &nest) {
  std::vector<Sym> out;
  for (uint32_t l = 0; l < nest.loops.size(); ++l) {
    uint32_t parent = nest.loops[l].parent;
    bool is_root = parent == NestLoop::no_loop || movable_loops_from(nest, parent).size() < 2;
    if (is_root && movable_loops_from(nest, l).size() >= 2) out.push_back(nest.loops[l].loop->iter);
  }
  return out;
}

std::optional<PerfectNest> permuted(const Nest &nest, const std::vector<uint32_t> &text_order,
                                    const std::vector<uint32_t> &order) {
  auto found = perfect_nest_of(nest, text_order);
  if (!found) return std::nullopt;
  for (const PerfectNest::Head &h : found->heads)
    if (has_load(h.loop.lo) || has_load(h.loop.hi)) return std::nullopt;
  std::vector<size_t> rank;  // of each head: its place in the new order
  for (uint32_t l : text_order)
    rank.push_back(static_cast<size_t>(std::find(order.begin(), order.end(), l) - order.begin()));
  // New bounds are sums of old ones, which must not wrap.
  auto small = [&](size_t i) { return has_small_bounds(nest, order[rank[i]]); };
  // A bubble sort: bounds are adjusted for two adjacent loops at a time.
  for (size_t done = 0; done < rank.size(); ++done)
    for (size_t i = 0; i + 1 < rank.size(); ++i) {
      if (rank[i] < rank[i + 1]) continue;
      auto &a = found->heads[i], &b = found->heads[i + 1];
      if (!bounds_mention(b.loop, a.loop.iter))
        std::swap(a.loop, b.loop);
      else if (!small(i) || !small(i + 1) || !exchange_triangular(a.loop, b.loop))
        return std::nullopt;
      std::swap(a.loc, b.loc);
      std::swap(rank[i], rank[i + 1]);
    }
  return found;
}

}  // namespace kw
