// Checks the tree for each verb.
#include "schedule/directives/preconditions.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/gpu/combined_values.h"
#include "analysis/gpu/launch_form.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "analysis/vector/register_transpose.h"
#include "analysis/vector/row_collapse.h"
#include "analysis/vector/streams.h"
#include "analysis/vector/vector_plan.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/directives/gpu_preconditions.h"
#include "schedule/directives/legal.h"
#include "schedule/tree/array_contraction.h"
#include "schedule/tree/carried_values.h"
#include "schedule/tree/perfect_nest.h"
#include "schedule/tree/statement_list.h"

namespace kw {

namespace {

// Limits of the numbers in directives, so that no directive makes code or arrays without end. Chosen.
constexpr int64_t most_copies = 64, most_size = int64_t{1} << 15, most_elements = 1 << 10, most_written = 512;
constexpr int64_t most_block = int64_t{1} << 30;  // sums of iterators and blocks stay far from 2^63
constexpr uint16_t deepest = 800;           // of a tree that may grow: directives add levels, up to max_depth
constexpr size_t most_statements = 20'000;  // of a function after copies of loop bodies. Chosen

/// The effect of a directive on the loops that it names and on the statements in them.
struct Effect {
  bool only_marks = false;       ///< changes the kind or the plan of a loop and nothing else
  bool keeps_kinds = false;      ///< works on loops that have their kind already
  bool takes_breaks = false;     ///< works on loops that a `break` ends
  bool takes_continues = false;  ///< works on loops whose iterations a `continue` ends
  bool moves = false;            ///< iterations of loops around a sum come in another order or shape
  bool copies = false;           ///< the tree grows by copies of the body
};

constexpr Effect effect_of(const Parallel &) { return {.only_marks = true}; }
constexpr Effect effect_of(const Vectorize &) { return {.only_marks = true}; }
constexpr Effect effect_of(const Grid &) { return {.only_marks = true}; }
constexpr Effect effect_of(const Team &) { return {.only_marks = true}; }
template <class D>
  requires rewrites_for_gpu<D>
constexpr Effect effect_of(const D &) {
  return {.only_marks = true, .copies = true};
}
constexpr Effect effect_of(const CacheRow &) { return {.keeps_kinds = true, .copies = true}; }
constexpr Effect effect_of(const Unswitch &) { return {.keeps_kinds = true, .copies = true}; }
constexpr Effect effect_of(const Linearize &) { return {.keeps_kinds = true, .copies = true}; }
constexpr Effect effect_of(const Specialize &) {
  return {.takes_breaks = true, .takes_continues = true, .copies = true};
}
constexpr Effect effect_of(const ShortRows &) {
  return {.takes_breaks = true, .takes_continues = true, .copies = true};
}
constexpr Effect effect_of(const Split &) { return {.takes_continues = true, .copies = true}; }
constexpr Effect effect_of(const Reorder &) { return {.takes_continues = true, .moves = true}; }
Effect effect_of(const Tile &d) { return {.takes_continues = true, .moves = d.loops.size() > 1}; }
constexpr Effect effect_of(const UnrollAndJam &) { return {.moves = true, .copies = true}; }
Effect effect_of(const Unroll &d) { return {.moves = true, .copies = d.count == 0}; }
constexpr Effect effect_of(const Fuse &) { return {.copies = true}; }
constexpr Effect effect_of(const Distribute &) { return {.copies = true}; }
constexpr Effect effect_of(const Peel &) { return {.takes_continues = true, .copies = true}; }
constexpr Effect effect_of(const SplitIndexSet &) { return {.takes_continues = true, .copies = true}; }
constexpr Effect effect_of(const Privatize &) {
  return {.takes_breaks = true, .takes_continues = true, .moves = true};
}
constexpr Effect effect_of(const Contract &) { return {.takes_breaks = true, .takes_continues = true}; }
constexpr Effect effect_of(const Expand &) { return {.takes_breaks = true, .takes_continues = true}; }
constexpr Effect effect_of(const ReplaceWithScalar &) { return {}; }
template <class D>
  requires sets_plan<D>
constexpr Effect effect_of(const D &) {
  return {.only_marks = true, .keeps_kinds = true, .takes_breaks = true, .takes_continues = true};
}

constexpr std::string_view no_known_size = "the trip count of the loop in it is no size of the call";
bool has_known_size(const Nest &nest, uint32_t loop) {
  const For *n = loop < nest.loops.size() ? nest.loops[loop].loop : nullptr;
  return n && is_of_call(n->lo) && is_of_call(n->hi);
}

/// Returns whether a directive gives a loop a kind that has no meaning around loops of a GPU, or in them.
bool mixes_devices(const Nest &nest, uint32_t loop, const Directive &d) {
  const Unroll *unroll = d.as<Unroll>();
  bool is_for_cpus = d.as<Parallel>() || d.as<Vectorize>() || d.as<UnrollAndJam>(), found = false;
  if (!is_for_cpus && !(unroll && unroll->count)) return false;
  auto is_of_gpu = [](const For &n) { return n.kind == ForKind::grid || n.kind == ForKind::block; };
  walk(nest.loops[loop].loop->body, [&](const For &n, const Stmt &) { found |= is_of_gpu(n); });
  for (uint32_t l = nest.loops[loop].parent; is_for_cpus && l != NestLoop::no_loop; l = nest.loops[l].parent)
    found |= nest.loops[l].loop && is_of_gpu(*nest.loops[l].loop);
  return found;
}

/// Returns whether the threads of a block loop combine what they accumulate in a buffer.
bool combines(const For &block, const Buf &buf) {
  CombinedValues found(block);
  return std::any_of(found.accumulators.begin(), found.accumulators.end(),
                     [&](const Accumulator &a) { return a.cell == buf; });
}

/// Returns how threads accumulate in a buffer that a loop stores to; "" if they do not. Neither atomic
/// operations nor sums that a block combines are left where a value is kept between two accumulations.
std::string_view why_shared(const Nest &nest, uint32_t loop, const Buf &buf) {
  for (uint32_t l = loop; l != NestLoop::no_loop; l = nest.loops[l].parent) {
    const For *n = nest.loops[l].loop;
    if (!n) continue;
    if (accumulates_by_atomics(*n, buf)) return "threads accumulate in the buffer at the same time";
    if (n->kind == ForKind::block && combines(*n, buf))
      return "the threads of a block combine what they accumulate in the buffer";
  }
  return "";
}

/// Checks each loop that the directive names, then sums in the order `lanes` and the size of the tree. Then
/// checks what the directive itself needs of the tree.
class Preconditions {
 public:
  Preconditions(const Func &f, const Stmt &region, const Nest &nest, const Directive &d)
      : f_(f),
        region_(region),
        nest_(nest),
        d_(d),
        effect_(std::visit([](const auto &one) { return effect_of(one); }, d.what)) {}

  Inapplicable run() {
    for (uint32_t l : d_.loops()) {
      if (l >= nest_.loops.size() || !nest_.loops[l].loop) return {"it is for no loop that counts", {}};
      if (auto found = each(l)) return found;
    }
    if (auto found = lanes()) return found;
    if (is_too_large()) return {"the kernel becomes too large", nest_.loops[d_.loop()].loc};
    return std::visit([&](const auto &d) { return check(d); }, d_.what);
  }

 private:
  const For &loop(uint32_t l) const { return *nest_.loops[l].loop; }
  const For &loop() const { return loop(d_.loop()); }
  Inapplicable here(std::string_view why) const { return {why, nest_.loops[d_.loop()].loc}; }

  /// Checks one loop: its kind, blocks around it and in it, and the jumps in it.
  Inapplicable each(uint32_t l) const {
    const NestLoop &n = nest_.loops[l];
    // Threads can share a vector loop: the blocks of its iterations, or of the sums that are all it does.
    bool may_be_vector = d_.as<Parallel>() != nullptr;
    bool fits = n.loop->kind == ForKind::serial || (may_be_vector && n.loop->kind == ForKind::vector);
    if (!fits && !effect_.keeps_kinds) return {"the loop has its kind already", n.loc};
    const For *around = n.parent == NestLoop::no_loop ? nullptr : nest_.loops[n.parent].loop;
    // A loop over blocks holds the loop over one block and nothing else (ir/node.h): rewrites would break
    // that.
    if (around && around->how.block_of && !effect_.keeps_kinds && !d_.as<Vectorize>())
      return {"the loop around it runs over its blocks", n.loc};
    if (mixes_devices(nest_, l, d_)) return {"a loop in it, or around it, is one of a GPU", n.loc};
    if (!effect_.only_marks && has_blocks(n.loop->body)) return {"a loop in it runs over blocks", n.loc};
    Jumps jumps = jumps_of(n.loop->body);
    if (jumps.breaks && !effect_.takes_breaks)
      return {"`break` lets an iteration decide whether later ones run", jumps.first_break};
    if (jumps.continues && !effect_.takes_continues) return {"`continue` ends iterations of it early", n.loc};
    return {};
  }

  /// Returns whether a loop inside runs over blocks: rewrites could simplify the ends of blocks.
  static bool has_blocks(const Stmt &body) {
    bool found = false;
    walk(body, [&](const For &n, const Stmt &) { found |= n.how.block_of > 0; });
    return found;
  }

  /// Refuses directives that would change the iterations of a band: its sums count them.
  Inapplicable lanes() const {
    if (effect_.only_marks) return {};  // see directives/legal_kinds
    std::vector<uint32_t> mine = d_.loops();
    Inapplicable found;
    for_each_store(region_, [&](const Stmt &s, const Store &n, const std::vector<const For *> &loops) {
      if (n.order != Order::lanes) return;
      std::vector<const For *> band = band_of(n, loops);
      for (uint32_t l : mine) {
        const For *at = nest_.loops[l].loop;
        bool inside = std::find(loops.begin(), loops.end(), at) != loops.end();
        bool counts = std::find(band.begin(), band.end(), at) != band.end();
        bool parts = d_.as<Distribute>() != nullptr;  // each part counts as before
        if ((counts && !parts) || (inside && effect_.moves))
          found = {"the order of a sum in it is fixed", s.loc()};
      }
    });
    return found;
  }

  static bool has_jump(const Stmt &s) {
    bool found = false;
    walk(s, [&](const Jump &, const Stmt &) { found = true; });
    return found;
  }
  /// Returns whether copies may make the tree too large.
  bool is_too_large() const {
    if (!effect_.copies) return false;
    size_t statements = 0;
    walk(
        region_, [&](const Store &, const Stmt &) { ++statements; },
        [&](const Let &, const Stmt &) { ++statements; });
    // Counts the most copies that the directive may make, whatever its size.
    bool repeats = d_.as<UnrollAndJam>() || d_.as<Unroll>();
    size_t copies = repeats ? static_cast<size_t>(most_copies) : d_.as<Fuse>() ? 4 : 2;
    return region_->depth > deepest || statements * copies > most_statements;
  }

  Inapplicable check(const Parallel &d) const {
    bool fits = d.block >= 0 && d.block <= most_block && d.chunk >= 0 && d.chunk <= most_block;
    if (is_inside(d.loop, ForKind::grid) || holds_grid(loop().body))
      return here("a grid loop is around it or in it");
    // Threads that share the sums of a vector loop make it a parallel loop, which has no such fields.
    const For &n = loop();
    bool is_planned = n.how.tail != Tail::scalar || n.how.prefetch || n.how.stream || !n.row_lengths.empty();
    if (!d.block && is_planned) return here("its plan is that of a vector loop");
    return fits ? Inapplicable{} : here("the size is too small or too large");
  }
  template <class D>
    requires is_for_gpus<D>
  Inapplicable check(const D &d) const {
    std::string_view why = why_not_on_gpu(f_, nest_, d);
    return why.empty() ? Inapplicable{} : here(why);
  }
  Inapplicable check(const Vectorize &d) const {
    bool fits = d.width >= 2 && d.width <= int64_t{max_vector_width} && (d.width & (d.width - 1)) == 0;
    if (!fits) return here("the width is no power of two from 2 to 64");
    if (is_inside(d.loop, ForKind::vector)) return here("it stands in a vector loop");
    bool has_kind = false;
    walk(loop().body, [&](const For &n, const Stmt &) { has_kind |= n.kind != ForKind::serial; });
    return has_kind ? here("a loop in it has its kind already") : Inapplicable{};
  }
  Inapplicable check(const ShortRows &d) const {
    return has_known_size(nest_, d.inner) ? Inapplicable{} : here(no_known_size);
  }
  Inapplicable check(const Specialize &d) const {
    if (d.below < 0 || d.from < 0 || (!d.below && !d.from) || d.below > most_block || d.from > most_block)
      return here("the size is too small or too large");
    if (d.from && !has_known_size(nest_, d.inner)) return here(no_known_size);
    return has_load(loop().lo) || has_load(loop().hi) ? here("its bounds are no sums of sizes")
                                                      : Inapplicable{};
  }
  Inapplicable check(const Split &d) const { return size_fits(d.size, most_size); }

  Inapplicable size_fits(int64_t size, int64_t most) const {
    return size < 2 || size > most ? here("the size is too small or too large") : Inapplicable{};
  }

  Inapplicable check(const Peel &d) const {
    if (d.count < 1 || d.count > most_size) return here("the size is too small or too large");
    if (step_size(loop()) > most_size) return here("its step is too large");
    if (d.last && step_size(loop()) != 1)
      return here("the last iterations of a loop with steps are not known");
    return has_small_bounds(nest_, d.loop) ? Inapplicable{} : here("its bounds are no sums of sizes");
  }

  Inapplicable check(const SplitIndexSet &d) const {
    if (step_size(loop()) != 1) return here("its step is not 1");
    if (!has_small_bounds(nest_, d.loop)) return here("its bounds are no sums of sizes");
    return is_small_at(nest_, d.loop, d.at) ? Inapplicable{}
                                            : here("the place is no sum of sizes and iterators");
  }

  std::optional<std::vector<uint32_t>> perfect_loops() const {
    auto loops = in_text_order(nest_, d_.loops());
    return loops && perfect_nest_of(nest_, *loops) ? loops : std::nullopt;
  }

  Inapplicable check(const Reorder &d) const {
    auto loops = perfect_loops();
    if (!loops) return here("the loops do not stand directly in one another");
    if (has_check(loop(loops->front()).body)) return here(ordered_checks);
    return permuted(nest_, *loops, d.loops) ? Inapplicable{}
                                            : here("a bound depends on another of the loops");
  }

  Inapplicable check(const Tile &d) const {
    for (int64_t size : d.sizes)
      if (Inapplicable found = size_fits(size, most_size)) return found;
    for (uint32_t l : d.loops) {
      if (loop(l).step != 1) return here("its step is not 1");
      if (!has_small_bounds(nest_, l)) return here("its bounds are no sums of sizes");
    }
    if (d.loops.size() == 1) return {};
    auto loops = perfect_loops();
    if (!loops || *loops != d.loops) return here("the loops do not stand directly in one another");
    if (loops->size() > 3) return here("more than three loops are tiled");
    if (has_check(loop().body)) return here(ordered_checks);
    for (size_t i = 0; i < loops->size(); ++i)
      for (size_t j = 0; j < loops->size(); ++j)
        if (bounds_mention(loop((*loops)[j]), loop((*loops)[i]).iter))
          return here("a bound depends on another of the loops");
    return {};
  }

  Inapplicable check(const Unroll &d) const {
    if (d.count && holds_grid(loop().body)) return here("a grid loop is in it");
    if (has_jump(loop().body) && jumps_of(loop().body).any()) return here("a jump stands in it");
    if (d.count) {
      for (uint32_t l = d.loop; l != NestLoop::no_loop; l = nest_.loops[l].parent)
        if (const For *n = nest_.loops[l].loop; n && n->kind == ForKind::vector)
          return here("it stands in a vector loop");
      return size_fits(d.count, most_written);
    }
    auto trips = constant_trips(loop());
    return trips && *trips <= static_cast<uint64_t>(most_copies)
               ? Inapplicable{}
               : here("it has no small constant number of iterations");
  }

  Inapplicable check(const UnrollAndJam &d) const {
    if (has_check(loop().body)) return here(ordered_checks);
    if (has_jump(loop().body)) return here("a jump stands in it");
    std::string_view shared;
    walk(loop().body, [&](const Store &s, const Stmt &) {
      if (shared.empty()) shared = why_shared(nest_, d_.loop(), s.buf);
    });
    if (!shared.empty()) return here(shared);
    std::unordered_set<const SymNode *> own{loop().iter.get()};
    walk(loop().body, [&](const Let &n, const Stmt &) { own.insert(n.sym.get()); });
    auto found = inner_of_jam(loop().body, own);
    return found ? found : size_fits(d.count, most_copies);
  }

  /// Refuses loops to be merged whose bounds differ between copies.
  Inapplicable inner_of_jam(const Stmt &body, const std::unordered_set<const SymNode *> &own) const {
    for (const ListItem &link : statements_of(body)) {
      const For *n = as<For>(link.s);
      if (!n) continue;
      if (n->kind != ForKind::serial) return {"a loop in it has its kind already", link.s.loc()};
      bool same = !has_load(n->lo) && !has_load(n->hi);
      for (const Expr &bound : {n->lo, n->hi})
        walk(bound, [&](const Ref &r, const Expr &) { same = same && !own.count(r.sym.get()); });
      if (!same) return {"the bounds of a loop in it change with its iterations", link.s.loc()};
      if (auto found = inner_of_jam(n->body, own)) return found;
    }
    return {};
  }

  Inapplicable check(const Fuse &d) const {
    const For &a = loop(), &b = loop(d.next);
    if (!are_neighbours(region_, &a, &b)) return here("the loops do not follow each other directly");
    if (!equal(a.lo, b.lo) || !equal(a.hi, b.hi) || a.step != b.step)
      return here("the loops have other bounds");
    // The first loop could store what the second one's bounds read.
    if (has_load(a.lo) || has_load(a.hi)) return here("a bound is read from memory");
    return has_check(a.body) || has_check(b.body) ? here(ordered_checks) : Inapplicable{};
  }

  Inapplicable check(const Distribute &d) const {
    StatementList body = statements_of(loop().body);
    if (d.after < 0 || static_cast<size_t>(d.after) + 1 >= body.size())
      return here("the body has no statement behind that one");
    if (has_check(loop().body)) return here(ordered_checks);
    // The loops of both parts evaluate the bounds, and the first part could store what they read.
    if (has_load(loop().lo) || has_load(loop().hi)) return here("a bound is read from memory");
    return shared_definitions(loop().body, static_cast<size_t>(d.after) + 1)
               ? Inapplicable{}
               : here("a value crosses from one part to the other");
  }

  Inapplicable check(const Expand &d) const {
    if (Inapplicable found = is_not_own(d.buf)) return found;
    // The array has an element for each iteration, whose number is the iterator minus the lower bound.
    auto most = most_trips(loop());
    bool few = most && *most >= 1 && *most <= static_cast<uint64_t>(most_elements);
    if (!few) return here("it is not known to have few iterations");
    return loop().step == 1 ? Inapplicable{} : here("its step is not 1");
  }

  Inapplicable check(const ReplaceWithScalar &d) const {
    // s[i] += x becomes v = last + x; s[i] = v
    if (std::string_view why = why_shared(nest_, d.loop, d.buf); !why.empty()) return here(why);
    std::vector<CarriedValue> found = carried_values(loop());
    bool fits =
        std::any_of(found.begin(), found.end(), [&](const CarriedValue &v) { return v.buf == d.buf; });
    return fits ? Inapplicable{} : here("no iteration is sure to load what the one before it stores");
  }

  /// Refuses a buffer unless it can be private to each iteration.
  Inapplicable is_not_own(const Buf &buf) const {
    std::vector<const BufNode *> own = private_scalars(f_, nest_, d_.loop());
    bool is_own = std::find(own.begin(), own.end(), buf.get()) != own.end();
    return is_own ? Inapplicable{}
                  : here("its iterations may not write it before they read it, or it is read elsewhere");
  }

  Inapplicable check(const Privatize &d) const {
    if (Inapplicable found = is_not_own(d.buf)) return found;
    bool outside = true;
    walk(loop().body, [&](const Alloc &n, const Stmt &) { outside = outside && n.buf != d.buf; });
    return outside ? Inapplicable{} : here("each iteration has its own already");
  }

  /// Returns whether a loop of this kind encloses the loop.
  bool is_inside(uint32_t l, ForKind kind) const {
    while ((l = nest_.loops[l].parent) != NestLoop::no_loop)
      if (const For *n = nest_.loops[l].loop; n && n->kind == kind) return true;
    return false;
  }
  /// Refuses all but outermost vector loops: a vector loop inside another one runs serially.
  Inapplicable no_vector_loop(uint32_t l) const {
    if (loop(l).kind != ForKind::vector) return here("it is no vector loop");
    return is_inside(l, ForKind::vector) ? here("it stands in a vector loop") : Inapplicable{};
  }
  Inapplicable check(const SetTail &d) const {
    if (Inapplicable found = no_vector_loop(d.loop)) return found;
    // These tails execute some iterations twice.
    bool repeats = d.tail == Tail::overlapped || d.tail == Tail::overlapped_or_masked;
    bool fine = !repeats || may_run_again(loop(), VectorizationAnalysis(loop()));
    return fine ? Inapplicable{} : here("an iteration that runs twice changes the result");
  }
  Inapplicable check(const Stream &d) const {
    BufferSet outputs = write_only_outputs(f_);
    if (loop().how.transpose) {
      bool stores = false;
      walk(loop().body, [&](const Store &s, const Stmt &) { stores |= outputs.count(s.buf.get()) > 0; });
      return stores ? Inapplicable{} : here("it stores to no output that is only written");
    }
    if (Inapplicable found = no_vector_loop(d.loop)) return found;
    return can_stream(loop(), outputs)
               ? Inapplicable{}
               : here("it stores to no output that is only written, in rows known before the loop");
  }
  Inapplicable check(const Prefetch &d) const { return no_vector_loop(d.loop); }
  Inapplicable check(const Transpose &d) const {
    for (uint32_t l = nest_.loops[d.loop].parent; l != NestLoop::no_loop; l = nest_.loops[l].parent) {
      const For *n = nest_.loops[l].loop;
      if (!n || n->kind != ForKind::vector || loop().kind != ForKind::serial) continue;
      VectorizationAnalysis view(*n);
      uint32_t bits = view.widest_element();
      bool found = TransposedBlocks::supports(bits, n->how.vector_width) &&
                   !TransposedBlocks(loop(), view, bits).blocks().empty();
      return found ? Inapplicable{} : here("no access of it becomes contiguous by a transpose");
    }
    return here("it is no serial loop in a vector loop");
  }
  Inapplicable check(const AssumeRows &d) const {
    if (Inapplicable found = no_vector_loop(d.loop)) return found;
    if (d.length < 1 || d.length > most_size) return here("the size is too small or too large");
    bool used = false;
    walk(
        loop().body, [&](const Load &n, const Expr &) { used |= n.buf == d.buf; },
        [&](const Store &n, const Stmt &) { used |= n.buf == d.buf; });
    bool made_inside = false;
    walk(loop().body, [&](const Alloc &n, const Stmt &) { made_inside |= n.buf == d.buf; });
    return used && !made_inside && d.buf->rank() >= 2 ? Inapplicable{}
                                                      : here("it accesses no rows of the buffer");
  }
  Inapplicable check(const Flatten &d) const {
    bool in_region = loop().kind == ForKind::parallel || is_inside(d.loop, ForKind::parallel);
    const For *row = is_inside(d.loop, ForKind::vector) ? nullptr : row_of(loop(), in_region);
    bool fits = row && can_flatten(loop(), *row, VectorizationAnalysis(*row));
    return fits ? Inapplicable{} : here("it does more than to run over the elements of rows");
  }
  Inapplicable check(const Collapse &d) const {
    bool fits = !is_inside(d.loop, ForKind::parallel) && loop_to_collapse(loop());
    return fits ? Inapplicable{} : here("it holds more than a parallel loop with bounds of its own");
  }

  Inapplicable check(const Contract &d) const {
    if (!is_temporary(region_, d.buf)) return here("the buffer is not made in the kernel");
    return uses_one_element(region_, loop(), d.buf) ? Inapplicable{}
                                                    : here("an iteration uses more of it than one element");
  }

  const Func &f_;
  const Stmt &region_;
  const Nest &nest_;
  const Directive &d_;
  Effect effect_;
};

}  // namespace

Inapplicable why_inapplicable(const Func &f, const Stmt &region, const Nest &nest, const Directive &d) {
  return Preconditions(f, region, nest, d).run();
}

std::optional<std::vector<size_t>> shared_definitions(const Stmt &body, size_t count) {
  StatementList chain = statements_of(body);
  std::unordered_set<const void *> used, written;
  // Notes what the second part uses.
  auto in = [&](const Expr &e) {
    walk(
        e, [&](const Ref &n, const Expr &) { used.insert(n.sym.get()); },
        [&](const Load &n, const Expr &) { used.insert(n.buf.get()); });
  };
  walk(body, [&](const Store &n, const Stmt &) { written.insert(n.buf.get()); });
  // An open Let or Alloc holds the rest of the chain: only its own operands count here.
  for (size_t i = count; i < chain.size(); ++i) {
    const Stmt &s = chain[i].s;
    if (const Let *n = chain[i].opens ? as<Let>(s) : nullptr) {
      in(n->value);
    } else if (const Alloc *a = chain[i].opens ? as<Alloc>(s) : nullptr) {
      for (const Expr &e : a->buf->extents) in(e);
    } else {
      walk(
          s, [&](const Ref &x, const Expr &) { used.insert(x.sym.get()); },
          [&](const Load &x, const Expr &) { used.insert(x.buf.get()); },
          [&](const Store &x, const Stmt &) { used.insert(x.buf.get()); },
          [&](const Alloc &x, const Stmt &) {
            for (const Expr &e : x.buf->extents) in(e);
          });
    }
  }
  std::vector<size_t> out;
  // Backwards, since a definition that is duplicated uses earlier ones.
  for (size_t i = count; i-- > 0;) {
    if (!chain[i].opens) continue;
    if (const Alloc *a = as<Alloc>(chain[i].s); a && used.count(a->buf.get())) return std::nullopt;
    const Let *n = as<Let>(chain[i].s);
    if (!n || !used.count(n->sym.get())) continue;
    // The second evaluation would read what the body has stored since.
    bool fixed = true;
    walk(n->value, [&](const Load &l, const Expr &) { fixed = fixed && !written.count(l.buf.get()); });
    if (!fixed) return std::nullopt;
    in(n->value);
    out.push_back(i);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace kw
