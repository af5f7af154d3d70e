// Definite-write analysis over structured control flow.
#include "analysis/init.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/interval.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

namespace {

/// A written interval of one dimension: [low, high), or everything if both are null.
struct Span {
  Expr low, high;
  std::optional<Affine> from, to;  ///< the affine forms of low and high

  Span() = default;
  Span(Expr l, Expr h) : low(std::move(l)), high(std::move(h)), from(affine_of(low)), to(affine_of(high)) {}
  bool whole() const { return !low; }
  bool constant() const { return whole() || (from && to && from->is_constant() && to->is_constant()); }
};

/// A written part of a buffer: a box of spans.
struct Region {
  const BufNode *buf;
  std::vector<Span> spans;
  bool joined = false;      ///< merged from regions that were already known
  bool overclaims = false;  ///< less was written if a loop bound wraps

  bool constant() const {
    return std::all_of(spans.begin(), spans.end(), [](const Span &s) { return s.constant(); });
  }
};
using Regions = std::vector<Region>;

/// Returns `b` - `a` if it is constant.
std::optional<int64_t> distance(const std::optional<Affine> &a, const std::optional<Affine> &b) {
  if (!a || !b || a->terms.size() != b->terms.size()) return std::nullopt;
  auto difference = add_scaled(*b, *a, -1);
  return difference && difference->is_constant() ? std::optional(difference->constant) : std::nullopt;
}

bool same(const Span &a, const Span &b) {
  if (a.whole() || b.whole()) return a.whole() && b.whole();
  return distance(a.from, b.from) == 0 && distance(a.to, b.to) == 0;
}

/// Returns whether `a` surely contains all of `b`.
bool contains(const Span &a, const Span &b) {
  if (a.whole() || b.whole()) return a.whole();
  return distance(a.from, b.from).value_or(-1) >= 0 && distance(b.to, a.to).value_or(-1) >= 0;
}
bool contains(const Region &a, const Region &b) {
  if (a.buf != b.buf || (a.overclaims && !b.overclaims)) return false;
  for (size_t d = 0; d < a.spans.size(); ++d)
    if (!contains(a.spans[d], b.spans[d])) return false;
  return true;
}

/// Returns the load of the element that a store adds to; null for other stores. Finds `x += t`, `-=`, `|=`,
/// `^=` and their long forms, also below casts and further terms.
const ExprNode *own_read(const Store &s) {
  auto bare = [](const Expr &e) {
    const Expr *at = &e;
    while (const Cast *c = as<Cast>(*at)) at = &c->a;
    return at;
  };
  auto is_own = [&](const Expr &e) {
    const Load *l = as<Load>(e);
    return l && same_place(*l, s);
  };
  const Expr *at = bare(s.value);
  while (const Binary *n = as<Binary>(*at)) {
    bool takes_back = n->op == BinOp::sub;
    if (!takes_back && n->op != BinOp::add && n->op != BinOp::bit_or && n->op != BinOp::bit_xor) break;
    const Expr *left = bare(n->a), *right = bare(n->b);
    if (is_own(*left)) return left->p.get();
    if (!takes_back && is_own(*right)) return right->p.get();
    at = left;
  }
  return nullptr;
}

constexpr size_t max_nest = 6;  ///< in deeper nests, writes of earlier iterations are not analysed

/// Walks the function in execution order. `written_` holds the regions that every path to the current place
/// has written.
class InitAnalysis {
 public:
  InitReport run(const Func &f) {
    for (const Param &p : f.params)
      if (p.buf && p.mode == ParamMode::out) tracked_.emplace(p.buf.get(), p.fill);
    statements(f.body);
    for (const Param &p : f.params)
      if (p.buf && p.mode == ParamMode::out && !whole(p.buf)) note(report_.needs_zero, p.buf);
    return std::move(report_);
  }

 private:
  /// Visits a block. The facts that its jumping guards establish hold to its end.
  void statements(const Stmt &root) {
    size_t outside = std::exchange(behind_guards_, 0);
    for_each_in_block(root, [&](const Stmt &s) { statement(s); });
    context_.drop(std::exchange(behind_guards_, outside));
  }

  void statement(const Stmt &s) {
    if (const Store *n = as<Store>(s)) return store(*n);
    for_each_expression(s, [&](const Expr &e) { reads(e); });
    if (const Alloc *n = as<Alloc>(s); n && n->buf->space != Space::registers) {
      tracked_.emplace(n->buf.get(), n->fill);
      forget(written_, n->buf.get());  // each execution of the Alloc gives fresh memory
    }
    if (const For *n = as<For>(s)) loop(*n);
    if (const While *n = as<While>(s)) {
      Regions before = written_;
      iteration(n->body);
      written_ = std::move(before);
    }
    if (const If *n = as<If>(s)) branch(*n);
    const Jump *jump = as<Jump>(s);
    if (jump && jump->kind != JumpKind::break_loop && !continued_.empty()) {
      std::optional<Regions> &all = continued_.back();
      all = all ? common(std::move(*all), written_) : written_;
    }
  }

  void store(const Store &n) {
    for (const Expr &e : n.index) reads(e);
    reads(n.value, own_read(n));
    if (!tracked_.count(n.buf.get())) return;
    bool by_data = std::any_of(n.index.begin(), n.index.end(), [](const Expr &e) { return has_load(e); });
    if (by_data) return;
    Region r{n.buf.get(), {}};
    for (const Expr &e : n.index) r.spans.emplace_back(e, add(e, const_int(1)));
    find_whole_spans(r);  // of dimensions of one element
    add_region(std::move(r));
  }

  void branch(const If &n) {
    Regions before = written_;
    size_t assumed = context_.assume(n.cond, true);
    statements(n.yes);
    context_.drop(assumed);
    Regions yes = std::exchange(written_, before);
    assumed = context_.assume(n.cond, false);
    statements(n.no);
    context_.drop(assumed);
    // a branch that jumps away does not reach the code after the condition
    if (n.no && always_jumps(n.no))
      written_ = std::move(yes);
    else if (!always_jumps(n.yes))
      written_ = common(std::move(written_), yes);
    behind_guards_ += context_.assume_behind(n);
  }

  static void forget(Regions &regions, const BufNode *buf) {
    std::erase_if(regions, [&](const Region &r) { return r.buf == buf; });
  }

  /// Returns the regions that are surely in both.
  static Regions common(Regions a, const Regions &b) {
    auto held = [](const Regions &list, const Region &r) {
      return std::any_of(list.begin(), list.end(), [&](const Region &o) { return contains(o, r); });
    };
    Regions more;
    for (const Region &r : b)
      if (held(a, r)) more.push_back(r);
    std::erase_if(a, [&](const Region &r) { return !held(b, r); });
    for (Region &r : more)
      if (!held(a, r)) a.push_back(std::move(r));
    return a;
  }

  /// Visits a loop body. Afterwards `written_` holds what every path to the next iteration has written.
  void iteration(const Stmt &body) {
    continued_.emplace_back();
    statements(body);
    if (const auto &early = continued_.back()) written_ = common(std::move(written_), *early);
    continued_.pop_back();
  }

  /// Adds a region, merged with known ones. Each known region may extend it once: with empty spans, merging
  /// might not end.
  void add_region(Region r) {
    size_t left = written_.size();
    for (bool grown = true; grown && left > 0; --left) {
      grown = false;
      for (size_t i = 0; i < written_.size() && !grown; ++i) grown = join(r, written_[i]);
    }
    // many adjacent writes stay few regions; a region that moves with a loop is kept, so that the loop can
    // sweep it
    std::erase_if(written_, [&](const Region &o) { return (o.joined || o.constant()) && contains(r, o); });
    auto holds_new = [&](const Region &o) { return lasts(o) && contains(o, r); };
    if (std::any_of(written_.begin(), written_.end(), holds_new)) return;
    if (!lasts(r)) make_room(r.buf);
    written_.push_back(std::move(r));
  }

  /// Makes room for one more region of a buffer that loops may change: each read and each further write
  /// searches all of them.
  void make_room(const BufNode *buf) {
    constexpr std::ptrdiff_t most = 16;  // chosen
    auto may_go = [&](const Region &o) { return o.buf == buf && !lasts(o); };
    if (std::count_if(written_.begin(), written_.end(), may_go) >= most)
      written_.erase(std::find_if(written_.begin(), written_.end(), may_go));
  }
  /// Returns whether the region consists of constants and whole dimensions.
  static bool lasts(const Region &r) {
    return std::all_of(r.spans.begin(), r.spans.end(),
                       [](const Span &s) { return s.whole() || s.constant(); });
  }

  /// Extends `r` along the only dimension in which `known` does not contain it, if the two spans are
  /// adjacent. Also right for empty spans: the union then claims less than was written.
  bool join(Region &r, const Region &known) const {
    if (r.buf != known.buf || r.overclaims != known.overclaims) return false;
    size_t at = SIZE_MAX;
    for (size_t d = 0; d < r.spans.size(); ++d) {
      if (holds(known.spans[d], r.spans[d])) continue;
      if (at != SIZE_MAX) return false;
      at = d;
    }
    if (at == SIZE_MAX || r.spans[at].whole() || known.spans[at].whole()) return false;
    const Span &mine = r.spans[at], &other = known.spans[at];
    if (distance(mine.to, other.from) == 0)
      r.spans[at] = Span(mine.low, other.high);
    else if (distance(other.to, mine.from) == 0)
      r.spans[at] = Span(other.low, mine.high);
    else
      return false;
    find_whole_spans(r);
    r.joined = true;
    return true;
  }
  bool holds(const Span &a, const Span &b) const {
    return contains(a, b) || (!b.whole() && at_most(a.from, b.from, 0) && at_most(b.to, a.to, 0));
  }
  static void find_whole_spans(Region &r) {
    for (size_t d = 0; d < r.spans.size(); ++d)
      if (!r.spans[d].whole() && same(r.spans[d], Span(const_int(0), r.buf->extents[d]))) r.spans[d] = {};
  }

  /// Visits the body twice: first for the writes of one iteration, then with the writes of all earlier ones.
  void loop(const For &n) {
    Regions before = std::exchange(written_, {});
    context_.enter_loop(n);
    ++nest_;
    ++silent_;
    iteration(n.body);
    --silent_;
    Regions once = std::exchange(written_, before);
    walk(n.body, [&](const Alloc &a, const Stmt &) { forget(once, a.buf.get()); });
    forget_what_changes(once, n);
    if (!silent_ || nest_ <= max_nest) {
      for (const Region &r : once) add_swept(r, n, true);
      iteration(n.body);
    }
    --nest_;
    context_.leave_loop();
    written_ = std::move(before);
    if (jumps_of(n.body).breaks) return;  // later iterations may not come
    for (const Region &r : once) add_swept(r, n, false);
  }

  /// Forgets regions with bounds that the loop body defines: such locals have other values in other
  /// iterations.
  static void forget_what_changes(Regions &regions, const For &n) {
    std::unordered_set<const SymNode *> own;
    walk(
        n.body, [&](const Let &l, const Stmt &) { own.insert(l.sym.get()); },
        [&](const For &inner, const Stmt &) { own.insert(inner.iter.get()); });
    auto changes = [&](const Expr &e) {
      bool found = false;
      if (e) walk(e, [&](const Ref &r, const Expr &) { found |= own.count(r.sym.get()) > 0; });
      return found;
    };
    std::erase_if(regions, [&](const Region &r) {
      return std::any_of(r.spans.begin(), r.spans.end(),
                         [&](const Span &s) { return changes(s.low) || changes(s.high); });
    });
  }

  /// Adds the elements that a region of one iteration covers over all iterations of a loop or, if `earlier`,
  /// over those before the current one.
  void add_swept(Region r, const For &n, bool earlier) {
    int uses = 0;
    for (size_t d = 0; d < r.spans.size(); ++d) {
      Span &s = r.spans[d];
      if (s.whole() || !(mentions(s.low, n.iter) || mentions(s.high, n.iter))) continue;
      if (++uses > 1 || !sweep(s, n, earlier)) return;
      // a loop over the whole dimension ends at its extent, which never wraps
      bool whole = as_int(n.lo) && same(s, Span(const_int(0), r.buf->extents[d]));
      r.overclaims |= !whole && !(context_.is_exact(n.lo) && context_.is_exact(n.hi));
    }
    auto lo = as_int(n.lo), hi = as_int(n.hi);
    bool runs = lo && hi && (n.step > 0 ? *lo < *hi : *lo > *hi);
    if (uses == 0 && (earlier || !runs)) return;
    find_whole_spans(r);
    add_region(std::move(r));
  }

  /// Sweeps [i + c, i + c + width) over i in a loop of step 1 or -1. Claims only the first element of each
  /// interval, so that an empty loop claims nothing.
  static bool sweep(Span &s, const For &n, bool earlier) {
    if (distance(s.from, s.to).value_or(0) < 1 || (n.step != 1 && n.step != -1)) return false;
    auto rest = add_scaled(*s.from, Affine{{{ref(n.iter), 1}}, 0}, -1);
    if (!rest || mentions(to_expr(*rest), n.iter)) return false;
    Expr offset = to_expr(*rest), now = ref(n.iter), one = const_int(1);
    Expr first = n.step == 1 ? n.lo : add(earlier ? now : n.hi, one);
    Expr end = n.step == 1 ? (earlier ? now : n.hi) : add(n.lo, one);
    if (has_load(first) || has_load(end)) return false;  // memory may hold another value later
    s = Span(add(offset, first), add(offset, end));
    return s.from && s.to;
  }

  bool whole(const Buf &buf) const {
    return std::any_of(written_.begin(), written_.end(), [&](const Region &r) {
      return r.buf == buf.get() && !r.overclaims &&
             std::all_of(r.spans.begin(), r.spans.end(), [](const Span &span) { return span.whole(); });
    });
  }

  static void note(std::vector<Buf> &list, const Buf &buf) {
    if (std::find(list.begin(), list.end(), buf) == list.end()) list.push_back(buf);
  }

  /// Records early reads. `own` is the read of the element that a store adds to: such a store relies on a
  /// start from zero.
  void reads(const Expr &e, const ExprNode *own = nullptr) {
    if (tracked_.empty()) return;
    walk(e, [&](const Load &n, const Expr &at) {
      auto tracked = tracked_.find(n.buf.get());
      if (tracked == tracked_.end()) return;
      auto covered = [&](bool overclaims) {
        return std::any_of(written_.begin(), written_.end(), [&](const Region &r) {
          if (r.buf != n.buf.get() || r.overclaims != overclaims) return false;
          for (size_t d = 0; d < n.index.size(); ++d)
            if (!inside(n.index[d], r.spans[d])) return false;
          return true;
        });
      };
      if (silent_ || covered(false)) return;
      note(report_.needs_zero, n.buf);
      if (covered(true)) return;
      report_.first_reads.emplace_back(n.buf, at.loc());
      if (tracked->second == Fill::empty) note(report_.early_reads, n.buf);
      if (tracked->second == Fill::meant || at.p.get() == own) return;
      const std::string &name = n.buf->sym->name;
      report_.warnings.push_back(
          {Code::W301,
           at.loc(),
           cat("'", name, "' may be read here before it is written"),
           {"unwritten elements are zero"},
           {cat("write '", name, "' first; where zero is meant, say so: `", name, " = np.zeros(...)`")}});
    });
  }

  bool inside(const Expr &index, const Span &span) const {
    if (span.whole()) return true;
    auto place = affine_of(index);
    if (!at_most(span.from, place, 0)) return false;
    return at_most(place, span.to, 1);
  }
  bool at_most(const std::optional<Affine> &a, const std::optional<Affine> &b, int64_t gap) const {
    auto room = a && b ? add_scaled(*b, *a, -1) : std::nullopt;
    if (!room || __builtin_sub_overflow(room->constant, gap, &room->constant)) return false;
    return context_.nonnegative(*room).kind == Proof::Kind::proved;
  }

  BoundsContext context_{false};
  size_t nest_ = 0;
  size_t behind_guards_ = 0;  ///< counts constraints, as in analysis/access
  int silent_ = 0;
  std::unordered_map<const BufNode *, Fill> tracked_;  ///< by buffer: what unwritten elements hold
  Regions written_;
  /// For each enclosing loop: the regions written at every early end of an iteration so far.
  std::vector<std::optional<Regions>> continued_;
  InitReport report_;
};

}  // namespace

InitReport analyse_initialisation(const Func &f) { return InitAnalysis().run(f); }

}  // namespace kw
