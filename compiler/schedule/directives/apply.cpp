// One function for each verb.
#include "schedule/directives/apply.h"

#include <algorithm>

#include "analysis/nest/dependence.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/directives/preconditions.h"
#include "schedule/tree/apply_copies.h"
#include "schedule/tree/array_contraction.h"
#include "schedule/tree/perfect_nest.h"
#include "schedule/tree/simplify_under_bounds.h"
#include "support/diagnostic.h"
#include "support/text.h"
#include "transform/copy.h"

namespace kw {

using Verb = Directive::Verb;

namespace {

Sym iterator_like(const For &loop, std::string_view suffix) {
  return make_sym(SymKind::iter, DType::i64, cat(loop.iter->name, suffix), loop.iter->loc);
}

/// A bound under a name when it reads memory, since what is split evaluates it more than once.
Expr bound_once(const Expr &bound, StatementList &before) {
  if (!has_load(bound)) return bound;
  Sym name = make_sym(SymKind::local, DType::i64, "bound", bound.loc());
  before.push_back({let(name, bound, {}, bound.loc()), true});
  return ref(name, bound.loc());
}

/// A loop in blocks: `blocks` whole ones, whose iterations begin at `base` of the block's iterator.
struct Blocks {
  const For *loop = nullptr;
  int64_t size = 0;
  Expr lo, hi, count, is_even;
  Sym outer, inner;

  Expr offset(const Expr &number) const { return add(lo, mul(number, const_int(loop->step))); }
  Expr first_of_rest() const {
    Expr first = offset(mul(count, const_int(size)));
    return is_even ? select(is_even, hi, first) : first;
  }
  /// The value of the iterator in iteration `k` of the block that `outer` counts.
  Expr value(const Expr &k) const { return offset(add(mul(kw::ref(outer), const_int(size)), k)); }
};

Blocks blocks_of(const Nest &nest, uint32_t loop, int64_t size, StatementList &before) {
  Blocks b{nest.loops[loop].loop, size, {}, {}, {}, {}, {}, {}};
  b.lo = bound_once(b.loop->lo, before);
  b.hi = bound_once(b.loop->hi, before);
  auto [count, is_even] = count_blocks(nest, loop, b.lo, b.hi, size);
  b.count = count, b.is_even = is_even;
  b.outer = iterator_like(*b.loop, "0");
  b.inner = iterator_like(*b.loop, "1");
  return b;
}

Stmt serial_loop(const Sym &iter, Expr lo, Expr hi, int64_t step, Stmt body, Loc loc,
                 Hint hint = Hint::none) {
  return for_loop({iter, std::move(lo), std::move(hi), step, ForKind::serial, hint, {}, std::move(body)},
                  loc);
}

/// A copy of a loop over other bounds, under the same name; none when it surely has no iteration.
void add_piece(StatementList &out, const Stmt &s, const Expr &lo, const Expr &hi, const Stmt &body) {
  const For &n = *as<For>(s);
  if (surely_none(lo, hi, n.step)) return;
  For piece = n;
  piece.lo = lo, piece.hi = hi, piece.body = body;
  out.push_back({copy_of(loop_like(s, std::move(piece)))});
}

class Apply {
 public:
  Apply(const Func &f, const Stmt &region, const Nest &nest, const Directive &d)
      : f_(f), region_(region), nest_(nest), d_(d) {}

  Stmt run() {
    switch (d_.verb) {
      case Verb::reduce: return region_;
      case Verb::parallel: return mark(ForKind::parallel);
      case Verb::vectorize: return mark(ForKind::vector);
      case Verb::split: return replaced([&](const Stmt &s) { return split(s); });
      case Verb::unroll: return replaced([&](const Stmt &s) { return unroll(s); });
      case Verb::unroll_and_jam: return replaced([&](const Stmt &s) { return unroll_and_jam(s); });
      case Verb::peel: return replaced([&](const Stmt &s) { return peel(s); });
      case Verb::split_index_set: return replaced([&](const Stmt &s) { return split_index_set(s); });
      case Verb::distribute: return replaced([&](const Stmt &s) { return distribute(s); });
      case Verb::tile: return replaced([&](const Stmt &) { return tile(); });
      case Verb::reorder: return reorder();
      case Verb::fuse:
        return replace_pair(region_, &loop(), nest_.loops[d_.others[0]].loop,
                            [&](const Stmt &a, const Stmt &b) { return fuse(a, b); });
      case Verb::contract: return contracted(region_, loop(), d_.buf);
      case Verb::privatize:
        return replaced([&](const Stmt &s) { return StatementList{{with_own(s, {d_.buf})}}; });
      case Verb::expand: return replaced([&](const Stmt &s) { return expand(s); });
    }
    return region_;
  }

 private:
  const For &loop() const { return *nest_.loops[d_.loop].loop; }

  Stmt replaced(const std::function<StatementList(const Stmt &)> &by) const {
    return replace_loop(region_, &loop(), by);
  }

  Stmt mark(ForKind kind) const {
    return replaced([&](const Stmt &s) {
      For changed = *as<For>(with_own(s, scalars_of_iterations()));
      changed.kind = kind;
      uint32_t size = d_.sizes.empty() ? 0 : static_cast<uint32_t>(d_.sizes[0]);
      changed.how = kind == ForKind::vector ? LoopPlan{.vector_width = size} : LoopPlan{.chunk = size};
      return StatementList{{loop_like(s, std::move(changed))}};
    });
  }

  /// Those made outside the loop that each iteration writes before it reads them.
  std::vector<Buf> scalars_of_iterations() const {
    std::vector<const BufNode *> own = private_scalars(f_, nest_, d_.loop);
    std::vector<Buf> out;
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses) {
        bool is_own = std::find(own.begin(), own.end(), a.buf.get()) != own.end();
        bool outside = a.home <= depth_of(d_.loop);
        if (is_own && outside && std::find(out.begin(), out.end(), a.buf) == out.end()) out.push_back(a.buf);
      }
    return out;
  }
  /// The loops of the nest around a loop.
  size_t depth_of(uint32_t l) const {
    size_t depth = 0;
    while ((l = nest_.loops[l].parent) != NestLoop::no_loop) ++depth;
    return depth;
  }

  /// The loop with buffers of its own for each iteration.
  static Stmt with_own(const Stmt &s, const std::vector<Buf> &bufs) {
    For changed = *as<For>(s);
    for (const Buf &b : bufs) {
      Substitution with;
      Buf own = make_buf(make_sym(b->sym->kind, b->dtype, b->sym->name, b->sym->loc), {}, b->space);
      with.buffers[b.get()] = own;
      changed.body = alloc(own, Fill::none, substituted(changed.body, with), b->sym->loc);
    }
    return loop_like(s, std::move(changed));
  }

  // ---- blocks
  StatementList split(const Stmt &s) const {
    StatementList out;
    Blocks b = blocks_of(nest_, d_.loop, d_.sizes[0], out);
    Substitution with;
    with.values[b.loop->iter.get()] = b.value(kw::ref(b.inner));
    with.loops[b.loop->iter.get()] = {b.outer, b.inner};
    Stmt block =
        serial_loop(b.inner, const_int(0), const_int(b.size), 1, substituted(b.loop->body, with), s.loc());
    return in_blocks(s, b, block, std::move(out));
  }

  /// The loop over whole blocks, and the loop over the rest.
  static StatementList in_blocks(const Stmt &s, const Blocks &b, const Stmt &block, StatementList out) {
    if (!surely_none(const_int(0), b.count, 1))
      out.push_back({serial_loop(b.outer, const_int(0), b.count, 1, block, s.loc(), b.loop->hint)});
    add_piece(out, s, b.first_of_rest(), b.hi, b.loop->body);
    return out;
  }

  /// The loop with an array for a scalar: an element for each iteration.
  StatementList expand(const Stmt &s) const {
    Buf all = make_buf(make_sym(SymKind::buffer, d_.buf->dtype, d_.buf->sym->name, d_.buf->sym->loc),
                       {const_int(static_cast<int64_t>(*most_trips(loop())))}, Space::stack);
    std::vector<Expr> at{sub(kw::ref(loop().iter), loop().lo)};
    For changed = loop();
    changed.body = rewrite(
        loop().body,
        [&](const Load &n, const Expr &e) { return n.buf == d_.buf ? load(all, at, e.loc()) : e; },
        [&](const Store &n, const Stmt &x) {
          return n.buf == d_.buf ? store(all, at, n.value, x.loc(), n.order) : x;
        },
        [&](const Alloc &n, const Stmt &x) { return n.buf == d_.buf ? n.body : x; });
    return {{alloc(all, Fill::none, {}, d_.buf->sym->loc), true}, {loop_like(s, std::move(changed))}};
  }

  static std::vector<Expr> values_in(const Blocks &b) {
    std::vector<Expr> out;
    for (int64_t k = 0; k < b.size; ++k) out.push_back(b.value(const_int(k)));
    return out;
  }

  StatementList unroll(const Stmt &s) const {
    StatementList out;
    if (d_.sizes.empty()) {
      std::vector<Expr> values;
      uint64_t trips = *constant_trips(loop());
      for (uint64_t k = 0; k < trips; ++k)
        values.push_back(add(loop().lo, mul(const_int(static_cast<int64_t>(k)), const_int(loop().step))));
      return one_after_another(copies_of(loop().body, loop().iter, values));
    }
    Blocks b = blocks_of(nest_, d_.loop, d_.sizes[0], out);
    StatementList bodies = one_after_another(copies_of(b.loop->body, b.loop->iter, values_in(b)));
    return in_blocks(s, b, statement_of(bodies), std::move(out));
  }

  StatementList unroll_and_jam(const Stmt &s) const {
    Stmt own = with_own(s, scalars_of_iterations());
    StatementList out;
    Blocks b = blocks_of(nest_, d_.loop, d_.sizes[0], out);
    StatementList bodies = side_by_side(copies_of(as<For>(own)->body, b.loop->iter, values_in(b)), apart());
    return in_blocks(s, b, statement_of(bodies), std::move(out));
  }

  /// The buffers that the loop both reads and writes, of which no iteration touches what another writes.
  std::unordered_set<const BufNode *> apart() const {
    std::unordered_set<const BufNode *> read, out;
    walk(loop().body, [&](const Load &n, const Expr &) { read.insert(n.buf.get()); });
    walk(loop().body, [&](const Store &n, const Stmt &) {
      if (!n.index.empty() && read.count(n.buf.get())) out.insert(n.buf.get());
    });
    if (out.empty()) return out;
    Dependences carried = find_dependences(nest_, {d_.loop});
    if (!carried.complete) return {};
    for (const Dependence &d : carried.found)
      out.erase(nest_.statements[d.source].accesses[d.from].buf.get());
    return out;
  }

  Loc loc_of(size_t level) const { return nest_.loops[d_.loops()[level]].loc; }

  /// Loops over the begins of blocks outside, loops from there to the end of the block or of all inside.
  StatementList tile() const {
    std::vector<uint32_t> loops = d_.loops();
    std::vector<Sym> begins;
    Substitution with;
    for (uint32_t l : loops) {
      const Sym &iter = nest_.loops[l].loop->iter;
      begins.push_back(iterator_like(*nest_.loops[l].loop, "0"));
      with.loops[iter.get()] = {begins.back(), iter};
    }
    Stmt out = substituted(nest_.loops[loops.back()].loop->body, with);
    for (size_t i = loops.size(); i-- > 0;) {
      const For &n = *nest_.loops[loops[i]].loop;
      Expr end = add(kw::ref(begins[i]), const_int(d_.sizes[i]));
      out = serial_loop(n.iter, kw::ref(begins[i]), binary(BinOp::min, n.hi, end), 1, out, loc_of(i));
    }
    for (size_t i = loops.size(); i-- > 0;) {
      const For &n = *nest_.loops[loops[i]].loop;
      out = serial_loop(begins[i], n.lo, n.hi, d_.sizes[i], out, loc_of(i), n.hint);
    }
    return {{out}};
  }

  // ---- pieces
  /// A part of the range, with what it decides of the body; none where it does nothing.
  void part(StatementList &out, const Stmt &s, const Expr &lo, const Expr &hi) const {
    For piece = loop();
    piece.lo = lo, piece.hi = hi;
    std::vector<const For *> around;
    for (uint32_t l = nest_.loops[d_.loop].parent; l != NestLoop::no_loop; l = nest_.loops[l].parent)
      if (nest_.loops[l].loop) around.insert(around.begin(), nest_.loops[l].loop);
    if (Stmt body = simplify_under_bounds(piece, around)) add_piece(out, s, lo, hi, body);
  }

  StatementList peel(const Stmt &s) const {
    StatementList out;
    Expr lo = bound_once(loop().lo, out), hi = bound_once(loop().hi, out);
    int64_t count = d_.sizes[0];
    BinOp nearer = loop().step > 0 ? BinOp::min : BinOp::max,
          farther = loop().step > 0 ? BinOp::max : BinOp::min;
    if (d_.last) {
      Expr cut = binary(farther, sub(hi, const_int(loop().step * count)), lo);
      part(out, s, lo, cut);
      part(out, s, cut, hi);
    } else {
      Expr cut = add(lo, mul(const_int(count), const_int(loop().step)));
      part(out, s, lo, binary(nearer, cut, hi));
      part(out, s, cut, hi);
    }
    return out;
  }

  StatementList split_index_set(const Stmt &s) const {
    StatementList out;
    Expr lo = bound_once(loop().lo, out), hi = bound_once(loop().hi, out);
    BinOp nearer = loop().step > 0 ? BinOp::min : BinOp::max,
          farther = loop().step > 0 ? BinOp::max : BinOp::min;
    Expr behind = add(d_.at, const_int(loop().step));
    part(out, s, lo, binary(nearer, d_.at, hi));
    part(out, s, binary(farther, d_.at, lo), binary(nearer, behind, hi));
    part(out, s, binary(farther, behind, lo), hi);
    return out;
  }

  StatementList distribute(const Stmt &s) const {
    size_t count = static_cast<size_t>(d_.sizes[0]) + 1;
    StatementList body = statements_of(loop().body), second;
    std::vector<size_t> shared = *shared_definitions(loop().body, count);
    for (size_t i : shared) second.push_back(body[i]);
    auto middle = body.begin() + static_cast<std::ptrdiff_t>(count);
    second.insert(second.end(), middle, body.end());
    StatementList out;
    for (const Stmt &part : {statement_of(StatementList(body.begin(), middle)), statement_of(second)})
      if (part) add_piece(out, s, loop().lo, loop().hi, part);
    return out;
  }

  // ---- several loops
  Stmt reorder() const {
    std::vector<uint32_t> text_order = *in_text_order(nest_, d_.loops());
    Stmt changed = statement_of(*permuted(nest_, text_order, d_.loops()));
    return replace_loop(region_, nest_.loops[text_order[0]].loop,
                        [&](const Stmt &) { return StatementList{{changed}}; });
  }

  static StatementList fuse(const Stmt &a, const Stmt &b) {
    For fused = *as<For>(a);
    const For &second = *as<For>(b);
    Substitution with;
    with.values[second.iter.get()] = kw::ref(fused.iter);
    fused.body = statement_of(one_after_another({fused.body, substituted(second.body, with)}));
    return {{loop_like(a, std::move(fused))}};
  }

  const Func &f_;
  const Stmt &region_;
  const Nest &nest_;
  const Directive &d_;
};

}  // namespace

Stmt apply_directive(const Func &f, const Stmt &region, const Nest &nest, const Directive &d) {
  return Apply(f, region, nest, d).run();
}

}  // namespace kw
