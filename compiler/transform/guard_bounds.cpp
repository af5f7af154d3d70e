// Derives facts and checks from the proofs of analysis/access.
#include "transform/passes.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/access.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "transform/place_checks.h"

namespace kw {

namespace {

/// The proofs that make an access safe without a check: none, those from loops, or also those under facts.
enum class Trust { nothing, loops, facts };

class Guard {
 public:
  Guard(const Func &f, Trust trust, bool check_data) : out_(f), trust_(trust), check_data_(check_data) {}

  Func run() {
    Func source = out_;
    if (assumes()) {
      extent_facts();
      for (bool guarded : {false, true}) assume_conditions(source, guarded);
    }
    find_loops_over_data(source);
    for_each_access(source, assumes(), [&](const Access &a, const BoundsContext &context) {
      for (size_t d = 0; d < a.index->size(); ++d) index(a, d, context);
    });
    walk(source.body, [&](const Alloc &n, const Stmt &s) { extents_of(n, s); });
    if (checks_.empty()) return std::move(out_);
    out_.body = place_checks(source.body, checks_);
    return std::move(out_);
  }

 private:
  bool assumes() const { return trust_ == Trust::facts; }

  void extent_facts() {
    for (const Sym &s : out_.extents)
      if (s->kind == SymKind::extent) add_fact(binary(BinOp::le, const_int(1), ref(s, s->loc)));
  }

  bool assumed(const Expr &fact) const {
    return std::any_of(out_.facts.begin(), out_.facts.end(), [&](const Expr &f) { return equal(f, fact); });
  }
  bool assumed(const std::vector<Expr> &facts) const {
    return std::all_of(facts.begin(), facts.end(), [&](const Expr &f) { return assumed(f); });
  }
  void add_fact(const Expr &fact) {
    if (!assumed(fact)) out_.facts.push_back(fact);
  }

  /// Adds the facts that prove the indices of all accesses, either the guarded ones or the others.
  void assume_conditions(const Func &f, bool guarded) {
    for_each_access(f, true, [&](const Access &a, const BoundsContext &context) {
      for (size_t d = 0; a.guarded == guarded && d < a.index->size(); ++d) {
        IndexProof proof = prove_index(a, d, context);
        if (!provable(proof.low, a) || !provable(proof.high, a)) continue;
        for (const Proof *p : {&proof.low, &proof.high})
          for (const Expr &fact : p->facts()) add_fact(fact);
      }
    });
  }

  bool holds(const Proof &p) const {
    if (p.kind != Proof::Kind::under_fact) return p.kind == Proof::Kind::proved;
    return assumes() && assumed(p.facts());
  }

  /// Returns whether the proof may be used, together with its fact. The fact of a guarded access may fail in
  /// calls that never reach the access. It is assumed only if it says that one size is at least another, or
  /// at least a number. This relates tensors of the same loops, and gives weights their taps, guarded or not.
  /// If the call itself decides the guard, the check is hoisted with the guard: a tensor may be a mere
  /// placeholder. Facts that a number is small are not assumed: a large number may stand for "no limit".
  bool provable(const Proof &p, const Access &a) const {
    if (!assumes()) return p.kind == Proof::Kind::proved;
    if (a.guarded && !assumed(p.smallness())) return false;
    if (!p.fact || !a.guarded || assumed(p.fact))
      return p.kind == Proof::Kind::proved || p.kind == Proof::Kind::under_fact;
    if (!a.guard_varies || !as<Binary>(p.fact)) return false;  // `worst` belongs to one of several facts
    auto has_term = [&](int sign) {
      return std::any_of(p.worst.terms.begin(), p.worst.terms.end(),
                         [&](const AffineTerm &t) { return (t.coefficient > 0) == (sign > 0); });
    };
    bool sizes = std::all_of(p.worst.terms.begin(), p.worst.terms.end(),
                             [](const AffineTerm &t) { return is_extent(t.atom); });
    return sizes && has_term(1) && (has_term(-1) || p.worst.terms.size() == 1);
  }

  void index(const Access &a, size_t d, const BoundsContext &context) {
    if (trust_ != Trust::nothing) {
      IndexProof proof = prove_index(a, d, context);
      if (holds(proof.low) && holds(proof.high)) return;
    }
    add_check(a, d);
  }

  /// Returns whether an index is read from memory, from a local that may be, or counts from or to such a
  /// value.
  bool is_data(const Expr &index) const {
    bool read = false;
    walk(
        index, [&](const Load &, const Expr &) { read = true; },
        [&](const Ref &n, const Expr &) {
          read |= n.sym->kind == SymKind::local || over_data_.count(n.sym.get()) > 0;
        });
    return read;
  }
  void find_loops_over_data(const Func &f) {
    walk(f.body, [&](const For &n, const Stmt &) {
      if (is_data(n.lo) || is_data(n.hi)) over_data_.insert(n.iter.get());
    });
  }

  static bool counts_from_end(const Expr &index, const Expr &extent) {
    const Binary *sum = as<Binary>(index);
    return sum && sum->op == BinOp::add && equal(sum->a, extent) && as_int(sum->b).value_or(0) < 0;
  }

  /// Returns whether the source has an index of 64 unsigned bits. A cast that the user wrote has a location
  /// of its own.
  static bool was_unsigned(const Expr &index) {
    const Cast *n = as<Cast>(index);
    return n && n->a.dtype() == DType::u64 && n->a.loc() == index.loc();
  }

  uint32_t site_of(const Access &a, size_t d) {
    const Expr &index = (*a.index)[d];
    Loc loc = index.loc().known() ? index.loc() : a.loc;
    bool from_end = counts_from_end(index, a.buf->extents[d]), is_unsigned = was_unsigned(index);
    auto same = [&](const Site &s) {  // copies of a place may be simplified differently
      return s.loc == loc && s.buf == a.buf && s.dim == d && s.from_end == from_end &&
             s.is_unsigned == is_unsigned;
    };
    auto known = std::find_if(out_.sites.begin(), out_.sites.end(), same);
    if (known != out_.sites.end()) return static_cast<uint32_t>(known - out_.sites.begin());
    out_.sites.push_back({Code::E303, loc, a.buf, static_cast<uint32_t>(d), from_end, is_unsigned, {}});
    return static_cast<uint32_t>(out_.sites.size() - 1);
  }

  /// Adds checks of extents, because NumPy refuses negative ones where the temporary is made.
  void extents_of(const Alloc &n, const Stmt &s) {
    for (size_t d = 0; d < n.buf->extents.size(); ++d) {
      const Expr &extent = n.buf->extents[d];
      auto form = affine_of(extent);
      if (form && BoundsContext(false).nonnegative(*form).kind == Proof::Kind::proved) continue;
      out_.sites.push_back({Code::E304, n.buf->sym->loc, n.buf, static_cast<uint32_t>(d), false, false, {}});
      auto site = static_cast<uint32_t>(out_.sites.size() - 1);
      checks_[s.p.get()].push_back(check(binary(BinOp::le, const_int(0), extent), site, n.buf->sym->loc));
    }
  }

  void add_check(const Access &a, size_t d) {
    const Expr &index = (*a.index)[d];
    if (!check_data_ && is_data(index)) return;
    Expr place = cast(DType::u64, index), extent = cast(DType::u64, a.buf->extents[d]);
    Expr inside = binary(BinOp::lt, place, extent, a.loc);
    if (as_int(inside) == 1) return;
    if (as_const(inside)) inside = unfolded(BinOp::lt, place, extent, a.loc);
    checks_[a.statement.p.get()].push_back(under_path(a, check(inside, site_of(a, d), a.loc)));
  }

  Func out_;
  Trust trust_;
  bool check_data_;
  std::unordered_set<const SymNode *> over_data_;  ///< iterators of loops whose bounds are data
  Placed checks_;
};

}  // namespace

Func guard_bounds(const Func &f, const Target &) { return Guard(f, Trust::facts, true).run(); }
Func guard_bounds_without_facts(const Func &f, const Target &) { return Guard(f, Trust::loops, true).run(); }
Func guard_bounds_but_data(const Func &f, const Target &) { return Guard(f, Trust::facts, false).run(); }
Func guard_bounds_without_facts_but_data(const Func &f, const Target &) {
  return Guard(f, Trust::loops, false).run();
}
Func check_all_bounds(const Func &f, const Target &) { return Guard(f, Trust::nothing, true).run(); }

}  // namespace kw
