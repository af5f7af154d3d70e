// The rule for the order of sums, applied to every accumulating store with the loops around it.
#include "analysis/nest/sum_order.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// The term of a sum, with the values of its locals that are assigned once in a loop of the sum.
class SumTerm {
 public:
  using Locals = std::unordered_map<const SymNode *, Expr>;
  SumTerm(Expr term, const Locals &locals) : term_(std::move(term)), locals_(locals) {}

  /// Returns the last subscripts of all elements that the term reads, the accumulator's own excepted.
  std::vector<Expr> last_subscripts(const Store &accumulator) const {
    std::vector<Expr> out;
    for (const Expr &e : with_locals(term_))
      walk(e, [&](const Load &n, const Expr &) {
        if (!n.index.empty() && !same_place(n, accumulator)) out.push_back(n.index.back());
      });
    return out;
  }

  /// Returns whether the term is a product in which each factor reads along a loop that the other does not.
  bool is_matrix_product(const std::vector<const For *> &others) const {
    const Expr *whole = &term_;
    for (const Ref *r = as<Ref>(*whole); r && locals_.count(r->sym.get()); r = as<Ref>(*whole))
      whole = &locals_.at(r->sym.get());
    const Binary *product = as<Binary>(*whole);
    if (!product || product->op != BinOp::mul) return false;
    auto only_in = [&](const Expr &with, const Expr &without) {
      return std::any_of(others.begin(), others.end(), [&](const For *loop) {
        return depends_on(with, loop->iter) && !depends_on(without, loop->iter);
      });
    };
    return only_in(product->a, product->b) && only_in(product->b, product->a);
  }

 private:
  /// Returns an expression and the values that it uses through locals, each once.
  std::vector<Expr> with_locals(const Expr &e) const {
    std::unordered_set<const SymNode *> seen;
    std::vector<Expr> out{e};
    for (size_t i = 0; i < out.size(); ++i)
      walk(Expr(out[i]), [&](const Ref &n, const Expr &) {
        auto local = locals_.find(n.sym.get());
        if (local != locals_.end() && seen.insert(n.sym.get()).second) out.push_back(local->second);
      });
    return out;
  }

  /// Returns whether an expression mentions the symbol, itself or through a local.
  bool depends_on(const Expr &e, const Sym &sym) const {
    std::vector<Expr> parts = with_locals(e);
    return std::any_of(parts.begin(), parts.end(), [&](const Expr &part) { return mentions(part, sym); });
  }

  Expr term_;
  const Locals &locals_;
};

/// Returns whether subscripts surely differ: they have different constants in some dimension.
bool surely_apart(const std::vector<Expr> &a, const std::vector<Expr> &b) {
  for (size_t d = 0; d < a.size(); ++d) {
    auto x = as_int(a[d]), y = as_int(b[d]);
    if (x && y && *x != *y) return true;
  }
  return false;
}

using Loops = std::vector<const For *>;  // null for a while

/// Facts about a loop, shared by its sums and found by one walk over its body.
struct LoopFacts {
  LoopInvariance invariance;
  SumTerm::Locals locals;
  struct Accesses {
    std::vector<const std::vector<Expr> *> reads, writes;  ///< subscripts
    bool is_allocated = false;
  };
  std::unordered_map<const BufNode *, Accesses> accesses;
  bool has_jumps;
  size_t arguments = 0;  ///< buffers among `accesses` that are arguments

  LoopFacts(const For &loop, Overlap overlap)
      : invariance(loop, overlap), has_jumps(jumps_of(loop.body).any()) {
    walk(
        loop.body, [&](const Let &n, const Stmt &) { locals[n.sym.get()] = n.value; },
        [&](const Load &n, const Expr &) { accesses[n.buf.get()].reads.push_back(&n.index); },
        [&](const Store &n, const Stmt &) { accesses[n.buf.get()].writes.push_back(&n.index); },
        [&](const Alloc &n, const Stmt &) { accesses[n.buf.get()].is_allocated = true; });
    for (const auto &[buf, all] : accesses) arguments += buf->space == Space::param;
  }
};

/// Decides the order of each sum. Facts about a loop are computed once and shared by its sums.
class SumOrders {
 public:
  explicit SumOrders(const Func &f) : fp_(f.fp), overlap_(f.overlap) {}

  std::vector<OrderedSum> sums(const Func &f) {
    std::vector<OrderedSum> out;
    for_each_store(f.body, [&](const Stmt &s, const Store &n, const Loops &loops) {
      Accumulation acc = accumulation_of(n);
      if (!acc.is_sum_or_product()) return;
      std::vector<const For *> reduced = reduced_band(n, loops);
      if (reduced.empty()) return;
      auto [order, why] = order_of(n, acc.term, reduced, loops);
      OrderedSum sum{s, order, why, {}};
      for (auto loop = reduced.rbegin(); loop != reduced.rend(); ++loop) sum.band.push_back((*loop)->iter);
      out.push_back(std::move(sum));
    });
    return out;
  }

 private:
  LoopFacts &facts(const For *loop) { return facts_.try_emplace(loop, *loop, overlap_).first->second; }

  /// Returns the reduced band of language.md 3, innermost first. It is the maximal run of innermost loops
  /// over which the element of the store is invariant. If their bounds are not rectangular, it is the
  /// innermost loop only. A while ends the band.
  std::vector<const For *> reduced_band(const Store &s, const Loops &loops) {
    std::vector<const For *> out;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      // an accumulator that each iteration declares for itself also ends the band
      bool goes_on =
          *loop && facts(*loop).invariance.holds(s.index) && !facts(*loop).accesses[s.buf.get()].is_allocated;
      if (!goes_on) break;
      out.push_back(*loop);
    }
    if (out.size() > 1 && !is_rectangular(out)) out.resize(1);
    return out;
  }

  /// Returns whether no bound reads memory or a value bound by the loops of the band: then the trip counts
  /// are known before the band begins.
  static bool is_rectangular(const std::vector<const For *> &band) {
    std::unordered_set<const SymNode *> bound_inside;
    for (const For *loop : band) bound_inside.insert(loop->iter.get());
    walk(band.back()->body, [&](const Let &n, const Stmt &) { bound_inside.insert(n.sym.get()); });
    bool fixed = true;
    for (const For *loop : band)
      for (const Expr &bound : {loop->lo, loop->hi})
        walk(
            bound, [&](const Load &, const Expr &) { fixed = false; },
            [&](const Ref &n, const Expr &) { fixed = fixed && !bound_inside.count(n.sym.get()); });
    return fixed;
  }

  struct Decision {
    Order order;
    std::string_view why;
  };
  /// Returns whether the loops read or write the sum's element elsewhere too, where partial sums would be
  /// visible. Subscripts that may be equal count as equal.
  bool read_elsewhere(const Store &s, const For *outermost) {
    const LoopFacts::Accesses &all = facts(outermost).accesses[s.buf.get()];
    auto several_meet = [&](const std::vector<const std::vector<Expr> *> &list) {
      return std::count_if(list.begin(), list.end(),
                           [&](const auto *index) { return !surely_apart(*index, s.index); }) > 1;
    };
    return several_meet(all.reads) || several_meet(all.writes);
  }

  /// Returns whether arguments may overlap and the loops access another argument than the sum's, which may
  /// alias the sum's memory.
  bool may_be_argument_of(const Store &s, const For *outermost) {
    return overlap_ == Overlap::possible && s.buf->space == Space::param && facts(outermost).arguments > 1;
  }

  /// Applies the rules from the most general to (a)–(c); the first that holds gives the reason.
  Decision order_of(const Store &s, const Expr &term, const std::vector<const For *> &reduced,
                    const Loops &loops) {
    if (!is_float(s.buf->dtype)) return {Order::source, "integers: every order gives the same"};
    if (fp_ == FpMode::strict) return {Order::source, "fp='strict'"};
    if (read_elsewhere(s, reduced.back())) return {Order::source, "the sum is used inside its loop"};
    if (may_be_argument_of(s, reduced.back())) return {Order::source, "arguments share memory"};
    // if a loop can end early, its number of terms is unknown at its entry
    auto early = [&](const For *loop) { return facts(loop).has_jumps; };
    if (std::any_of(reduced.begin(), reduced.end(), early)) return {Order::source, "the loop can end early"};
    Decision decision = lanes_or_source(s, term, reduced, loops);
    if (fp_ == FpMode::fast && decision.order == Order::source) return {Order::any, "fp='fast'"};
    return decision;
  }

  /// Applies rules (a) to (c) of language.md 3, which look at the subscripts.
  Decision lanes_or_source(const Store &s, const Expr &term, const std::vector<const For *> &reduced,
                           const Loops &loops) {
    SumTerm sum(term, facts(reduced.back()).locals);
    std::vector<Expr> last = sum.last_subscripts(s);
    auto in_last = [&](const For *loop) { return mentions(last, loop->iter); };
    if (std::none_of(reduced.begin(), reduced.end(), in_last))
      return {Order::source, "no loop of the sum runs along the last subscript of what is read"};
    std::vector<const For *> others;
    for (const For *loop : loops)
      if (loop && std::find(reduced.begin(), reduced.end(), loop) == reduced.end()) others.push_back(loop);
    if (std::any_of(others.begin(), others.end(), in_last))
      return {Order::source, "another loop runs along the last subscript of what is read"};
    if (sum.is_matrix_product(others)) return {Order::source, "a matrix product"};
    return {Order::lanes, "the sum runs along the last subscript of what is read"};
  }

  FpMode fp_;
  Overlap overlap_;
  std::unordered_map<const For *, LoopFacts> facts_;
};

}  // namespace

std::vector<OrderedSum> find_sums(const Func &f) { return SumOrders(f).sums(f); }

}  // namespace kw
