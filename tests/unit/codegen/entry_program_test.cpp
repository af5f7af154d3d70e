// Entry programs: what is built from a function computes what the function's expressions mean.
#include "codegen/entry_program.h"

#include <gtest/gtest.h>

#include "codegen/interp/interp.h"
#include "ir/build.h"
#include "ir/print.h"
#include "runtime/versions/entry.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

EntryProgram built(const Func &f) { return build_entry_program(f, estimate_work(f), SourceMap{}); }

/// Dims n and m, scalars p (i64), q (i32), r (f64) and t (bool), and an output over the given extents.
struct Scene {
  Sym n = make_sym(SymKind::extent, DType::i64, "n"), m = make_sym(SymKind::extent, DType::i64, "m");
  Sym p = make_sym(SymKind::param, DType::i64, "p"), q = make_sym(SymKind::param, DType::i32, "q");
  Sym r = make_sym(SymKind::param, DType::f64, "r"), t = make_sym(SymKind::param, DType::b1, "t");

  Func with(std::vector<Expr> extents, std::vector<Expr> facts = {}, Stmt body = {}) const {
    Func f;
    f.name = "f";
    f.extents = {n, m};
    for (const Sym &s : {p, q, r, t}) f.params.push_back({{}, s, ParamMode::in, false, Fill::none});
    Buf c = make_buf(make_sym(SymKind::buffer, DType::f64, "c"), std::move(extents), Space::param);
    f.params.push_back({c, {}, ParamMode::out, false, Fill::none});
    f.results = {c};
    f.facts = std::move(facts);
    f.body = std::move(body);
    return f;
  }
  EntryResult run(const Func &f, int64_t vn, int64_t vm, int64_t vp = 0, int32_t vq = 0,
                  bool vt = false) const {
    EntryProgram program = built(f);
    int64_t dims[] = {vn, vm};
    uint64_t scalars[] = {static_cast<uint64_t>(vp), static_cast<uint32_t>(vq), 0, vt};
    return evaluate_entry(program, dims, 2, scalars, 4);
  }
  int64_t extent(const Expr &e, int64_t vn, int64_t vm, int64_t vp = 0, int32_t vq = 0,
                 bool vt = false) const {
    EntryResult result = run(with({e}), vn, vm, vp, vq, vt);
    EXPECT_EQ(result.error, EntryResult::Error::none) << print(e) << " " << result.error_value;
    return result.extents().empty() ? -1 : result.extents()[0];
  }
};

TEST(EntryProgram, extents_follow_from_dims_and_scalars) {
  Scene s;
  Expr n = kw::ref(s.n), m = kw::ref(s.m), p = kw::ref(s.p);
  EXPECT_EQ(s.extent(add(mul(n, const_int(3)), sub(m, p)), 5, 4, 2), 17);
  EXPECT_EQ(s.extent(binary(BinOp::floor_div, n, const_int(2)), 7, 1), 3);
  EXPECT_EQ(s.extent(add(binary(BinOp::floor_mod, sub(n, const_int(9)), const_int(4)), m), 7, 1), 3);
  EXPECT_EQ(s.extent(binary(BinOp::min, n, binary(BinOp::max, m, p)), 7, 3, 5), 5);
  EXPECT_EQ(s.extent(unary(UnOp::neg, p), 1, 1, -6), 6);
  EXPECT_EQ(s.extent(select(logic(true, kw::ref(s.t), binary(BinOp::lt, n, m)), n, m), 2, 5, 0, 0, true), 2);
  EXPECT_EQ(s.extent(select(unary(UnOp::logical_not, kw::ref(s.t)), n, m), 2, 5, 0, 0, true), 5);
}

TEST(EntryProgram, workspace_is_that_of_temporaries_outside_parallel_loops) {
  Func f = unit::ir(
      "def f(c: inout(f64, (n,))):\n  fp('strict')\n  dims(n)\n  t = alloc(f64, (n,), 'heap')\n"
      "  for i in parallel(0, n, 1):\n    u = alloc(f64, (100 * n,), 'heap')\n    u[i] = 1.0\n"
      "    c[i] = u[i]\n  return c\n");
  int64_t dims[] = {8};
  EXPECT_EQ(evaluate_entry(built(f), dims, 1, nullptr, 0).workspace, 64);
}

TEST(EntryProgram, extents_come_in_order_of_outputs_and_dimensions) {
  Scene s;
  EntryResult result = s.run(s.with({kw::ref(s.m), const_int(7), kw::ref(s.n)}), 2, 3);
  EXPECT_TRUE(std::ranges::equal(result.extents(), std::vector<int64_t>{3, 7, 2}));
}

TEST(EntryProgram, narrow_integers_keep_their_meaning) {
  Scene s;
  Expr q = kw::ref(s.q);
  auto wide = [](const Expr &e) { return cast(DType::i64, e); };
  EXPECT_EQ(s.extent(wide(q), 1, 1, 0, 9), 9);
  EXPECT_EQ(s.extent(add(wide(q), const_int(10)), 1, 1, 0, -4), 6);
  EXPECT_EQ(s.extent(wide(add(q, constant(from_int(DType::i32, -1)))), 1, 1, 0, 5), 4);
  EXPECT_EQ(s.extent(wide(binary(BinOp::max, q, constant(from_int(DType::i32, -2)))), 1, 1, 0, 5), 5);
  // 2**31 - 1 + 1 wraps to -2**31 in the kernel, so the extent is negative
  Func f = s.with({wide(add(q, constant(from_int(DType::i32, 1))))});
  EXPECT_EQ(s.run(f, 1, 1, 0, INT32_MAX).error, EntryResult::Error::negative_extent);
}

TEST(EntryProgram, facts_choose_the_body) {
  Scene s;
  Func f = s.with({kw::ref(s.n)}, {binary(BinOp::le, kw::ref(s.n), kw::ref(s.m)),
                                   binary(BinOp::ne, kw::ref(s.p), const_int(3))});
  EXPECT_TRUE(s.run(f, 2, 2, 4).facts_hold);
  EXPECT_FALSE(s.run(f, 3, 2, 4).facts_hold);
  EXPECT_FALSE(s.run(f, 2, 2, 3).facts_hold);
  // a fact whose arithmetic overflows does not hold
  f = s.with({kw::ref(s.n)}, {binary(BinOp::le, const_int(0), mul(kw::ref(s.p), const_int(4)))});
  EXPECT_TRUE(s.run(f, 1, 1, 5).facts_hold);
  EXPECT_FALSE(s.run(f, 1, 1, INT64_MAX / 2).facts_hold);
}

TEST(EntryProgram, workspace_and_work_are_summed_over_the_body) {
  Scene s;
  Buf t = make_buf(make_sym(SymKind::buffer, DType::f64, "t"), {kw::ref(s.n)}, Space::heap);
  Buf u = make_buf(make_sym(SymKind::buffer, DType::f32, "u"), {kw::ref(s.m)}, Space::heap);
  EntryResult result = s.run(s.with({}, {}, alloc(t, Fill::none, alloc(u, Fill::none, seq({})))), 9, 100);
  EXPECT_EQ(result.workspace, 128 + 448);
  EXPECT_EQ(result.error, EntryResult::Error::none);
}

TEST(EntryProgram, what_it_cannot_express_is_e206_with_the_place_of_the_extent) {
  Scene s;
  Expr real = make_expr(DType::i64, {2, 5, 9}, Cast{kw::ref(s.r)});
  try {
    built(s.with({real}));
    FAIL() << "accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E206);
    EXPECT_EQ(error.found()[0].loc, (Loc{2, 5, 9}));
  }
}

TEST(EntryProgram, remembers_where_outputs_are_declared) {
  unit::Lowered l = unit::lower_text(
      "def f(a):\n  c = output_tensor((a.shape[0], 4), a.dtype)\n  c[0, 0] = 1\n  return c\n",
      unit::signature({unit::tensor(1)}));
  EntryProgram program = build_entry_program(l.func, estimate_work(l.func), *l.sources);
  ASSERT_EQ(program.extent_places.size(), 2u);
  EXPECT_EQ(program.extent_places[1].line, 2);
  EXPECT_EQ(program.extent_places[1].line_text, "  c = output_tensor((a.shape[0], 4), a.dtype)");
}

constexpr DType integers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};

/// Random expressions over dims and scalars, in all integer types.
class Generator {
 public:
  Generator(const Scene &s, unit::Random &random) : s_(s), random_(random) {}

  Expr integer(DType t, int depth) {
    if (depth == 0) return leaf(t);
    constexpr BinOp ops[] = {BinOp::add,       BinOp::sub, BinOp::mul, BinOp::floor_div,
                             BinOp::floor_mod, BinOp::min, BinOp::max};
    constexpr BinOp bit_ops[] = {BinOp::bit_and, BinOp::bit_or, BinOp::bit_xor, BinOp::shl, BinOp::shr};
    if (random_() % 4 == 0)
      return binary(bit_ops[random_() % 5], integer(t, depth - 1), integer(t, depth - 1));
    switch (random_() % 8) {
      case 0: return unary(UnOp::neg, integer(t, depth - 1));
      case 1: return select(condition(depth - 1), integer(t, depth - 1), integer(t, depth - 1));
      case 2: return cast(t, integer(integers[random_() % std::size(integers)], depth - 1));
      default: return binary(ops[random_() % std::size(ops)], integer(t, depth - 1), integer(t, depth - 1));
    }
  }

 private:
  Expr leaf(DType t) {
    if (random_() % 2) return constant(from_int(t, static_cast<int64_t>(random_() % 11) - 5));
    if (t == DType::i32) return kw::ref(s_.q);
    return cast(t, leaf_of_i64());
  }
  Expr leaf_of_i64() { return kw::ref(random_() % 3 == 0 ? s_.n : random_() % 2 ? s_.m : s_.p); }
  Expr condition(int depth) {
    DType t = integers[random_() % std::size(integers)];
    constexpr BinOp ops[] = {BinOp::lt, BinOp::le, BinOp::eq, BinOp::ne};
    Expr e = binary(ops[random_() % 4], integer(t, depth), integer(t, depth));
    return random_() % 3 ? e : logic(random_() % 2, e, kw::ref(s_.t));
  }
  const Scene &s_;
  unit::Random &random_;
};

/// The value that the interpreter gives the expression.
int64_t meaning(const Scene &s, const Expr &e, const int64_t *dims, const uint64_t *scalars) {
  int64_t result = 0;
  void *data[] = {&result};
  Func f = s.with({});
  f.params.pop_back();
  Buf out = make_buf(make_sym(SymKind::buffer, DType::i64, "out"), {}, Space::param);
  f.params.push_back({out, {}, ParamMode::out, false, Fill::none});
  f.body = store(out, {}, e);
  interpret(f, {data, dims, scalars, nullptr});
  return result;
}

TEST(EntryProgram, random_extents_are_what_the_interpreter_says) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  Scene s;
  int overflows = 0;
  for (int round = 0; round < 3000; ++round) {
    Expr e = Generator(s, random).integer(DType::i64, static_cast<int>(1 + random() % 4));
    int64_t dims[] = {static_cast<int64_t>(random() % 9), static_cast<int64_t>(random() % 9)};
    auto p = static_cast<int64_t>(random() % 9) - 4;
    auto q = static_cast<int32_t>(random() % 9) - 4;
    uint64_t scalars[] = {static_cast<uint64_t>(p), static_cast<uint32_t>(q), 0, random() % 2};
    int64_t want = meaning(s, e, dims, scalars);
    EntryResult got = evaluate_entry(built(s.with({e})), dims, 2, scalars, 4);
    if (got.error == EntryResult::Error::overflow) {  // of int64, which no extent survives
      ++overflows;
      continue;
    }
    ASSERT_EQ(got.error_value, want) << print(e) << " with n=" << dims[0] << " m=" << dims[1] << " p=" << p
                                     << " q=" << q;
    ASSERT_EQ(got.error, want < 0 ? EntryResult::Error::negative_extent : EntryResult::Error::none)
        << print(e);
  }
  EXPECT_LT(overflows, 300);
}

}  // namespace
}  // namespace kw
