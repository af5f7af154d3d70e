// The canonical text: one golden function with every kind of statement and expression, names at first use,
// literals that read back, and parse(print(f)) equal to f.
#include "ir/print.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// With every kind of statement and of expression, in the spelling of the printer.
constexpr std::string_view golden = R"(# kw-ir 2
def f(a: buf(f32, (n, m), strides=(s, 1)), w: inout(i64, (n,)), p: weak(i64), q: scalar(f32),)"
                                    R"( c: out(f32, (n,), fill='zero')):
  fp('strict')
  dims(n, m, s)
  fact(1 <= n)
  fact(n <= m)
  site('E303', a, 1)
  site('E304', t, 0)
  site('E310', a, rank=2)
  site('E305', 'it is so')
  site('E308', '', ' is too large', value='f64', note='it wraps')
  with let(k, i64, 3):
    w[0] = neg(k)
  with alloc(t, f32, (4,), 'stack', fill='zero'):
    t[0] = q
    t[1] = q / f32(3.0)
  x = alloc(f32, (), 'registers')
  x[()] = f32(0.0)
  for i in vector(0, n, 1, vector_width=16, hint='vectorize'):
    u: i64 = (i * 3) // p
    check(cast(u64, u) < cast(u64, m), site=0)
    if (u == 0) and (not (p < 2)):
      x[()] = (x[()] + (a[i, u] * q)) @ lanes(i)
    else:
      c[i] = max(fma(a[i, 0], q, x[()]), a[i, 1] if (p <= 4) else sqrt(q))
  for i_1 in serial(n - 1, -1, -1):
    if p != 0:
      continue
    w[i_1] = (((w[i_1] & 7) | (p ^ 1)) << 2) >> (~p)
  for i_2 in parallel(0, n, 1):
    c[i_2] = q
  while (x[()] < f32(0.5)) or (p == (-9223372036854775808)):
    x[()] = x[()] @ any()
    break
  w[0] = (w[0] % 5) - (-1)
  return w, c
)";

TEST(Print, a_parsed_text_prints_as_it_was) { EXPECT_EQ(print(unit::ir(golden)), golden); }

TEST(Print, what_was_printed_parses_to_an_equal_function) {
  Func f = unit::ir(golden);
  EXPECT_TRUE(equal(unit::ir(print(f)), f));
}

TEST(Print, an_empty_function) {
  std::string_view text = "# kw-ir 2\ndef nothing():\n  fp('fast')\n  dims()\n  pass\n  return \n";
  EXPECT_EQ(print(unit::ir(text)), text);
}

TEST(Print, equal_names_are_numbered_at_first_use) {
  Sym first = make_sym(SymKind::iter, DType::i64, "i"), second = make_sym(SymKind::iter, DType::i64, "i");
  Sym taken = make_sym(SymKind::param, DType::i64, "i_1");
  Buf c = make_buf(make_sym(SymKind::buffer, DType::i64, "c"), {const_int(9)}, Space::param);
  auto loop = [&](const Sym &i) {
    return for_loop({i,
                     const_int(0),
                     const_int(9),
                     1,
                     ForKind::serial,
                     Hint::none,
                     {},
                     store(c, {kw::ref(i)}, kw::ref(taken))});
  };
  Func f;
  f.name = "f";
  f.params = {{c, {}, ParamMode::inout, false, Fill::none}, {{}, taken, ParamMode::in, true, Fill::none}};
  f.results = {c};
  f.body = seq({loop(first), loop(second)});
  EXPECT_EQ(print(f),
            "# kw-ir 2\ndef f(c: inout(i64, (9,)), i_1: weak(i64)):\n  fp('default')\n  dims()\n"
            "  for i in serial(0, 9, 1):\n    c[i] = i_1\n"
            "  for i_2 in serial(0, 9, 1):\n    c[i_2] = i_1\n"
            "  return c\n");
  EXPECT_TRUE(equal(unit::ir(print(f)), f));
}

TEST(Print, an_expression_shows_the_plain_names) {
  Sym x = make_sym(SymKind::param, DType::i64, "x"), y = make_sym(SymKind::param, DType::i64, "x");
  EXPECT_EQ(print(mul(add(kw::ref(x), const_int(1)), kw::ref(y))), "(x + 1) * x");
  EXPECT_EQ(print(binary(BinOp::min, kw::ref(x), const_int(-2))), "min(x, -2)");
  EXPECT_EQ(print(unary(UnOp::neg, kw::ref(x))), "neg(x)");
  EXPECT_EQ(print(add(kw::ref(x), const_int(-2))), "x + (-2)");
}

TEST(Print, literals_name_their_type) {
  EXPECT_EQ(print(const_bool(true)), "True");
  EXPECT_EQ(print(const_int(-5)), "-5");
  EXPECT_EQ(print(const_float(DType::f64, 0.1)), "0.1");
  EXPECT_EQ(print(const_float(DType::f32, 0.1)), "f32(0.1)");
  EXPECT_EQ(print(const_float(DType::f16, -2)), "f16(-2.0)");
  EXPECT_EQ(print(constant({DType::i8, 0xFB})), "i8(-5)");
  EXPECT_EQ(print(constant({DType::u64, ~uint64_t{0}})), "u64(18446744073709551615)");
  EXPECT_EQ(print(const_float(DType::f64, -std::numeric_limits<double>::infinity())),
            "f64.bits(0xfff0000000000000)");
  EXPECT_EQ(print(constant({DType::f32, 0x7FC00001})), "f32.bits(0x7fc00001)");
}

/// A function that stores one constant.
Func storing(const Value &v) {
  Buf c = make_buf(make_sym(SymKind::buffer, v.dtype, "c"), {}, Space::param);
  Func f;
  f.name = "f";
  f.params = {{c, {}, ParamMode::out, false, Fill::none}};
  f.results = {c};
  f.body = store(c, {}, constant(v));
  return f;
}

TEST(Print, constants_of_all_types_read_back_bit_by_bit) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  for (int t = 0; t < static_cast<int>(DType::c64); ++t)
    for (int i = 0; i < 500; ++i) {
      auto dtype = static_cast<DType>(t);
      uint32_t width = bit_width(dtype);
      Value v{dtype, random() >> (64 - width)};
      if (i < 4)
        v.bits = i == 0   ? 0
                 : i == 1 ? uint64_t{1} << (width - 1)
                          : (~uint64_t{0} >> (64 - width)) - (i - 2u) / 2;
      Func f = storing(v);
      ASSERT_TRUE(equal(unit::ir(print(f)), f)) << print(f);
    }
}

TEST(Print, the_data_of_a_constant_buffer_reads_back) {
  Sym name = make_sym(SymKind::buffer, DType::u8, "table");
  auto table = std::make_shared<const BufNode>(
      BufNode{name, DType::u8, {const_int(3)}, {}, Space::constant, {1, 2, 3}});
  Func f = storing({DType::u8, 0});
  f.body = alloc(table, Fill::none, store(f.results[0], {}, load(table, {const_int(1)})));
  EXPECT_TRUE(equal(unit::ir(print(f)), f)) << print(f);
}

TEST(Print, one_word_per_enumerator) {
  std::vector<std::string> words;
  for (int i = 0; i < 17; ++i) words.emplace_back(op_text(static_cast<BinOp>(i)));
  EXPECT_EQ(join_text(words, " "), "+ - * / // % min max & | ^ << >> < <= == !=");
  words.clear();
  for (int i = 0; i < 6; ++i) words.emplace_back(kind_text(static_cast<ForKind>(i)));
  for (int i = 0; i < 6; ++i) words.emplace_back(hint_text(static_cast<Hint>(i)));
  for (int i = 0; i < 6; ++i) words.emplace_back(space_text(static_cast<Space>(i)));
  for (int i = 0; i < 3; ++i) words.emplace_back(order_text(static_cast<Order>(i)));
  EXPECT_EQ(join_text(words, " "),
            "serial parallel vector unroll grid block none serial parallel vectorize unroll reduce "
            "param heap stack registers shared constant source lanes any");
}

}  // namespace
}  // namespace kw
