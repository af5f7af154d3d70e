// Which parallel loops count their threads, and the work of which loops they count.
#include "transform/lowering/passes.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(
      cat("def f(w: inout(i64, (n, m)), v: buf(i64, (n,)), p: weak(i64)):\n  fp('strict')\n"
          "  dims(n, m)\n",
          body, "  return w\n"));
}

/// The loops that count their threads, in the order of the text: "i: max(n >> 19, 1)".
std::vector<std::string> counted(std::string_view body, const Target &target = unit::with_fma()) {
  Func f = count_threads(with_body(body), target);
  EXPECT_EQ(verify(f), "");
  std::vector<std::string> out;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.most_threads) out.push_back(cat(n.iter->name, ": ", print(n.most_threads)));
  });
  return out;
}
using Counts = std::vector<std::string>;

/// Each iteration stores one element, which counts 2, and counts 1 itself.
constexpr std::string_view one_loop = R"(  for i in parallel(0, n, 1):
    w[i, 0] = i
)";

TEST(CountThreads, an_outermost_parallel_loop_is_worth_its_work) {
  EXPECT_EQ(counted(one_loop), (Counts{"i: max(((max(n, 0)) * 3) >> 19, 1)"}));
  Target fine = unit::with_fma();
  fine.grain = 4;
  EXPECT_EQ(counted(one_loop, fine), (Counts{"i: max(((max(n, 0)) * 3) >> 4, 1)"}));
}

TEST(CountThreads, iterators_of_loops_around_are_known_before_the_loop) {
  constexpr std::string_view triangle = R"(  for t in serial(0, n, 1):
    for i in parallel(t, n, 1):
      w[i, t] = i
)";
  EXPECT_EQ(counted(triangle), (Counts{"i: max(((max(n - t, 0)) * 3) >> 19, 1)"}));
}

TEST(CountThreads, loops_inside_parallel_ones_and_loops_with_a_chunk_do_not_count) {
  constexpr std::string_view nested = R"(  for i in parallel(0, n, 1):
    for j in parallel(0, m, 1):
      w[i, j] = j
)";
  Counts found = counted(nested);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "i: max(((max(n, 0)) * (1 + ((max(m, 0)) * 3))) >> 19, 1)");
  constexpr std::string_view in_chunks = R"(  for i in parallel(0, n, 1, chunk=4):
    for j in parallel(0, m, 1):
      w[i, j] = j
)";
  EXPECT_EQ(counted(in_chunks), Counts{});
}

/// The chunks per thread of the loop i.
uint32_t chunks(std::string_view body) {
  Func f = count_threads(with_body(body), unit::with_fma());
  return as<For>(unit::find_loop(f, "i").loop)->how.chunks_per_thread;
}

TEST(CountThreads, iterations_whose_work_depends_on_data_come_in_several_chunks) {
  EXPECT_EQ(chunks(one_loop), 0u);
  constexpr std::string_view ragged = R"(  for i in parallel(0, n, 1):
    for j in serial(0, v[i], 1):
      w[i, j] = j
)";
  EXPECT_EQ(chunks(ragged), 16u);
  EXPECT_EQ(counted(ragged), (Counts{"i: max(((max(n, 0)) * 769) >> 19, 1)"}));  // 256 iterations assumed
  constexpr std::string_view with_while = R"(  for i in parallel(0, n, 1):
    while w[i, 0] < 3:
      w[i, 0] = w[i, 0] + 1
)";
  EXPECT_EQ(chunks(with_while), 16u);
}

TEST(CountThreads, loops_that_a_serial_loop_executes_in_turn_count_together) {
  constexpr std::string_view two = R"(  for t in serial(0, p, 1):
    for i in parallel(0, n, 1):
      w[i, 0] = t
    for j in parallel(0, n, 1):
      w[j, 1] = w[j, 0]
)";
  EXPECT_EQ(
      counted(two),
      (Counts{"i: max(min((((max(n, 0)) * 3) + ((max(n, 0)) * 5)) >> 19, ((max(n, 0)) * 3) >> 17), 1)",
              "j: max(min((((max(n, 0)) * 5) + ((max(n, 0)) * 3)) >> 19, ((max(n, 0)) * 5) >> 17), 1)"}));
  constexpr std::string_view apart = R"(  for i in parallel(0, n, 1):
    w[i, 0] = i
  for j in parallel(0, n, 1):
    w[j, 1] = j
)";
  EXPECT_EQ(counted(apart), (Counts{"i: max(((max(n, 0)) * 3) >> 19, 1)",  //
                                    "j: max(((max(n, 0)) * 3) >> 19, 1)"}));
}

/// As many parallel loops in one serial loop.
std::string phases(int count) {
  std::string out = "  for t in serial(0, p, 1):\n";
  for (int k = 0; k < count; ++k) out += "    for i in parallel(0, n, 1):\n      w[i, 0] = t\n";
  return out;
}

TEST(CountThreads, the_work_of_more_than_16_loops_is_that_of_one_so_many_times) {
  Counts many = counted(phases(17)), few = counted(phases(16));
  ASSERT_EQ(many.size(), 17u);
  ASSERT_EQ(few.size(), 16u);
  for (const std::string &line : many)
    EXPECT_EQ(line, "i: max(min((((max(n, 0)) * 3) * 17) >> 19, ((max(n, 0)) * 3) >> 17), 1)");
  for (const std::string &line : few) EXPECT_EQ(line.find("* 16"), std::string::npos) << line;
}

TEST(CountThreads, a_function_without_such_loops_stays_the_same) {
  for (std::string_view body : {"  w[0, 0] = p\n", "  for i in serial(0, n, 1):\n    w[i, 0] = i\n",
                                "  for i in parallel(0, n, 1, chunk=2):\n    w[i, 0] = i\n"}) {
    Func f = with_body(body);
    EXPECT_EQ(count_threads(f, unit::with_fma()).body.p, f.body.p) << body;
  }
}

}  // namespace
}  // namespace kw
