// How many copies a hinted loop gets, and which loops get none.
#include "schedule/steps/unroll_hints.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/walk.h"
#include "schedule/choose_cpu.h"
#include "schedule/directives/loop_nest.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

/// "k/8": the loops over v: f32[n] that are written out by the schedule, and how many copies.
std::string written_out(std::string_view lines) {
  std::string text = "def f(v, w):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  Func f =
      unit::kernel(text + "  return v\n", unit::signature({unit::tensor(1), unit::tensor(1, DType::i64)}));
  std::string out;
  walk(run_schedule(f, unit::avx512_machine(), cpu_steps(), false).func.body,
       [&](const For &n, const Stmt &) {
         if (n.kind == ForKind::unroll) out += cat(out.empty() ? "" : " ", n.iter->name, "/", n.how.unroll);
       });
  return out;
}

constexpr std::string_view follow = "\n  v[k] = v[k - 1] * v[k - 2] + 1.0";

TEST(UnrollHints, loops_that_fit_are_written_out_in_full) {
  EXPECT_EQ(written_out(cat("for k in unroll(2, 13):", follow)), "k/11");
  EXPECT_EQ(written_out(cat("for k in range(2, 13):", follow)), "");
}

TEST(UnrollHints, others_by_a_power_of_two) {
  EXPECT_EQ(written_out(cat("for k in unroll(2, 1000):", follow)), "k/64");
  EXPECT_EQ(written_out(cat("for k in unroll(2, v.shape[0]):", follow)), "k/8");
}

TEST(UnrollHints, a_loop_around_one_that_is_written_out_counts_its_copies) {
  auto nest = [](int inner) {
    return cat("for i in unroll(2, 6):\n  for k in unroll(2, ", inner,
               "):\n    v[k] = v[k - 1] * v[k - 2] + 1.0");
  };
  EXPECT_EQ(written_out(nest(6)), "i/4 k/4");
  EXPECT_EQ(written_out(nest(34)), "i/2 k/32");
}

TEST(UnrollHints, loops_in_lanes_and_sums_of_lanes_stay_whole) {
  EXPECT_EQ(written_out("for k in unroll(64):\n  v[k] += 1.0"), "");
  EXPECT_EQ(written_out("s = 0.0\nfor k in unroll(100):\n  s += v[k]\nv[0] = s"), "");
}

TEST(UnrollHints, what_can_end_early_stays_whole) {
  EXPECT_EQ(written_out("for k in unroll(8):\n  if v[k] > 0.0:\n    break\n  v[k] = 1.0"), "");
}

}  // namespace
}  // namespace kw
