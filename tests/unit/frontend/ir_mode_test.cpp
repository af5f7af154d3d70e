// Reading printed IR: what is malformed is E100 and never a crash; names, types and scopes are explicit.
#include "frontend/ir_mode.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr std::string_view head = "def f(a: inout(f32, (n,)), p: weak(i64)):\n  fp('default')\n  dims(n)\n";

/// The code of the error of a function with these lines, or "none".
std::string code_of(std::string_view text) {
  try {
    unit::ir(text);
  } catch (const CompileError &error) {
    return std::string(row_of(error.found()[0].code).name);
  }
  return "none";
}
std::string body_code(std::string_view line) { return code_of(cat(head, "  ", line, "\n  return a\n")); }

TEST(IrMode, well_formed_lines_are_read) {
  for (std::string_view line : {"pass", "a[0] = f32(1.0)", "a[p] = a[p] + f32(-0.5)", "check(p < n)",
                                "x: i64 = p", "t = alloc(f32, (4,), 'stack')", "a[0] = f32.bits(0x7fc00000)"})
    EXPECT_EQ(body_code(line), line == "check(p < n)" ? "E100" : "none") << line;
}

TEST(IrMode, what_is_no_printed_ir_is_e100) {
  for (std::string_view line : {"return a",
                                "a[0] = 1.0",
                                "a[0] = f32(1)  + 1",
                                "a[0] = q",
                                "b[0] = f32(1.0)",
                                "x = 3",
                                "x: f33 = p",
                                "x: i64 = f32(1.0)",
                                "for i in range(0, 3, 1):\n    pass",
                                "for i in serial(0, 3):\n    pass",
                                "for i in serial(0, 3, p):\n    pass",
                                "for i in serial(0, 3, 0):\n    pass",
                                "a[0] = sin()",
                                "a[0] = nothing(p)",
                                "t = alloc(f32, (4,), 'nowhere')",
                                "t = alloc(f32)",
                                "a[0] = a[0] @ sideways",
                                "check(p < n, site=0)",
                                "break",
                                "a[0, 0] = f32(1.0)",
                                "a[()] = f32(1.0)",
                                "if p:\n    pass",
                                "x: b1 = p < 1 < 2",
                                "x: b1 = p is 1",
                                "x: i64 = p ** 2",
                                "a[0] += f32(1.0)",
                                "assert p",
                                "with other(x):\n    pass",
                                "'text'",
                                "x: i64 = (1, 2)",
                                "x: i64 = None",
                                "x: i64 = p.shape",
                                "x: i64 = 1.5",
                                "x: i8 = i8(1.5)",
                                "x: f32 = f32('a')",
                                "x: f32 = cast(i64, p)",
                                "a[0] = f32.bats(1)",
                                "x: b1 = p == f32(1.0)"})
    EXPECT_EQ(body_code(line), "E100") << line;
}

TEST(IrMode, a_site_may_name_a_buffer_that_is_gone) {
  Func f = unit::ir("def f(a: out(f32, (3,))):\n  dims()\n  site('E303', b, 0)\n  return a\n");
  EXPECT_EQ(f.sites.at(0).buf->sym->name, "b");
  EXPECT_TRUE(equal(unit::ir(print(f).substr(10)), f));
}

TEST(IrMode, headers_are_checked) {
  EXPECT_EQ(code_of("def f(a):\n  dims()\n  return a\n"), "E100");
  EXPECT_EQ(code_of("def f(a: tensor(f32, (n,))):\n  dims(n)\n  return a\n"), "E100");
  EXPECT_EQ(code_of("def f(a: buf(f32, (n,))):\n  dims(m)\n  return a\n"), "E100");
  EXPECT_EQ(code_of("def f(a: out(f32, (3,))):\n  dims()\n  return b\n"), "E100");
  EXPECT_EQ(code_of("def f(a: out(f32, (3,)), a: out(f32, (3,))):\n  dims()\n  return a\n"), "E100");
  EXPECT_EQ(code_of("def f(p: weak(i64, 3)):\n  dims()\n  pass\n  return \n"), "E100");
}

TEST(IrMode, nothing_is_folded) {
  Func f = unit::ir(cat(head, "  a[(0 + 1) * 1] = cast(f32, 2.0)\n  return a\n"));
  EXPECT_NE(print(f).find("a[(0 + 1) * 1] = cast(f32, 2.0)"), std::string::npos) << print(f);
}

TEST(IrMode, buffers_of_rank_zero_and_parameters_in_the_order_of_the_text) {
  std::string_view text =
      "# kw-ir 2\ndef f(p: scalar(f32), a: buf(f32, ()), q: weak(f64), c: out(f32, ())):\n"
      "  fp('fast')\n  dims()\n  c[()] = a[()] + p\n  return c\n";
  EXPECT_EQ(print(unit::ir(text)), text);
}

TEST(IrMode, names_that_are_words_elsewhere_are_only_names) {
  std::string_view text =
      "# kw-ir 2\ndef f(lanes: inout(f32, (n,)), f32: weak(i64)):\n  fp('default')\n  dims(n)\n"
      "  min: i64 = f32 + 1\n  for serial in serial(0, min, 1):\n"
      "    lanes[min] = (lanes[min] + f32(2.0)) @ lanes(serial)\n  return lanes\n";
  EXPECT_EQ(print(unit::ir(text)), text);
}

TEST(IrMode, a_sum_of_many_terms_reads_back) {
  Func f = unit::ir(cat(head, "  x: i64 = p\n  return a\n"));
  const Let &first = *as<Let>(f.body);
  Expr sum = first.value;
  for (int i = 0; i < 300; ++i) sum = add(sum, first.value);
  f.body = let(first.sym, sum, seq({}));
  ASSERT_NO_THROW(unit::ir(print(f)));
  EXPECT_TRUE(equal(unit::ir(print(f)), f));
}

constexpr std::string_view sample =
    R"(def f(a: inout(f32, (n, m), strides=(s, 1)), p: weak(i64), c: out(f32, (n,), fill='zero')):
  fp('strict')
  dims(n, m, s)
  fact(1 <= n)
  site('E303', a, 1)
  with let(k, i64, 3):
    c[0] = cast(f32, neg(k))
  x = alloc(f32, (), 'registers', fill='zero')
  for i in vector(0, n, 1, vector_width=16, hint='vectorize'):
    u: i64 = (i * 3) // p
    check(cast(u64, u) < cast(u64, m), site=0)
    if (u == 0) and (not (p < 2)):
      x[()] = (x[()] + a[i, u]) @ lanes(i)
    else:
      c[i] = max(fma(a[i, 0], a[i, 1], x[()]), a[i, 1] if (p <= 4) else sqrt(x[()]))
  while (x[()] < f32(0.5)) or (p == 1):
    break
  return a, c
)";

/// Words and characters of the sample change places, vanish and double.
std::string mutated(unit::Random &random) {
  std::string text(sample);
  constexpr std::string_view pieces[] = {"(",         ")",
                                         "[",         "]",
                                         ",",         ":",
                                         "f32",       "i64",
                                         "a",         "p",
                                         "0",         "-1",
                                         "1.5",       "'zero'",
                                         "serial",    "cast",
                                         "neg",       "\n",
                                         "  ",        "=",
                                         "@",         "lanes",
                                         "let",       "alloc",
                                         "if",        "to_bits",
                                         "from_bits", "c128",
                                         "b1",        "isnan",
                                         "power",     ".bits",
                                         "site",      "vector_width=9"};
  for (uint64_t n = 1 + random() % 3; n > 0; --n) {
    size_t at = random() % text.size(), length = random() % 6;
    std::string_view piece = pieces[random() % std::size(pieces)];
    switch (random() % 3) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, piece); break;
      default: text.replace(at, length, piece); break;
    }
  }
  return text;
}

TEST(IrMode, mutated_texts_are_read_or_e100) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  int accepted = 0;
  for (int i = 0; i < 20000 / unit::every_nth; ++i) {
    std::string text = mutated(random);
    try {
      Func f = unit::ir(text);
      ++accepted;
      ASSERT_TRUE(equal(unit::ir(print(f)), f)) << text;
    } catch (const CompileError &error) {
      Code code = error.found()[0].code;
      ASSERT_TRUE(code == Code::E100 || code == Code::E101 || code == Code::E112 || code == Code::E113)
          << row_of(code).name << " " << error.what() << "\n"
          << text;
    }
  }
  EXPECT_GT(accepted, 100 / unit::every_nth);
}

}  // namespace
}  // namespace kw
