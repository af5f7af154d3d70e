// Weighs each loop and the vector loop in it by the accesses of the innermost statements. Checks legality
// only if copies pay.
#include "schedule/cpu/steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/nest/access_stride.h"
#include "analysis/nest/trip_counts.h"
#include "schedule/cpu/register_model.h"

namespace kw {

namespace {

/// The innermost statements of the loop `lanes`, if several iterations of the loop `jammed` around it are
/// jammed.
class JammedBody {
 public:
  JammedBody(const Nest &nest, uint32_t jammed, uint32_t lanes, int64_t operations)
      : nest_(nest), jammed_(jammed), lanes_(lanes), operations_(operations) {
    size_t depth = 0;
    for (const NestStatement &s : nest_.statements)
      if (is_inside(s, lanes_)) depth = std::max(depth, s.loops.size());
    for (const NestStatement &s : nest_.statements)
      if (is_inside(s, lanes_) && s.loops.size() == depth) innermost_.push_back(&s);
    if (!innermost_.empty()) has_inner_loop_ = innermost_[0]->loops.back() != lanes_;
    add_places();
  }

  /// Returns whether every access always executes and is either contiguous or uniform over the lanes.
  bool is_simple() const {
    for (const NestStatement *s : innermost_)
      for (const NestAccess &a : s->accesses) {
        if (a.may || s->may || stride_of(nest_, a, jammed_) == StrideKind::irregular) return false;
        StrideKind m = stride_of(nest_, a, lanes_);
        if (m != StrideKind::invariant && m != StrideKind::unit) return false;
      }
    return !innermost_.empty();
  }

  /// Counts the work of all copies together. An element that several copies load counts once, and a load of
  /// what a copy has stored before does not count.
  BodyWork work(int64_t copies) const {
    BodyWork out;
    std::map<Key, Uses> loads;
    std::set<Key> stored;
    for (int64_t m = 0; m < copies; ++m)
      for (const Place &p : places_) {
        Key key = key_of(p, m);
        if (p.is_write) {
          bool is_new = stored.insert(std::move(key)).second;
          out.stores += is_new && p.is_row ? 1 : 0;
        } else if (!stored.count(key)) {
          loads.try_emplace(std::move(key), Uses{m, m, p.is_row}).first->second.last = m;
        }
      }
    for (const auto &[key, uses] : loads) ++(uses.is_row ? out.rows : out.scalars);
    out.operations = operations_ * copies;
    out.accumulators = accumulators() * copies;
    for (int64_t m = 0; m < copies; ++m)
      out.held = std::max(out.held, std::count_if(loads.begin(), loads.end(), [&](const auto &load) {
                            const Uses &u = load.second;
                            return u.first <= m && u.last >= m && u.first < u.last;
                          }));
    return out;
  }

 private:
  /// Identifies an element: the group of accesses whose subscripts differ by constants only, and these
  /// constants in one copy.
  struct Key {
    size_t shape;
    std::vector<int64_t> constants;

    auto operator<=>(const Key &) const = default;
  };
  struct Uses {
    int64_t first, last;
    bool is_row;
  };

  /// One access of the innermost statements.
  struct Place {
    size_t shape;
    bool is_write, is_row;
    std::vector<int64_t> constants, steps;  ///< of each subscript; what the next copy adds to the constant
  };

  void add_places() {
    std::vector<const NestAccess *> shapes;
    int64_t step = nest_.loops[jammed_].loop->step;
    for (const NestStatement *s : innermost_)
      for (const NestAccess &a : s->accesses) {
        if (a.buf->space == Space::registers) continue;
        auto same =
            std::find_if(shapes.begin(), shapes.end(), [&](auto *o) { return have_one_shape(a, *o); });
        Place p{static_cast<size_t>(same - shapes.begin()),
                a.is_write,
                stride_of(nest_, a, lanes_) != StrideKind::invariant,
                {},
                {}};
        if (same == shapes.end()) shapes.push_back(&a);
        for (const LinearForm &form : a.subscripts) {
          p.constants.push_back(form.constant);
          p.steps.push_back(step * factor_of(nest_, form, jammed_));
        }
        places_.push_back(std::move(p));
      }
  }

  /// Returns whether two accesses touch one buffer and their subscripts differ by constants only.
  static bool have_one_shape(const NestAccess &a, const NestAccess &b) {
    auto alike = [](const LinearForm &x, const LinearForm &y) {
      return std::is_permutation(x.terms.begin(), x.terms.end(), y.terms.begin(), y.terms.end());
    };
    return a.buf == b.buf && std::equal(a.subscripts.begin(), a.subscripts.end(), b.subscripts.begin(),
                                        b.subscripts.end(), alike);
  }

  static Key key_of(const Place &p, int64_t copy) {
    Key out{p.shape, p.constants};
    for (size_t d = 0; d < out.constants.size(); ++d) out.constants[d] += copy * p.steps[d];
    return out;
  }

  /// Counts the cells that live across the iterations of a loop inside `lanes`.
  int64_t accumulators() const {
    if (!has_inner_loop_) return 0;
    std::set<const BufNode *> cells;
    for (const NestStatement *s : innermost_)
      for (const NestAccess &a : s->accesses)
        if (a.is_write && a.buf->space == Space::registers && a.home < s->loops.size())
          cells.insert(a.buf.get());
    return static_cast<int64_t>(cells.size());
  }

  const Nest &nest_;
  uint32_t jammed_, lanes_;
  int64_t operations_;
  std::vector<const NestStatement *> innermost_;
  std::vector<Place> places_;
  bool has_inner_loop_ = false;
};

/// Returns how many iterations to jam; 1 if jamming gains too little to justify more code.
int64_t choose_copies(const Target &target, const JammedBody &body, VectorizationAnalysis::Work view,
                      bool fused) {
  // Jam if the model promises 1.25 times the rate; copies within one per cent of the best count as equal.
  // Chosen.
  constexpr double least_gain = 1.25, alike = 0.99;
  // Most vector instructions of the jammed body. Chosen: more of them compile for longer than they save.
  constexpr int64_t most_instructions = 96;
  uint32_t operations = view.operations;
  double plain = 0, best = 0, least = 0;  // `least`: elements read per vector of results
  int64_t chosen = 1, lanes = target.vector_bytes() / 4;
  for (int64_t copies : {1, 2, 4, 8}) {
    BodyWork work = body.work(copies);
    view.operations = operations * static_cast<uint32_t>(copies);
    int64_t vectors = vectors_per_value(target, view);
    while (vectors > 1 && !fits_registers(target, work, vectors, fused)) vectors /= 2;
    int64_t instructions = (work.rows + work.stores + work.operations) * vectors + work.scalars;
    if (copies > 1 && (!fits_registers(target, work, vectors, fused) || instructions > most_instructions))
      break;
    auto done = static_cast<double>(copies * vectors);
    double rate = done / cycles_of(target.machine(), work, vectors);
    double read = static_cast<double>(work.rows * vectors * lanes + work.scalars) / done;
    if (copies == 1) plain = rate;
    if (copies > 1 && rate < plain * least_gain) continue;
    if (copies == 1 || rate * alike > best || (rate > best * alike && read < least))
      best = rate, least = read, chosen = copies;
  }
  return chosen;
}

class Jammer {
 public:
  Jammer(LoopNest &nest, const Target &target) : nest_(nest), target_(target) {}

  void run() {
    std::vector<Sym> lanes;  // loops that may be vectorized, inner ones first
    for (const NestLoop &l : nest_.nest().loops)
      if (l.loop && l.parent != NestLoop::no_loop) lanes.insert(lanes.begin(), l.loop->iter);
    for (const Sym &iter : lanes)
      if (std::find(done_.begin(), done_.end(), iter) == done_.end()) visit(iter);
  }

 private:
  void visit(const Sym &iter) {
    const Nest &nest = nest_.nest();
    auto inner = find_loop(nest, iter);
    if (!inner) return;
    const For &loop = *nest.loops[*inner].loop;
    VectorizationAnalysis view(loop);
    if (loop.kind != ForKind::serial || loop.hint == Hint::serial || !view.is_vectorizable()) return;
    // A jam around sums in the order `lanes` is never legal. The model knows no gathers and scatters.
    if (view.has_lane_sums() || view.work().gathers + view.work().scatters > 0) return;
    if (lanes_of_loop(target_, loop, view) < 2) return;
    uint32_t outer = nest.loops[*inner].parent;
    leave_out(outer);
    if (const For *around = nest.loops[outer].loop; around && may_be_jammed(*around))
      jam(*inner, outer, view);
  }

  /// Excludes the loops around a vector loop: they are not vectorized themselves.
  void leave_out(uint32_t loop) {
    for (; loop != NestLoop::no_loop; loop = nest_.nest().loops[loop].parent)
      if (const For *n = nest_.nest().loops[loop].loop) done_.push_back(n->iter);
  }

  static bool may_be_jammed(const For &n) {
    auto trips = constant_trips(n);
    return n.kind == ForKind::serial && n.hint != Hint::serial && (!trips || *trips >= 2);
  }

  void jam(uint32_t inner, uint32_t outer, const VectorizationAnalysis &view) {
    const Nest &nest = nest_.nest();
    JammedBody body(nest, outer, inner, view.work().operations);
    if (!body.is_simple()) return;
    bool fused = nest_.func().fp != FpMode::strict && target_.has_fma();
    int64_t copies = choose_copies(target_, body, view.work(), fused);
    auto trips = constant_trips(*nest.loops[outer].loop);
    while (trips && copies > static_cast<int64_t>(*trips)) copies /= 2;
    if (copies < 2) return;
    if (!view.has_while() && nest_.is_free(inner, FreeFor::any_order))
      nest_.try_apply(UnrollAndJam{outer, copies});
  }

  LoopNest &nest_;
  const Target &target_;
  std::vector<Sym> done_;
};

}  // namespace

void unroll_and_jam(LoopNest &nest, const Target &target) { Jammer(nest, target).run(); }

}  // namespace kw
