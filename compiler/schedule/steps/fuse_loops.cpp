// Visits pairs of adjacent loops from the outermost loops inwards, each pair once.
#include "schedule/steps/steps.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Statements of a fused body. Chosen: more need more registers than there are.
constexpr size_t most_fused_statements = 24;
/// Arrays of a fused body. Chosen: prefetchers follow few at once.
constexpr size_t most_streams = 10;

/// Returns the arrays that a body accesses; mutable scalars in registers are none.
std::unordered_set<const BufNode *> memory_of(const Stmt &body) {
  std::unordered_set<const BufNode *> out;
  auto add = [&](const Buf &b) {
    if (b->space != Space::registers) out.insert(b.get());
  };
  walk(
      body, [&](const Load &n, const Expr &) { add(n.buf); },
      [&](const Store &n, const Stmt &) { add(n.buf); });
  return out;
}

size_t count_statements(const Stmt &body) {
  size_t out = 0;
  walk(body, [&](const Store &, const Stmt &) { ++out; }, [&](const Let &, const Stmt &) { ++out; });
  return out;
}

bool same_range(const For &a, const For &b) {
  return a.step == b.step && equal(a.lo, b.lo) && equal(a.hi, b.hi);
}

/// Returns whether two loops gain by fusion: they share memory, and the fused body stays within both limits.
bool would_gain(const For &a, const For &b) {
  if (a.hint != Hint::none || b.hint != Hint::none) return false;
  auto first = memory_of(a.body), second = memory_of(b.body);
  size_t shared = 0;
  for (const BufNode *x : second) shared += first.count(x);
  return shared > 0 && first.size() + second.size() - shared <= most_streams &&
         count_statements(a.body) + count_statements(b.body) <= most_fused_statements;
}

/// Fuses one pair of neighbours after the other. Each fusion changes the numbers of loops, so the search
/// begins anew; pairs are remembered by their iterators.
class Fuser {
 public:
  explicit Fuser(LoopNest &nest) : nest_(nest) {}

  void run() {
    while (fuse_one()) {
    }
    if (fused_) contract();
  }

 private:
  /// Fuses the first pair that gains and is legal; returns whether there was one.
  bool fuse_one() {
    const std::vector<NestLoop> &loops = nest_.nest().loops;
    for (uint32_t a = 0; a < loops.size(); ++a)
      for (uint32_t b = a + 1; b < loops.size(); ++b) {
        if (loops[b].parent != loops[a].parent) continue;
        if (loops[a].loop && loops[b].loop && try_pair(a, b)) return true;
        break;  // only the next loop can be adjacent
      }
    return false;
  }

  bool try_pair(uint32_t a, uint32_t b) {
    const For &x = *nest_.nest().loops[a].loop, &y = *nest_.nest().loops[b].loop;
    if (!same_range(x, y) || !asked_.insert({x.iter.get(), y.iter.get()}).second || !would_gain(x, y))
      return false;
    if (has_cut_inside(x) || has_cut_inside(y)) return false;
    bool threads = nest_.is_free(a, FreeFor::threads) && nest_.is_free(b, FreeFor::threads);
    bool lanes = nest_.is_free(a, FreeFor::lanes) && nest_.is_free(b, FreeFor::lanes);
    if (!threads && !lanes) return false;
    // The fused loop is judged on a copy: a fusion must not cost the threads or the vectors of its two loops.
    LoopNest trial = nest_;
    Directive d{Fuse{a, b}, "they share memory"};
    if (!trial.try_apply(d).ok()) return nest_ = std::move(trial), false;  // it has noted the refusal
    bool stays_free =
        (!threads || trial.is_free(a, FreeFor::threads)) && (!lanes || trial.is_free(a, FreeFor::lanes));
    if (!stays_free) return nest_.reject(d, "as one loop its iterations would depend on each other"), false;
    nest_ = std::move(trial);
    return fused_ = true;
  }

  /// Contracts arrays if an iteration of a loop, innermost loops first, uses one element only.
  void contract() {
    std::vector<Buf> made;
    walk(nest_.region(), [&](const Alloc &n, const Stmt &) {
      if (n.buf->rank() > 0) made.push_back(n.buf);
    });
    for (const Buf &b : made) contract(b);
  }

  void contract(const Buf &buf) {
    for (uint32_t l = static_cast<uint32_t>(nest_.nest().loops.size()); l-- > 0;) {
      const For *loop = nest_.nest().loops[l].loop;
      if (!loop || !memory_of(loop->body).count(buf.get())) continue;
      if (nest_.try_apply(Contract{buf, l}).ok()) return;
    }
  }

  LoopNest &nest_;
  std::set<std::pair<const SymNode *, const SymNode *>> asked_;
  bool fused_ = false;
};

}  // namespace

void fuse_loops(LoopNest &nest) { Fuser(nest).run(); }

}  // namespace kw
