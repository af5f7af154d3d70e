// The walk over the hints of a kernel; the texts of its warnings are pinned in tests/errors.
#include "schedule/hints.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// "line:column code message / notes" of each warning of a kernel over v: f32[k] and w: f32[l].
std::string warnings_of(const std::string &lines) {
  std::string text = "def f(v, w):\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  unit::Lowered l =
      unit::lower_text(text + "  return v\n", unit::signature({unit::tensor(1), unit::tensor(1)}));
  EXPECT_TRUE(l.errors.empty()) << l.errors[0].message;
  std::string out;
  for (const Diagnostic &d : check_hints(l.func, *l.sources)) {
    Resolved r = resolve(d, *l.sources);
    out += cat(out.empty() ? "" : "\n", r.line, ":", r.column, " ", row_of(r.code).name, " ", r.message);
    for (const std::string &note : r.notes) out += cat(" / ", expand_marks(note, 0));
  }
  return out.empty() ? "none" : out;
}

TEST(Hints, claims_are_found_wherever_they_stand) {
  EXPECT_EQ(warnings_of("for i in range(1, v.shape[0]):\n  v[i] = v[i - 1]"), "none");
  std::string inside = warnings_of(
      "n = 0\nwhile n < 3:\n  n += 1\n  if n == 2:\n    for i in parallel(1, v.shape[0]):\n      v[i] = v[i "
      "- 1]");
  EXPECT_EQ(inside.substr(0, 13), "6:16 W401 `pa");
  EXPECT_NE(inside.find(", when the conditions around both hold"), std::string::npos) << inside;
}

TEST(Hints, unroll_and_serial_claim_nothing) {
  EXPECT_EQ(warnings_of("for i in unroll(1, v.shape[0]):\n  v[i] = v[i - 1]"), "none");
  EXPECT_EQ(warnings_of("for i in serial(1, v.shape[0]):\n  v[i] = v[i - 1]"), "none");
}

TEST(Hints, a_loop_can_be_too_large_for_a_proof) {
  std::string lines = "for i in parallel(v.shape[0] - 700):";
  for (int statement = 0; statement < 5; ++statement) {
    lines += "\n  v[i] = v[i]";
    for (int k = 0; k < 600; ++k) lines += cat(" + w[i + ", k, "]");
  }
  EXPECT_EQ(
      warnings_of(lines),
      "2:12 W405 `parallel(i)` could not be proved: its iterations may depend on each other / it is too "
      "large for a proof / the loop runs in order");
}

}  // namespace
}  // namespace kw
