// The directives that set plans of loops: their texts, where they do not fit, and the fields that they set.
#include "schedule/directives/directives.h"

#include <gtest/gtest.h>

#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "schedule/replay.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A function that reads a: f32[n, m] and x: f32[n], writes b: f32[n, m], y: f32[n] and h: u8[n, m], and does
/// both with z: f32[n] and w: i64[n].
Func with_body(std::string_view body) {
  return unit::ir(
      cat("def f(a: buf(f32, (n, m)), x: buf(f32, (n,)), b: out(f32, (n, m)), y: out(f32, (n,)), "
          "h: out(u8, (n, m)), z: inout(f32, (n,)), w: inout(i64, (n,)), p: weak(i64)):\n"
          "  fp('default')\n  dims(n, m)\n",
          body, "  return b, y, h, z, w\n"));
}

constexpr std::string_view copy = R"(  for i in vector(0, n, 1, vector_width=16):
    y[i] = x[i]
)";
constexpr std::string_view in_place = R"(  for i in vector(0, n, 1, vector_width=16):
    z[i] = z[i] + f32(1.0)
)";
constexpr std::string_view columns = R"(  for i in vector(0, n, 1, vector_width=16):
    y[i] = a[i, 0] + a[i, 1]
)";
constexpr std::string_view rows = R"(  for i in serial(0, n, 1):
    for j in vector(0, m, 1, vector_width=16):
      b[i, j] = a[i, j]
)";
constexpr std::string_view turned = R"(  for i in vector(0, n, 1, vector_width=16):
    for j in serial(0, n, 1):
      b[i, j] = a[j, i]
)";
constexpr std::string_view threads = R"(  for i in parallel(0, n, 1):
    for j in parallel(0, m, 1):
      b[i, j] = a[i, j]
)";
constexpr std::string_view vector_in_vector = R"(  for i in vector(0, n, 1, vector_width=16):
    for j in vector(0, m, 1, vector_width=16):
      b[i, j] = a[i, j]
)";

Directive parsed(const LoopNest &nest, std::string_view line) {
  SourceMap sources;
  Loc all{sources.add_text("<schedule>", 1, std::string(line)), 0, static_cast<uint32_t>(line.size())};
  return parse_directive(nest.func(), nest.nest(), sources, all);
}

TEST(Plans, a_line_reads_back) {
  LoopNest nest(with_body(cat(rows, turned)));
  for (std::string_view line :
       {"tail j scalar", "tail j masked", "tail i#2 overlapped", "tail j overlapped_or_masked", "stream j",
        "prefetch i#2", "transpose j#2", "assume_rows a at j by 3", "flatten i", "collapse i",
        "stream j  # it is written once"})
    EXPECT_EQ(print_directive(nest.nest(), parsed(nest, line)), line);
}

TEST(Plans, a_line_that_is_wrong_says_what_is_missing) {
  LoopNest nest(with_body(rows));
  auto error = [&](std::string_view line) {
    try {
      parsed(nest, line);
    } catch (const CompileError &e) {
      return e.found()[0].message;
    }
    return std::string("none");
  };
  EXPECT_EQ(error("tail i"), "a tail is expected at the end");
  EXPECT_EQ(error("tail i sideways"), "no tail of this nest is named `sideways`");
  EXPECT_EQ(error("stream"), "a loop is expected at the end");
  EXPECT_EQ(error("prefetch a"), "no loop of this nest is named `a`");
  EXPECT_EQ(error("transpose i j"), "the directive ends before `j`");
  EXPECT_EQ(error("assume_rows q at i by 3"), "no buffer of this nest is named `q`");
  EXPECT_EQ(error("assume_rows a at i"), "`by` is expected at the end");
}

/// "" if the directive fits a function with this body, else why it does not.
std::string why_not(std::string_view body, std::string_view line) {
  LoopNest nest(with_body(body));
  Verdict v = nest.legal(parsed(nest, line));
  EXPECT_TRUE(v.ok() || v.reason == Reason::inapplicable);
  return std::string(v.why);
}

TEST(Plans, what_is_for_vector_loops_is_for_those_in_no_other_one) {
  std::string_view serial = "  for j in serial(0, m, 1):\n    b[0, j] = a[0, j]\n";
  for (std::string_view line :
       {"tail j masked", "tail j overlapped", "stream j", "prefetch j", "assume_rows a at j by 3"}) {
    EXPECT_EQ(why_not(serial, line), "it is no vector loop") << line;
    EXPECT_EQ(why_not(vector_in_vector, line), "it stands in a vector loop") << line;
    EXPECT_EQ(why_not(rows, line), "") << line;
  }
  std::string_view counts_nothing = "  while w[0] < 3:\n    w[0] = w[0] + 1\n";
  EXPECT_EQ(why_not(counts_nothing, "tail while masked"), "it is for no loop that counts");
}

TEST(Plans, a_tail_overlaps_where_iterations_may_run_twice) {
  for (std::string_view word : {"overlapped", "overlapped_or_masked"}) {
    EXPECT_EQ(why_not(copy, cat("tail i ", word)), "");
    EXPECT_EQ(why_not(in_place, cat("tail i ", word)), "an iteration that runs twice changes the result");
  }
  EXPECT_EQ(why_not(in_place, "tail i masked"), "");
  EXPECT_EQ(why_not(in_place, "tail i scalar"), "");
}

TEST(Plans, a_stream_needs_an_output_that_is_only_written) {
  std::string_view why = "it stores to no output that is only written, in rows known before the loop";
  EXPECT_EQ(why_not(copy, "stream i"), "");
  EXPECT_EQ(why_not(in_place, "stream i"), why);
  EXPECT_EQ(why_not(cat(copy, "  z[0] = y[0]\n"), "stream i"), why);
  EXPECT_EQ(why_not("  for i in vector(0, n, 1, vector_width=16):\n    y[w[i]] = x[i]\n", "stream i"), why);
  auto in_blocks = [](std::string_view line) {
    return why_not(cat("  for i in vector(0, n, 1, vector_width=16):\n"
                       "    for j in serial(0, n, 1, transpose=1):\n      ",
                       line, "\n"),
                   "stream j");
  };
  EXPECT_EQ(in_blocks("b[i, j] = a[j, i]"), "");
  EXPECT_EQ(in_blocks("z[i] = z[i] + a[i, j]"), "it stores to no output that is only written");
}

TEST(Plans, a_transpose_is_of_a_serial_loop_in_a_vector_loop) {
  std::string_view place = "it is no serial loop in a vector loop",
                   gain = "no access of it becomes contiguous by a transpose";
  EXPECT_EQ(why_not(turned, "transpose j"), "");
  EXPECT_EQ(why_not(turned, "transpose i"), place);
  EXPECT_EQ(why_not(rows, "transpose i"), place);
  EXPECT_EQ(why_not(vector_in_vector, "transpose j"), place);
  auto inner = [](std::string_view line) {
    return why_not(cat("  for i in vector(0, n, 1, vector_width=16):\n    for j in serial(0, n, 1):\n      ",
                       line, "\n"),
                   "transpose j");
  };
  EXPECT_EQ(inner("b[j, i] = a[j, i]"), gain);
  EXPECT_EQ(inner("h[i, j] = u8(1)"), gain);
  std::string wide(turned);  // a row would take two registers
  wide.replace(wide.find("vector_width=16"), 15, "vector_width=32");
  EXPECT_EQ(why_not(wide, "transpose j"), gain);
}

TEST(Plans, assumed_rows_are_of_a_buffer_that_the_loop_accesses) {
  std::string_view size = "the size is too small or too large", buffer = "it accesses no rows of the buffer";
  EXPECT_EQ(why_not(columns, "assume_rows a at i by 1"), "");
  EXPECT_EQ(why_not(columns, "assume_rows a at i by 32768"), "");
  EXPECT_EQ(why_not(columns, "assume_rows a at i by 0"), size);
  EXPECT_EQ(why_not(columns, "assume_rows a at i by 32769"), size);
  EXPECT_EQ(why_not(copy, "assume_rows x at i by 3"), buffer);
  EXPECT_EQ(why_not(cat(columns, in_place), "assume_rows a at i#2 by 3"), buffer);
  constexpr std::string_view own = R"(  for i in vector(0, n, 1, vector_width=16):
    t = alloc(f32, (4, 4), 'stack')
    t[0, 0] = x[i]
    y[i] = t[0, 0]
)";
  EXPECT_EQ(why_not(own, "assume_rows t at i by 4"), buffer);
}

TEST(Plans, a_loop_is_flattened_that_does_nothing_but_run_over_rows) {
  std::string_view why = "it does more than to run over the elements of rows";
  EXPECT_EQ(why_not(rows, "flatten i"), "");
  EXPECT_EQ(why_not(rows, "flatten j"), why);
  EXPECT_EQ(why_not(turned, "flatten i"), why);
  EXPECT_EQ(why_not(threads, "flatten i"), why);
  constexpr std::string_view in_lanes = R"(  for k in vector(0, n, 1, vector_width=16):
    for i in serial(0, n, 1):
      for j in vector(0, m, 1, vector_width=16):
        b[i, j] = a[i, j]
)";
  EXPECT_EQ(why_not(in_lanes, "flatten i"), why);
}

TEST(Plans, a_parallel_loop_collapses_with_the_one_that_it_holds) {
  std::string_view why = "it holds more than a parallel loop with bounds of its own";
  EXPECT_EQ(why_not(threads, "collapse i"), "");
  EXPECT_EQ(why_not(threads, "collapse j"), why);
  EXPECT_EQ(why_not(rows, "collapse i"), why);
  auto nested = [](std::string_view outer, std::string_view inner, std::string_view line = "") {
    return why_not(
        cat("  for i in ", outer, ":\n", line, "    for j in ", inner, ":\n      b[i, j] = a[i, j]\n"),
        "collapse i");
  };
  std::string_view all = "parallel(0, n, 1)";
  EXPECT_EQ(nested(all, "parallel(0, i, 1)"), why);
  EXPECT_EQ(nested(all, "parallel(0, k, 1)", "    k: i64 = i + 1\n"), why);
  EXPECT_EQ(nested(all, "parallel(0, m, 1)", "    k: i64 = i + 1\n"), "");
  EXPECT_EQ(nested(all, "parallel(0, m, 1)", "    y[i] = f32(0.0)\n"), why);
  EXPECT_EQ(nested(all, "parallel(0, m, 1, chunk=4)"), why);
  EXPECT_EQ(nested("parallel(0, n, 1, chunk=4)", "parallel(0, m, 1)"), why);
}

/// The loops of a function after a schedule, a line for each.
std::string loops_after(std::string_view body, std::string_view schedule) {
  LoopNest nest(with_body(body));
  SourceMap sources;
  EXPECT_FALSE(replay(nest, sources, sources.add_text("<schedule>", 1, std::string(schedule)))) << schedule;
  const Func &f = nest.func();
  EXPECT_EQ(verify(f), "");
  EXPECT_TRUE(equal(unit::ir(print(f).substr(10)), f));
  std::string out;
  for (const std::string &line : split_text(print(f), '\n'))
    if (size_t at = line.find("for "); at != std::string::npos) out += cat(line.substr(at), "\n");
  return out;
}

TEST(Plans, each_sets_its_field) {
  auto vector = [](std::string_view fields) {
    return cat("for i in vector(0, n, 1, vector_width=16", fields, "):\n");
  };
  EXPECT_EQ(loops_after(copy, "tail i overlapped"), vector(", tail='overlapped'"));
  EXPECT_EQ(loops_after(copy, "tail i masked\ntail i scalar"), vector(""));
  EXPECT_EQ(loops_after(copy, "stream i"), vector(", stream=1"));
  EXPECT_EQ(loops_after(copy, "prefetch i"), vector(", prefetch=1"));
  EXPECT_EQ(loops_after(columns, "assume_rows a at i by 2"), vector(", row_lengths=(a, 2, )"));
  EXPECT_EQ(loops_after(columns, "assume_rows a at i by 2\nprefetch i\nstream i\ntail i masked"),
            vector(", tail='masked', stream=1, prefetch=1, row_lengths=(a, 2, )"));
  EXPECT_EQ(loops_after(turned, "transpose j\nstream j"),
            cat(vector(""), "for j in serial(0, n, 1, stream=1, transpose=1):\n"));
  EXPECT_EQ(loops_after(rows, "flatten i"),
            "for i in serial(0, n, 1, flatten=1):\nfor j in vector(0, m, 1, vector_width=16):\n");
  EXPECT_EQ(loops_after(threads, "collapse i"),
            "for i in parallel(0, n, 1, collapse=1):\nfor j in parallel(0, m, 1):\n");
}

}  // namespace
}  // namespace kw
