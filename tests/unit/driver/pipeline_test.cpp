// Both pipelines over a set of kernels: the IR stays well-formed and printable, and the optimised, plain and
// unoptimised bodies compute the same.
#include "driver/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "codegen/backend.h"
#include "codegen/interp/interp.h"
#include "driver/compile.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// Bodies of kernels over a: f32[n, m], w: i64[k] and a Python int p, with an output c: f32[n, m].
constexpr std::string_view bodies[] = {
    "for i, j in grid(c.shape):\n  c[i, j] = a[i, j] * 2.0 + 1.0",
    "for i in range(a.shape[0]):\n  c[i, 0] = 0.0\n  for j in range(a.shape[1]):\n    c[i, 0] += a[i, j] * "
    "a[i, j]",
    "for i in range(w.shape[0]):\n  if 0 <= w[i] and w[i] < a.shape[0]:\n    c[w[i], 0] = a[w[i], -1]",
    "for i in range(w.shape[0]):\n  c[w[i], 0] += 1.0 if a[w[i], 0] > 0.5 else float32(w[i])",
    "for i in range(p):\n  c[i, i] = a[i, max(i - 1, 0)]",
    "t = allocate(a.shape, float64)\nfor i, j in grid(a.shape):\n  t[i, j] = a[i, j]\n"
    "for i, j in grid(a.shape):\n  c[i, j] = t[i, a.shape[1] - 1 - j] - a[i, j] * 3",
    "s = 0.0\nk = 0\nfor i in range(a.shape[0]):\n  for j in range(i):\n    if j % 2 == 0:\n      s += a[i, "
    "min(j, a.shape[1] - 1)]\n"
    "      k += 1\n  c[i, 0] = s / k",
    "x = 0\nfor i in range(w.shape[0]):\n  x = w[i]\n  if x < a.shape[0] and x >= 0:\n    x = x + 1\n    "
    "c[x, 0] = 1.0",
    "for i in range(a.shape[0] - 1, -1, -2):\n  c[i, p % a.shape[1]] = exp(a[i, 0]) + sqrt(abs(a[i, 0]))",
    "for i, j in grid(a.shape):\n  if w[(i + j) % 6] == 0:\n    continue\n  c[i, j] = a[i, j]\n  if w[j] > "
    "3:\n    "
    "break",
    "k = 0\nwhile w[k] < a.shape[0]:\n  k += 1\n  if k % 2 == 0:\n    continue\n  c[w[k], 0] += a[k, 1]\n"
    "  if k > p:\n    k = 0\n    break\nc[k, 1] = 1.0",
    "dead = a[0, 0]\ndead = dead + 1.0\nc[0, 0] = (a[0, 0] + 1.0) ** 2 + a[0, 0] ** 0.5",
};

Func lowered(std::string_view body, FpMode fp) {
  std::string text = "def f(a, w, p):\n  c = output_tensor(a.shape, a.dtype)\n";
  for (const std::string &line : split_text(body, '\n')) text += cat("  ", line, "\n");
  CodegenOptions options;
  options.fp = fp;
  return unit::kernel(text + "  return c\n",
                      unit::signature({unit::tensor(2), unit::tensor(1, DType::i64), unit::weak(DType::i64)}),
                      options);
}

Func with_tail(Func f, const CodegenOptions &options, const Target &target) {
  const Backend &backend = find_backend("llvm");
  Func safe = scheduled(run_pipeline(f, options, target), options, target, backend);
  return run_passes(backend.lowering, safe, target);
}

CodegenOptions of_body(Body body) {
  CodegenOptions o;
  o.body = body;
  return o;
}

TEST(Pipeline, every_stage_is_well_formed_and_reads_back) {
  for (std::string_view body : bodies)
    for (FpMode fp : {FpMode::strict, FpMode::normal, FpMode::fast})
      for (Body kind : {Body::main, Body::plain}) {
        Func source = lowered(body, fp);
        EXPECT_TRUE(equal(unit::ir(print(source)), source)) << print(source);
        Func f = with_tail(source, of_body(kind), unit::with_fma());
        EXPECT_EQ(verify(f), "") << print(f);
        EXPECT_TRUE(equal(unit::ir(print(f)), f)) << print(f);
      }
}

TEST(Pipeline, is_deterministic) {
  for (std::string_view body : bodies)
    EXPECT_EQ(print(with_tail(lowered(body, FpMode::normal), {}, unit::with_fma())),
              print(with_tail(lowered(body, FpMode::normal), {}, unit::with_fma())));
}

struct Outcome {
  InterpResult result;
  std::vector<float> c;
};

Outcome run(const Func &f, unit::Random random) {
  std::vector<float> a(20), c(20, -7.0f);
  std::vector<int64_t> w(6);
  for (float &x : a) x = static_cast<float>(random() % 1000) / 300.0f;
  for (int64_t &x : w) x = static_cast<int64_t>(random() % 5);
  if (random() % 3 == 0) w[random() % 6] = static_cast<int64_t>(random() % 9) - 2;
  for (const Param &p : f.params)
    if (p.buf && p.fill == Fill::zero) std::fill(c.begin(), c.end(), 0.0f);
  void *data[] = {a.data(), w.data(), c.data()};
  int64_t dims[] = {5, 4, 6};
  uint64_t scalars[] = {random() % 5};
  return {interpret(f, {data, dims, scalars, nullptr}), c};
}

/// Facts are not evaluated here: these kernels are run with extents for which all of them hold.
TEST(Pipeline, the_bodies_agree) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  for (std::string_view body : bodies) {
    Func main = with_tail(lowered(body, FpMode::normal), of_body(Body::main), unit::with_fma());
    Func plain = with_tail(lowered(body, FpMode::normal), of_body(Body::plain), unit::with_fma());
    for (uint64_t round = 0; round < 60; ++round) {
      Outcome x = run(main, unit::Random(unit::seed() + round)),
              y = run(plain, unit::Random(unit::seed() + round));
      ASSERT_EQ(x.result.status, y.result.status) << print(main);
      ASSERT_EQ(x.result.value, y.result.value) << print(main);
      ASSERT_EQ(x.result.status ? 0 : std::memcmp(x.c.data(), y.c.data(), sizeof(float) * x.c.size()), 0)
          << print(main);
    }
  }
}

}  // namespace
}  // namespace kw
