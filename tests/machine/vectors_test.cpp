// Vector loops as machine code, for this processor and lesser ones: memory is as the interpreter leaves it,
// whatever the number of iterations leaves for the rest. Says nothing on which loops become vectors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "codegen/interp/interp.h"
#include "ir/verify.h"
#include "runtime/abi.h"
#include "runtime/cpu/loader.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/pass.h"

namespace kw {
namespace {

constexpr const char *head =
    "def f(x: buf(f32, (n,)), y: buf(f32, (n,)), z: buf(f64, (n,)), h: buf(u8, (n,)), k: buf(i64, (n,)), "
    "e: buf(f16, (n,)), o: inout(f32, (n,)), d: inout(f64, (n,)), c: inout(i64, (n,)), b: inout(b1, (n,)), "
    "u: inout(u8, (n,)), v: inout(f16, (n,)), r: inout(f32, (4,)), g: inout(i64, (4,)), "
    "t: inout(f32, (n, 3))):\n  fp('default')\n  dims(n)\n";

/// The arguments of `head` for n elements; k is a permutation, no float is a NaN.
struct Memory {
  explicit Memory(int64_t n)
      : x(size(n)), y(size(n)), o(size(n)), t(3 * size(n)), r(4), z(size(n)), d(size(n)) {
    unit::Random random(unit::seed());
    auto number = [&] { return static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 250.0f; };
    for (auto *floats : {&x, &y, &o, &t, &r})
      for (float &value : *floats) value = number();
    for (auto *doubles : {&z, &d})
      for (double &value : *doubles) value = number();
    k.resize(size(n)), c.resize(size(n)), g = {5, -6, 7, 8};
    std::iota(k.begin(), k.end(), 0);
    std::shuffle(k.begin(), k.end(), random);
    for (int64_t &value : c) value = static_cast<int64_t>(random());
    for (auto *bytes : {&h, &b, &u}) bytes->resize(size(n));
    for (size_t i = 0; i < h.size(); ++i)
      h[i] = static_cast<uint8_t>(random()), u[i] = static_cast<uint8_t>(random()), b[i] = random() & 1;
    for (auto *halves : {&e, &v})
      for (size_t i = 0; i < h.size(); ++i) halves->push_back(static_cast<uint16_t>(random() % 0x7c00));
  }
  static size_t size(int64_t n) { return static_cast<size_t>(n); }

  std::vector<void *> data() {
    return {x.data(), y.data(), z.data(), h.data(), k.data(), e.data(), o.data(), d.data(),
            c.data(), b.data(), u.data(), v.data(), r.data(), g.data(), t.data()};
  }
  /// NaNs are equal whatever their bits.
  bool operator==(const Memory &other) const {
    auto same = [](const auto &a, const auto &b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](auto p, auto q) { return p == q || (p != p && q != q); });
    };
    return same(o, other.o) && same(t, other.t) && same(r, other.r) && same(d, other.d) && c == other.c &&
           g == other.g && b == other.b && u == other.u && v == other.v;
  }

  std::vector<float> x, y, o, t, r;
  std::vector<double> z, d;
  std::vector<int64_t> k, c, g;
  std::vector<uint8_t> h, b, u;
  std::vector<uint16_t> e, v;
};

/// This processor, and what it runs of the lesser ones.
std::vector<std::pair<std::string, Target>> targets() {
  std::vector<std::pair<std::string, Target>> out{{"host", host_target()}};
  for (const char *name : {"avx2", "generic"})
    if (NamedTarget t = parse_target(name, host_target()); t.error.empty()) out.emplace_back(name, t.target);
  return out;
}

void no_region(const KwEnv *, int64_t, void (*)(void *, int64_t, int32_t), void *) {}
void *no_scratch(const KwEnv *, size_t) { return nullptr; }

int32_t run(const LoadedObject &object, Memory &memory, int64_t n) {
  uint32_t cancel = 0;
  KwEnv env{KW_ABI_VERSION, 1, no_region, no_scratch, &cancel};
  KwFault fault{};
  std::vector<void *> data = memory.data();
  return reinterpret_cast<KwEntry>(object.entry)(&env, data.data(), &n, nullptr, nullptr, &fault);
}

/// Replaces "vector(" … ")" by the same with a width.
std::string with_width(std::string body, uint32_t width) {
  for (size_t at = 0; (at = body.find(" vector(", at)) != std::string::npos; ++at)
    body.insert(body.find("):", at), cat(", vector_width=", width));
  return body;
}

void expect_same(const std::string &body, std::initializer_list<uint32_t> widths = {2, 8, 16, 64}) {
  const Backend &llvm = find_backend("llvm");
  for (uint32_t width : widths) {
    std::string text = cat(head, with_width(body, width), "  return o\n");
    Func f = unit::ir(text);
    ASSERT_EQ(verify(f), "") << text;
    for (const auto &[name, target] : targets()) {
      if (!target.has_fma() && body.find("fma(") != body.npos) continue;  // the front end makes none
      Func ready = run_passes(llvm.lowering, f, target);
      LoadedObject object = load_object(llvm.emit(ready, target, nullptr).bytes, "kw_entry");
      ASSERT_EQ(object.error, "");
      for (int64_t n : {1, 2, 3, 7, 8, 9, 16, 17, 31, 63, 64, 65, 130, 4096, 4161}) {
        if (unit::every_nth > 1 && n > 65) continue;  // sanitizers see the same code in fewer iterations
        Memory got(n), want(n);
        std::vector<void *> data = want.data();
        InterpArgs args{data.data(), &n, nullptr, nullptr, &target};
        ASSERT_EQ(interpret(f, args).status, 0);
        ASSERT_EQ(run(object, got, n), 0);
        ASSERT_TRUE(got == want) << name << ", " << n << " iterations, width " << width << ":\n" << text;
      }
    }
  }
}

TEST(VectorLoops, rows_forwards_and_backwards) {
  expect_same("  for i in vector(0, n, 1):\n    o[i] = x[i] * y[i] + f32(0.25)\n");
  expect_same("  for i in vector(0, n, 1):\n    o[i] = x[n - 1 - i] - y[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    o[n - 1 - i] = x[i]\n");
  expect_same("  for i in vector(n - 1, -1, -1):\n    o[i] = x[i] / y[n - 1 - i]\n");
  expect_same("  for i in vector(1, n - 1, 1):\n    o[i] = x[i - 1] + x[i + 1]\n");
}

TEST(VectorLoops, places_apart) {
  expect_same("  for i in vector(0, n, 1):\n    o[i] = t[i, 1]\n");
  expect_same("  for i in vector(0, n, 1):\n    t[i, 2] = x[i]\n    t[n - 1 - i, 0] = y[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    o[i] = x[k[i]] + y[k[n - 1 - i]]\n");
  expect_same("  for i in vector(0, n, 1):\n    o[k[i]] = x[i]\n");
  expect_same("  for i in vector(0, n, 3):\n    o[i] = x[i] + y[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    c[i] = i * 7 - k[i]\n");
}

TEST(VectorLoops, elements_of_many_sizes) {
  expect_same("  for i in vector(0, n, 1):\n    d[i] = cast(f64, x[i]) + z[i]\n    o[i] = cast(f32, h[i])\n");
  expect_same("  for i in vector(0, n, 1):\n    u[i] = h[i] + u[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    b[i] = x[i] < y[i]\n    c[i] = 1 if b[i] else k[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    o[i] = cast(f32, e[i])\n    v[i] = cast(f16, x[i])\n");
  expect_same(
      "  for i in vector(0, n, 1):\n    c[i] = cast(i64, x[i])\n    u[i] = cast(u8, cast(i64, y[i]))\n");
}

TEST(VectorLoops, integers) {
  expect_same("  for i in vector(0, n, 1):\n    c[i] = (c[i] // 3) + (c[i] % 7) * k[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    c[i] = (c[i] << k[i]) ^ (c[i] >> 3) | (k[i] & c[i])\n");
  expect_same("  for i in vector(0, n, 1):\n    c[i] = min(c[i], k[i] * 1000)\n    u[i] = max(h[i], u[i])\n");
  expect_same("  for i in vector(0, n, 1):\n    c[i] = abs(c[i])\n    u[i] = ~(h[i])\n");
}

TEST(VectorLoops, lanes_under_conditions) {
  expect_same("  for i in vector(0, n, 1):\n    o[i] = x[i] if (f32(0.5) < y[i]) else x[n - 1 - i]\n");
  expect_same("  for i in vector(0, n, 1):\n    b[i] = (0 < i) and (x[i - 1] < y[i])\n");
  expect_same("  for i in vector(0, n, 1):\n    b[i] = ((n - 1) <= i) or (x[i + 1] < y[i])\n");
  expect_same(
      "  for i in vector(0, n, 1):\n    if x[i] < y[i]:\n      o[i] = x[i]\n    else:\n      o[i] = "
      "y[k[i]]\n");
  expect_same(
      "  for i in vector(0, n, 1):\n    if x[i] < f32(0.0):\n      if y[i] < f32(0.0):\n        c[i] = 1\n"
      "      else:\n        o[k[i]] = x[i]\n");
  expect_same(
      "  for i in vector(0, n, 1):\n    if 3 < n:\n      o[i] = x[i]\n    else:\n      o[i] = y[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    o[i] = exp(x[i]) if (x[i] < y[i]) else sqrt(abs(y[i]))\n");
}

/// Division tells the zeros apart.
TEST(VectorLoops, least_and_largest_of_zeros_and_nans) {
  for (const char *op : {"min", "max"}) {
    expect_same(cat("  for i in vector(0, n, 1):\n    o[i] = f32(1.0) / ", op,
                    "(x[i] * f32(0.0), y[i] * f32(0.0))\n    d[i] = ", op, "(sqrt(z[i]), z[n - 1 - i])\n"),
                {4, 16});
    expect_same(cat("  for i in vector(0, n, 1):\n    o[i] = ", op, "(x[i], sqrt(y[i]))\n    v[i] = ", op,
                    "(e[i], v[i])\n"),
                {16});
  }
}

TEST(VectorLoops, serial_loops_beside_them_run_several_iterations_at_a_time) {
  expect_same("  for i in serial(1, n, 1):\n    o[i] = o[i - 1] * f32(0.5) + x[i]\n", {2});
  expect_same("  for i in serial(n - 1, -1, -3):\n    g[k[i] & 3] = g[k[i] & 3] + c[i]\n", {2});
  expect_same(
      "  q = alloc(i64, (), 'registers')\n  q[()] = 1\n  for i in serial(0, n, 1):\n"
      "    if x[i] < y[i]:\n      q[()] = q[()] + i\n    c[i] = q[()]\n",
      {2});
}

TEST(VectorLoops, scalars_of_each_lane) {
  expect_same(
      "  for i in vector(0, n, 1):\n    q = alloc(f32, (), 'registers')\n    q[()] = x[i]\n"
      "    if q[()] < y[i]:\n      q[()] = q[()] * f32(2.0)\n    o[i] = q[()] + f32(1.0)\n");
  expect_same(
      "  for i in vector(0, n, 1):\n    q = alloc(f32, (), 'registers')\n    q[()] = f32(0.0)\n"
      "    for j in serial(0, min(n, 5), 1):\n      q[()] = q[()] + x[i] * y[j]\n    o[i] = q[()]\n");
  expect_same(
      "  for i in vector(0, n, 1):\n    at: i64 = n - 1 - i\n    half: i64 = k[i] >> 1\n"
      "    o[at] = x[half] + y[at]\n");
  expect_same(
      "  for j in serial(0, 3, 1):\n    for i in vector(0, n, 1):\n      t[i, j] = x[i] + t[i, 2 - j]\n");
}

TEST(VectorLoops, accumulators_in_any_order) {
  auto sum = [](const char *type, const char *start, const char *term, const char *to) {
    return cat("  s = alloc(", type, ", (), 'registers')\n  s[()] = ", start,
               "\n  for i in vector(0, n, 1):\n    ", term, "\n  ", to, " = s[()]\n");
  };
  expect_same(sum("i64", "g[0]", "s[()] = s[()] + k[i] * c[i]", "g[1]"));
  expect_same(sum("i64", "g[0]", "s[()] = c[i] * s[()]", "g[1]"));
  expect_same(sum("i64", "g[2]", "s[()] = min(s[()], c[i])", "g[0]"));
  expect_same(sum("f32", "r[0]", "s[()] = max(s[()], x[i])", "r[1]"));
  expect_same(sum("f32", "r[0]", "s[()] = min(x[i] - y[i], s[()])", "r[2]"));
  expect_same(sum("b1", "False", "s[()] = s[()] | (x[i] < f32(-7.9))", "b[0]"));
  expect_same(sum("u8", "u[0]", "s[()] = s[()] & (h[i] | u8(240))", "u[0]"));
  expect_same(sum("u8", "u[0]", "s[()] = s[()] ^ h[i]", "u[0]"));
  expect_same(sum("i64", "g[0]", "if x[i] < y[i]:\n      s[()] = s[()] + 3", "g[1]"));
}

/// A selection of `value`, from the place on that `order` finds better, in text with the best and its place.
std::string selection(std::string_view type, std::string_view order, std::string_view value,
                      std::string_view start, std::string_view to) {
  std::string condition(order);
  condition.replace(condition.find('x'), 1, value);
  return cat("  s = alloc(", type, ", (), 'registers')\n  p = alloc(i64, (), 'registers')\n  s[()] = ", start,
             "\n  p[()] = -5\n  for i in vector(0, n, 1):\n    if ", condition, ":\n      s[()] = ", value,
             "\n      p[()] = i\n  ", to, " = s[()]\n  g[1] = p[()]\n");
}

TEST(VectorLoops, selections_of_the_first_and_of_the_last) {
  for (std::string_view order : {"x < s[()]", "s[()] < x", "x <= s[()]", "s[()] <= x"}) {
    expect_same(selection("f32", order, "x[i]", "r[0]", "r[1]"), {8, 64});
    expect_same(selection("f32", order, "x[i]", "x[0]", "r[1]"), {16});
    expect_same(selection("u8", order, "h[i]", "h[n - 1]", "u[0]"), {16, 64});
    expect_same(selection("i64", order, "(k[i] >> 2)", "g[2]", "g[0]"), {2, 16});
    expect_same(selection("f64", order, "z[i]", "d[0]", "d[1 if (1 < n) else 0]"), {16});
  }
}

TEST(VectorLoops, selections_among_zeros_and_nans) {
  for (std::string_view order : {"x < s[()]", "s[()] < x", "x <= s[()]", "s[()] <= x"}) {
    std::string zero = selection("f32", order, "(x[i] * f32(0.0))", "(y[0] * f32(0.0))", "r[1]");
    expect_same(zero + "  r[2] = f32(1.0) / r[1]\n", {16});  // which zero it is
    expect_same(selection("f32", order, "sqrt(x[i])", "f32(1.0)", "r[1]"), {16, 64});
    expect_same(selection("f32", order, "x[i]", "sqrt(f32(-1.0))", "r[1]"), {16});
    expect_same(selection("f32", order, "sqrt(f32(-1.0) - abs(x[i]))", "r[0]", "r[1]"), {16});
  }
}

TEST(VectorLoops, selections_beside_other_statements) {
  unit::Unverified some_have_no_vector_form;
  std::string cells =
      "  s = alloc(f32, (), 'registers')\n  p = alloc(i64, (), 'registers')\n  q = alloc(f32, (), "
      "'registers')\n  s[()] = r[0]\n  p[()] = -1\n  q[()] = r[1]\n";
  std::string kept = "  r[2] = s[()]\n  r[3] = q[()]\n  g[3] = p[()]\n";
  expect_same(cat(cells,
                  "  for i in vector(n - 1, -1, -1):\n    w: f32 = x[i] - y[i]\n    if y[i] < f32(2.0):\n"
                  "      if s[()] < w:\n        p[()] = k[i]\n        q[()] = w * y[i]\n"
                  "        s[()] = w\n    o[i] = w\n",
                  kept));
  expect_same(cat(cells,
                  "  for i in vector(0, n, 3):\n    w = alloc(f32, (), 'registers')\n    w[()] = x[i]\n"
                  "    if w[()] < f32(0.0):\n      w[()] = w[()] * f32(-1.0)\n"
                  "    if s[()] < w[()]:\n      s[()] = w[()]\n"
                  "    if y[i] <= q[()]:\n      q[()] = y[i]\n      p[()] = i\n    g[0] = g[0]\n",
                  kept));
  expect_same(cat(cells,
                  "  c2 = alloc(i64, (), 'registers')\n  c2[()] = 0\n  for i in vector(0, n, 1):\n"
                  "    if x[i] < s[()]:\n      s[()] = x[i]\n      p[()] = i * 2\n"
                  "    if y[i] < f32(0.0):\n      c2[()] = c2[()] + k[i]\n  g[0] = c2[()]\n",
                  kept));
}

TEST(VectorLoops, lanes_that_end_at_different_times) {
  std::string made =
      "  for i in vector(0, n, 1):\n    q = alloc(f32, (), 'registers')\n    w = alloc(i64, (), "
      "'registers')\n"
      "    q[()] = x[i]\n    w[()] = 0\n";
  std::string stored = "    o[i] = q[()]\n    c[i] = w[()]\n";
  expect_same(cat(made,
                  "    while (w[()] < (k[i] & 15)) and (q[()] < f32(4.0)):\n"
                  "      q[()] = q[()] * f32(1.5) + y[i]\n      w[()] = w[()] + 1\n",
                  stored));
  expect_same(cat(made,
                  "    while w[()] < 9:\n      w[()] = w[()] + 1\n      if q[()] < y[i]:\n"
                  "        q[()] = q[()] + f32(1.0)\n        continue\n      if f32(6.0) < q[()]:\n"
                  "        q[()] = q[()] - f32(20.0)\n        break\n      q[()] = q[()] + x[i]\n",
                  stored),
              {8, 16});
  expect_same(cat(made,
                  "    while w[()] < 5:\n      if n < 9:\n        break\n      w[()] = w[()] + 1\n"
                  "      if y[i] < f32(0.0):\n        continue\n      else:\n        break\n"
                  "      w[()] = 77\n",
                  stored),
              {8});
}

TEST(VectorLoops, counters_of_a_while_are_the_same_in_all_lanes_that_go_on) {
  std::string made =
      "  for i in vector(0, n, 1):\n    q = alloc(f32, (), 'registers')\n"
      "    w = alloc(i64, (), 'registers')\n    p = alloc(i32, (), 'registers')\n"
      "    w[()] = 2\n    p[()] = i32(50)\n    q[()] = x[i]\n";
  std::string step = "      w[()] = w[()] + 3\n",
              stored = "    o[i] = q[()]\n    c[i] = w[()] + cast(i64, p[()])\n";
  std::string grow = "      q[()] = q[()] * f32(1.5) + y[i]\n";
  for (const char *cond :
       {"(w[()] < 20) and (q[()] < f32(4.0))", "(q[()] < f32(4.0)) and (w[()] < 20)", "w[()] < 20",
        "(w[()] < 20) and ((p[()] != i32(47)) and (k[i] < 70 - w[()]))",
        "(w[()] < 40) and ((q[()] < f32(4.0)) or (w[()] < 9))", "cast(i64, p[()]) + w[()] < 60"}) {
    expect_same(cat(made, "    while ", cond, ":\n", step, grow, "      p[()] = p[()] - i32(1)\n", stored),
                {2, 16});
  }
  expect_same(
      cat(made, "    while (w[()] < 20) and (q[()] < f32(4.0)):\n", step,
          "      q[()] = q[()] + cast(f32, w[()])\n      if y[i] < q[()]:\n        o[i] = cast(f32, p[()])\n"
          "      z2 = alloc(i64, (), 'registers')\n      z2[()] = 0\n"
          "      while (z2[()] < w[()]) and (q[()] < f32(2.0)):\n        z2[()] = z2[()] + 1\n"
          "        q[()] = q[()] + f32(0.25)\n      d[i] = d[i] + cast(f64, z2[()])\n",
          "      p[()] = p[()] - i32(1)\n    c[i] = w[()] + cast(i64, p[()])\n"),
      {8, 16});
  // under a mask that may be empty: what follows a jump
  expect_same(cat(made,
                  "    while p[()] != i32(0):\n      p[()] = p[()] >> i32(1)\n"
                  "      if q[()] < f32(100.0):\n        q[()] = q[()] + f32(40.0)\n        continue\n"
                  "      w[()] = 2\n      while (w[()] < 12) and (y[i] < q[()]):\n  ",
                  step, "        q[()] = q[()] - f32(50.0)\n", stored),
              {8, 64});
}

TEST(VectorLoops, whiles_in_whiles_and_under_conditions) {
  expect_same(
      "  for i in vector(0, n, 1):\n    w = alloc(i64, (), 'registers')\n    w[()] = k[i] & 7\n"
      "    if x[i] < y[i]:\n      while 0 < w[()]:\n        w[()] = w[()] - 1\n"
      "        z2 = alloc(i64, (), 'registers')\n        z2[()] = w[()]\n        while z2[()] != 0:\n"
      "          z2[()] = z2[()] >> 1\n          c[i] = c[i] + k[n - 1 - i]\n"
      "          if c[i] < 0:\n            break\n        o[i] = o[i] + y[k[i]]\n      o[i] = f32(1.0) + "
      "o[i]\n    c[i] = c[i] * w[()]\n",
      {8, 16});
}

TEST(VectorLoops, sums_in_lanes) {
  auto sum = [](const char *term) {
    return cat("  s = alloc(f32, (), 'registers')\n  s[()] = r[0]\n  for i in vector(0, n, 1):\n    ", term,
               "\n  r[1] = s[()]\n");
  };
  expect_same(sum("s[()] = (s[()] + x[i]) @ lanes(i)"), {8, 64});
  expect_same(sum("s[()] = (s[()] - x[i] * y[i]) @ lanes(i)"), {16});
  expect_same(sum("s[()] = (s[()] * y[i]) @ lanes(i)"), {16});
  expect_same(sum("s[()] = fma(x[i], y[i], s[()]) @ lanes(i)"), {16, 64});
  expect_same(sum("if x[i] < y[i]:\n      s[()] = (s[()] + x[i]) @ lanes(i)"), {16});
  expect_same(sum("if x[i] < y[i]:\n      s[()] = fma(x[i], y[i], s[()]) @ lanes(i)"), {16});
  expect_same(sum("o[i] = exp(x[i])\n    s[()] = (s[()] + o[i]) @ lanes(i)"), {16});
  expect_same("  for i in vector(n - 1, -1, -2):\n    r[2] = (r[2] + x[i]) @ lanes(i)\n", {16, 64});
}

TEST(VectorLoops, what_has_no_form_over_lanes_runs_in_order) {
  unit::Unverified none_has_a_vector_form;
  expect_same("  for i in vector(0, n, 1):\n    c[i] = c[i] // k[i]\n");
  expect_same("  for i in vector(0, n, 1):\n    o[i] = fmod(x[i], y[i])\n");
  expect_same("  for i in vector(0, n, 1):\n    r[0] = x[i]\n");
}

TEST(VectorLoops, elementary_functions) {
  for (const char *name :
       {"exp", "log1p", "sin", "tanh", "erf", "floor", "round", "rsqrt", "sigmoid", "atan"})
    expect_same(
        cat("  for i in vector(0, n, 1):\n    o[i] = ", name, "(abs(x[i]))\n    d[i] = ", name, "(z[i])\n"),
        {8});
  expect_same("  for i in vector(0, n, 1):\n    o[i] = power(abs(x[i]), y[i])\n    d[i] = sin(z[i] * 1e+9)\n",
              {8});
}

}  // namespace
}  // namespace kw
