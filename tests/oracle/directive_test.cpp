// Random directives on random kernels: what is called legal is applied, and the interpreter finds the same
// memory, bit by bit, before and after, also when parallel loops run backwards and vector loops in lockstep.
// What is refused is applied too: how often no execution shows harm is printed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>

#include "analysis/gpu/combined_values.h"
#include "analysis/nest/access_stride.h"
#include "analysis/nest/privatize.h"
#include "analysis/nest/trip_counts.h"
#include "codegen/interp/interp.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "schedule/directives/apply.h"
#include "schedule/directives/loop_nest.h"
#include "schedule/directives/preconditions.h"
#include "support/text.h"
#include "tests/oracle/claims.h"
#include "tests/oracle/random_kernel.h"
#include "tests/unit/helpers.h"
#include "transform/copy.h"

namespace kw::oracle {
namespace {

struct Sizes {
  int64_t n = 1, m = 1, p = 0, q = 0;
  int64_t most() const { return std::max(std::max(n, m), std::max(p, q)); }
};

/// What a run leaves: the arrays with all that lies around them, or the fault that ended it.
struct Outcome {
  InterpResult result;
  std::vector<int64_t> a, b;
  std::vector<double> c;

  bool same(const Outcome &o, bool order_of_faults) const {
    if (result.status != o.result.status) return false;
    if (result.status != 0 && !order_of_faults) return true;
    return result.site == o.result.site && result.value == o.result.value && a == o.a && b == o.b &&
           std::memcmp(c.data(), o.c.data(), c.size() * sizeof(double)) == 0;
  }
};

Outcome run(const Func &f, const Sizes &s) {
  int64_t far = reach(s.most()), width = 2 * far;
  Outcome out;
  out.a.resize(static_cast<size_t>(width * width)), out.b.resize(static_cast<size_t>(width));
  out.c.resize(static_cast<size_t>(width));
  uint64_t state = 88172645463325252u;
  auto next = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<int64_t>(state % 17) - 8;
  };
  for (int64_t &x : out.a) x = next();
  for (int64_t &x : out.b) x = next();
  for (double &x : out.c) x = static_cast<double>(next()) / 3;
  int64_t idx[5];
  for (int64_t k = 0; k < 5; ++k) idx[k] = element_of_idx(k);
  void *data[] = {&out.a[static_cast<size_t>(far * width + far)], &out.b[static_cast<size_t>(far)],
                  &out.c[static_cast<size_t>(far)], idx};
  int64_t dims[] = {s.n, s.m, width};
  uint64_t scalars[] = {static_cast<uint64_t>(s.p), static_cast<uint64_t>(s.q)};
  out.result = interpret(f, {data, dims, scalars});
  return out;
}

/// The statements of a block, if they are stores and definitions only.
std::optional<std::vector<Stmt>> plain_statements(const Stmt &body) {
  std::vector<Stmt> out;
  for (const Stmt *s = &body; s && *s; s = next_in_block(*s->p)) {
    const Seq *list = as<Seq>(*s);
    if (!list && !as<Store>(*s)) return std::nullopt;
    if (as<Store>(*s)) out.push_back(*s);
    for (size_t i = 0; list && i + 1 < list->items.size(); ++i) {
      if (!as<Store>(list->items[i])) return std::nullopt;
      out.push_back(list->items[i]);
    }
  }
  return out;
}

/// A vector loop in groups of its width, statement by statement; the rest one by one. Loops that hold more
/// than stores to memory stay as they are.
Stmt in_lockstep(const For &n, const Stmt &s) {
  auto body = plain_statements(n.body);
  if (!body || n.step != 1) return s;
  for (const Stmt &one : *body)
    if (as<Store>(one)->buf->space == Space::registers || as<Store>(one)->order == Order::lanes) return s;
  int64_t width = n.how.vector_width;
  Sym lo = make_sym(SymKind::local, DType::i64, "lo"),
      groups = make_sym(SymKind::local, DType::i64, "groups"), g = make_sym(SymKind::iter, DType::i64, "g");
  Expr span = binary(BinOp::max, sub(n.hi, kw::ref(lo)), const_int(0));
  Expr first = add(kw::ref(lo), mul(kw::ref(g), const_int(width)));
  std::vector<Stmt> steps;
  for (const Stmt &one : *body) {
    std::vector<std::pair<Sym, Expr>> values;
    std::vector<Stmt> stores;
    for (int64_t l = 0; l < width; ++l) {
      Substitution with;
      with.values[n.iter.get()] = add(first, const_int(l));
      Stmt copy = copy_of(one, with);
      const Store &store_of = *as<Store>(copy);
      values.emplace_back(make_sym(SymKind::local, store_of.buf->dtype, "v"), store_of.value);
      stores.push_back(store(store_of.buf, store_of.index, kw::ref(values.back().first)));
    }
    Stmt out = seq(std::move(stores));
    for (size_t l = values.size(); l-- > 0;) out = let(values[l].first, values[l].second, out);
    steps.push_back(out);
  }
  Stmt whole = for_loop({g, const_int(0), kw::ref(groups), 1, ForKind::serial, Hint::none, {}, seq(steps)});
  For rest = n;
  rest.kind = ForKind::serial, rest.how = {}, rest.hi = n.hi;
  rest.lo = add(kw::ref(lo), mul(kw::ref(groups), const_int(width)));
  Stmt out = seq({whole, copy_of(for_loop(std::move(rest)))});
  return let(lo, n.lo, let(groups, binary(BinOp::floor_div, span, const_int(width)), out));
}

/// Whether threads of a team combine selections: of equal values, they take that of the first iteration.
bool selects(const For &n) { return n.kind == ForKind::block && !CombinedValues(n).selections.empty(); }

/// Parallel, grid and block loops from the last iteration to the first, and groups of iterations of vector
/// loops statement by statement, all reads of a statement before its writes.
Func in_other_order(const Func &f) {
  Func out = f;
  out.body = rewrite(f.body, [](const For &n, const Stmt &s) {
    if (n.kind == ForKind::vector) return in_lockstep(n, s);
    bool is_ordered = n.kind != ForKind::parallel && n.kind != ForKind::grid && n.kind != ForKind::block;
    if (is_ordered || counts_lanes(n) || selects(n)) return s;
    bool up = n.step > 0;
    Sym count = make_sym(SymKind::local, DType::i64, "count"), k = make_sym(SymKind::iter, DType::i64, "k");
    Sym lo = make_sym(SymKind::local, DType::i64, "lo");
    Expr span = up ? sub(n.hi, kw::ref(lo)) : sub(kw::ref(lo), n.hi);
    int64_t size = up ? n.step : -n.step;
    Expr trips = binary(BinOp::max, binary(BinOp::floor_div, add(span, const_int(size - 1)), const_int(size)),
                        const_int(0));
    Expr at = add(kw::ref(lo), mul(sub(sub(kw::ref(count), const_int(1)), kw::ref(k)), const_int(n.step)));
    Substitution with;
    with.values[n.iter.get()] = at;
    Stmt body = substituted(n.body, with);
    Stmt loop = for_loop({k, const_int(0), kw::ref(count), 1, ForKind::serial, Hint::none, {}, body});
    return let(lo, n.lo, let(count, trips, loop));
  });
  return out;
}

int64_t pick(Random &random, std::initializer_list<int64_t> values) {
  return *(values.begin() + random() % values.size());
}

/// Sizes of few iterations in all, among 1, 2, 3, 7, 8, 9, 17, 33. No extent is 0, for which the plain body
/// runs; loops without iterations come from scalars.
Sizes random_sizes(Random &random, int depth) {
  for (;;) {
    auto extent = [&] { return pick(random, {1, 2, 3, 7, 8, 9, 17, 33}); };
    auto scalar = [&] { return pick(random, {0, 0, 1, 2, 3, 7, 8, 9, 17, 33, -1}); };
    Sizes s{extent(), extent(), scalar(), scalar()};
    int64_t most = s.most(), all = 1;
    for (int k = 0; k < depth; ++k) all *= most;
    if (all <= 1100) return s;
  }
}

class DirectiveMaker {
 public:
  DirectiveMaker(Random &random, const LoopNest &nest)
      : random_(random), f_(nest.func()), nest_(nest.nest()) {}

  /// Nothing when there is no loop.
  std::optional<Directive> run() {
    std::vector<uint32_t> counting;
    for (uint32_t l = 0; l < nest_.loops.size(); ++l)
      if (nest_.loops[l].loop) counting.push_back(l);
    if (counting.empty()) return std::nullopt;
    return any(counting, random_() % 4 == 0 && has_short_loop_with_scalar(counting));
  }

 private:
  int64_t size() { return pick(random_, {2, 2, 3, 4, 5, 8}); }

  Directive any(const std::vector<uint32_t> &counting, bool expands) {
    uint32_t loop = counting[random_() % counting.size()];
    std::string_view verb = directive_verbs()[random_() % directive_verbs().size()];
    if (expands) verb = Expand::name;
    if (verb == Vectorize::name) return Vectorize{loop, pick(random_, {2, 4, 8})};
    if (verb == Split::name) return Split{loop, size()};
    if (verb == Reorder::name) return Reorder{shuffled(inwards(loop, counting))};
    if (verb == Tile::name) return tile(inwards(loop, counting));
    if (verb == UnrollAndJam::name) return UnrollAndJam{loop, size()};
    if (verb == Unroll::name) return Unroll{loop, random_() % 4 ? size() : 0};
    if (verb == Fuse::name) return pair(loop, counting);
    if (verb == Distribute::name) return Distribute{loop, static_cast<int64_t>(random_() % 4)};
    if (verb == Peel::name) return Peel{loop, pick(random_, {1, 2, 3}), random_() % 2 == 0};
    if (verb == SplitIndexSet::name) return SplitIndexSet{loop, place(loop)};
    if (verb == Contract::name) return temporary(counting);
    if (verb == ReplaceWithScalar::name) return carried(loop);
    if (verb == SetTail::name) return SetTail{loop, static_cast<Tail>(random_() % 4)};
    if (verb == Stream::name) return Stream{loop};
    if (verb == Prefetch::name) return Prefetch{loop};
    if (verb == Transpose::name) return Transpose{loop};
    if (verb == AssumeRows::name) return rows(loop);
    if (verb == Flatten::name) return Flatten{loop};
    if (verb == Collapse::name) return Collapse{loop};
    if (verb == Grid::name) return Grid{loop, size()};
    if (auto d = for_gpu(verb, loop, counting)) return *d;
    if (verb != Parallel::name) return of_scalar(verb, loop, counting);
    return Parallel{loop, random_() % 4 ? 0 : size(), random_() % 4 ? 0 : size()};
  }

  /// Directives for GPUs other than `grid`, and than private_bins: the kernels access elements beyond the
  /// extents, which no copy of an array holds.
  std::optional<Directive> for_gpu(std::string_view verb, uint32_t loop,
                                   const std::vector<uint32_t> &counting) {
    uint32_t other = counting[random_() % counting.size()];
    if (verb == Team::name) return Team{loop, random_() % 2 ? 32 : 256, random_() % 2 ? 4 : 0};
    if (verb == Stage::name) return Stage{loop};
    if (verb == StageRows::name) return StageRows{loop};
    if (verb == StageColumns::name) return StageColumns{loop};
    if (verb == StageChain::name) return StageChain{loop};
    if (verb == Rfactor::name) return Rfactor{loop};
    if (verb == ScanLoop::name) return ScanLoop{loop};
    if (verb == FoldFill::name) return FoldFill{loop};
    if (verb == Unswitch::name) return Unswitch{loop};
    if (verb == Specialize::name) return Specialize{loop, size(), other, random_() % 2 ? size() : 0};
    if (verb == ShortRows::name) return ShortRows{loop, other};
    if (verb == Linearize::name) return Linearize{loop, random_() % 2 ? 8 : 0, 32, 0, 0};
    if (verb == CacheRow::name) return cached(loop);
    return std::nullopt;
  }
  Directive cached(uint32_t loop) const {
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses)
        if (a.is_write && !a.index.empty() && is_inside(s, loop)) return CacheRow{a.buf, loop};
    return Grid{loop, 1};
  }

  Directive tile(std::vector<uint32_t> loops) {
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < loops.size(); ++i) sizes.push_back(size());
    return Tile{std::move(loops), std::move(sizes)};
  }

  /// A buffer of its own, or an array over a loop that is tiled first where it is not short.
  Directive of_scalar(std::string_view verb, uint32_t loop, const std::vector<uint32_t> &counting) {
    auto [buf, at] = own(loop, counting);
    if (!buf) return Parallel{loop};
    if (verb == Privatize::name) return Privatize{buf, at};
    if (random_() % 2 && !most_trips(*nest_.loops[at].loop)) return Tile{{at}, {size()}};
    return Expand{buf, at};
  }

  /// A loop, and those that stand directly in one another from it.
  std::vector<uint32_t> inwards(uint32_t loop, const std::vector<uint32_t> &counting) {
    std::vector<uint32_t> outer;
    for (uint32_t l : counting)
      if (as<For>(nest_.loops[l].loop->body)) outer.push_back(l);
    if (!outer.empty()) loop = outer[random_() % outer.size()];
    std::vector<uint32_t> out{loop};
    for (uint32_t l = loop; out.size() < 3 && l + 1 < nest_.loops.size(); ++l)
      if (nest_.loops[l + 1].parent == l && nest_.loops[l + 1].loop && (out.size() == 1 || random_() % 2))
        out.push_back(l + 1);
      else
        break;
    return out;
  }
  std::vector<uint32_t> shuffled(std::vector<uint32_t> all) {
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(1 % all.size()), all.end());
    if (random_() % 2) std::swap(all.front(), all.back());
    return all;
  }
  /// Two neighbours, which often have the same bounds.
  Directive pair(uint32_t loop, const std::vector<uint32_t> &counting) {
    std::vector<std::pair<uint32_t, uint32_t>> any, alike;
    for (uint32_t l : counting)
      for (uint32_t k = l + 1; k < nest_.loops.size(); ++k)
        if (const For *x = nest_.loops[l].loop, *y = nest_.loops[k].loop;
            y && nest_.loops[k].parent == nest_.loops[l].parent) {
          any.emplace_back(l, k);
          if (equal(x->lo, y->lo) && equal(x->hi, y->hi) && x->step == y->step) alike.emplace_back(l, k);
          break;
        }
    const auto &list = alike.empty() ? any : alike;
    if (list.empty()) return Fuse{loop, loop};
    auto [first, second] = list[random_() % list.size()];
    return Fuse{first, second};
  }
  Expr place(uint32_t loop) {
    uint32_t parent = nest_.loops[loop].parent;
    Expr out = const_int(pick(random_, {0, 1, 3, 8}));
    if (parent != NestLoop::no_loop && nest_.loops[parent].loop && random_() % 2)
      out = kw::ref(nest_.loops[parent].loop->iter);
    else if (random_() % 2)
      for (const NestVariable &v : nest_.variables)
        if (const Ref *r = as<Ref>(v.expr); r && r->sym->kind == SymKind::extent) out = v.expr;
    return random_() % 3 ? out : sub(out, const_int(1));
  }
  /// True when a scalar can become an array over a loop that was made short.
  bool has_short_loop_with_scalar(const std::vector<uint32_t> &counting) const {
    return std::any_of(counting.begin(), counting.end(), [&](uint32_t l) {
      return most_trips(*nest_.loops[l].loop) && !private_scalars(f_, nest_, l).empty();
    });
  }
  /// A buffer and a loop, which often has it for itself.
  std::pair<Buf, uint32_t> own(uint32_t given, const std::vector<uint32_t> &counting) {
    std::vector<std::pair<Buf, uint32_t>> any, fitting;
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses) any.emplace_back(a.buf, given);
    for (uint32_t l : counting)
      for (const BufNode *b : private_scalars(f_, nest_, l))
        for (const auto &[buf, loop] : any)
          if (buf.get() == b) fitting.emplace_back(buf, l);
    const auto &list = fitting.empty() ? any : fitting;
    return list.empty() ? std::pair<Buf, uint32_t>{{}, given} : list[random_() % list.size()];
  }

  /// An array and a loop that uses it.
  Directive temporary(const std::vector<uint32_t> &counting) {
    uint32_t loop = counting[random_() % counting.size()];
    Buf buf;
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses)
        if (!a.index.empty() && (!buf || a.buf->sym->name == "w")) {
          buf = a.buf;
          if (!s.loops.empty()) loop = s.loops[random_() % s.loops.size()];
        }
    return buf ? Directive(Contract{buf, loop}) : Directive(Vectorize{loop, 2});
  }

  /// An array that is accessed in the loop, with the length of its rows.
  Directive rows(uint32_t loop) const {
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses)
        if (a.buf->rank() >= 2 && is_inside(s, loop)) return AssumeRows{a.buf, loop, 3};
    return Prefetch{loop};
  }

  /// An array that the loop stores to.
  Directive carried(uint32_t loop) const {
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses)
        if (a.is_write && !a.index.empty() && is_inside(s, loop)) return ReplaceWithScalar{a.buf, loop};
    return Parallel{loop};
  }

  Random &random_;
  const Func &f_;
  const Nest &nest_;
};

/// The sizes that a kernel is tried on, and what it gives for them.
struct Trials {
  std::vector<Sizes> sizes;
  std::vector<Outcome> expected;

  Trials(const Func &f, Random &random, int depth) {
    for (int k = 0; k < 3; ++k) {
      sizes.push_back(random_sizes(random, depth));
      expected.push_back(run(f, sizes.back()));
    }
  }
  bool hold(const Func &f, bool has_parallel) const {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (!run(f, sizes[i]).same(expected[i], !has_parallel)) return false;
    return true;
  }
};

/// What became of the directives of one verb.
struct Counts {
  int64_t applied = 0, inapplicable = 0, refused = 0, harmless = 0;
};

bool is_marked(const Func &f) {
  bool found = false;
  walk(f.body, [&](const For &n, const Stmt &) { found |= n.kind != ForKind::serial; });
  return found;
}

/// The region after a directive that was refused, when its tree is sound.
std::optional<Func> forced(const LoopNest &nest, const Directive &d) {
  Func f = nest.func();
  f.body = apply_directive(f, nest.region(), nest.nest(), d);
  return verify(f).empty() ? std::optional(f) : std::nullopt;
}

/// Seconds that verdicts and applications take.
struct Cost {
  double verdicts = 0, steps = 0;
  int64_t asked = 0, applied = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Sequence {
 public:
  Sequence(Random &random, std::map<std::string_view, Counts> &counts, Cost &cost)
      : random_(random), counts_(counts), cost_(cost) {}

  void run(const RandomKernel &kernel) {
    Func f = unit::ir(kernel.text);
    ASSERT_EQ(verify(f), "");
    Trials trials(f, random_, kernel.depth);
    LoopNest nest(f);
    SourceMap sources;
    std::string text;
    for (int left = 4, tries = 0; left > 0 && tries < 12; ++tries) {
      auto d = DirectiveMaker(random_, nest).run();
      if (!d) return;
      std::string line = print_directive(nest.nest(), *d);
      SCOPED_TRACE(text + line);
      expect_reads_back(nest, line);
      auto begin = std::chrono::steady_clock::now();
      Verdict v = nest.legal(*d);
      cost_.verdicts += seconds_since(begin), ++cost_.asked;
      Counts &count = counts_[d->verb()];
      if (!v.ok()) {
        refuse(nest, *d, v, trials, count);
        continue;
      }
      std::string before = print(nest.func());
      begin = std::chrono::steady_clock::now();
      nest.apply(*d);
      cost_.steps += seconds_since(begin), ++cost_.applied;
      --left, ++count.applied;
      text += line + "\n";
      ASSERT_EQ(verify(nest.func()), "") << print(nest.func());
      bool marked = is_marked(nest.func());
      ASSERT_TRUE(trials.hold(nest.func(), marked)) << before << print(nest.func());
      ASSERT_TRUE(!marked || trials.hold(in_other_order(nest.func()), marked))
          << "in another order\n"
          << before << print(nest.func());
    }
  }

 private:
  /// The text of a directive is that directive.
  static void expect_reads_back(const LoopNest &nest, const std::string &line) {
    SourceMap sources;
    Loc at{sources.add_text("<schedule>", 1, line), 0, static_cast<uint32_t>(line.size())};
    EXPECT_EQ(print_directive(nest.nest(), parse_directive(nest.func(), nest.nest(), sources, at)), line);
  }

  void refuse(const LoopNest &nest, const Directive &d, const Verdict &v, const Trials &trials,
              Counts &count) {
    if (v.reason == Reason::inapplicable || v.reason == Reason::jump) {
      ++count.inapplicable;
      return;
    }
    ++count.refused;
    // Those for GPUs rewrite what the rules say is there.
    bool is_for_gpu = std::visit(
        [](const auto &one) { return rewrites_for_gpu<std::remove_cvref_t<decltype(one)>>; }, d.what);
    if (is_for_gpu) return;
    auto f = forced(nest, d);
    if (!f) return;
    bool same = trials.hold(*f, true) && (!is_marked(*f) || trials.hold(in_other_order(*f), true));
    count.harmless += same;
  }

  Random &random_;
  std::map<std::string_view, Counts> &counts_;
  Cost &cost_;
};

TEST(DirectiveOracle, what_is_legal_keeps_memory_bit_by_bit) {
  uint64_t seed = unit::seed();
  std::map<std::string_view, Counts> counts;
  Cost cost;
  int count = count_of_programs(3000), done = 0;
  for (int k = 0; k < count && !testing::Test::HasFailure(); ++k, ++done) {
    Random random(seed + static_cast<uint64_t>(k));
    RandomKernel kernel = random_kernel(random);
    SCOPED_TRACE(cat("KW_TEST_SEED=", seed + static_cast<uint64_t>(k), "\n", kernel.text));
    Sequence(random, counts, cost).run(kernel);
  }
  std::string verbs;
  Counts all;
  for (const auto &[verb, c] : counts) {
    verbs += cat("; ", verb, " ", c.applied, " applied, ", c.refused, " refused, ", c.harmless,
                 " of them harmless, ", c.inapplicable, " do not fit");
    all.applied += c.applied, all.refused += c.refused, all.harmless += c.harmless;
  }
  record(cat("directives by execution: seed ", seed, ", ", done, " sequences, ", all.applied, " applied, ",
             all.refused, " refused, of which no execution shows harm: ",
             all.refused ? all.harmless * 1000 / all.refused : 0, " per mille", verbs));
  std::printf("%.1f us for a verdict, %.1f us for a rewrite and its nest\n",
              cost.verdicts * 1e6 / static_cast<double>(std::max<int64_t>(1, cost.asked)),
              cost.steps * 1e6 / static_cast<double>(std::max<int64_t>(1, cost.applied)));
}

}  // namespace
}  // namespace kw::oracle
