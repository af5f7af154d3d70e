// The rules of each directive, and the search for a witness.
#include "schedule/legal.h"

#include <algorithm>

#include "analysis/access.h"
#include "ir/build.h"
#include "ir/jumps.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/privatise.h"

namespace kw {

namespace {

/// What `larger` >= `smaller` says, when it is linear.
void add_at_least(const Expr &larger, const Expr &smaller, std::vector<Affine> &out) {
  auto a = affine_of(larger), b = affine_of(smaller);
  if (auto room = a && b ? add_scaled(*a, *b, -1) : std::nullopt) out.push_back(std::move(*room));
}

void add_fact(const Expr &fact, std::vector<Affine> &out) {
  if (const Logic *n = as<Logic>(fact); n && n->is_and) add_fact(n->a, out), add_fact(n->b, out);
  if (const Binary *n = as<Binary>(fact); n && n->op == BinOp::le) add_at_least(n->b, n->a, out);
}

/// A sum of extents and scalar arguments.
bool is_of_sizes(const Expr &e) {
  auto form = affine_of(e);
  return form && std::all_of(form->terms.begin(), form->terms.end(), [](const AffineTerm &t) {
           const Ref *r = as<Ref>(t.atom);
           return r && (r->sym->kind == SymKind::extent || r->sym->kind == SymKind::param);
         });
}

/// Conditions on sizes and scalar arguments, each >= 0, under which the linear accesses of a function stay in
/// bounds, those behind guards included: some may be stricter than needed.
std::vector<Affine> size_conditions(const Func &f) {
  std::vector<Affine> out;
  for_each_access(f, true, [&](const Access &a, const BoundsContext &context) {
    for (size_t d = 0; d < a.index->size(); ++d) {
      IndexProof proof = prove_index(a, d, context);
      for (const Proof *p : {&proof.low, &proof.high}) {
        if (p->kind == Proof::Kind::under_fact) add_fact(p->fact, out);
        if (p->kind == Proof::Kind::refuted) out.push_back(p->worst);
      }
    }
  });
  for (const Param &p : f.params)
    if (p.mode == ParamMode::out)
      for (const Expr &extent : p.buf->extents) add_at_least(extent, const_int(1), out);
  walk(f.body, [&](const Alloc &n, const Stmt &) {
    for (const Expr &extent : n.buf->extents)
      if (is_of_sizes(extent)) add_at_least(extent, const_int(0), out);
  });
  return out;
}

class Judge {
 public:
  Judge(const Func &f, const Nest &nest, const Directive &directive)
      : f_(f), nest_(nest), directive_(directive) {}

  Verdict run() {
    const For &loop = *nest_.loops[directive_.loop].loop;
    if (Jumps jumps = jumps_of(loop.body); jumps.breaks) {
      Verdict out{Reason::jump};
      out.jump = jumps.first_break;
      return out;
    }
    std::vector<const BufNode *> own = private_scalars(f_, nest_, directive_.loop);
    Dependences carried = find_dependences(nest_, {directive_.loop});
    if (!carried.complete) return {Reason::unproved};
    std::vector<Verdict> refusals;
    for (const Dependence &d : carried.found) {
      if (std::find(own.begin(), own.end(), from(d).buf.get()) != own.end()) continue;
      if (Verdict v = judge(d); !v.ok()) refusals.push_back(std::move(v));
    }
    Verdict out = worst_of(std::move(refusals));
    if (out.ok()) out.shared = std::move(shared_), out.in_step = in_step_;
    return out;
  }

 private:
  const NestAccess &from(const Dependence &d) const { return nest_.statements[d.source].accesses[d.from]; }
  const NestAccess &to(const Dependence &d) const { return nest_.statements[d.sink].accesses[d.to]; }

  /// The refusal that is told: of those with the highest rank one that has a witness.
  Verdict worst_of(std::vector<Verdict> refusals) {
    std::stable_sort(refusals.begin(), refusals.end(),
                     [&](const Verdict &a, const Verdict &b) { return rank(a) > rank(b); });
    if (refusals.empty()) return {};
    Verdict worst;
    for (size_t i = 0; i < std::min(refusals.size(), max_searches); ++i) {
      Verdict v = with_witness(std::move(refusals[i]));
      if (rank(v) > rank(worst)) worst = std::move(v);
      if (i + 1 < refusals.size() && rank(worst) >= rank(refusals[i + 1])) break;
    }
    return worst;
  }

  /// Certain conflicts first, and of these a value that is needed. Without a witness yet the rank is the
  /// highest that it can come to.
  int rank(const Verdict &v) const {
    if (v.ok()) return 0;
    const NestAccess &x = from(*v.dependence), &y = to(*v.dependence);
    if (v.reason == Reason::ordered) return x.is_write && y.is_write ? 2 : 1;
    if (v.reason == Reason::unproved) return 3;
    if (v.reason == Reason::repeated) return 4;
    bool needed = x.is_write && !y.is_write;
    return 5 + (needed ? 1 : 0) + (!v.witness || v.witness->certain ? 2 : 0);
  }

  Verdict judge(const Dependence &d) {
    const For *loop = nest_.loops[directive_.loop].loop;
    const NestAccess &x = from(d), &y = to(d);
    std::optional<uint32_t> data = in_subscripts(
        x, y, [](const NestVariable &v) { return v.kind == NestVariable::Kind::opaque || v.reads_data; });
    if (relaxable(x.reduction, y.reduction)) {
      bool free = order_is_free(x.reduction, loop) && order_is_free(y.reduction, loop);
      if (directive_.verb == Directive::Verb::reduce || (free && !data)) return note(x.reduction.kind, free);
      if (!data) return {Reason::ordered, d, {}, {}, {}};
    }
    if (directive_.verb == Directive::Verb::vectorize && lanes_keep_order(d)) {
      in_step_ = true;
      return {};
    }
    auto guess = in_subscripts(x, y, [](const NestVariable &v) { return v.is_guess(); });
    if (!guess) return {Reason::conflict, d, {}, {}, {}};
    bool reads = nest_.variables[*guess].reads_data;
    return {reads && x.is_write && y.is_write ? Reason::repeated : Reason::unproved, d, {}, guess, {}};
  }

  Verdict note(Reduction kind, bool free) {
    bool known = std::any_of(shared_.begin(), shared_.end(),
                             [&](const SharedReduction &s) { return s.kind == kind && s.free == free; });
    if (!known) shared_.push_back({kind, free});
    return {};
  }

  template <class F>
  std::optional<uint32_t> in_subscripts(const NestAccess &x, const NestAccess &y, F &&matches) const {
    for (const NestAccess *a : {&x, &y})
      for (const LinearForm &form : a->subscripts)
        for (auto [v, c] : form.terms)
          if (matches(nest_.variables[v])) return v;
    return std::nullopt;
  }

  /// True when running the iterations in lockstep, statement by statement, keeps the source before the sink:
  /// reads of a statement come before its write, and inner loops advance together.
  bool lanes_keep_order(const Dependence &d) const {
    bool text = d.source < d.sink || (d.source == d.sink && !from(d).is_write);
    int64_t work = 50'000;
    const auto &loops = nest_.statements[d.source].loops;
    for (uint32_t m = d.level + 1; m <= d.common; ++m) {
      if (m < d.common && !nest_.loops[loops[m]].loop) return false;  // a while
      if (m == d.common && text) return true;
      PairSystem system(nest_, d, d.level, true);
      for (uint32_t between = d.level + 1; between < m; ++between)
        system.restrict_to(between, Direction::equal);
      if (m < d.common) system.restrict_to(m, Direction::earlier);
      if (!system.surely_empty(&work)) return false;
    }
    return true;
  }

  /// Values at which the dependence shows in a run that no linear access ends, or nothing.
  std::optional<PairSystem::Point> find_point(PairSystem &system) {
    system.keep_in_bounds();
    if (!conditions_) conditions_ = size_conditions(f_);
    system.keep_sizes(*conditions_);
    return system.find_point();
  }

  /// Without a witness a conflict is only unproved. Iterations that meet by a guess are shown for data only.
  Verdict with_witness(Verdict v) {
    if (v.cause && !nest_.variables[*v.cause].reads_data) return v;
    PairSystem system(nest_, *v.dependence, v.dependence->level, true);
    auto point = find_point(system);
    if (!point) {
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
      w.sizes.clear();  // what is no size of its own, like n % 4, may not be able to have that value
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

  static constexpr size_t max_searches = 16;

  const Func &f_;
  const Nest &nest_;
  const Directive &directive_;
  std::vector<SharedReduction> shared_;
  bool in_step_ = false;
  std::optional<std::vector<Affine>> conditions_;  ///< once a witness is looked for
};

}  // namespace

Verdict legal(const Func &f, const Nest &nest, const Directive &directive) {
  return Judge(f, nest, directive).run();
}

}  // namespace kw
