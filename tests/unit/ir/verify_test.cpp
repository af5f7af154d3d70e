// One malformed function for each invariant that verify.h lists, beside well-formed ones.
#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A function over f32 c[n] and scalars p (i64) and q (f32) into which the tests put broken parts.
struct Sample {
  Sym n = make_sym(SymKind::extent, DType::i64, "n");
  Sym p = make_sym(SymKind::param, DType::i64, "p"), q = make_sym(SymKind::param, DType::f32, "q");
  Sym i = make_sym(SymKind::iter, DType::i64, "i");
  Buf c = make_buf(make_sym(SymKind::buffer, DType::f32, "c"), {kw::ref(n)}, Space::param);
  Expr zero = const_int(0), one = const_float(DType::f32, 1), yes = const_bool(true);

  Func with(Stmt body) const {
    Func f;
    f.name = "f";
    f.extents = {n};
    f.params = {{{}, p, ParamMode::in, true, Fill::none},
                {{}, q, ParamMode::in, false, Fill::none},
                {c, {}, ParamMode::out, false, Fill::none}};
    f.results = {c};
    f.sites = {{Code::E303, {}, c, 0, false, {}}};
    f.body = std::move(body);
    return f;
  }
  Stmt loop(Stmt body, ForKind kind = ForKind::serial, int64_t step = 1) const {
    return make_stmt({}, For{i, zero, kw::ref(n), step, kind, Hint::none, {}, std::move(body)});
  }
  /// The error of a function whose body stores this raw expression of dtype f32.
  std::string storing(Expr e) const {
    return verify(with(make_stmt({}, Store{c, {zero}, std::move(e), Order::source})));
  }
  std::string body(Stmt s) const { return verify(with(std::move(s))); }
};

TEST(Verify, accepts_a_well_formed_function) {
  Sample s;
  EXPECT_EQ(s.body(s.loop(store(s.c, {kw::ref(s.i)}, s.one))), "");
  EXPECT_EQ(s.body({}), "");
  EXPECT_EQ(s.body(check(binary(BinOp::lt, kw::ref(s.p), kw::ref(s.n)), 0)), "");
}

TEST(Verify, operands_have_equal_dtypes) {
  Sample s;
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Binary{BinOp::add, s.one, s.zero})), "");
  EXPECT_NE(s.storing(make_expr(DType::f64, {}, Binary{BinOp::add, s.one, s.one})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Select{s.yes, s.one, s.zero})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Unary{UnOp::neg, s.zero})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Binary{BinOp::lt, s.one, s.one})), "");
}

TEST(Verify, operations_exist_for_their_dtypes) {
  Sample s;
  Expr half = make_expr(DType::i64, {}, Binary{BinOp::true_div, s.zero, s.zero});
  EXPECT_NE(s.body(let(make_sym(SymKind::local, DType::i64, "t"), half, {})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Binary{BinOp::bit_and, s.one, s.one})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Call{Fn::sqrt, {s.one, s.one}})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Call{Fn::isnan, {s.one}})), "");
}

TEST(Verify, conditions_logic_operands_and_facts_are_bool) {
  Sample s;
  EXPECT_NE(s.body(if_else(s.zero, {}, {})), "");
  EXPECT_NE(s.body(make_stmt({}, While{s.zero, make_stmt({}, Jump{JumpKind::break_loop})})), "");
  EXPECT_NE(s.body(check(s.zero, 0)), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Select{s.zero, s.one, s.one})), "");
  EXPECT_NE(s.body(if_else(make_expr(DType::b1, {}, Logic{true, s.yes, s.zero}), {}, {})), "");
  EXPECT_NE(s.body(if_else(make_expr(DType::b1, {}, Unary{UnOp::logical_not, s.zero}), {}, {})), "");
  Func f = s.with({});
  f.facts = {s.zero};
  EXPECT_NE(verify(f), "");
}

TEST(Verify, indices_loop_bounds_and_extents_are_i64) {
  Sample s;
  Expr narrow = constant({DType::i32, 0});
  EXPECT_NE(s.body(store(s.c, {narrow}, s.one)), "");
  EXPECT_NE(s.storing(load(s.c, {narrow})), "");
  EXPECT_NE(s.body(make_stmt({}, For{s.i, narrow, s.zero, 1, ForKind::serial, Hint::none, {}, {}})), "");
  EXPECT_NE(s.body(make_stmt({}, For{s.i, s.zero, narrow, 1, ForKind::serial, Hint::none, {}, {}})), "");
  Sym other = make_sym(SymKind::buffer, DType::f32, "t");
  EXPECT_NE(s.body(alloc(make_buf(other, {narrow}, Space::heap), Fill::none, {})), "");
  EXPECT_NE(s.body(alloc(make_buf(other, {s.zero}, Space::heap, {narrow}), Fill::none, {})), "");
  EXPECT_NE(s.body(alloc(make_buf(other, {s.zero}, Space::heap, {s.zero, s.zero}), Fill::none, {})), "");
}

TEST(Verify, a_symbol_is_bound_once) {
  Sample s;
  Sym t = make_sym(SymKind::local, DType::i64, "t");
  EXPECT_NE(s.body(let(t, s.zero, let(t, s.zero, {}))), "");
  EXPECT_NE(s.body(seq({let(t, s.zero, seq({})), let(t, s.zero, seq({}))})), "");
  EXPECT_NE(s.body(let(s.p, s.zero, {})), "");
  EXPECT_NE(s.body(s.loop(s.loop({}))), "");
  EXPECT_NE(s.body(let(s.n, s.zero, {})), "");
  Func f = s.with({});
  f.params.push_back(f.params[0]);
  EXPECT_NE(verify(f), "");
}

TEST(Verify, a_symbol_is_used_inside_its_scope_only) {
  Sample s;
  Sym t = make_sym(SymKind::local, DType::f32, "t");
  Stmt use = store(s.c, {s.zero}, kw::ref(t));
  EXPECT_EQ(s.body(let(t, s.one, use)), "");
  EXPECT_NE(s.body(use), "");
  EXPECT_NE(s.body(make_stmt({}, Seq{{let(t, s.one, seq({})), use}})), "");
  EXPECT_NE(s.body(let(t, kw::ref(t), {})), "");
  EXPECT_NE(s.body(make_stmt({}, Seq{{s.loop({}), store(s.c, {kw::ref(s.i)}, s.one)}})), "");
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Ref{s.p})), "");  // another dtype than its symbol
}

TEST(Verify, a_buffer_is_declared_once_and_accessed_where_visible) {
  Sample s;
  Buf t = make_buf(make_sym(SymKind::buffer, DType::f32, "t"), {}, Space::registers);
  Stmt use = store(t, {}, s.one);
  EXPECT_EQ(s.body(alloc(t, Fill::none, use)), "");
  EXPECT_NE(s.body(use), "");
  EXPECT_NE(s.storing(load(t, {})), "");
  EXPECT_NE(s.body(make_stmt({}, Seq{{alloc(t, Fill::none, seq({})), use}})), "");
  EXPECT_NE(s.body(alloc(t, Fill::none, alloc(t, Fill::none, use))), "");
  EXPECT_NE(s.body(alloc(s.c, Fill::none, {})), "");
}

TEST(Verify, the_number_of_indices_is_the_rank) {
  Sample s;
  EXPECT_NE(s.body(store(s.c, {}, s.one)), "");
  EXPECT_NE(s.body(store(s.c, {s.zero, s.zero}, s.one)), "");
  EXPECT_NE(s.storing(load(s.c, {})), "");
}

TEST(Verify, values_have_the_dtype_of_what_they_go_to) {
  Sample s;
  EXPECT_NE(s.storing(s.zero), "");
  EXPECT_NE(s.storing(make_expr(DType::f64, {}, Load{s.c, {s.zero}})), "");
  EXPECT_NE(s.body(let(make_sym(SymKind::local, DType::f32, "t"), s.zero, {})), "");
}

TEST(Verify, a_step_is_not_zero) {
  Sample s;
  EXPECT_NE(s.body(s.loop({}, ForKind::serial, 0)), "");
  EXPECT_EQ(s.body(s.loop({}, ForKind::serial, -3)), "");
}

TEST(Verify, the_plan_of_a_loop_is_of_its_kind) {
  Sample s;
  auto found = [&](ForKind kind, LoopPlan how) {
    return s.body(make_stmt({}, For{s.i, s.zero, kw::ref(s.n), 1, kind, Hint::none, how, {}}));
  };
  EXPECT_EQ(found(ForKind::vector, {.vector_width = 8}), "");
  EXPECT_EQ(found(ForKind::parallel, {.vector_width = 8, .chunk = 2}), "");
  EXPECT_EQ(found(ForKind::unroll, {.unroll = 2}), "");
  EXPECT_EQ(found(ForKind::serial, {.max_trips = 9}), "");
  EXPECT_EQ(found(ForKind::serial, {.stages = 4}), "");
  EXPECT_NE(found(ForKind::grid, {.stages = 4}), "");
  EXPECT_NE(found(ForKind::serial, {.vector_width = 8}), "");
  EXPECT_NE(found(ForKind::vector, {.unroll = 2}), "");
  EXPECT_NE(found(ForKind::vector, {.chunk = 2}), "");
  EXPECT_EQ(found(ForKind::parallel, {.max_trips = 9}), "");
  EXPECT_NE(found(ForKind::vector, {.block_of = 8}), "");
  EXPECT_NE(found(ForKind::parallel, {.block_of = 8}), "");  // it holds no loop of one block
  EXPECT_NE(found(ForKind::unroll, {}), "");
  for (LoopPlan how : {LoopPlan{.flatten = 1}, {.stream = 1}})
    EXPECT_EQ(found(ForKind::unroll, how), "the plan of a loop has a field of another kind of loop");
  EXPECT_EQ(found(ForKind::serial, {.stream = 1}), "the plan of a loop has a field of another kind of loop");
  EXPECT_EQ(found(ForKind::serial, {.max_trips = -1}), "a loop runs more often than its plan tells");
  EXPECT_EQ(found(ForKind::parallel, {.collapse = 1}), "a collapsed loop holds more than a parallel loop");
}

TEST(Verify, a_loop_runs_no_more_often_than_its_plan_tells) {
  Sample s;
  auto found = [&](int64_t hi, int64_t most) {
    LoopPlan how;
    how.max_trips = most;
    return s.body(make_stmt({}, For{s.i, s.zero, const_int(hi), 2, ForKind::serial, Hint::none, how, {}}));
  };
  EXPECT_EQ(found(8, 4), "");
  EXPECT_EQ(found(9, 4), "a loop runs more often than its plan tells");
}

TEST(Verify, a_loop_over_blocks_holds_the_loop_of_one_block) {
  auto found = [](std::string_view blocks, std::string_view inner) -> std::string {
    try {
      unit::ir(cat("def f(w: inout(i64, (n,))):\n  fp('strict')\n  dims(n)\n  for b in parallel(", blocks,
                   "):\n    for i in ", inner, ":\n      w[i] = i\n  return w\n"));
    } catch (const CompileError &e) {
      return e.found()[0].message;
    }
    return "";
  };
  EXPECT_EQ(found("0, n, 64, block_of=64", "vector(b, min(n, b + 64), 1, vector_width=8)"), "");
  EXPECT_EQ(found("n, 0, -32, block_of=16", "vector(b, max(0, b + -32), -2, vector_width=8)"), "");
  for (std::string_view inner :
       {"vector(b, min(n, b + 32), 1, vector_width=8)", "vector(0, min(n, b + 64), 1, vector_width=8)",
        "vector(b, b + 64, 1, vector_width=8)"})
    EXPECT_EQ(found("0, n, 64, block_of=64", inner),
              "malformed IR: a loop over blocks does not hold the loop of one block")
        << inner;
}

TEST(Verify, a_jump_stands_in_a_serial_for_or_a_while) {
  Sample s;
  Stmt jump = make_stmt({}, Jump{JumpKind::continue_loop});
  EXPECT_NE(s.body(jump), "");
  EXPECT_EQ(s.body(s.loop(jump)), "");
  EXPECT_EQ(s.body(make_stmt({}, While{s.yes, jump})), "");
  for (ForKind kind : {ForKind::parallel, ForKind::vector, ForKind::unroll, ForKind::grid, ForKind::block})
    EXPECT_NE(s.body(s.loop(jump, kind)), "");
  Sym j = make_sym(SymKind::iter, DType::i64, "j");
  Stmt inner = make_stmt({}, For{j, s.zero, s.zero, 1, ForKind::parallel, Hint::none, {}, jump});
  EXPECT_NE(s.body(s.loop(inner)), "");  // the serial loop is not the innermost
  EXPECT_EQ(s.body(s.loop(if_else(s.yes, jump, {}), ForKind::serial)), "");
  EXPECT_NE(s.body(make_stmt({}, Seq{{s.loop({}), jump}})), "");
}

TEST(Verify, a_while_in_a_vector_loop_takes_its_jumps) {
  Sample s;
  Stmt jump = make_stmt({}, Jump{JumpKind::break_loop}), loop = make_stmt({}, While{s.yes, jump});
  EXPECT_EQ(s.body(s.loop(loop, ForKind::vector)), "");
  EXPECT_EQ(s.body(s.loop(if_else(s.yes, loop, {}), ForKind::vector)), "");
  EXPECT_NE(s.body(s.loop(seq({loop, jump}), ForKind::vector)), "");
}

TEST(Verify, sites_are_in_range) {
  Sample s;
  EXPECT_EQ(s.body(check(s.yes, 0)), "");
  EXPECT_NE(s.body(check(s.yes, 1)), "");
}

TEST(Verify, results_are_parameters) {
  Sample s;
  Func f = s.with({});
  f.results = {make_buf(make_sym(SymKind::buffer, DType::f32, "t"), {}, Space::heap)};
  EXPECT_NE(verify(f), "");
}

TEST(Verify, extent_symbols_are_i64) {
  Sample s;
  Func f = s.with({});
  f.extents.push_back(make_sym(SymKind::extent, DType::i32, "m"));
  EXPECT_NE(verify(f), "");
}

TEST(Verify, parallel_loops_store_to_cells_of_their_own_only) {
  Sample s;
  Buf cell = make_buf(make_sym(SymKind::buffer, DType::f32, "x"), {}, Space::registers);
  Sym j = make_sym(SymKind::iter, DType::i64, "j");
  Stmt write = store(cell, {}, s.one), read = store(s.c, {s.zero}, load(cell, {}));
  auto made = [&](Stmt body) { return alloc(cell, Fill::none, std::move(body)); };
  auto parallel = [&](Stmt body) { return s.loop(std::move(body), ForKind::parallel); };
  Stmt inner = make_stmt({}, For{j, s.zero, s.zero, 1, ForKind::parallel, Hint::none, {}, read});
  EXPECT_EQ(s.body(made(s.loop(write))), "");
  EXPECT_EQ(s.body(parallel(made(write))), "");
  EXPECT_EQ(s.body(made(parallel(read))), "");
  EXPECT_EQ(s.body(parallel(made(make_stmt({}, Seq{{inner, write}})))), "");
  std::string_view error = "a parallel loop stores to a cell made outside it";
  EXPECT_EQ(s.body(made(parallel(write))), error);
  EXPECT_EQ(s.body(made(parallel(if_else(s.yes, write, {})))), error);
  Stmt wrong = make_stmt({}, For{j, s.zero, s.zero, 1, ForKind::parallel, Hint::none, {}, write});
  EXPECT_EQ(s.body(parallel(made(wrong))), error);
}

/// The error of a kernel over f32 a[n, m] and s[n], and i64 p[n], which share no memory or may.
std::string error_of(std::string_view lines, Overlap overlap = Overlap::none) {
  std::string text =
      cat("def f(a: buf(f32, (n, m)), s: inout(f32, (n,)), p: inout(i64, (n,))):\n  fp('default')\n",
          overlap == Overlap::possible ? "  overlap()\n" : "", "  dims(n, m)\n");
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  try {
    unit::ir(text + "  return s, p\n");
  } catch (const std::exception &e) {
    return e.what();
  }
  return {};
}

TEST(Verify, grid_loops_stand_in_serial_loops_and_in_one_another) {
  constexpr std::string_view kinds = "malformed IR: a grid loop stands in a loop of another kind";
  EXPECT_EQ(error_of("for i in grid(0, n, 1, per_block=8):\n  s[i] = f32(1.0)"), "");
  EXPECT_EQ(error_of("for k in serial(0, m, 1):\n  for i in grid(0, n, 1):\n    s[i] = f32(1.0)"), "");
  EXPECT_EQ(error_of("for k in parallel(0, m, 1):\n  for i in grid(0, n, 1):\n    p[i] = k"), kinds);
  EXPECT_EQ(error_of("for k in unroll(0, m, 1, unroll=2):\n  for i in grid(0, n, 1):\n    p[i] = k"), kinds);
  EXPECT_EQ(
      error_of("for i in grid(0, n, 1):\n  x: f32 = cast(f32, i)\n  for j in grid(0, m, 1):\n    s[i] = x"),
      "");
  EXPECT_EQ(error_of("for i in grid(0, n, 1):\n  p[i] = 0\n  for j in grid(0, m, 1):\n    s[i] = f32(1.0)"),
            "malformed IR: a grid loop holds another one beside other statements");
  std::string deep;
  for (int d = 0; d < 4; ++d) deep += cat(std::string(2 * d, ' '), "for i", d, " in grid(0, n, 1):\n");
  EXPECT_EQ(error_of(cat(deep, std::string(8, ' '), "p[i0] = i3")),
            "malformed IR: more than three grid loops stand in one another");
  EXPECT_EQ(error_of("for i in grid(0, n, 1):\n  for j in parallel(0, m, 1):\n    p[i] = j"),
            "malformed IR: a parallel loop stands in a grid loop");
  for (std::string_view plan : {"parallel(0, n, 1, per_block=8)", "grid(0, n, 1, threads=8)"})
    EXPECT_EQ(error_of(cat("for i in ", plan, ":\n  p[i] = i")),
              "malformed IR: the plan of a loop has a field of another kind of loop");
}

TEST(Verify, block_loops_stand_in_one_grid_loop) {
  constexpr std::string_view outside =
      "malformed IR: a block loop stands in a loop that is neither a grid loop nor serial";
  std::string block = "for j in block(0, m, 1, threads=32):\n";
  EXPECT_EQ(error_of(cat("for i in grid(0, n, 1):\n  ", block, "    p[i] = i")), "");
  EXPECT_EQ(
      error_of(cat("for i in grid(0, n, 1):\n  for k in serial(0, m, 1):\n    ", block, "      p[i] = i")),
      "");
  EXPECT_EQ(error_of(cat(block, "  p[j] = j")), "");
  EXPECT_EQ(error_of(cat("for i in parallel(0, n, 1):\n  ", block, "    p[i] = i")), outside);
  EXPECT_EQ(error_of(cat("for i in grid(0, n, 1):\n  ", block,
                         "    for k in block(0, m, 1, threads=2):\n      p[i] = k")),
            outside);
}

TEST(Verify, an_array_of_a_team_has_a_constant_size_and_stands_outside_of_its_loops) {
  auto found = [](std::string_view type, bool in_loop = false) {
    std::string_view loop = "  for j in block(0, m, 1, threads=32):\n", store = "t[i % 4] = i\n";
    std::string array = cat("t = alloc(", type, ", 'shared')\n");
    return error_of(in_loop ? cat("for i in grid(0, n, 1):\n", loop, "    ", array, "    ", store)
                            : cat("for i in grid(0, n, 1):\n  ", array, loop, "    ", store));
  };
  EXPECT_EQ(found("i64, (4,)"), "");
  EXPECT_EQ(found("i64, (4,)", true), "malformed IR: an array that a team shares stands in a block loop");
  EXPECT_EQ(found("i64, (m,)"), "malformed IR: an array that a team shares has no constant size");
  EXPECT_EQ(error_of("for i in grid(0, n, 1):\n  t = alloc(i64, (4,), 'shared')\n  t[i % 4] = i"),
            "malformed IR: an array that a team shares stands around no block loop");
}

TEST(Verify, atomic_operations_accumulate_in_a_grid_loop) {
  constexpr std::string_view stores =
      "malformed IR: a store to a buffer of atomic operations does not accumulate";
  EXPECT_EQ(error_of("for i in grid(0, n, 1, atomics=(p,)):\n  p[0] = p[0] + i"), "");
  EXPECT_EQ(error_of("for i in grid(0, n, 1, atomics=(p,)):\n  p[0] = i"), stores);
  EXPECT_EQ(error_of("for i in serial(0, n, 1, atomics=(p,)):\n  p[0] = p[0] + i"), stores);
  std::string cell = "with alloc(t, i64, (), 'registers'):\n  t[()] = 0\n  for i in grid(0, n, 1";
  EXPECT_EQ(error_of(cat(cell, ", atomics=(t,)):\n    t[()] = t[()] + i")), "");
  EXPECT_EQ(error_of(cat(cell, "):\n    t[()] = t[()] + i")),
            "malformed IR: a grid loop stores to a cell made outside it");
}

TEST(Verify, threads_of_a_grid_share_cells_in_sums_alone) {
  auto summed = [](std::string_view mark) {
    return error_of(
        cat("for i in grid(0, n, 1):\n  t = alloc(f32, (), 'registers')\n  t[()] = f32(0.0)\n"
            "  for j in block(0, m, 1, threads=32):\n    t[()] = (t[()] + a[i, j])",
            mark, "\n  s[i] = t[()]"));
  };
  EXPECT_EQ(summed(" @ lanes(j)"), "");
  EXPECT_EQ(summed(" @ any(j)"), "");
  EXPECT_EQ(summed(""), "malformed IR: a block loop stores to a cell made outside it");
  auto of_team = [](std::string_view statement) {
    return error_of(
        cat("for i in grid(0, n, 1):\n  t = alloc(i64, (), 'registers')\n  k = alloc(i64, (), 'registers')\n"
            "  for j in block(0, m, 1, threads=32):\n    ",
            statement));
  };
  EXPECT_EQ(of_team("t[()] = max(t[()], p[i])"), "");
  EXPECT_EQ(of_team("if t[()] < p[j]:\n      t[()] = p[j]\n      k[()] = j"), "");
  for (std::string_view other : {"t[()] = p[i]", "if t[()] < p[j]:\n      k[()] = j",
                                 "if t[()] < p[j]:\n      t[()] = p[j]\n    k[()] = j"})
    EXPECT_EQ(of_team(other), "malformed IR: a block loop stores to a cell made outside it");
  EXPECT_EQ(error_of("t = alloc(i64, (), 'registers')\nt[()] = 0\nfor i in grid(0, n, 1):\n  t[()] = i"),
            "malformed IR: a grid loop stores to a cell made outside it");
}

TEST(Verify, the_order_of_a_sum_names_loops_around_it) {
  EXPECT_EQ(error_of("for i in serial(0, n, 1):\n  for k in serial(0, m, 1):\n"
                     "    s[0] = (s[0] + a[i, k]) @ lanes(i, k)"),
            "");
  EXPECT_EQ(error_of("for i in serial(0, n, 1):\n  s[i] = f32(0.0)\nfor k in serial(0, m, 1):\n"
                     "  s[0] = (s[0] + a[0, k]) @ lanes(i)"),
            "malformed IR: the order of a sum names loop 'i', which is not around it");
  EXPECT_EQ(error_of("for i in serial(0, n, 1):\n  for k in serial(0, m, 1):\n"
                     "    s[0] = (s[0] + a[i, k]) @ lanes(k, i)"),
            "malformed IR: the order of a sum names loop 'i', which is not around it");
  EXPECT_EQ(error_of("for i in serial(0, n, 1):\n  s[0] = (s[0] + a[i, 0]) @ lanes()"),
            "malformed IR: a sum in lanes names no loops");
}

TEST(Verify, a_sum_in_lanes_adds_to_its_element) {
  std::string_view loop = "for i in serial(0, n, 1):\n  s[0] = ";
  for (std::string_view sum :
       {"(s[0] + a[i, 0])", "(s[0] * a[i, 0])", "(s[0] - a[i, 0])", "fma(a[i, 0], a[i, 1], s[0])"})
    EXPECT_EQ(error_of(cat(loop, sum, " @ lanes(i)")), "") << sum;
  for (std::string_view other :
       {"a[i, 0]", "(a[i, 0] - s[0])", "max(s[0], a[i, 0])", "((s[0] * f32(2.0)) + a[i, 0])",
        "(s[1] + a[i, 0])", "fma(s[0], a[i, 0], a[i, 1])"})
    EXPECT_EQ(error_of(cat(loop, other, " @ lanes(i)")),
              "malformed IR: a store in lanes adds nothing to its element")
        << other;
}

TEST(Verify, no_loop_of_a_band_chooses_the_element_of_the_sum) {
  auto refused = [](std::string_view loop) {
    return cat("malformed IR: a sum over loop '", loop, "' accumulates elements that the loop chooses");
  };
  for (std::string_view order : {"lanes", "any"}) {
    EXPECT_EQ(error_of(cat("for i in serial(0, n, 1):\n  s[i] = (s[i] + a[i, 0]) @ ", order, "(i)")),
              refused("i"));
    EXPECT_EQ(error_of(cat("for i in serial(0, n, 1):\n  b: i64 = p[i]\n  d: i64 = b + 1\n"
                           "  s[d] = (s[d] + a[i, 0]) @ ",
                           order, "(i)")),
              refused("i"));
    EXPECT_EQ(error_of(cat("for i in serial(0, n, 1):\n  p[0] = i\n  s[p[0]] = (s[p[0]] + a[i, 0]) @ ", order,
                           "(i)")),
              refused("i"));
    EXPECT_EQ(error_of(cat("for i in serial(0, n, 1):\n  b = alloc(i64, (), 'registers')\n  b[()] = 1\n"
                           "  s[b[()]] = (s[b[()]] + a[i, 0]) @ ",
                           order, "(i)")),
              refused("i"));
    EXPECT_EQ(error_of(cat("for i in serial(0, n, 1):\n  b: i64 = n // 2\n"
                           "  s[b] = (s[b] + a[i, 0]) @ ",
                           order, "(i)")),
              "");
  }
  // a loop inside that is none of the band is at one place when the iterations of the band are compared
  std::string_view exchanged =
      "for k in serial(0, m, 1):\n  for i in serial(0, n, 1):\n    s[i] = (s[i] + a[i, k]) @ ";
  EXPECT_EQ(error_of(cat(exchanged, "any(k)")), "");
  EXPECT_EQ(error_of(cat(exchanged, "lanes(k)")), refused("k"));
}

TEST(Verify, the_bounds_of_a_band_in_lanes_are_fixed) {
  std::string_view triangle =
      "for i in serial(0, n, 1):\n  e: i64 = i + 1\n  for k in serial(0, e, 1):\n"
      "    s[0] = (s[0] + a[i, k]) @ ";
  EXPECT_EQ(error_of(cat(triangle, "lanes(i, k)")),
            "malformed IR: a sum over loop 'k' has a bound that the band changes");
  EXPECT_EQ(error_of(cat(triangle, "lanes(k)")), "");
  EXPECT_EQ(error_of(cat(triangle, "any(i, k)")), "");
}

TEST(Verify, no_loop_writes_what_its_bounds_read) {
  EXPECT_EQ(error_of("for i in serial(0, p[0], 1):\n  p[i] = 0"),
            "malformed IR: a loop writes memory that its bounds read");
  EXPECT_EQ(error_of("for i in serial(p[0], n, 1):\n  for k in serial(0, m, 1):\n    p[k] = 0"),
            "malformed IR: a loop writes memory that its bounds read");
  EXPECT_EQ(error_of("for i in serial(0, p[0], 1):\n  s[i] = f32(0.0)"), "");
}

TEST(Verify, arguments_that_overlap_change_each_other) {
  std::string_view bounds = "for i in serial(0, p[0], 1):\n  s[i] = f32(0.0)";
  EXPECT_EQ(error_of(bounds, Overlap::possible), "malformed IR: a loop writes memory that its bounds read");
  std::string_view place =
      "t = alloc(f32, (4,), 'stack', fill='zero')\nfor i in serial(0, n, 1):\n"
      "  t[p[0]] = (t[p[0]] + a[0, 0]) @ lanes(i)\n  s[i] = f32(0.0)";
  EXPECT_EQ(error_of(place), "");
  EXPECT_EQ(error_of(place, Overlap::possible),
            "malformed IR: a sum over loop 'i' accumulates elements that the loop chooses");
}

TEST(Verify, missing_parts_are_reported) {
  Sample s;
  EXPECT_NE(s.storing(make_expr(DType::f32, {}, Binary{BinOp::add, s.one, Expr{}})), "");
  EXPECT_NE(s.body(make_stmt({}, Check{Expr{}, 0})), "");
}

TEST(Verify, depth_fields_are_right) {
  Sample s;
  Expr right = s.one;
  auto with_depth = [&](uint16_t depth) {
    return Expr{std::make_shared<const ExprNode>(
        ExprNode{DType::f32, depth, {}, Binary{BinOp::add, kw::ref(s.q), right}})};
  };
  EXPECT_EQ(s.storing(with_depth(2)), "");
  EXPECT_NE(s.storing(with_depth(1)), "");
  EXPECT_NE(s.storing(with_depth(3)), "");
  Stmt shallow = {
      std::make_shared<StmtNode>(uint16_t{1}, Loc{}, Store{s.c, {s.zero}, with_depth(2), Order::source})};
  EXPECT_NE(s.body(shallow), "");
}

TEST(Verify, depth_is_at_most_1000) {
  Sample s;
  auto deep = std::make_shared<const ExprNode>(ExprNode{DType::f32, 1001, {}, Const{0}});
  Stmt body = {
      std::make_shared<StmtNode>(uint16_t{1}, Loc{}, Store{s.c, {s.zero}, Expr{deep}, Order::source})};
  EXPECT_NE(s.body(body), "");
}

TEST(Verify, follows_long_chains_on_a_small_stack) {
  Sample s;
  std::string found = "not run";
  unit::run_on_stack(512 << 10, [&] {
    Stmt chain = store(s.c, {s.zero}, s.one);
    for (int i = 0; i < 100000; ++i) chain = let(make_sym(SymKind::local, DType::i64, "t"), s.zero, chain);
    found = s.body(chain);
  });
  EXPECT_EQ(found, "");
}

}  // namespace
}  // namespace kw
