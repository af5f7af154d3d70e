// The rules of each directive, and the search for a witness.
#include "schedule/legal.h"

#include <algorithm>

#include "ir/jumps.h"
#include "ir/match.h"
#include "schedule/privatise.h"

namespace kw {

namespace {

class Judge {
 public:
  Judge(const Nest &nest, const Directive &directive) : nest_(nest), directive_(directive) {}

  Verdict run(const Func &f) {
    const For &loop = *nest_.loops[directive_.loop].loop;
    if (Jumps jumps = jumps_of(loop.body); jumps.breaks) {
      Verdict out{Reason::jump};
      out.jump = jumps.first_break;
      return out;
    }
    std::vector<const BufNode *> own = private_scalars(f, nest_, directive_.loop);
    Dependences carried = find_dependences(nest_, {directive_.loop});
    if (!carried.complete) return {Reason::unproved};
    std::vector<Verdict> refusals;
    for (const Dependence &d : carried.found) {
      if (std::find(own.begin(), own.end(), from(d).buf.get()) != own.end()) continue;
      if (Verdict v = judge(d); !v.ok()) refusals.push_back(std::move(v));
    }
    return worst_of(std::move(refusals));
  }

 private:
  const NestAccess &from(const Dependence &d) const { return nest_.statements[d.source].accesses[d.from]; }
  const NestAccess &to(const Dependence &d) const { return nest_.statements[d.sink].accesses[d.to]; }

  /// The refusal that is told: of those with the highest rank one that has a witness.
  Verdict worst_of(std::vector<Verdict> refusals) const {
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
      if (directive_.verb == Directive::Verb::reduce || (free && !data)) return {};
      if (!data) return {Reason::ordered, d, {}, {}, {}};
    }
    if (directive_.verb == Directive::Verb::vectorize && lanes_keep_order(d)) return {};
    auto guess = in_subscripts(x, y, [](const NestVariable &v) { return v.is_guess(); });
    if (!guess) return {Reason::conflict, d, {}, {}, {}};
    bool reads = nest_.variables[*guess].reads_data;
    return {reads && x.is_write && y.is_write ? Reason::repeated : Reason::unproved, d, {}, guess, {}};
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

  /// Without a witness a conflict is only unproved. Iterations that meet by a guess are shown for data only.
  Verdict with_witness(Verdict v) const {
    if (v.cause && !nest_.variables[*v.cause].reads_data) return v;
    PairSystem system(nest_, *v.dependence, v.dependence->level, true);
    system.keep_in_bounds();
    auto point = system.find_point();
    if (!point) {
      if (v.reason == Reason::conflict) v.reason = Reason::unproved;
      return v;
    }
    Witness w;
    w.certain = system.exact();
    for (uint32_t i = 0; i < nest_.variables.size(); ++i)
      if (nest_.variables[i].kind == NestVariable::Kind::symbol && point->at_source[i])
        w.symbols.emplace_back(i, *point->at_source[i]);
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

  const Nest &nest_;
  const Directive &directive_;
};

}  // namespace

Verdict legal(const Func &f, const Nest &nest, const Directive &directive) {
  return Judge(nest, directive).run(f);
}

}  // namespace kw
