// The conditions are of the call: extents of arrays and trip counts.
#include "schedule/launches/linear_grid.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/launches/flat_loops.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Looks at what the iterators of the loops are used for.
class RowFinder {
 public:
  explicit RowFinder(const std::vector<const For *> &loops) : loops_(loops) {}

  std::optional<std::vector<Expr>> run() {
    for (const For *n : loops_) fits_ = fits_ && n->step == 1 && as_int(n->lo) == 0;
    // Values between the loops would stand in subscripts under other names.
    for (size_t d = 0; d + 1 < loops_.size(); ++d) fits_ = fits_ && as<For>(loops_[d]->body);
    const Stmt &body = loops_.back()->body;
    auto each = [&](const auto &, const Stmt &s) {
      if (const Store *store = as<Store>(s))
        element(store->buf, store->index), value(store->value);
      else
        for_each_expression(s, [&](const Expr &e) { value(e); });
    };
    walk(body, each);
    return fits_ ? std::optional(conditions_) : std::nullopt;
  }

 private:
  bool moves(const Expr &e) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](const For *n) { return mentions(e, n->iter); });
  }
  /// Iterators stand in the subscripts of elements and nowhere else.
  void value(const Expr &e) {
    if (as<Ref>(e)) fits_ = fits_ && !moves(e);
    if (const Load *l = as<Load>(e)) return element(l->buf, l->index);
    for_each_operand(e, [&](const Expr &operand) { value(operand); });
  }
  void element(const Buf &b, const std::vector<Expr> &index) {
    if (std::none_of(index.begin(), index.end(), [&](const Expr &e) { return moves(e); })) return;
    bool in_memory = b->space == Space::param || b->space == Space::heap;
    fits_ = fits_ && in_memory && b->strides.empty() && index.size() == loops_.size();
    for (size_t d = 0; fits_ && d < index.size(); ++d) {
      const Ref *r = as<Ref>(index[d]);
      fits_ = r && r->sym == loops_[d]->iter;
      if (d) row(b->extents[d], trips_of(*loops_[d]));
    }
  }
  void row(const Expr &extent, const Expr &trips) {
    if (equal(extent, trips)) return;
    Expr condition = binary(BinOp::eq, extent, trips);
    if (std::none_of(conditions_.begin(), conditions_.end(),
                     [&](const Expr &c) { return equal(c, condition); }))
      conditions_.push_back(std::move(condition));
  }

  const std::vector<const For *> &loops_;
  std::vector<Expr> conditions_;
  bool fits_ = true;
};

/// Returns an iteration in which the iterators have names: what it divides, it divides once.
///     c[i, j] = a[i, j] + v[j]   →   j = k % m; i = k // m; c[i, j] = a[i, j] + v[j]
Stmt with_named_iterators(const std::vector<const For *> &loops, const Sym &k, const Stmt &body) {
  Substitution with;
  std::vector<Sym> names;
  // Counts are not negative, and divisions without signs are shorter.
  std::vector<Expr> values = iterators_at(loops, cast(DType::u64, kw::ref(k)));
  for (size_t d = 0; d < loops.size(); ++d) {
    const Sym &iter = loops[d]->iter;
    names.push_back(make_sym(SymKind::local, DType::i64, iter->name, iter->loc));
    with.values[iter.get()] = kw::ref(names[d]);
    with.loops[iter.get()] = d ? std::vector<Sym>{} : std::vector<Sym>{k};
  }
  Stmt out = copy_of(body, std::move(with));
  for (size_t d = loops.size(); d-- > 0;) out = let(names[d], values[d], out, body.loc());
  return out;
}

}  // namespace

std::vector<const For *> grid_nest(const For &outer) {
  std::vector<const For *> out;
  for (const For *n = &outer; n && n->kind == ForKind::grid; n = only_loop(n->body)) out.push_back(n);
  return out;
}

std::optional<std::vector<Expr>> conditions_of_one_row(const std::vector<const For *> &loops) {
  return RowFinder(loops).run();
}

For linear_loop(const std::vector<const For *> &loops, const LinearPlan &plan) {
  const Sym &inner = loops.back()->iter;
  Sym k = make_sym(inner->kind, inner->dtype, inner->name, inner->loc);
  For out{k, const_int(0), iterations_of(loops), 1, ForKind::grid, Hint::none, {}, {}};
  Loc loc = loops.back()->body.loc();
  Stmt body = innermost_body(loops, loc);
  out.body = plan.below ? with_named_iterators(loops, k, body) : flat_iteration(loops, k, body);
  out.id = loops.front()->id;
  for (const For *n : loops)
    for (const Buf &b : n->atomics)
      if (std::find(out.atomics.begin(), out.atomics.end(), b) == out.atomics.end()) out.atomics.push_back(b);
  out.how.per_block = static_cast<uint32_t>(plan.per_block);
  out.how.vector_width = static_cast<uint32_t>(plan.vector);
  out.how.unroll = static_cast<uint32_t>(plan.unroll);
  out.how.flatten = plan.below ? 0 : 1;
  return out;
}

Stmt with_linear_loop(const Stmt &outer, const LinearPlan &plan) {
  std::vector<const For *> loops = grid_nest(*as<For>(outer));
  Stmt whole = for_loop(linear_loop(loops, plan), outer.loc());
  std::vector<Expr> conditions;
  if (plan.below)
    conditions = {binary(BinOp::lt, trips_of(*loops.back()), const_int(plan.below))};
  else
    conditions = *conditions_of_one_row(loops);
  std::erase_if(conditions, [](const Expr &c) { return as<Const>(c) && as<Const>(c)->bits; });
  if (conditions.empty()) return whole;
  Expr all = conditions.front();
  for (size_t i = 1; i < conditions.size(); ++i) all = logic(true, all, conditions[i], outer.loc());
  return if_else(all, whole, outer, outer.loc());
}

}  // namespace kw
