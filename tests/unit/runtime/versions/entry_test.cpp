// The stack machine of entry programs: overflow, errors, and any bytes at all.
#include "runtime/versions/entry.h"

#include "codegen/stack_code.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

using Error = EntryResult::Error;

/// Bytecode under construction.
struct Code {
  std::string bytes;
  Code &op(Op o) { return bytes += static_cast<char>(o), *this; }
  Code &push(int64_t v) {
    op(Op::push);
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(static_cast<uint64_t>(v) >> (8 * i));
    return *this;
  }
  Code &dim(int index) { return op(Op::dim), bytes += static_cast<char>(index), *this; }
  Code &typed(Op o, int what, DType t) {
    return op(o), bytes += static_cast<char>(what), bytes += static_cast<char>(t), *this;
  }
  Code &scalar(int index, DType t) {
    return op(Op::scalar), bytes += static_cast<char>(index), bytes += static_cast<char>(t), *this;
  }
};

const int64_t dims[] = {7, 1000};
const uint64_t scalars[] = {static_cast<uint64_t>(-3), 0xFFFFFFFE, 1};

struct Result : EntryResult {
  std::vector<int64_t> extents;
};

Result run(const Code &code) {
  EntryResult r = evaluate_entry(code.bytes, dims, 2, scalars, 3);
  return {r, {r.extents().begin(), r.extents().end()}};
}

TEST(EntryMachine, computes_on_its_stack) {
  EXPECT_EQ(run(Code().dim(0).dim(1).op(Op::add).op(Op::out_extent)).extents, std::vector<int64_t>{1007});
  EXPECT_EQ(run(Code().push(10).push(3).op(Op::sub).op(Op::out_extent)).extents, std::vector<int64_t>{7});
  EXPECT_EQ(run(Code().push(1).push(5).push(6).op(Op::choose).op(Op::out_extent)).extents,
            std::vector<int64_t>{5});
  EXPECT_EQ(run(Code().push(0).push(5).push(6).op(Op::choose).op(Op::out_extent)).extents,
            std::vector<int64_t>{6});
  EXPECT_EQ(run(Code().push(5).op(Op::invert).op(Op::out_extent)).extents, std::vector<int64_t>{0});
}

TEST(EntryMachine, what_is_not_chosen_poisons_nothing) {
  Code wraps = Code().push(INT64_MAX).push(1).op(Op::add);
  auto chosen = [&](int64_t condition) {
    Code code = Code().push(condition);
    code.bytes += wraps.bytes;
    return run(code.push(6).op(Op::choose).op(Op::out_extent));
  };
  EXPECT_EQ(chosen(0).extents, std::vector<int64_t>{6});
  EXPECT_EQ(chosen(1).error, Error::overflow);
  Code condition = wraps;
  EXPECT_EQ(run(condition.push(5).push(6).op(Op::choose).op(Op::out_extent)).error, Error::overflow);
  Code compared = wraps;
  EXPECT_EQ(run(compared.push(0).op(Op::lt).op(Op::out_extent)).error, Error::overflow);
}

TEST(EntryMachine, typed_operations_are_those_of_the_dtype) {
  auto result = [](Code code) { return run(code.op(Op::out_extent)).extents.at(0); };
  auto binary_of = [](BinOp o, DType t) { return std::pair(static_cast<int>(o), t); };
  auto code = [](int64_t a, int64_t b, std::pair<int, DType> what) {
    return Code().push(a).push(b).typed(Op::apply_binary, what.first, what.second);
  };
  EXPECT_EQ(result(Code().push((int64_t{1} << 32) + 4).typed(Op::convert, int(DType::i64), DType::i32)), 4);
  EXPECT_EQ(result(Code().push(-1).typed(Op::convert, int(DType::i8), DType::u16)), 0xFFFF);
  EXPECT_EQ(result(Code().push(-1).typed(Op::apply_unary, int(UnOp::neg), DType::u8)), 1);
  EXPECT_EQ(result(code(200, 100, binary_of(BinOp::add, DType::u8))), 44);
  EXPECT_EQ(result(code(-1, 1, binary_of(BinOp::lt, DType::u64))), 0);
  EXPECT_EQ(result(code(-1, 1, binary_of(BinOp::lt, DType::i8))), 1);
}

TEST(EntryMachine, operations_without_a_meaning_are_malformed) {
  for (auto [o, t] : {std::pair{BinOp::true_div, DType::i8}, std::pair{BinOp::sub, DType::b1},
                      std::pair{BinOp::shl, DType::b1}, std::pair{BinOp::add, DType::f32}})
    EXPECT_EQ(run(Code().push(1).push(1).typed(Op::apply_binary, static_cast<int>(o), t)).error,
              Error::malformed);
  EXPECT_EQ(run(Code().push(1).push(1).typed(Op::apply_binary, 255, DType::i8)).error, Error::malformed);
  EXPECT_EQ(run(Code().push(1).typed(Op::apply_unary, 3, DType::i8)).error, Error::malformed);
  EXPECT_EQ(run(Code().push(1).typed(Op::convert, int(DType::f32), DType::i8)).error, Error::malformed);
}

TEST(EntryMachine, division_follows_the_rules_of_the_language) {
  auto fact = [](int64_t a, Op op, int64_t b, int64_t want) {
    return run(Code().push(a).push(b).op(op).push(want).op(Op::eq).op(Op::fact)).facts_hold;
  };
  EXPECT_TRUE(fact(-7, Op::floor_div, 2, -4));
  EXPECT_TRUE(fact(-7, Op::floor_mod, 2, 1));
  EXPECT_TRUE(fact(7, Op::floor_div, 0, 0));
  EXPECT_TRUE(fact(7, Op::floor_mod, 0, 0));
  EXPECT_TRUE(fact(-7, Op::floor_mod, -3, -1));
}

TEST(EntryMachine, scalars_extend_by_their_dtype) {
  EXPECT_EQ(run(Code().scalar(0, DType::i64).op(Op::neg).op(Op::out_extent)).extents,
            std::vector<int64_t>{3});
  EXPECT_EQ(run(Code().scalar(1, DType::i32).op(Op::neg).op(Op::out_extent)).extents,
            std::vector<int64_t>{2});
  EXPECT_EQ(run(Code().scalar(1, DType::u32).op(Op::out_extent)).extents, std::vector<int64_t>{0xFFFFFFFE});
  EXPECT_EQ(run(Code().scalar(2, DType::b1).op(Op::out_extent)).extents, std::vector<int64_t>{1});
  EXPECT_EQ(run(Code().scalar(0, DType::f64).op(Op::out_extent)).error, Error::malformed);
}

TEST(EntryMachine, says_whether_scalars_were_read) {
  EXPECT_FALSE(run(Code().push(3).op(Op::out_extent)).reads_scalars);
  EXPECT_TRUE(run(Code().scalar(0, DType::i64).op(Op::fact)).reads_scalars);
}

TEST(EntryMachine, extents_are_neither_negative_nor_huge) {
  Result r = run(Code().push(3).op(Op::out_extent).push(-1).op(Op::out_extent));
  EXPECT_EQ(r.error, Error::negative_extent);
  EXPECT_EQ(r.error_index, 1u);
  EXPECT_EQ(r.error_value, -1);
  EXPECT_EQ(run(Code().push(int64_t{1} << 46).op(Op::out_extent)).error, Error::overflow);
  EXPECT_EQ(run(Code().push((int64_t{1} << 46) - 1).op(Op::out_extent)).error, Error::none);
}

TEST(EntryMachine, overflow_poisons_the_result_that_it_reaches_and_no_other) {
  Code poisoned = Code().push(INT64_MAX).push(1).op(Op::add);
  EXPECT_EQ(run(Code(poisoned).op(Op::out_extent)).error, Error::overflow);
  EXPECT_FALSE(run(Code(poisoned).op(Op::fact)).facts_hold);
  EXPECT_EQ(run(Code(poisoned).op(Op::work)).work, INT64_MAX);
  EXPECT_EQ(run(Code(poisoned).op(Op::workspace)).error, Error::workspace);
  Result r = run(Code(poisoned).op(Op::work).push(5).op(Op::out_extent).push(1).op(Op::fact));
  EXPECT_EQ(r.extents, std::vector<int64_t>{5});
  EXPECT_TRUE(r.facts_hold);
  EXPECT_FALSE(run(Code().push(INT64_MIN).op(Op::neg).op(Op::fact)).facts_hold);
  EXPECT_FALSE(run(Code().push(INT64_MIN).push(2).op(Op::mul).op(Op::fact)).facts_hold);
}

TEST(EntryMachine, workspaces_add_up_and_one_false_fact_decides) {
  EXPECT_EQ(run(Code().push(64).op(Op::workspace).push(128).op(Op::workspace)).workspace, 192);
  EXPECT_EQ(run(Code().push(INT64_MAX).op(Op::workspace)).error, Error::workspace);
  EXPECT_FALSE(run(Code().push(0).op(Op::fact).push(1).op(Op::fact)).facts_hold);
  EXPECT_TRUE(run(Code()).facts_hold);
}

TEST(EntryMachine, malformed_code_is_an_error_value) {
  EXPECT_EQ(run(Code().op(Op::add)).error, Error::malformed);
  EXPECT_EQ(run(Code().push(1).op(Op::add)).error, Error::malformed);
  EXPECT_EQ(run(Code().op(Op::out_extent)).error, Error::malformed);
  EXPECT_EQ(run(Code().dim(2).op(Op::out_extent)).error, Error::malformed);
  EXPECT_EQ(run(Code().scalar(3, DType::i64)).error, Error::malformed);
  EXPECT_EQ(run(Code{std::string("\0\1\2", 3)}).error, Error::malformed);
  EXPECT_EQ(run(Code().push(1).push(1).op(static_cast<Op>(200))).error, Error::malformed);
  Code deep;
  for (int i = 0; i < 2000; ++i) deep.push(1);
  EXPECT_EQ(run(deep).error, Error::malformed);
}

TEST(EntryMachine, any_bytes_give_a_result) {
  SCOPED_TRACE(cat("seed ", unit::seed()));
  unit::Random random(unit::seed());
  int clean = 0;
  for (int round = 0; round < 20000; ++round) {
    Code code;
    for (uint64_t n = random() % 60; n > 0; --n) {
      switch (random() % 4) {
        case 0: code.push(static_cast<int64_t>(random()) >> random() % 64); break;
        case 1: code.dim(static_cast<int>(random() % 3)); break;
        case 2: code.bytes += static_cast<char>(random()); break;
        default: code.op(static_cast<Op>(random() % 25)); break;
      }
    }
    Result r = run(code);
    for (int64_t e : r.extents) ASSERT_TRUE(e >= 0 && e < int64_t{1} << 46);
    clean += r.error == Error::none;
  }
  EXPECT_GT(clean, 10);
}

}  // namespace
}  // namespace kw
