// Collects conditions on sizes, and turns solutions of systems into witnesses.
#include "schedule/directives/witness.h"

#include <algorithm>

#include "analysis/access.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Adds the condition `larger` >= `smaller` if it is linear.
void add_at_least(const Expr &larger, const Expr &smaller, std::vector<Affine> &out) {
  auto a = affine_of(larger), b = affine_of(smaller);
  if (auto room = a && b ? add_scaled(*a, *b, -1) : std::nullopt) out.push_back(std::move(*room));
}

/// Adds the comparisons `a <= b` that a fact joins by `and`; leaves out other conditions.
void add_fact(const Expr &fact, std::vector<Affine> &out) {
  if (const Logic *n = as<Logic>(fact); n && n->is_and) add_fact(n->a, out), add_fact(n->b, out);
  if (const Binary *n = as<Binary>(fact); n && n->op == BinOp::le) add_at_least(n->b, n->a, out);
}

/// Returns whether the expression is a sum of extents and scalar arguments.
bool is_of_sizes(const Expr &e) {
  auto form = affine_of(e);
  return form && std::all_of(form->terms.begin(), form->terms.end(), [](const AffineTerm &t) {
           const Ref *r = as<Ref>(t.atom);
           return r && (r->sym->kind == SymKind::extent || r->sym->kind == SymKind::param);
         });
}

/// Returns forms over sizes and scalar arguments. If each is >= 0, the linear accesses of a function stay in
/// bounds. Accesses behind guards are included, so that some forms may be stricter than needed.
std::vector<Affine> size_conditions(const Func &f) {
  std::vector<Affine> out;
  for_each_access(f, true, [&](const Access &a, const BoundsContext &context) {
    for (size_t d = 0; d < a.index->size(); ++d) {
      IndexProof proof = prove_index(a, d, context);
      for (const Proof *p : {&proof.low, &proof.high}) {
        for (const Expr &fact : p->facts()) add_fact(fact, out);
        if (p->kind == Proof::Kind::refuted) out.push_back(p->worst);
      }
    }
  });
  for (const Param &p : f.params)
    // Nests assume extents of at least 1.
    if (p.mode == ParamMode::out)
      for (const Expr &extent : p.buf->extents) add_at_least(extent, const_int(1), out);
  walk(f.body, [&](const Alloc &n, const Stmt &) {
    for (const Expr &extent : n.buf->extents)
      if (is_of_sizes(extent)) add_at_least(extent, const_int(0), out);
  });
  return out;
}

}  // namespace

Verdict WitnessSearch::refusal(const Dependence &d) const {
  auto guess = in_subscripts(d, [](const NestVariable &v) { return v.is_guess(); });
  if (!guess) return {Reason::conflict, d, {}, {}, {}};
  bool reads = nest_.variables[*guess].reads_data;
  return {
      reads && from(d).is_write && to(d).is_write ? Reason::repeated : Reason::unproved, d, {}, guess, {}};
}

/// Returns values at which the dependence shows, in a call where all linear accesses are in bounds; or
/// nothing.
std::optional<PairSystem::Point> WitnessSearch::find_point(PairSystem &system) {
  system.keep_in_bounds();
  if (!conditions_) conditions_ = size_conditions(f_);
  system.keep_sizes(*conditions_);
  return system.find_point(&work_);
}

Verdict WitnessSearch::with_witness(Verdict v, PairSystem &system) {
  if (v.cause && !nest_.variables[*v.cause].reads_data) return v;
  auto point = find_point(system);
  if (!point) {
    // Without a point the conflict may not exist.
    if (v.reason == Reason::conflict) v.reason = Reason::unproved;
    return v;
  }
  Witness w;
  w.certain = system.exact();
  for (uint32_t i = 0; i < nest_.variables.size(); ++i)
    if (const NestVariable &n = nest_.variables[i];
        n.kind == NestVariable::Kind::symbol && !n.reads_data && point->at_source[i])
      w.sizes.emplace_back(n.expr, *point->at_source[i]);
  w.sizes.insert(w.sizes.end(), point->others.begin(), point->others.end());
  if (!std::all_of(w.sizes.begin(), w.sizes.end(), [](const auto &s) { return as<Ref>(s.first); })) {
    w.sizes.clear();  // a compound value like n % 4 may never take the value found
    w.certain = false;
  }
  auto iterations = [&](uint32_t statement, const auto &values, std::vector<int64_t> &out) {
    for (uint32_t l : nest_.statements[statement].loops)
      out.push_back(nest_.loops[l].loop ? values[nest_.loops[l].variable].value_or(0) : 0);
  };
  iterations(v.dependence->source, point->at_source, w.source);
  iterations(v.dependence->sink, point->at_sink, w.sink);
  for (const LinearForm &form : from(*v.dependence).subscripts) {
    int64_t value = form.constant;
    for (auto [i, c] : form.terms) value += c * point->at_source[i].value_or(0);
    w.element.push_back(value);
  }
  v.witness = std::move(w);
  return v;
}

}  // namespace kw
