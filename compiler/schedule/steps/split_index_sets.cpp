// Finds candidates by the subscripts alone: one access moves with the loop, another access of the same buffer
// does not. Tries on a copy of the nest whether a cut there frees the pieces.
#include "schedule/steps/steps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/affine.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// A cut of a loop: at an iteration that an expression names, or next to one of its ends.
struct Hyperplane {
  Expr at;
  bool is_first = false, is_last = false;
};

/// An access to an array, and the loops around it.
struct Touch {
  const BufNode *buf;
  const std::vector<Expr> *index;
  std::vector<const For *> loops;
  bool is_write;
};

/// Finds the hyperplanes of each loop of a function that its subscripts propose.
class HyperplaneSearch {
 public:
  std::unordered_map<const For *, std::vector<Hyperplane>> run(const Stmt &body) {
    find_updated(body);
    if (updated_.empty()) return {};
    statements(body);
    for (const Touch &a : touches_)
      for (const Touch &b : touches_)
        if (a.buf == b.buf && (a.is_write || b.is_write)) compare(a, b);
    return std::move(planes_);
  }

 private:
  // Most hyperplanes tried per loop, and most accesses compared. Chosen: LU needs one plane.
  static constexpr size_t most_planes = 2, most_touches = 32;

  /// Finds the arrays that are read and written. No other array can hold a loop back.
  void find_updated(const Stmt &body) {
    std::unordered_set<const BufNode *> written;
    walk(body, [&](const Store &n, const Stmt &) {
      if (!n.index.empty()) written.insert(n.buf.get());
    });
    walk(body, [&](const Load &n, const Expr &) {
      if (written.count(n.buf.get())) updated_.insert(n.buf.get());
    });
  }

  void statements(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      const For *n = as<For>(s);
      if (!n) for_each_expression(s, [&](const Expr &e) { reads(e); });
      if (const Store *to = as<Store>(s)) touch(to->buf, to->index, true);
      if (n) loops_.push_back(n);
      for_each_block(s, [&](const Stmt &block) { statements(block); });
      if (n) loops_.pop_back();
    });
  }
  void reads(const Expr &e) {
    walk(e, [&](const Load &n, const Expr &) { touch(n.buf, n.index, false); });
  }
  void touch(const Buf &buf, const std::vector<Expr> &index, bool is_write) {
    if (loops_.empty() || !updated_.count(buf.get())) return;
    if (touches_.size() < most_touches) touches_.push_back({buf.get(), &index, loops_, is_write});
  }

  /// Proposes iterations where `moving`, with a subscript l + c, meets `still`, whose subscript changes
  /// neither with l nor with a loop inside it.
  void compare(const Touch &moving, const Touch &still) {
    for (size_t d = 0; d < moving.index->size(); ++d) {
      const Expr &from = (*moving.index)[d], &to = (*still.index)[d];
      if (from.p == to.p) continue;
      for (size_t l = 0; l < std::min(moving.loops.size(), still.loops.size()); ++l) {
        if (moving.loops[l] != still.loops[l]) break;
        if (mentions(from, moving.loops[l]->iter)) propose(moving, still, d, l);
      }
    }
  }

  void propose(const Touch &moving, const Touch &still, size_t d, size_t l) {
    const For &loop = *moving.loops[l];
    if (loop.step != 1 || loop.hint == Hint::serial || loop.kind != ForKind::serial) return;
    auto at = affine_of(add(sub((*still.index)[d], (*moving.index)[d]), kw::ref(loop.iter)));
    if (!at || !is_fixed(*at, still.loops, l) || !is_fixed(*at, moving.loops, l)) return;
    Hyperplane plane{to_expr(*at)};
    auto from_first = affine_of(sub(plane.at, loop.lo)), to_end = affine_of(sub(loop.hi, plane.at));
    if (!from_first || !to_end) return;
    if (from_first->is_constant() && from_first->constant < 0) return;
    if (to_end->is_constant() && to_end->constant <= 0) return;
    plane.is_first = from_first->is_constant() && from_first->constant == 0;
    plane.is_last = to_end->is_constant() && to_end->constant == 1;
    std::vector<Hyperplane> &list = planes_[&loop];
    bool known =
        std::any_of(list.begin(), list.end(), [&](const Hyperplane &p) { return equal(p.at, plane.at); });
    if (!known && list.size() < most_planes) list.push_back(std::move(plane));
  }

  /// Returns whether the form is a sum of extents and of iterators of the loops outside loop number l.
  static bool is_fixed(const Affine &form, const std::vector<const For *> &loops, size_t l) {
    return std::all_of(form.terms.begin(), form.terms.end(), [&](const AffineTerm &t) {
      const Ref *r = as<Ref>(t.atom);
      if (!r || (r->sym->kind != SymKind::extent && r->sym->kind != SymKind::iter)) return false;
      return r->sym->kind == SymKind::extent ||
             std::any_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(l),
                         [&](const For *n) { return n->iter == r->sym; });
    });
  }

  std::unordered_set<const BufNode *> updated_;
  std::vector<Touch> touches_;
  std::vector<const For *> loops_;
  std::unordered_map<const For *, std::vector<Hyperplane>> planes_;
};

/// Threads are of no use to a loop inside one that runs on threads, and pieces of a short loop to nobody.
bool can_gain(const LoopNest &nest, uint32_t loop) {
  // Number of iterations that must be exceeded. Chosen: the pieces of a shorter loop are too small to share.
  constexpr uint64_t few = 8;
  if (auto trips = constant_trips(*nest.nest().loops[loop].loop); trips && *trips <= few) return false;
  if (nest.is_free(loop, FreeFor::any_kind)) return false;
  if (is_innermost(nest.nest(), loop)) return true;
  for (uint32_t l = nest.nest().loops[loop].parent; l != NestLoop::no_loop; l = nest.nest().loops[l].parent)
    if (nest.is_free(l, FreeFor::any_order)) return false;
  return true;
}

Directive cut(uint32_t loop, const Hyperplane &plane) {
  constexpr const char *reason = "no dependence passes by this iteration";
  if (!plane.is_first && !plane.is_last) return {SplitIndexSet{loop, plane.at}, reason};
  return {Peel{loop, 1, !plane.is_first}, reason};
}

/// Returns the numbers that the long pieces of a loop will have, from the nest before the cut.
std::vector<uint32_t> pieces_of(const Nest &nest, const Directive &d) {
  uint32_t cut_loop = d.loop();
  auto is_inside = [&](uint32_t l) {
    while (l != cut_loop && l != NestLoop::no_loop) l = nest.loops[l].parent;
    return l == cut_loop;
  };
  uint32_t tree = 1;  // loops of one piece, which have consecutive numbers
  while (cut_loop + tree < nest.loops.size() && is_inside(cut_loop + tree)) ++tree;
  const Peel *peel = d.as<Peel>();
  if (!peel) return {cut_loop, cut_loop + 2 * tree};
  return {peel->last ? cut_loop : cut_loop + tree};
}

/// Returns whether the cut frees all long pieces of the loop.
bool frees(const LoopNest &nest, const Directive &d) {
  LoopNest trial = nest;
  std::vector<uint32_t> pieces = pieces_of(nest.nest(), d);
  if (!trial.try_apply(d).ok()) return false;
  const auto &loops = trial.nest().loops;
  const Sym &cut_iterator = nest.nest().loops[d.loop()].loop->iter;
  return std::all_of(pieces.begin(), pieces.end(), [&](uint32_t piece) {
    bool is_piece = piece < loops.size() && loops[piece].loop &&
                    loops[piece].loop->iter->name == cut_iterator->name;  // none was dropped as empty
    return is_piece && trial.is_free(piece, FreeFor::any_kind);
  });
}

/// Applies the cut, and parallelizes pieces that hold other loops. `frees` has proved that this is legal.
void make(LoopNest &nest, const Directive &d) {
  const For &loop = *nest.nest().loops[d.loop()].loop;
  bool on_threads = !is_innermost(nest.nest(), d.loop()) && !constant_trips(loop) &&
                    !writes_outer_scalar(loop.body) && !has_check(loop.body);
  std::vector<uint32_t> pieces = pieces_of(nest.nest(), d);
  if (!nest.try_apply(d).ok() || !on_threads) return;
  for (uint32_t piece : pieces) nest.require(Parallel{piece});  // proved before the loops inside were cut
}

}  // namespace

bool has_cut_inside(const For &loop) {
  bool found = false;
  walk(loop.body, [&](const For &n, const Stmt &) { found |= n.kind == ForKind::parallel; });
  return found && !constant_trips(loop);  // such a loop may be a piece that `make` left serial
}

/// Decides all cuts on the nest as it was: a cut keeps the order of iterations, so the other cuts still free
/// their pieces. Applies the cuts from the last loop to the first. Loops before then keep their numbers, and
/// inner loops are cut before the loop around them is copied.
void split_index_sets(LoopNest &nest) {
  // Most cuts. Each makes three copies of a body. Chosen: LU needs two cuts.
  constexpr size_t most_cuts = 2;
  auto planes = HyperplaneSearch().run(nest.func().body);
  if (planes.empty()) return;
  std::vector<Directive> cuts;
  for (auto l = static_cast<uint32_t>(nest.nest().loops.size()); l-- > 0 && cuts.size() < most_cuts;) {
    auto found = planes.find(nest.nest().loops[l].loop);
    if (found == planes.end() || !can_gain(nest, l)) continue;
    for (const Hyperplane &plane : found->second)
      if (Directive d = cut(l, plane); frees(nest, d)) {
        cuts.push_back(d);
        break;
      }
  }
  for (const Directive &d : cuts) make(nest, d);
}

}  // namespace kw
