// That the nest writes all elements is what the analysis of initialisation says of the result.
#include "schedule/launches/folded_fill.h"

#include <algorithm>

#include "analysis/init.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/tree/accesses.h"
#include "schedule/tree/statement_list.h"

namespace kw {

namespace {

/// Returns loops that stand in one another with at most names of values between them, outermost first.
std::vector<const For *> perfect_loops(const Stmt &nest, size_t count) {
  std::vector<const For *> out;
  for (const For *n = as<For>(nest); n && out.size() < count; n = only_loop(n->body)) out.push_back(n);
  return out;
}

/// Returns whether loops and the names between them can run beyond their bounds: a rectangle of iterations,
/// by steps of one.
bool can_widen(const std::vector<const For *> &loops) {
  std::vector<Sym> own;
  for (const For *n : loops) own.push_back(n->iter);
  bool fits = true;
  for (const For *n : loops)
    for (const Stmt *s = &n->body; n != loops.back() && as<Let>(*s); s = &as<Let>(*s)->body) {
      fits = fits && !has_load(as<Let>(*s)->value);
      own.push_back(as<Let>(*s)->sym);
    }
  for (const For *n : loops) {
    fits = fits && n->kind == ForKind::serial && n->step == 1 && n->hint == Hint::none;
    for (const Expr &bound : {n->lo, n->hi}) {
      fits = fits && !has_load(bound);
      for (const Sym &s : own) fits = fits && !mentions(bound, s);
    }
  }
  return fits;
}

/// Returns the dimension of an output that a loop runs over, by a store in the body.
std::optional<size_t> dimension_of(const Store &s, const For &loop) {
  for (size_t d = 0; d < s.index.size(); ++d)
    if (is_iterator(s.index[d], loop.iter)) return d;
  return {};
}

/// Returns a store to an output in a body, or null.
const Store *store_to(const Stmt &body, const Buf &output) {
  const Store *found = nullptr;
  walk(body, [&](const Store &n, const Stmt &) {
    if (n.buf == output) found = &n;
  });
  return found;
}

/// Returns whether nothing before the nest accesses the output.
bool comes_first(const Func &f, const Stmt &nest, const Buf &output) {
  bool first = true, before = true, found = false;
  for_each_in_block(f.body, [&](const Stmt &s) {
    if (s.p == nest.p) before = false, found = true;
    if (!before) return;
    for_each_own(s, [&](const Expr &e) { first = first && !loads(e, output); });
    if (!as<Let>(s) && !as<Alloc>(s)) first = first && !stores_to(s, output);
  });
  return first && found;
}

/// Returns whether all accesses of a body to the output are at the place that loops choose, and the loops do
/// not run over all of it already.
bool is_part(const std::vector<const For *> &loops, const Buf &output) {
  const Store *first = store_to(loops.back()->body, output);
  if (!first) return false;
  std::vector<bool> seen(output->rank());
  bool fits = true, all = true;
  for (const For *n : loops) {
    auto d = dimension_of(*first, *n);
    if (!d || seen[*d]) return false;
    seen[*d] = true;
    all = all && as_int(n->lo) == 0 && equal(n->hi, output->extents[*d]);
  }
  walk(loops.back()->body, [&](const Store &n, const Stmt &) {
    fits = fits && (n.buf != output || equal(n.index, first->index));
  });
  for_each_evaluated(loops.back()->body, [&](const Expr &e) { fits = fits && !loads(e, output); });
  return fits && !all;
}

/// Returns the function with another nest, and whether it writes all of the output then.
bool writes_all(Func f, const Stmt &nest, const Buf &output) {
  f.body = replace_statement(f.body, nest, with_folded_fill(nest, output));
  std::vector<Buf> zeroed = analyse_initialisation(f).needs_zero;
  return std::find(zeroed.begin(), zeroed.end(), output) == zeroed.end();
}

}  // namespace

Buf foldable_output(const Func &f, const Stmt &nest) {
  for (const Param &p : f.params) {
    if (!p.buf || p.mode != ParamMode::out || p.fill != Fill::zero || p.buf->rank() == 0) continue;
    std::vector<const For *> loops = perfect_loops(nest, p.buf->rank());
    if (loops.size() == p.buf->rank() && can_widen(loops) && is_part(loops, p.buf) &&
        comes_first(f, nest, p.buf) && writes_all(f, nest, p.buf))
      return p.buf;
  }
  return {};
}

Stmt with_folded_fill(const Stmt &nest, const Buf &output) {
  std::vector<const For *> loops = perfect_loops(nest, output->rank());
  const Store &place = *store_to(loops.back()->body, output);
  Expr inside;
  auto need = [&](const Expr &condition) { inside = inside ? logic(true, inside, condition) : condition; };
  for (const For *n : loops) {
    const Expr &extent = output->extents[*dimension_of(place, *n)];
    if (as_int(n->lo) != 0) need(binary(BinOp::le, n->lo, kw::ref(n->iter)));
    if (!equal(n->hi, extent)) need(binary(BinOp::lt, kw::ref(n->iter), n->hi));
  }
  Stmt zero = store(output, place.index, constant({output->dtype, 0}), nest.loc());
  Stmt body = if_else(inside, loops.back()->body, zero, nest.loc());
  return rewrite(nest, [&](const For &n, const Stmt &s, const Stmt &original) {
    auto found = std::find(loops.begin(), loops.end(), as<For>(original));
    if (found == loops.end()) return s;
    For wide = n;
    wide.lo = const_int(0), wide.hi = output->extents[*dimension_of(place, n)];
    if (*found == loops.back()) wide.body = body;
    return for_loop(std::move(wide), s.loc());
  });
}

}  // namespace kw
