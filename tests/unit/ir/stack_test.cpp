// What recurses over a tree of the greatest depth fits into a stack of 512 KB (core.md 1), and what follows
// chains of statements does not recurse. Each case runs in a child process, so that an overflow fails one
// test.
#include <gtest/gtest.h>
#include <unistd.h>

#include "codegen/interp/interp.h"
#include "frontend/ir_mode.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr size_t small_stack = 512 << 10;
#else
constexpr size_t small_stack = 8 << 20;  // frames of unoptimised and instrumented code are many times larger
#endif

/// An f64 output that receives one expression or statement.
struct Sample {
  Sym x = make_sym(SymKind::param, DType::f64, "x");
  Buf c = make_buf(make_sym(SymKind::buffer, DType::f64, "c"), {}, Space::param);

  Func with(Stmt body) const {
    Func f;
    f.name = "f";
    f.params = {{{}, x, ParamMode::in, true, Fill::none}, {c, {}, ParamMode::out, false, Fill::none}};
    f.results = {c};
    f.body = std::move(body);
    return f;
  }
  /// x + (x + (x + …)) as deep as allowed below a Store.
  Func deep() const {
    Expr e = kw::ref(x);
    for (uint32_t depth = 2; depth < max_depth; ++depth) e = binary(BinOp::add, kw::ref(x), e);
    return with(store(c, {}, e));
  }
  Func chain(int length) const {
    Stmt s = store(c, {}, kw::ref(x));
    for (int i = 0; i < length; ++i)
      s = let(make_sym(SymKind::local, DType::f64, "t"), const_float(DType::f64, i), s);
    return with(s);
  }
};

/// True when f runs to its end, and says true, on the small stack.
bool fits(const std::function<bool()> &f) {
  return unit::run_in_child([&] {
           bool ok = false;
           unit::run_on_stack(small_stack, [&] { ok = f(); });
           return ok ? 0 : 1;
         }) == 0;
}

TEST(SmallStack, walk_of_the_deepest_expression) {
  Func f = Sample().deep();
  EXPECT_TRUE(fits([&] {
    int leaves = 0;
    walk(f.body, [&](const Ref &, const Expr &) { ++leaves; });
    return leaves > 900;
  }));
}

TEST(SmallStack, rewrite_of_the_deepest_expression) {
  Func f = Sample().deep();
  Expr one = const_float(DType::f64, 1);
  EXPECT_TRUE(
      fits([&] { return rewrite(f.body, [&](const Ref &, const Expr &) { return one; }).p != f.body.p; }));
}

TEST(SmallStack, verify_of_the_deepest_expression) {
  Func f = Sample().deep();
  EXPECT_TRUE(fits([&] { return verify(f).empty(); }));
}

TEST(SmallStack, equality_of_the_deepest_expressions) {
  Func f = Sample().deep(), g = Sample().deep();
  EXPECT_TRUE(fits([&] { return equal(f, g); }));
}

TEST(SmallStack, print_of_the_deepest_expression) {
  Func f = Sample().deep();
  EXPECT_TRUE(fits([&] { return !print(f).empty(); }));
}

TEST(SmallStack, evaluation_of_the_deepest_expression) {
  Func f = Sample().deep();
  EXPECT_TRUE(fits([&] {
    double result = 0;
    void *data[] = {&result};
    uint64_t scalars[] = {from_double(DType::f64, 1).bits};
    interpret(f, {data, nullptr, scalars, nullptr});
    return result == 999;
  }));
}

TEST(SmallStack, release_of_the_deepest_expression) {
  EXPECT_TRUE(fits([] {
    Func f = Sample().deep();
    f = {};
    return true;
  }));
}

TEST(LongChain, equality_does_not_recurse) {
  Func f = Sample().chain(100000), g = Sample().chain(100000);
  EXPECT_TRUE(fits([&] { return equal(f, g); }));
}

TEST(LongChain, the_interpreter_does_not_recurse) {
  Func f = Sample().chain(100000);
  EXPECT_TRUE(fits([&] {
    double result = 0;
    void *data[] = {&result};
    uint64_t scalars[] = {from_double(DType::f64, 2).bits};
    return interpret(f, {data, nullptr, scalars, nullptr}).status == 0 && result == 2;
  }));
}

TEST(LongChain, print_does_not_recurse) {
  Func f = Sample().chain(100000);
  EXPECT_TRUE(fits([&] { return print(f).size() > 1000000; }));
}

TEST(LongChain, reading_back_does_not_recurse) {
  std::string text = "# kw-ir 2\ndef f(x: weak(f64), c: out(f64, ())):\n  fp('default')\n  dims()\n";
  for (int i = 0; i < 100000; ++i) text += "  t" + std::to_string(i) + ": f64 = 1.0\n";
  text += "  c[()] = x\n  return c\n";
  EXPECT_TRUE(fits([&] {
    SourceMap sources;
    return equal(parse_ir(sources, sources.add_text("<test>", 1, text)), Sample().chain(0)) == false;
  }));
}

/// `x ** 2` makes nodes that are used twice; what visits each use separately needs 2^40 steps here. The alarm
/// only turns a hang into a failure.
TEST(SharedNodes, verify_visits_each_once) {
  Sample s;
  Expr e = kw::ref(s.x);
  for (int i = 0; i < 40; ++i) e = binary(BinOp::mul, e, e);
  Func f = s.with(store(s.c, {}, e));
  EXPECT_EQ(unit::run_in_child([&] {
              ::alarm(20);
              return verify(f).empty() ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace kw
