// 16-bit floats as words: every operation has the bits of scalar_ops, for all 65,536 values, with and without
// native conversions. Executed by the interpreter before and after the pass.
#include "transform/lowering/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "transform/math/expand.h"

namespace kw {
namespace {

using Words = std::vector<uint64_t>;
using Body = std::function<Expr(const Expr &, const Expr &)>;

constexpr DType halves[] = {DType::f16, DType::bf16};
constexpr DType integers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};

Target native() { return {"x86_64-unknown-linux-gnu", {"avx", "f16c", "fma"}}; }

/// c[i] = body(a[i], b[i]) with a and b of `from`.
Func kernel_of(DType from, const Body &body) {
  Func f;
  f.name = "f";
  Sym n = make_sym(SymKind::extent, DType::i64, "n"), i = make_sym(SymKind::iter, DType::i64, "i");
  auto vector = [&](DType t, const char *name) {
    return make_buf(make_sym(SymKind::buffer, t, name), {kw::ref(n)}, Space::param);
  };
  Buf a = vector(from, "a"), b = vector(from, "b");
  Expr value = body(load(a, {kw::ref(i)}), load(b, {kw::ref(i)}));
  Buf c = vector(value.dtype(), "c");
  f.extents = {n};
  f.params = {{a, {}, ParamMode::in, false, Fill::none},
              {b, {}, ParamMode::in, false, Fill::none},
              {c, {}, ParamMode::out, false, Fill::none}};
  f.results = {c};
  f.body = for_loop(
      {i, const_int(0), kw::ref(n), 1, ForKind::serial, Hint::none, {}, store(c, {kw::ref(i)}, value)});
  return f;
}

std::string packed(const Words &words, DType t) {
  std::string out(words.size() * item_size(t), '\0');
  for (size_t k = 0; k < words.size(); ++k) std::memcpy(&out[k * item_size(t)], &words[k], item_size(t));
  return out;
}

Words run(const Func &f, DType from, const Words &a, const Words &b) {
  DType to = f.results[0]->dtype;
  std::string x = packed(a, from), y = packed(b, from), z(a.size() * item_size(to), '\0');
  void *data[] = {x.data(), y.data(), z.data()};
  int64_t dims[] = {static_cast<int64_t>(a.size())};
  EXPECT_EQ(interpret(f, {data, dims}).status, 0);
  Words out(a.size());
  for (size_t k = 0; k < out.size(); ++k) std::memcpy(&out[k], &z[k * item_size(to)], item_size(to));
  return out;
}

bool same(DType t, uint64_t a, uint64_t b, bool nan_bits) {
  if (a == b) return true;
  return !nan_bits && is_float(t) && std::isnan(to_double({t, a})) && std::isnan(to_double({t, b}));
}

/// Nothing of the 16-bit types is left but what the target converts.
void expect_legal(const Func &f, const Target &target) {
  EXPECT_EQ(verify(f), "");
  auto check = [&](const Expr &e) {
    bool half = e.dtype() == DType::f16 || e.dtype() == DType::bf16;
    EXPECT_FALSE(half && (e.dtype() == DType::bf16 || !target.has_half())) << print(e);
  };
  walk(
      f.body, [&](const Load &, const Expr &e) { check(e); },
      [&](const Binary &, const Expr &e) { check(e); }, [&](const Cast &, const Expr &e) { check(e); },
      [&](const Call &, const Expr &e) { check(e); }, [&](const Unary &, const Expr &e) { check(e); });
}

/// `nan_bits`: NaNs must have the same bits too.
Words some_of(const Words &all) {
  Words out;
  size_t step = all.size() > 1000 ? unit::every_nth : 1;
  for (size_t k = 0; k < all.size(); k += step) out.push_back(all[k]);
  return out;
}

void expect_same(DType from, const Words &all_a, const Words &all_b, bool nan_bits, const Body &body) {
  Words a = some_of(all_a), b = some_of(all_b);
  Func f = kernel_of(from, body);
  DType to = f.results[0]->dtype;
  Words want = run(f, from, a, b);
  for (const Target &target : {native(), unit::without_fma()}) {
    Func legal = legalise_types(f, target);
    expect_legal(legal, target);
    Words got = run(legal, from, a, b);
    for (size_t k = 0; k < got.size(); ++k)
      ASSERT_TRUE(same(to, got[k], want[k], nan_bits))
          << print(f) << hex_text(a[k]) << " " << hex_text(b[k]) << ": " << hex_text(got[k]) << ", not "
          << hex_text(want[k]) << (target.has_half() ? " native" : "");
  }
}

Words all_words() {
  Words out(65536);
  for (size_t k = 0; k < out.size(); ++k) out[k] = k;
  return out;
}

TEST(LegaliseTypes, all_values_through_unary_operations) {
  Words all = all_words();
  for (DType t : halves) {
    expect_same(t, all, all, true, [](const Expr &x, const Expr &) { return unary(UnOp::neg, x); });
    for (Fn fn :
         {Fn::abs, Fn::floor, Fn::ceil, Fn::trunc, Fn::round, Fn::sqrt, Fn::isnan, Fn::isinf, Fn::isfinite})
      expect_same(t, all, all, fn == Fn::abs, [&](const Expr &x, const Expr &) { return call(fn, {x}); });
    expect_same(t, all, all, true, [](const Expr &x, const Expr &) { return call(Fn::to_bits, {x}); });
    expect_same(t, all, all, false,
                [](const Expr &x, const Expr &) { return expand_call(Fn::exp, {x}, {}, native()); });
  }
}

TEST(LegaliseTypes, all_values_through_casts) {
  Words all = all_words();
  for (DType t : halves) {
    for (DType to : integers)
      expect_same(t, all, all, true, [&](const Expr &x, const Expr &) { return cast(to, x); });
    for (DType to : {DType::b1, DType::f16, DType::bf16, DType::f32, DType::f64})
      expect_same(t, all, all, true, [&](const Expr &x, const Expr &) { return cast(to, x); });
    for (DType from : {DType::i8, DType::i16, DType::u8, DType::u16}) {
      Words some(all.begin(), all.begin() + (item_size(from) == 1 ? 256 : 65536));
      expect_same(from, some, some, true, [&](const Expr &x, const Expr &) { return cast(t, x); });
    }
    expect_same(DType::b1, {0, 1}, {0, 1}, true, [&](const Expr &x, const Expr &) { return cast(t, x); });
  }
}

/// Half-way cases of both formats, their neighbours, and random bits.
Words wide_floats(DType t, unit::Random &random) {
  Words out;
  for (DType half : halves)
    for (uint64_t bits = 0; bits < 65536; bits += 1 + random() % 5) {
      double low = to_double({half, bits}), high = to_double({half, (bits + 1) & 0xFFFF});
      uint64_t middle = from_double(t, low / 2 + high / 2).bits;
      for (uint64_t d : {0, 1, -1})
        out.push_back((middle + d) & (t == DType::f32 ? 0xFFFFFFFF : ~uint64_t{0}));
    }
  for (int k = 0; k < 20000; ++k) out.push_back(t == DType::f32 ? random() & 0xFFFFFFFF : random());
  for (uint64_t bits : {from_double(t, 1e300).bits, from_double(t, 3.4028235677973366e38).bits,
                        from_double(t, 1e-300).bits, from_double(t, 65520).bits, from_double(t, -0.0).bits})
    out.push_back(bits);
  return out;
}

TEST(LegaliseTypes, casts_from_wide_floats_round_once) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (DType from : {DType::f32, DType::f64}) {
    Words values = wide_floats(from, random);
    for (DType t : halves)
      expect_same(from, values, values, true, [&](const Expr &x, const Expr &) { return cast(t, x); });
  }
}

TEST(LegaliseTypes, casts_from_wide_integers_round_once) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (DType from : {DType::i32, DType::i64, DType::u32, DType::u64}) {
    uint64_t mask = bit_width(from) == 64 ? ~uint64_t{0} : 0xFFFFFFFF;
    Words values = {0, 65519, 65520, 65521, mask, mask >> 1, (mask >> 1) + 1, mask & -65520};
    for (int k = 0; k < 30000; ++k) {  // a half-way tail, moved by -1, 0 or 1
      int tail = static_cast<int>(random() % 60);
      uint64_t bits = ((((random() | uint64_t{1} << 63) >> tail) | 1) << tail) >> (random() % 64);
      values.push_back((bits + random() % 3 - 1) & mask);
    }
    for (DType t : halves)
      expect_same(from, values, values, true, [&](const Expr &x, const Expr &) { return cast(t, x); });
  }
}

TEST(LegaliseTypes, sampled_pairs_through_binary_operations) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (DType t : halves) {
    Words a, b;
    for (uint64_t x :
         {0x0000, 0x8000, 0x0001, 0x3C00, 0x3F80, 0x7C00, 0xFC00, 0x7F80, 0x7E00, 0x7FFF, 0x7BFF})
      for (uint64_t y : {0x0000, 0x8000, 0x0001, 0xBC00, 0xBF80, 0x7C00, 0x7F80, 0x7F7F, 0xFFFF, 0x0400})
        a.push_back(x), b.push_back(y);
    for (int k = 0; k < 20000; ++k) {
      a.push_back(random() & 0xFFFF);
      b.push_back(k % 2 ? random() & 0xFFFF : (a.back() ^ (random() & 0xFFF)) & 0xFFFF);
    }
    for (BinOp op : {BinOp::add, BinOp::sub, BinOp::mul, BinOp::true_div, BinOp::floor_div, BinOp::floor_mod,
                     BinOp::min, BinOp::max, BinOp::lt, BinOp::le, BinOp::eq, BinOp::ne})
      expect_same(t, a, b, false, [&](const Expr &x, const Expr &y) { return binary(op, x, y); });
    expect_same(t, a, b, false, [](const Expr &x, const Expr &y) { return call(Fn::fmod, {x, y}); });
    expect_same(t, a, b, false, [](const Expr &x, const Expr &y) { return call(Fn::fma, {x, y, x}); });
    expect_same(t, a, b, true, [](const Expr &x, const Expr &y) {
      return select(binary(BinOp::lt, x, y), x, const_float(x.dtype(), 0.1));
    });
  }
}

TEST(LegaliseTypes, scalars_locals_and_buffers_become_words) {
  Func f = unit::kernel(
      "def f(a, s):\n  y = output_tensor(a.shape, a.dtype)\n  t = allocate((a.shape[0],), a.dtype)\n"
      "  for i in range(a.shape[0]):\n    x = a[i]\n    if a[i] > s:\n      x = a[i] + s\n"
      "    t[i] = x\n    y[i] = t[i]\n  return y\n",
      unit::signature({unit::tensor(1, DType::bf16), {ArgKind::strong_scalar, DType::bf16, 0, {}, 0}}));
  Func legal = legalise_types(f, native());
  EXPECT_EQ(verify(legal), "");
  EXPECT_EQ(print(legal).find("bf16"), std::string::npos) << print(legal);
  EXPECT_EQ(legal.results[0], legal.params[2].buf);
  EXPECT_EQ(legal.params[1].sym->dtype, DType::u16);
}

TEST(LegaliseTypes, deep_sums_are_split_over_statements) {
  const Words some = {0x3C00, 0x3F80, 0x0001, 0x8000, 0x7C00, 0x7FC0, 0xC2F7, 0x4123};
  for (DType t : halves)
    expect_same(t, some, some, false, [](const Expr &x, const Expr &y) {
      Expr sum = x;
      for (int k = 0; k < 500; ++k) sum = add(sum, k % 3 ? y : select(binary(BinOp::lt, sum, x), x, y));
      return add(sum, sum);
    });
}

TEST(LegaliseTypes, leaves_other_kernels_alone) {
  Func f = kernel_of(DType::f32, [](const Expr &x, const Expr &y) { return add(x, y); });
  EXPECT_EQ(legalise_types(f, native()).body.p, f.body.p);
}

}  // namespace
}  // namespace kw
