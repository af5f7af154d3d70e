// The lane order of sums, executed by the interpreter and lowered to plain loops, against a direct
// writing-down of language.md 3.
#include "codegen/interp/lanes.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "codegen/interp/interp.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/lowering/passes.h"

namespace kw {
namespace {

struct Element {
  bool present;
  float value;
};

/// acc ⊕ the fold of elements in blocks of 4,096 and 64 lanes; fewer than 64 run in source order.
float reference(float acc, const std::vector<Element> &elements, bool product) {
  auto op = [&](float a, float b) { return product ? a * b : a + b; };
  if (elements.size() < 64) {
    for (const Element &e : elements)
      if (e.present) acc = op(acc, e.value);
    return acc;
  }
  std::vector<float> blocks;
  for (size_t begin = 0; begin < elements.size(); begin += 4096) {
    std::vector<float> lanes(64, product ? 1.0f : -0.0f);
    for (size_t k = begin; k < std::min(begin + 4096, elements.size()); ++k)
      if (elements[k].present) lanes[k % 64] = op(lanes[k % 64], elements[k].value);
    for (size_t half = 32; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) lanes[i] = op(lanes[i], lanes[i + half]);
    blocks.push_back(lanes[0]);
  }
  while (blocks.size() > 1) {
    std::vector<float> next;
    for (size_t i = 0; i + 1 < blocks.size(); i += 2) next.push_back(op(blocks[i], blocks[i + 1]));
    if (blocks.size() % 2) next.push_back(blocks.back());
    blocks = next;
  }
  return op(acc, blocks[0]);
}

std::vector<float> random_floats(size_t count, unit::Random &random, float low = -2, float high = 2) {
  std::uniform_real_distribution<float> values(low, high);
  std::vector<float> out(count);
  for (float &v : out) v = values(random);
  return out;
}

uint32_t bits(float v) { return std::bit_cast<uint32_t>(v); }

/// The function as a schedule may leave it: the innermost loops in lanes, the outermost on threads.
Func scheduled(const Func &f, uint32_t width, bool threads) {
  Func out = f;
  std::vector<const For *> outer;
  walk(f.body, [&](const For &n, const Stmt &) {
    walk(n.body, [&](const For &, const Stmt &) { outer.push_back(&n); });
  });
  out.body = rewrite(f.body, [&](const For &n, const Stmt &s, const Stmt &original) {
    const For *source = as<For>(original);
    bool innermost = std::find(outer.begin(), outer.end(), source) == outer.end();
    bool outermost = original.p == f.body.p;
    For loop = n;
    if (innermost && n.step == 1) loop.kind = ForKind::vector, loop.how = {.vector_width = width};
    if (outermost && threads) loop.kind = ForKind::parallel;
    return for_loop(std::move(loop), s.loc());
  });
  return out;
}

Target without_masks() { return {"x86_64-unknown-linux-gnu", {"sse2"}}; }
Target with_masks() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "avx512bw", "avx512f", "fma"}}; }

/// Runs a body over a: f32[n, m] and s: f32[r] whose elements start as 0.5, by its marks and lowered.
std::vector<float> run(std::string_view body, std::vector<float> a, int64_t n, int64_t m, int64_t r) {
  Func f =
      unit::ir(cat("def f(a: buf(f32, (n, m)), s: inout(f32, (r,))):\n  fp('default')\n  dims(n, m, r)\n",
                   body, "  return s\n"));
  const Func forms[] = {lower_reductions(f, host_target()),
                        lower_reductions(scheduled(f, 64, false), with_masks()),
                        lower_reductions(scheduled(f, 16, false), with_masks()),
                        lower_reductions(scheduled(f, 64, true), without_masks())};
  std::vector<float> s(static_cast<size_t>(r), 0.5f), start = s;
  void *marked_data[] = {a.data(), s.data()};
  int64_t dims[] = {n, m, r};
  EXPECT_EQ(interpret(f, {marked_data, dims}).status, 0);
  for (const Func &lowered : forms) {
    EXPECT_EQ(verify(lowered), "") << print(lowered);
    std::vector<float> t = start;
    void *lowered_data[] = {a.data(), t.data()};
    EXPECT_EQ(interpret(lowered, {lowered_data, dims}).status, 0);
    for (size_t i = 0; i < s.size(); ++i) EXPECT_EQ(bits(s[i]), bits(t[i])) << i << print(lowered);
  }
  return s;
}

std::vector<Element> all_of(const std::vector<float> &values) {
  std::vector<Element> out;
  for (float v : values) out.push_back({true, v});
  return out;
}

constexpr std::string_view row_sum = "  for k in serial(0, m, 1):\n    s[0] = (s[0] + a[0, k]) @ lanes(k)\n";

TEST(Lanes, sums_of_all_interesting_lengths) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (size_t length :
       {0, 1, 63, 64, 65, 127, 128, 1000, 4095, 4096, 4097, 4160, 8192, 12288, 12289, 20480, 30000}) {
    std::vector<float> a = random_floats(length, random);
    float want = reference(0.5f, all_of(a), false);
    EXPECT_EQ(bits(run(row_sum, a, 1, static_cast<int64_t>(length), 1)[0]), bits(want)) << length;
  }
}

TEST(Lanes, the_order_is_not_the_order_of_the_source) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(5000, random);
  float in_order = 0.5f;
  for (float v : a) in_order += v;
  EXPECT_NE(bits(run(row_sum, a, 1, 5000, 1)[0]), bits(in_order));
}

TEST(Lanes, products_start_at_one) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (size_t length : {10, 64, 200, 5000}) {
    std::vector<float> a = random_floats(length, random, 0.98f, 1.02f);
    std::string_view body = "  for k in serial(0, m, 1):\n    s[0] = (s[0] * a[0, k]) @ lanes(k)\n";
    EXPECT_EQ(bits(run(body, a, 1, static_cast<int64_t>(length), 1)[0]),
              bits(reference(0.5f, all_of(a), true)))
        << length;
  }
}

TEST(Lanes, a_difference_sums_the_negated_terms) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(300, random), negated;
  for (float v : a) negated.push_back(-v);
  std::string_view body = "  for k in serial(0, m, 1):\n    s[0] = (s[0] - a[0, k]) @ lanes(k)\n";
  EXPECT_EQ(bits(run(body, a, 1, 300, 1)[0]), bits(reference(0.5f, all_of(negated), false)));
}

TEST(Lanes, elements_skipped_by_a_guard_keep_their_number) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(700, random);
  std::vector<Element> elements;
  for (float v : a) elements.push_back({v > 0, v});
  std::string_view body =
      "  for k in serial(0, m, 1):\n    if f32(0.0) < a[0, k]:\n      s[0] = (s[0] + a[0, k]) @ lanes(k)\n";
  EXPECT_EQ(bits(run(body, a, 1, 700, 1)[0]), bits(reference(0.5f, elements, false)));
}

TEST(Lanes, a_band_of_two_loops_is_numbered_row_by_row) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(7 * 90, random);
  std::string_view body =
      "  for i in serial(0, n, 1):\n    for k in serial(0, m, 1):\n      s[0] = (s[0] + a[i, k]) @ lanes(i, "
      "k)\n";
  EXPECT_EQ(bits(run(body, a, 7, 90, 1)[0]), bits(reference(0.5f, all_of(a), false)));
}

TEST(Lanes, bands_of_several_loops_begin_and_end_their_rows_anywhere) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (auto [n, m] : {std::pair{1, 63}, {64, 1}, {3, 30}, {65, 63}, {2, 4096}, {5, 1000}, {700, 13}}) {
    std::vector<float> a = random_floats(static_cast<size_t>(n) * static_cast<size_t>(m), random);
    std::string_view two =
        "  for i in serial(0, n, 1):\n    for k in serial(0, m, 1):\n      s[0] = (s[0] + a[i, k]) "
        "@ lanes(i, k)\n";
    EXPECT_EQ(bits(run(two, a, n, m, 1)[0]), bits(reference(0.5f, all_of(a), false))) << n << " " << m;
    std::vector<Element> twice;
    for (int round = 0; round < 2; ++round)
      for (int i = n - 1; i >= 0; --i)
        for (int k = 0; k < m; ++k) twice.push_back({true, a[static_cast<size_t>(i * m + k)]});
    std::string_view three =
        "  for r in serial(0, 2, 1):\n    for i in serial(n - 1, -1, -1):\n      for k in serial(0, m, 1):\n"
        "        s[0] = (s[0] + a[i, k]) @ lanes(r, i, k)\n";
    EXPECT_EQ(bits(run(three, a, n, m, 1)[0]), bits(reference(0.5f, twice, false))) << n << " " << m;
  }
}

TEST(Lanes, every_entry_of_the_band_is_a_sum_of_its_own) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(4 * 150, random);
  std::vector<float> s =
      run("  for i in serial(0, n, 1):\n    for k in serial(0, m, 1):\n      s[i] = (s[i] + a[i, k]) @ "
          "lanes(k)\n",
          a, 4, 150, 4);
  for (size_t i = 0; i < 4; ++i) {
    std::vector<float> row(a.begin() + static_cast<std::ptrdiff_t>(150 * i),
                           a.begin() + static_cast<std::ptrdiff_t>(150 * (i + 1)));
    EXPECT_EQ(bits(s[i]), bits(reference(0.5f, all_of(row), false))) << i;
  }
}

TEST(Lanes, a_triangle_sums_each_row_alone) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(100 * 100, random);
  float want = 0.5f;
  for (size_t i = 0; i < 100; ++i) {
    std::vector<float> row(a.begin() + static_cast<std::ptrdiff_t>(100 * i),
                           a.begin() + static_cast<std::ptrdiff_t>(101 * i));
    want = reference(want, all_of(row), false);
  }
  std::string_view body =
      "  for i in serial(0, n, 1):\n    for k in serial(0, i, 1):\n      s[0] = (s[0] + a[i, k]) @ "
      "lanes(k)\n";
  EXPECT_EQ(bits(run(body, a, 100, 100, 1)[0]), bits(want));
}

TEST(Lanes, backward_loops_and_steps_count_iterations) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(999, random), taken;
  for (int64_t k = 998; k > -1; k -= 3) taken.push_back(a[static_cast<size_t>(k)]);
  std::string_view body = "  for k in serial(m - 1, -1, -3):\n    s[0] = (s[0] + a[0, k]) @ lanes(k)\n";
  EXPECT_EQ(bits(run(body, a, 1, 999, 1)[0]), bits(reference(0.5f, all_of(taken), false)));
}

TEST(Lanes, a_sum_of_minus_zeros_stays_minus_zero) {
  std::vector<float> a(100, -0.0f);
  Func f = unit::ir(
      "def f(a: buf(f32, (m,)), s: inout(f32, ())):\n  fp('default')\n  dims(m)\n  for k in serial(0, m, "
      "1):\n"
      "    s[()] = (s[()] + a[k]) @ lanes(k)\n  return s\n");
  float s = -0.0f;
  void *data[] = {a.data(), &s};
  int64_t dims[] = {100};
  interpret(f, {data, dims});
  EXPECT_TRUE(std::signbit(s));
}

TEST(Lanes, an_element_that_no_iteration_reaches_is_not_touched) {
  EXPECT_EQ(run("  for k in serial(0, m, 1):\n    if r < k:\n      s[1000000] = (s[1000000] + a[0, k]) @ "
                "lanes(k)\n",
                std::vector<float>(70), 1, 70, 70),
            std::vector<float>(70, 0.5f));
}

TEST(Lanes, two_sums_in_one_loop_do_not_mix) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(2 * 500, random);
  std::vector<float> s =
      run("  for k in serial(0, m, 1):\n    s[0] = (s[0] + a[0, k]) @ lanes(k)\n    s[1] = (s[1] + a[1, k]) "
          "@ lanes(k)\n",
          a, 2, 500, 2);
  EXPECT_EQ(bits(s[0]), bits(reference(0.5f, all_of({a.begin(), a.begin() + 500}), false)));
  EXPECT_EQ(bits(s[1]), bits(reference(0.5f, all_of({a.begin() + 500, a.end()}), false)));
}

TEST(Lanes, inside_a_while_loop_too) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  std::vector<float> a = random_floats(500, random);
  std::string_view body =
      "  t = alloc(i64, (), 'registers')\n  t[()] = 0\n  while t[()] < 1:\n    t[()] = t[()] + 1\n"
      "    for k in serial(0, m, 1):\n      s[0] = (s[0] + a[0, k]) @ lanes(k)\n";
  EXPECT_EQ(bits(run(body, a, 1, 500, 1)[0]), bits(reference(0.5f, all_of(a), false)));
}

}  // namespace
}  // namespace kw
