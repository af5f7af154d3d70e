// Computes intervals in 128 bits over affine forms. Guards narrow open ranges.
#include "analysis/value_ranges.h"

#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

// 128 bits hold all forms over atoms of 64 bits: coefficients add up to 2^15 at most (analysis/affine)
constexpr WideInt least_word = INT64_MIN, most_word = INT64_MAX;

constexpr int many_guards = 16;  ///< chosen: with more guards, each would search all others for its symbols

/// Returns the end of a loop's range if an iteration runs: for `range(lo, max(lo, x))`, the end is x.
const Expr &end_when_run(const For &loop) {
  const Binary *n = as<Binary>(loop.hi);
  if (!n || n->op != (loop.step > 0 ? BinOp::max : BinOp::min)) return loop.hi;
  if (equal(n->a, loop.lo)) return n->b;
  return equal(n->b, loop.lo) ? n->a : loop.hi;
}

}  // namespace

bool is_call_constant(const Expr &e) {
  bool constant = true;
  walk(
      e, [&](const Load &, const Expr &) { constant = false; },
      [&](const Call &, const Expr &) { constant = false; },
      [&](const Select &, const Expr &) { constant = false; },
      [&](const Cast &n, const Expr &) { constant = constant && !is_float(n.a.dtype()); },
      [&](const Binary &n, const Expr &x) {
        bool listed = n.op <= BinOp::max && n.op != BinOp::true_div;
        constant = constant && listed && x.dtype() == DType::i64;
      },
      [&](const Unary &n, const Expr &x) {
        constant = constant && n.op == UnOp::neg && x.dtype() == DType::i64;
      },
      [&](const Ref &n, const Expr &) {
        constant = constant && (n.sym->kind == SymKind::extent || n.sym->kind == SymKind::param);
      });
  return constant;
}

bool is_size_of_call(const Expr &e) {
  bool fits = true;
  walk(
      e, [&](const Load &, const Expr &) { fits = false; }, [&](const Call &, const Expr &) { fits = false; },
      [&](const Cast &n, const Expr &x) { fits = fits && !is_float(n.a.dtype()) && !is_float(x.dtype()); },
      [&](const Binary &n, const Expr &) { fits = fits && !is_float(n.a.dtype()); },
      [&](const Ref &n, const Expr &x) {
        bool known = n.sym->kind == SymKind::extent || n.sym->kind == SymKind::param;
        fits = fits && known && !is_float(x.dtype());
      });
  return fits;
}

bool ValueRanges::surely_nonnegative(const Affine &a) const {
  int64_t least = a.constant;
  for (const AffineTerm &t : a.terms) {
    if (!is_extent(t.atom) || t.coefficient < 0) return false;
    if (facts_.extents_positive && __builtin_add_overflow(least, t.coefficient, &least)) return false;
  }
  return least >= 0;
}

bool ValueRanges::ends_of(const For &loop, const FormOf &form_of, Affine &low, Affine &high) {
  auto lo = form_of(loop.lo), hi = form_of(end_when_run(loop));
  if (!lo || !hi) return false;
  low = loop.step > 0 ? *lo : *hi;
  high = loop.step > 0 ? *hi : *lo;
  (loop.step > 0 ? high : low).constant += loop.step > 0 ? -1 : 1;
  return true;
}

/// Returns the range of an expression as computed: an expression that leaves 64 bits wraps, to any number.
ValueRanges::Range ValueRanges::values_of(const Expr &e, Query query) const {
  auto form = affine_of(e);
  Range v = form ? values_of(*form, query) : Range{least_word, most_word};
  return v.fit_words() ? v : Range{least_word, most_word};
}

ValueRanges::Range ValueRanges::values_of(const Affine &form, Query query) const {
  // interval arithmetic: a negative factor exchanges the ends of a range
  Range sum{form.constant, form.constant};
  for (const AffineTerm &t : form.terms) {
    Range v = values_of_atom(t.atom, query);
    sum.least += t.coefficient * (t.coefficient > 0 ? v.least : v.most);
    sum.most += t.coefficient * (t.coefficient > 0 ? v.most : v.least);
  }
  return sum;
}

ValueRanges::Range ValueRanges::values_of_atom(const Expr &atom, Query query) const {
  Range v = values_by_kind(atom, query);
  if (query.guards > 0 && (v.least == least_word || v.most == most_word)) narrow(v, atom, query);
  bool open = v.least < -max_extent || v.most > max_extent;
  if (query.small && open && is_call_constant(atom)) {
    auto same = [&](const Expr &e) { return equal(e, atom); };
    if (std::none_of(query.small->begin(), query.small->end(), same)) query.small->push_back(atom);
    v.least = std::max<WideInt>(v.least, -max_extent), v.most = std::min<WideInt>(v.most, max_extent);
  }
  return v;
}

ValueRanges::Range ValueRanges::values_by_kind(const Expr &atom, Query query) const {
  const Range any{least_word, most_word};
  if (const Ref *r = as<Ref>(atom)) {
    if (r->sym->kind == SymKind::extent) return {facts_.extents_positive ? 1 : 0, max_extent};
    for (const For *loop : facts_.loops) {
      if (loop->iter != r->sym) continue;
      Range lo = values_of(loop->lo, query), hi = values_of(loop->hi, query);
      return loop->step > 0 ? Range{lo.least, hi.most - 1} : Range{hi.least + 1, lo.most};
    }
    return any;
  }
  if (const Cast *n = as<Cast>(atom)) {
    DType from = n->a.dtype();
    // a cast from u64 wraps and a cast from a float saturates: both may give any value
    if (is_float(from) || bit_width(from) > 32) return any;
    WideInt count = WideInt{1} << bit_width(from);
    return is_signed_int(from) ? Range{-count / 2, count / 2 - 1} : Range{0, count - 1};
  }
  if (const Select *n = as<Select>(atom)) {
    Range yes = values_of(n->yes, query), no = values_of(n->no, query);
    return {std::min(yes.least, no.least), std::max(yes.most, no.most)};
  }
  const Binary *n = as<Binary>(atom);
  if (!n || n->a.dtype() != DType::i64) return any;
  auto divisor = as_int(n->b);
  if (n->op == BinOp::floor_mod && divisor && *divisor > 0) return {0, *divisor - 1};
  if (n->op == BinOp::floor_div && divisor && *divisor > 0) {
    Range a = values_of(n->a, query);
    return {wide_floor_div(a.least, *divisor), wide_floor_div(a.most, *divisor)};
  }
  if (n->op != BinOp::min && n->op != BinOp::max) return any;
  Range a = values_of(n->a, query), b = values_of(n->b, query);
  if (n->op == BinOp::min) return {std::min(a.least, b.least), std::min(a.most, b.most)};
  return {std::max(a.least, b.least), std::max(a.most, b.most)};
}

/// Narrows a range by guards of the form k · atom + rest >= 0.
void ValueRanges::narrow(Range &v, const Expr &atom, Query query) const {
  // the bounds of the other atoms may come from guards in turn, so that the depth must be limited
  --query.guards;
  if (facts_.constraints.size() > many_guards) query.guards = 0;
  query.small = nullptr;
  for (const Affine &c : facts_.constraints)
    for (size_t i = 0; i < c.terms.size(); ++i) {
      if (!equal(c.terms[i].atom, atom)) continue;
      Affine rest = c;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
      WideInt most = values_of(rest, query).most, k = c.terms[i].coefficient;
      if (k > 0)
        v.least = std::max(v.least, -wide_floor_div(most, k));
      else
        v.most = std::min(v.most, wide_floor_div(most, -k));
    }
}

bool ValueRanges::is_exact(const Affine &form, std::vector<Expr> *small) const {
  bool is_atom = form.terms.size() == 1 && form.terms[0].coefficient == 1 && form.constant == 0;
  if (is_atom || values_of(form, {}).fit_words()) return true;
  if (!small) return false;
  std::vector<Expr> needed = *small;
  if (!values_of(form, {.small = &needed}).fit_words()) return false;
  *small = std::move(needed);
  return true;
}

bool ValueRanges::is_exact(const Expr &e) const {
  auto form = affine_of(e);
  return form && is_exact(*form, nullptr);
}

/// Excludes loads: the symbols of a guard must keep their values as long as its branch runs.
std::optional<Affine> ValueRanges::exact_form(const Expr &e) const {
  bool loads = false;
  walk(e, [&](const Load &, const Expr &) { loads = true; });
  auto form = loads ? std::nullopt : affine_of(e);
  return form && is_exact(*form, nullptr) ? form : std::nullopt;
}

Expr ValueRanges::end_value(Affine form, bool least, const FormOf &form_of) const {
  for (size_t l = facts_.loops.size(); l-- > 0;)
    for (size_t i = 0; i < form.terms.size(); ++i) {
      const For &loop = *facts_.loops[l];
      const Ref *r = as<Ref>(form.terms[i].atom);
      if (!r || r->sym != loop.iter) continue;
      Affine low, high;
      if (!ends_of(loop, form_of, low, high)) return {};
      auto next = kw::substitute(form, i, (form.terms[i].coefficient > 0) == least ? low : high);
      if (!next) return {};
      form = *next;
      break;
    }
  for (const AffineTerm &t : form.terms)
    if (!is_call_constant(t.atom)) return {};
  return to_expr(form);
}

/// Includes every value that may wrap in the result: the ends of loops and the other end of the value. The
/// entry program detects an overflow of any of them and then gives no bound.
Expr ValueRanges::upper_bound(const Expr &e) const {
  if (is_size_of_call(e)) return e;
  Expr told;  // the least of all values that may wrap
  auto tell = [&](const Expr &value) {
    if (value) told = told ? binary(BinOp::min, told, value) : value;
    return static_cast<bool>(value);
  };
  std::unordered_map<const ExprNode *, bool> known;  // by end of a range: whether all its values are included
  FormOf form_of = [&](const Expr &end) {
    auto form = affine_of(end);
    if (!form || is_exact(*form, nullptr)) return form;
    auto found = known.find(end.p.get());
    if (found == known.end()) {
      bool all = tell(end_value(*form, true, form_of)) && tell(end_value(*form, false, form_of));
      found = known.emplace(end.p.get(), all).first;
    }
    return found->second ? form : std::nullopt;
  };
  auto form = affine_of(e);
  Expr bound = form ? end_value(*form, false, form_of) : Expr{};
  if (bound && !is_exact(*form, nullptr) && !tell(end_value(*form, true, form_of))) return {};
  return bound && told ? binary(BinOp::max, bound, binary(BinOp::min, bound, told)) : bound;
}

}  // namespace kw
