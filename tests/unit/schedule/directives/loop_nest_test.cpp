// Which directives known kernels allow, and what enables others. The kernels come from the front end as users
// write them.
#include "schedule/directives/loop_nest.h"

#include <gtest/gtest.h>

#include "driver/pipeline.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/replay.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel over a, b, c: f32[2 dims], v: f32[1 dim] and a Python int p, in strict mode.
LoopNest nest_of(std::string_view lines, FpMode fp = FpMode::strict) {
  std::string text = "def f(a, b, c, v, p):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Signature s = unit::signature(
      {unit::tensor(2), unit::tensor(2), unit::tensor(2), unit::tensor(1), unit::weak(DType::i64)});
  CodegenOptions options;
  options.fp = fp;
  return LoopNest(unit::kernel(text + "  return a, b, c, v\n", s, options));
}

/// "legal", or the reason and what stands in the way: "conflict a", "inapplicable: the loops do not follow
/// each other directly".
std::string ask(const LoopNest &nest, std::string_view directive) {
  SourceMap sources;
  Loc line{sources.add_text("<schedule>", 1, std::string(directive)), 0,
           static_cast<uint32_t>(directive.size())};
  Verdict v = nest.legal(parse_directive(nest.func(), nest.nest(), sources, line), true);
  static constexpr const char *reasons[] = {"legal",    "conflict", "repeated",    "ordered",
                                            "unproved", "jump",     "inapplicable"};
  std::string out = reasons[static_cast<size_t>(v.reason)];
  if (v.reason == Reason::inapplicable) return cat(out, ": ", v.why);
  if (v.dependence) {
    const Nest &n = nest.nest();
    out += cat(" ", n.statements[v.dependence->source].accesses[v.dependence->from].buf->sym->name);
  }
  return out;
}

/// Applies the lines; each must be legal and leave a sound tree.
void follow(LoopNest &nest, std::string_view schedule) {
  SourceMap sources;
  auto refused = replay(nest, sources, sources.add_text("<schedule>", 1, std::string(schedule)));
  ASSERT_FALSE(refused) << schedule << "\n" << print(nest.func());
  ASSERT_EQ(verify(nest.func()), "");
}

/// The answers to several questions, in their order.
std::vector<std::string> ask_all(const LoopNest &nest, const std::vector<std::string> &directives) {
  std::vector<std::string> out;
  for (const std::string &d : directives) out.push_back(cat(d, ": ", ask(nest, d)));
  return out;
}
using Answers = std::vector<std::string>;

TEST(LoopNest, matmul) {
  LoopNest nest = nest_of(
      "for i in range(a.shape[0]):\n  for j in range(b.shape[1]):\n    for k in range(a.shape[1]):\n"
      "      c[i, j] += a[i, k] * b[k, j]");
  EXPECT_EQ(
      ask_all(nest, {"parallel i", "parallel j", "parallel k", "vectorize j by 8", "reorder i k j",
                     "reorder k j i", "tile i by 4, j by 8, k by 16", "unroll_and_jam i by 4",
                     "unroll_and_jam j by 2", "unroll k by 4", "distribute k after 0"}),
      (Answers{"parallel i: legal", "parallel j: legal", "parallel k: ordered c", "vectorize j by 8: legal",
               "reorder i k j: legal", "reorder k j i: legal", "tile i by 4, j by 8, k by 16: legal",
               "unroll_and_jam i by 4: legal", "unroll_and_jam j by 2: legal", "unroll k by 4: legal",
               "distribute k after 0: inapplicable: the body has no statement behind that one"}));
  follow(nest, "tile i by 4, j by 8\nreorder j i\nparallel i0\nunroll_and_jam i by 2\n");
}

TEST(LoopNest, lu_in_place) {
  LoopNest nest = nest_of(
      "for k in range(a.shape[0]):\n  for i in range(k + 1, a.shape[0]):\n    a[i, k] = a[i, k] / a[k, k]\n"
      "    for j in range(k + 1, a.shape[0]):\n      a[i, j] -= a[i, k] * a[k, j]");
  EXPECT_EQ(
      ask_all(nest, {"parallel k", "parallel i", "parallel j", "vectorize j by 8", "reorder i k",
                     "unroll_and_jam i by 2", "distribute i after 0", "tile i by 4, j by 4"}),
      (Answers{"parallel k: conflict a", "parallel i: legal", "parallel j: legal", "vectorize j by 8: legal",
               "reorder i k: legal", "unroll_and_jam i by 2: legal", "distribute i after 0: legal",
               "tile i by 4, j by 4: inapplicable: the loops do not stand directly in one another"}));
  follow(nest, "distribute i after 0\ntile i#2 by 4, j by 8\n");
}

TEST(LoopNest, floyd_warshall_is_parallel_beside_its_pivot) {
  LoopNest nest = nest_of(
      "n = a.shape[0]\nfor k in range(n):\n  for i in range(n):\n    for j in range(n):\n"
      "      a[i, j] = min(a[i, j], a[i, k] + a[k, j])");
  EXPECT_EQ(
      ask_all(nest, {"parallel k", "parallel i", "parallel j", "reorder i k", "split_index_set i at k"}),
      (Answers{"parallel k: conflict a", "parallel i: conflict a", "parallel j: conflict a",
               "reorder i k: conflict a", "split_index_set i at k: legal"}));
  follow(nest, "split_index_set i at k\n");
  EXPECT_EQ(ask_all(nest, {"parallel i", "parallel i#2", "parallel i#3", "split_index_set j at k"}),
            (Answers{"parallel i: legal", "parallel i#2: legal", "parallel i#3: legal",
                     "split_index_set j at k: legal"}));
  follow(nest, "split_index_set j at k\n");
  EXPECT_EQ(ask_all(nest, {"parallel j", "parallel j#2", "parallel j#3"}),
            (Answers{"parallel j: legal", "parallel j#2: legal", "parallel j#3: legal"}));
}

TEST(LoopNest, softmax_of_rows) {
  LoopNest nest = nest_of(
      "for i in range(a.shape[0]):\n  m = a[i, 0]\n  for j in range(a.shape[1]):\n    m = max(m, a[i, j])\n"
      "  s = 0.0\n  for j in range(a.shape[1]):\n    b[i, j] = exp(a[i, j] - m)\n    s += b[i, j]\n"
      "  for j in range(a.shape[1]):\n    b[i, j] = b[i, j] / s");
  EXPECT_EQ(ask_all(nest, {"parallel i", "parallel j", "parallel j#2", "vectorize j#3 by 8", "fuse j#2 j#3",
                           "fuse j j#2", "distribute j#2 after 0"}),
            (Answers{"parallel i: legal", "parallel j: ordered", "parallel j#2: ordered s",
                     "vectorize j#3 by 8: legal", "fuse j#2 j#3: conflict s",
                     "fuse j j#2: inapplicable: the loops do not follow each other directly",
                     "distribute j#2 after 0: legal"}));
  follow(nest, "parallel i\ndistribute j#2 after 0\nvectorize j#2 by 8\nvectorize j#4 by 8\n");
}

TEST(LoopNest, the_safe_body_allows_what_the_source_does) {
  LoopNest source = nest_of(
      "for i in range(a.shape[0]):\n  for j in range(b.shape[1]):\n    s = 0.0\n"
      "    for k in range(a.shape[1]):\n      s += a[i, k] * b[k, j]\n    c[i, j] = s");
  LoopNest nest(run_pipeline(source.func(), {}, unit::with_fma()));
  EXPECT_EQ(ask_all(nest, {"parallel i", "reorder j i", "tile i by 4, j by 8", "unroll_and_jam j by 8"}),
            (Answers{"parallel i: legal", "reorder j i: legal", "tile i by 4, j by 8: legal",
                     "unroll_and_jam j by 8: legal"}));
  follow(nest, "tile i by 4, j by 8\nparallel i0\nunroll_and_jam j by 2\n");
}

TEST(LoopNest, an_array_is_contracted_where_an_iteration_uses_one_element) {
  auto contract = [](std::string_view body) {
    return ask(nest_of(cat("t = allocate(c.shape, c.dtype)\nfor i in range(c.shape[0]):\n", body)),
               "contract t at i");
  };
  EXPECT_EQ(contract("  t[i, 0] = a[0, i]\n  c[i, 0] = t[i, 0]"), "legal");
  std::string_view more = "inapplicable: an iteration uses more of it than one element";
  EXPECT_EQ(contract("  t[i, 0] = a[0, i]\n  c[i, 0] = t[0, 0]"), more);
  EXPECT_EQ(contract("  if i > 2:\n    t[i, 0] = a[0, i]\n  c[i, 0] = t[i, 0]"), more);
  EXPECT_EQ(contract("  c[i, 0] = t[i, 0]\n  t[i, 0] = a[0, i]"), more);
  EXPECT_EQ(contract("  t[i, 0] = a[0, i]\nfor j in range(c.shape[0]):\n  c[j, 0] = t[j, 0]"), more);
  EXPECT_EQ(
      ask(nest_of("for i in range(c.shape[0]):\n  c[i, 0] = 1.0\n  a[i, 0] = c[i, 0]"), "contract c at i"),
      "inapplicable: the buffer is not made in the kernel");
}

TEST(LoopNest, a_scalar_from_outside_keeps_a_loop_on_one_thread) {
  LoopNest nest = nest_of("s = a[0, 0]\nfor i in range(1):\n  s = s * a[0, i]\nc[0, 0] = s");
  EXPECT_EQ(ask_all(nest, {"parallel i"}),
            (Answers{"parallel i: inapplicable: it stores to a scalar that is made outside it"}));
}

TEST(LoopNest, seidel_has_a_wave) {
  LoopNest nest = nest_of(
      "for i in range(1, a.shape[0] - 1):\n  for j in range(1, a.shape[1] - 1):\n"
      "    a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]) * 0.25");
  EXPECT_EQ(ask_all(nest, {"parallel i", "parallel j", "reorder j i", "tile i by 8, j by 8",
                           "unroll_and_jam i by 2"}),
            (Answers{"parallel i: conflict a", "parallel j: conflict a", "reorder j i: legal",
                     "tile i by 8, j by 8: legal", "unroll_and_jam i by 2: legal"}));
  LoopNest diagonal = nest_of(
      "for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1] - 1):\n"
      "    a[i, j] = a[i - 1, j + 1] + a[i, j]");
  EXPECT_EQ(ask_all(diagonal, {"parallel j", "reorder j i", "tile i by 8, j by 8", "unroll_and_jam i by 2"}),
            (Answers{"parallel j: legal", "reorder j i: conflict a", "tile i by 8, j by 8: conflict a",
                     "unroll_and_jam i by 2: conflict a"}));
}

TEST(LoopNest, triangular_solve) {
  LoopNest nest = nest_of(
      "for i in range(a.shape[0]):\n  for j in range(i):\n    v[i] -= a[i, j] * v[j]\n  v[i] = v[i] / a[i, "
      "i]");
  EXPECT_EQ(
      ask_all(nest,
              {"parallel i", "parallel j", "distribute i after 0", "split j by 8", "unroll_and_jam i by 2"}),
      (Answers{
          "parallel i: conflict v", "parallel j: ordered v", "distribute i after 0: conflict v",
          "split j by 8: legal",
          "unroll_and_jam i by 2: inapplicable: the bounds of a loop in it change with its iterations"}));
}

TEST(LoopNest, transpose) {
  LoopNest nest =
      nest_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    b[j, i] = a[i, j]");
  EXPECT_EQ(
      ask_all(nest, {"parallel i", "parallel j", "reorder j i", "tile i by 8, j by 8", "vectorize i by 8",
                     "unroll_and_jam i by 8"}),
      (Answers{"parallel i: legal", "parallel j: legal", "reorder j i: legal", "tile i by 8, j by 8: legal",
               "vectorize i by 8: legal", "unroll_and_jam i by 8: legal"}));
}

TEST(LoopNest, a_witness_of_a_refused_order_is_a_pair_of_iterations) {
  LoopNest nest = nest_of(
      "for i in range(1, a.shape[0]):\n  for j in range(1, a.shape[1] - 1):\n"
      "    a[i, j] = a[i - 1, j + 1] + 1.0");
  Directive d = Reorder{{1, 0}};
  Verdict v = nest.legal(d, true);
  ASSERT_TRUE(v.witness);
  EXPECT_TRUE(v.witness->certain);
  EXPECT_EQ(v.witness->source, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(v.witness->sink, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(v.witness->element, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(nest.legal(d).witness);  // not asked for
}

TEST(LoopNest, what_lanes_or_threads_would_share_is_refused) {
  LoopNest sum = nest_of("for i in range(a.shape[0]):\n  v[0] = max(v[0], a[i, 0])");
  EXPECT_EQ(ask(sum, "parallel i"), "ordered");
  LoopNest shift = nest_of("for i in range(v.shape[0] - 1):\n  v[i] = v[i + 1]");
  EXPECT_EQ(ask(shift, "parallel i"), "conflict v");
  EXPECT_EQ(ask(shift, "vectorize i by 8"), "legal");  // all reads of a statement come before its writes
  LoopNest chain = nest_of("for i in range(v.shape[0] - 1):\n  v[i + 1] = v[i]");
  EXPECT_EQ(ask(chain, "vectorize i by 8"), "conflict v");
  LoopNest pairs = nest_of("for i in range(v.shape[0]):\n  v[i // 2] = max(v[i // 2], a[i, 0])");
  EXPECT_EQ(ask(pairs, "vectorize i by 8"), "ordered");  // of two lanes that meet, one would be lost
}

TEST(LoopNest, a_sum_in_lanes_keeps_its_band) {
  LoopNest nest = nest_of(
      "for i in range(a.shape[0]):\n  s = 0.0\n  for j in range(a.shape[1]):\n    s += a[i, j]\n  v[i] = s",
      FpMode::normal);
  std::string_view why = "inapplicable: the order of a sum in it is fixed";
  for (const char *d : {"split j by 8", "unroll_and_jam i by 2", "unroll j by 2", "peel j first 1"})
    EXPECT_EQ(ask(nest, d), why) << d;
  for (const char *d : {"split i by 8", "parallel i", "vectorize j by 8", "parallel j"})
    EXPECT_EQ(ask(nest, d), "legal") << d;
  LoopNest alone = nest_of("s = 0.0\nfor j in range(v.shape[0]):\n  s += v[j]\nv[0] = s", FpMode::normal);
  EXPECT_EQ(ask(alone, "parallel j"), "legal");
  EXPECT_EQ(ask(alone, "parallel j block 64"), why);
}

/// IR over w: i64[n] with two sites and an int p.
LoopNest ir_nest(std::string_view body) {
  return LoopNest(
      unit::ir(cat("def f(w: inout(i64, (n,)), v: inout(i64, (n,)), p: weak(i64)):\n  fp('strict')\n  "
                   "dims(n)\n  site('E303', w, 0)\n",
                   body, "  return w\n")));
}

TEST(LoopNest, checks_keep_their_order) {
  LoopNest nest = ir_nest(
      "  for i in serial(0, n, 1):\n    for j in serial(0, n, 1):\n      check(w[i] < j, site=0)\n"
      "  for i in serial(0, n, 1):\n    w[i] = i\n");
  std::string_view why =
      "inapplicable: subscripts in it are checked in order, so that the first bad one is reported";
  for (const char *d : {"reorder j i", "tile i by 2, j by 2", "unroll_and_jam i by 2", "vectorize j by 4",
                        "fuse i i#2", "parallel j"})
    EXPECT_EQ(ask(nest, d), why) << d;
  for (const char *d : {"split i by 2", "unroll j by 2", "peel j last 1", "split_index_set j at i"})
    EXPECT_EQ(ask(nest, d), "legal") << d;
}

TEST(LoopNest, jumps_and_bounds_that_do_not_fit) {
  LoopNest nest = ir_nest(
      "  for i in serial(0, n, 1):\n    if w[i] < 3:\n      continue\n    w[i] = 1\n"
      "  for j in serial(0, n, 2):\n    if w[j] < 3:\n      break\n    w[j] = 1\n"
      "  for k in serial(0, p, 1):\n    for l in serial(0, w[k], 1):\n      v[l] = 2\n"
      "  for x in serial(0, n, 1):\n    for y in serial(0, w[0], 1):\n      v[y] = 2\n");
  EXPECT_EQ(ask(nest, "split i by 4"), "legal");
  EXPECT_EQ(ask(nest, "peel i first 1"), "legal");
  EXPECT_EQ(ask(nest, "unroll i by 4"), "inapplicable: `continue` ends iterations of it early");
  EXPECT_EQ(ask(nest, "parallel i"), "inapplicable: `continue` ends iterations of it early");
  EXPECT_EQ(ask(nest, "split j by 4"),
            "inapplicable: `break` lets an iteration decide whether later ones run");
  EXPECT_EQ(ask(nest, "split_index_set k at 3"), "inapplicable: its bounds are no sums of sizes");
  EXPECT_EQ(ask(nest, "reorder l k"), "inapplicable: a bound depends on another of the loops");
  EXPECT_EQ(ask(nest, "tile x by 2, y by 2"), "inapplicable: its bounds are no sums of sizes");
  EXPECT_EQ(ask(nest, "unroll k"), "inapplicable: it has no small constant number of iterations");
  EXPECT_EQ(ask(nest, "split k by 1"), "inapplicable: the size is too small or too large");
  EXPECT_EQ(ask(nest, "vectorize k by 1"), "inapplicable: the width is no power of two from 2 to 64");
  EXPECT_EQ(ask(nest, "split_index_set i at p"), "inapplicable: the place is no sum of sizes and iterators");
  EXPECT_EQ(ask(nest, "privatize w at i"),
            "inapplicable: its iterations may not write it before they read it, or it is read elsewhere");
  EXPECT_EQ(nest.legal(Parallel{9}).why, "it is for no loop that counts");
}

TEST(LoopNest, a_planned_vector_loop_does_not_become_a_parallel_one) {
  std::string_view sum =
      "  s = alloc(i64, (), 'registers')\n  s[()] = 0\n  for i in serial(0, n, 1):\n"
      "    s[()] = (s[()] + w[i]) @ lanes(i)\n  w[0] = s[()]\n";
  for (std::string_view plan : {"prefetch i", "tail i masked"}) {
    LoopNest nest = ir_nest(sum);
    follow(nest, "vectorize i by 8\n");
    EXPECT_EQ(ask(nest, "parallel i"), "legal");
    follow(nest, cat(plan, "\n"));
    EXPECT_EQ(ask(nest, "parallel i"), "inapplicable: its plan is that of a vector loop") << plan;
  }
}

TEST(LoopNest, a_value_that_crosses_keeps_two_statements_in_one_loop) {
  LoopNest nest = ir_nest(
      "  for i in serial(0, n - 1, 1):\n    u: i64 = w[i]\n    w[i + 1] = u\n    w[i] = u\n"
      "  for j in serial(0, n - 1, 1):\n    u: i64 = j * j\n    w[j] = u\n    w[j] = w[j] + u\n");
  EXPECT_EQ(ask(nest, "distribute i after 1"), "inapplicable: a value crosses from one part to the other");
  EXPECT_EQ(ask(nest, "distribute j after 1"), "legal");
}

TEST(LoopNest, a_part_of_a_kernel_can_be_a_nest_of_its_own) {
  Func f = unit::ir(
      "def f(w: inout(i64, (n,)), p: weak(i64)):\n  fp('strict')\n  dims(n)\n"
      "  for t in serial(0, p, 1):\n    for i in serial(0, n, 1):\n      w[i] = w[i] + t\n  return w\n");
  unit::FoundLoop found = unit::find_loop(f, "i");
  LoopNest nest(f, found.loop, found.scope);
  EXPECT_EQ(ask(nest, "parallel i"), "legal");
  follow(nest, "split i by 4\nparallel i0\n");
  const For *outer = as<For>(nest.func().body);
  ASSERT_TRUE(outer && outer->iter->name == "t");
  EXPECT_NE(print(nest.func()).find("    for i0 in parallel(0, n // 4, 1):\n"), std::string::npos)
      << print(nest.func());
}

TEST(LoopNest, a_kind_is_the_last_word_on_a_loop) {
  LoopNest nest = ir_nest("  for i in serial(0, n, 1):\n    w[i] = i\n");
  follow(nest, "parallel i chunk 4\n");
  EXPECT_EQ(ask(nest, "split i by 2"), "inapplicable: the loop has its kind already");
  LoopNest blocks = ir_nest("  for k in serial(0, n, 1):\n    for i in serial(0, n, 1):\n      w[i] = k\n");
  follow(blocks, "parallel i block 64\n");
  EXPECT_EQ(ask(blocks, "split i by 2"), "inapplicable: the loop around it runs over its blocks");
  EXPECT_EQ(ask(blocks, "peel k first 1"), "inapplicable: a loop in it runs over blocks");
  EXPECT_EQ(ask(blocks, "vectorize i by 8"), "legal");
}

TEST(LoopNest, one_of_two_nested_loops_is_vectorized) {
  LoopNest nest = ir_nest("  for k in serial(0, n, 1):\n    for i in serial(0, n, 1):\n      w[i] = k\n");
  follow(nest, "vectorize i by 8\n");
  EXPECT_EQ(ask(nest, "vectorize k by 8"), "inapplicable: a loop in it has its kind already");
  LoopNest outer =
      nest_of("for i in range(a.shape[0]):\n  for j in range(a.shape[1]):\n    b[i, j] = a[i, j]");
  follow(outer, "vectorize i by 8\n");
  EXPECT_EQ(ask(outer, "vectorize j by 8"), "inapplicable: it stands in a vector loop");
}

TEST(LoopNest, reductions_of_16_bit_floats_are_not_vectorized) {
  auto answer = [](std::string_view dtype) {
    Func f = unit::ir(cat("def f(x: buf(", dtype, ", (n,)), y: inout(", dtype, ", (n,))):\n  fp('strict')\n",
                          "  dims(n)\n  s = alloc(", dtype, ", (), 'registers')\n  s[()] = x[0]\n",
                          "  for i in serial(0, n, 1):\n    s[()] = max(s[()], x[i])\n  y[0] = s[()]\n",
                          "  return y\n"));
    return ask(LoopNest(f), "vectorize i by 8");
  };
  EXPECT_EQ(answer("f32"), "legal");
  EXPECT_EQ(answer("f16"), "inapplicable: a reduction of 16-bit floats has no vector form");
  EXPECT_EQ(answer("bf16"), "inapplicable: a reduction of 16-bit floats has no vector form");
}

}  // namespace
}  // namespace kw
