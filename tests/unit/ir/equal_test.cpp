// Equality up to names and places: what it forgives and what it does not.
#include "ir/equal.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr std::string_view sample =
    R"(def f(a: buf(f32, (n, m), strides=(s, 1)), p: weak(i64), c: out(f32, (n,), fill='zero')):
  fp('default')
  dims(n, m, s)
  fact(1 <= n)
  site('E303', a, 1)
  site('E310', a, rank=2)
  site('E308', 'this ', 'is wrong', value='i64', note='why')
  t = alloc(f32, (), 'registers', fill='zero')
  for i in vector(0, n, 2, vector_width=8, hint='reduce'):
    u: i64 = i + p
    check(u < m, site=0)
    if u < 3:
      t[()] = (t[()] + a[i, u]) @ lanes(i)
    else:
      c[i] = fma(t[()], f32(2.0), abs(a[i, 0] if not i == 1 else cast(f32, u)))
  while t[()] < f32(0.5) and p != 2:
    break
  return c
)";

std::string changed(std::string_view from, std::string_view to) {
  std::string text(sample);
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Equal, a_function_equals_another_reading_of_its_text) {
  EXPECT_TRUE(equal(unit::ir(sample), unit::ir(sample)));
  EXPECT_TRUE(equal(unit::ir(sample), unit::ir(cat("\n\n", sample))));  // other places
}

TEST(Equal, names_of_symbols_and_buffers_do_not_matter) {
  std::string other(sample);
  for (std::string_view name : {"u", "i", "t", "n"}) {
    std::string renamed;
    auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '\'';
    };
    for (size_t k = 0; k < other.size(); ++k) {
      bool whole = other.compare(k, name.size(), name) == 0 && !is_name(other[k - 1]) &&
                   !is_name(other[k + name.size()]);
      renamed += whole ? cat(name, "_new") : std::string(1, other[k]);
      if (whole) k += name.size() - 1;
    }
    other = renamed;
  }
  ASSERT_NE(other, sample);
  EXPECT_TRUE(equal(unit::ir(sample), unit::ir(other))) << other;
}

TEST(Equal, everything_else_does_matter) {
  const std::pair<std::string_view, std::string_view> changes[] = {
      {"def f", "def g"},
      {"'default'", "'strict'"},
      {"buf(f32, (n, m)", "inout(f32, (n, m)"},
      {"weak(i64)", "scalar(i64)"},
      {"(n,), fill='zero'", "(n,)"},
      {"strides=(s, 1)", "strides=(s, 2)"},
      {"dims(n, m, s)", "dims(m, n, s)"},
      {"fact(1 <= n)", "fact(2 <= n)"},
      {"site('E303', a, 1)", "site('E303', a, 0)"},
      {"site('E303', a", "site('E303', c"},
      {"rank=2", "rank=1"},
      {"value='i64'", "value='u64'"},
      {"'is wrong'", "'is right'"},
      {"note='why'", "note='how'"},
      {"'E303'", "'E304'"},
      {"'registers', fill='zero'", "'registers'"},
      {"'registers'", "'stack'"},
      {"vector(", "parallel("},
      {"n, 2, vector", "n, 3, vector"},
      {"vector_width=8", "vector_width=4"},
      {"hint='reduce'", "hint='unroll'"},
      {"i + p", "p + i"},
      {"i + p", "i - p"},
      {"u < 3", "u < 4"},
      {"@ lanes", "@ any"},
      {"u < m, site", "u <= m, site"},
      {"f32(2.0)", "f32(-2.0)"},
      {"f32(0.5)", "f32(0.25)"},
      {"and p", "or p"},
      {"not i == 1", "i == 1"},
      {"break", "continue"},
      {"abs(", "sqrt("},
      {"a[i, 0]", "a[0, i]"},
      {"return c", "return c, a"}};
  for (auto [from, to] : changes) {
    if (from == "return c") continue;  // `a` is no output; the next test changes results
    EXPECT_FALSE(equal(unit::ir(sample), unit::ir(changed(from, to)))) << from << " became " << to;
  }
}

TEST(Equal, results_matter) {
  std::string two =
      "def f(a: out(f32, (n,)), b: out(f32, (n,))):\n  fp('default')\n  dims(n)\n  pass\n  return ";
  EXPECT_TRUE(equal(unit::ir(two + "a, b\n"), unit::ir(two + "a, b\n")));
  EXPECT_FALSE(equal(unit::ir(two + "a, b\n"), unit::ir(two + "b, a\n")));
  EXPECT_FALSE(equal(unit::ir(two + "a, b\n"), unit::ir(two + "a\n")));
}

TEST(Equal, symbols_correspond_one_to_one) {
  auto text = [](std::string_view x, std::string_view y) {
    return cat(
        "def f(a: inout(i64, (n,)), p: weak(i64), q: weak(i64)):\n  fp('default')\n  dims(n)\n  a[0] = ", x,
        " + ", y, "\n  return a\n");
  };
  EXPECT_FALSE(equal(unit::ir(text("p", "q")), unit::ir(text("p", "p"))));
  EXPECT_FALSE(equal(unit::ir(text("p", "p")), unit::ir(text("p", "q"))));
  EXPECT_FALSE(equal(unit::ir(text("p", "q")), unit::ir(text("q", "p"))));
}

TEST(Equal, lengths_of_sequences_matter) {
  auto text = [](int count) {
    std::string out = "def f(a: inout(i64, (n,))):\n  fp('default')\n  dims(n)\n";
    for (int i = 0; i < count; ++i) out += "  a[0] = 1\n";
    return out + "  return a\n";
  };
  EXPECT_TRUE(equal(unit::ir(text(3)), unit::ir(text(3))));
  EXPECT_FALSE(equal(unit::ir(text(3)), unit::ir(text(2))));
  EXPECT_FALSE(equal(unit::ir(text(1)), unit::ir(text(0))));
}

TEST(Equal, of_expressions_wants_identical_free_symbols) {
  Sym x = make_sym(SymKind::param, DType::i64, "x"), same_name = make_sym(SymKind::param, DType::i64, "x");
  EXPECT_TRUE(equal(add(kw::ref(x), const_int(1)), add(kw::ref(x), const_int(1))));
  EXPECT_FALSE(equal(add(kw::ref(x), const_int(1)), add(kw::ref(same_name), const_int(1))));
  EXPECT_FALSE(equal(const_int(1), constant({DType::i32, 1})));
  EXPECT_FALSE(equal(const_float(DType::f64, 0.0), const_float(DType::f64, -0.0)));
  EXPECT_TRUE(equal(Expr{}, Expr{}));
  EXPECT_FALSE(equal(Expr{}, const_int(1)));
}

}  // namespace
}  // namespace kw
