// Which values forms and their atoms can take, by types, loops, operators and guards: whether 64 bits hold
// them, so that a form means the same there as in the integers. Proves nothing about indices.
#include <algorithm>

#include "analysis/interval.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

// 128 bits hold all forms over atoms of 64 bits: coefficients add up to 2^15 at most (analysis/affine)
constexpr WideInt least_word = INT64_MIN, most_word = INT64_MAX;

constexpr int most_rests = 16;  ///< guards of which those of their other symbols are asked for as well

}  // namespace

/// Of an expression as it is computed: what does not fit wraps.
BoundsContext::Values BoundsContext::values_of(const Expr &e, Asking asking) const {
  auto form = affine_of(e);
  Values v = form ? values_of(*form, asking) : Values{least_word, most_word};
  return v.fit_words() ? v : Values{least_word, most_word};
}

BoundsContext::Values BoundsContext::values_of(const Affine &form, Asking asking) const {
  Values sum{form.constant, form.constant};
  for (const AffineTerm &t : form.terms) {
    Values v = values_of_atom(t.atom, asking);
    sum.least += t.coefficient * (t.coefficient > 0 ? v.least : v.most);
    sum.most += t.coefficient * (t.coefficient > 0 ? v.most : v.least);
  }
  return sum;
}

BoundsContext::Values BoundsContext::values_of_atom(const Expr &atom, Asking asking) const {
  Values v = values_by_kind(atom, asking);
  if (asking.guards > 0 && (v.least == least_word || v.most == most_word)) narrow(v, atom, asking);
  bool open = v.least < -most_extent || v.most > most_extent;
  if (asking.small && open && is_call_constant(atom)) {
    auto same = [&](const Expr &e) { return equal(e, atom); };
    if (std::none_of(asking.small->begin(), asking.small->end(), same)) asking.small->push_back(atom);
    v.least = std::max<WideInt>(v.least, -most_extent), v.most = std::min<WideInt>(v.most, most_extent);
  }
  return v;
}

BoundsContext::Values BoundsContext::values_by_kind(const Expr &atom, Asking asking) const {
  const Values any{least_word, most_word};
  if (const Ref *r = as<Ref>(atom)) {
    if (r->sym->kind == SymKind::extent) return {extents_positive_ ? 1 : 0, most_extent};
    for (const For *loop : loops_) {
      if (loop->iter != r->sym) continue;
      Values lo = values_of(loop->lo, asking), hi = values_of(loop->hi, asking);
      return loop->step > 0 ? Values{lo.least, hi.most - 1} : Values{hi.least + 1, lo.most};
    }
    return any;
  }
  if (const Cast *n = as<Cast>(atom)) {
    DType from = n->a.dtype();
    if (is_float(from) || bit_width(from) > 32) return any;
    WideInt count = WideInt{1} << bit_width(from);
    return is_signed_int(from) ? Values{-count / 2, count / 2 - 1} : Values{0, count - 1};
  }
  if (const Select *n = as<Select>(atom)) {
    Values yes = values_of(n->yes, asking), no = values_of(n->no, asking);
    return {std::min(yes.least, no.least), std::max(yes.most, no.most)};
  }
  const Binary *n = as<Binary>(atom);
  if (!n || n->a.dtype() != DType::i64) return any;
  auto divisor = as_int(n->b);
  if (n->op == BinOp::floor_mod && divisor && *divisor > 0) return {0, *divisor - 1};
  if (n->op == BinOp::floor_div && divisor && *divisor > 0) {
    Values a = values_of(n->a, asking);
    return {wide_floor_div(a.least, *divisor), wide_floor_div(a.most, *divisor)};
  }
  if (n->op != BinOp::min && n->op != BinOp::max) return any;
  Values a = values_of(n->a, asking), b = values_of(n->b, asking);
  if (n->op == BinOp::min) return {std::min(a.least, b.least), std::min(a.most, b.most)};
  return {std::max(a.least, b.least), std::max(a.most, b.most)};
}

/// A guard says k · atom + rest >= 0.
void BoundsContext::narrow(Values &v, const Expr &atom, Asking asking) const {
  --asking.guards;
  if (constraints_.size() > most_rests) asking.guards = 0;
  asking.small = nullptr;
  for (const Affine &c : constraints_)
    for (size_t i = 0; i < c.terms.size(); ++i) {
      if (!equal(c.terms[i].atom, atom)) continue;
      Affine rest = c;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
      WideInt most = values_of(rest, asking).most, k = c.terms[i].coefficient;
      if (k > 0)
        v.least = std::max(v.least, -wide_floor_div(most, k));
      else
        v.most = std::min(v.most, wide_floor_div(most, -k));
    }
}

bool BoundsContext::is_exact(const Affine &form, std::vector<Expr> *small) const {
  bool is_atom = form.terms.size() == 1 && form.terms[0].coefficient == 1 && form.constant == 0;
  if (is_atom || values_of(form, {}).fit_words()) return true;
  if (!small) return false;
  std::vector<Expr> needed = *small;
  if (!values_of(form, {.small = &needed}).fit_words()) return false;
  *small = std::move(needed);
  return true;
}

bool BoundsContext::is_exact(const Expr &e) const {
  auto form = affine_of(e);
  return form && is_exact(*form, nullptr);
}

/// What the symbols of a guard mean must stay as long as its branch runs: no loads.
std::optional<Affine> BoundsContext::exact_form(const Expr &e) const {
  bool loads = false;
  walk(e, [&](const Load &, const Expr &) { loads = true; });
  auto form = loads ? std::nullopt : affine_of(e);
  return form && is_exact(*form, nullptr) ? form : std::nullopt;
}

}  // namespace kw
