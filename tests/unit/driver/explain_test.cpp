// Findings of driver/explain on IR as the front end makes it: that they match what the pipeline leaves.
#include "driver/explain.h"

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

constexpr std::string_view gather =
    "def f(a, k):\n  c = output_tensor(k.shape, a.dtype)\n  for i in range(k.shape[0]):\n"
    "    c[i] = a[k[i]] + a[0]\n  return c\n";

Explanation explanation(std::string_view text, const CodegenOptions &options, Signature signature) {
  if (signature.args.empty()) signature = unit::signature({unit::tensor(1), unit::tensor(1, DType::i64)});
  unit::Lowered lowered = unit::lower_text(text, signature, options);
  Target target = unit::with_fma();
  return explain(lowered.func, {*lowered.sources, signature, options, target});
}

/// "subject=what" of each loop, access and buffer; for claims with the reason.
std::string found(std::string_view text, const CodegenOptions &options = {}, Signature signature = {}) {
  Explanation e = explanation(text, options, std::move(signature));
  std::string out;
  for (const Finding &finding : e.findings) {
    if (finding.kind == "nest" || finding.kind == "missed") continue;
    out += cat(out.empty() ? "" : " ", finding.subject, "=", finding.what,
               finding.kind == "loop" && !finding.why.empty() ? cat(" (", finding.why, ")") : "");
  }
  for (const auto &[name, argument] : e.shared) out += cat(" | ", name, " is ", argument);
  for (const std::string &condition : e.conditions) out += cat(" | ", condition);
  return out;
}

/// The schedule's loops, each with its depth and what the model says of it, or what was not done.
std::vector<std::string> told(std::string_view text, std::string_view kind, Signature signature = {}) {
  std::vector<std::string> out;
  for (const Finding &f : explanation(text, {}, std::move(signature)).findings) {
    if (f.kind != kind) continue;
    std::string depth = kind == "nest" ? cat(f.dim, " ") : "";
    std::string why = f.why.substr(0, f.why.find('\x02'));  // up to the mark of a line
    out.push_back(cat(depth, f.subject, ": ", f.what, why.empty() ? "" : " | ", why));
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(Explain, loops_are_told_as_they_run_with_what_they_cost) {
  EXPECT_EQ(
      told("def f(a, k):\n  for i in range(a.shape[0]):\n    a[i] = a[i] * 2.0 + 1.0\n  return a\n", "nest"),
      (Lines{"0 i0 in range(0, a.shape[0], 16384): parallel",
             "1 i in its block at i0: vectorized by 32 | 8 bytes, 2 operations, 0.13 cycles each: "
             "100 % of the time"}));
  EXPECT_EQ(
      told("def f(a, k):\n  s = float32(0)\n  for i in range(a.shape[0]):\n    s += a[i]\n  a[0] = s\n"
           "  return a\n",
           "nest"),
      Lines{"0 i in range(a.shape[0]): parallel, vectorized by 64, sums in lanes | 4 bytes, 1 operation, "
            "0.06 cycles each: 100 % of the time; a row of sums has 8 of 16 registers"});
}

TEST(Explain, loops_that_are_vectorized_for_short_sums_only_say_so) {
  EXPECT_EQ(
      found("def f(a, k):\n  for i in range(a.shape[0]):\n    s = float32(0)\n"
            "    for j in range(a.shape[1]):\n      s += a[i, j]\n    k[i] = s\n  return k\n",
            {}, unit::signature({unit::tensor(2), unit::tensor(1)})),
      "i in range(a.shape[0])=parallel (on as many threads as its work is worth, 8 iterations at once in "
      "calls whose sums have fewer than 64 terms) j in range(a.shape[1])=vector (64 iterations at once) "
      "a[i, j]=proved a[i, j]=proved k[i]=conditional | k.shape[0] >= a.shape[0]");
}

TEST(Explain, sizes_of_inner_loops_are_those_in_the_middle) {
  std::string_view triangle =
      "def f(a, k):\n  for i in range(a.shape[0]):\n    for j in range(i):\n      a[i, j] = k[i, 0]\n"
      "    a[i, i] = 1.0\n  return a\n";
  EXPECT_EQ(told(triangle, "nest", unit::signature({unit::tensor(2), unit::tensor(2)})),
            (Lines{"0 i in range(a.shape[0]): parallel | 4 bytes, 1 cycle each: 6 % of the time",
                   "1 j in range(i): vectorized by 32 | 4 bytes, 0.13 cycles each: 94 % of the time"}));
}

TEST(Explain, what_is_not_done_has_its_reason) {
  auto missed = [](std::string_view range, std::string_view body) {
    std::string text = cat("def f(a, k):\n  for i in ", range, ":\n    ", body, "\n  return a\n");
    return join_text(told(text, "missed"), "; ");
  };
  EXPECT_EQ(missed("range(1, a.shape[0])", "a[i] = a[i] + a[i - 1]"),
            "not parallelized or vectorized: i: not done | iterations of `i` depend on each other; iteration "
            "i = 2 reads "
            "a[1] (line ");
  EXPECT_EQ(missed("range(3)", "a[i] = 1.0"),
            "not parallelized: i: not done | its work is worth one thread only; not vectorized: i: not done "
            "| it runs 3 times "
            "at most");
  EXPECT_EQ(missed("serial(a.shape[0])", "a[i] = 1.0"),
            "not parallelized or vectorized: i: not done | `serial` keeps it in order");
  EXPECT_EQ(missed("range(k.shape[0])", "a[k[i]] = 1.0"),
            "not parallelized or vectorized: i: not done | two iterations may write the same element of 'a'; "
            "`k[i]` (line ");
}

TEST(Explain, the_reason_is_that_of_the_longest_piece_of_a_loop) {
  auto missed = [](std::string_view range, std::string_view value) {
    std::string text =
        cat("def f(a, k):\n  for i in ", range, ":\n    a[i] = a[i - 1] + (", value, ")\n  return a\n");
    return told(text, "missed")[0];
  };
  // the first iteration is peeled, and its work is worth one thread only
  EXPECT_EQ(missed("range(1, a.shape[0])", "a[i - 1] if i > 1 else 0.0"),
            "not parallelized or vectorized: i: not done | iterations of `i` depend on each other; iteration "
            "i = 3 reads a[2] (line ");
  // later directives replace the loops that the reason is about
  EXPECT_EQ(missed("range(1, a.shape[0])", "a[i + 1] if i + 1 < a.shape[0] else 0.0"),
            "not parallelized or vectorized: i: not done | iterations of `i` may depend on each other; "
            "iteration i = 2 reads a[1] (line ");
}

TEST(Explain, hints_to_unroll_are_followed_or_refused) {
  auto text = [](std::string_view loop) {
    return cat("def f(a, k):\n  for i in range(a.shape[0]):\n    v = a[i]\n    for s in ", loop,
               ":\n      v = v * 0.5 + 1.0\n    a[i] = v\n  return a\n");
  };
  EXPECT_EQ(told(text("unroll(4)"), "missed"),
            (Lines{"unroll s by 4: refused | it stands in a vector loop"}));
  auto window = [](std::string_view loop) {
    return found(cat("def f(a, k):\n  for i in serial(a.shape[0]):\n    for s in ", loop,
                     ":\n      a[i] = a[i] + s\n  return a\n"));
  };
  EXPECT_EQ(window("unroll(3)"),
            "i in serial(a.shape[0])=serial s in unroll(3)=written out a[i]=proved a[i]=proved");
  EXPECT_EQ(window("unroll(k.shape[0])"),
            "i in serial(a.shape[0])=serial s in unroll(k.shape[0])=unrolled (8 copies of its body) "
            "a[i]=proved a[i]=proved");
}

TEST(Explain, findings_are_what_the_pipeline_did) {
  EXPECT_EQ(found(gather),
            "i in range(k.shape[0])=parallel (on as many threads as its work is worth) k[i]=proved "
            "a[k[i]]=checked a[0]=proved c[i]=proved c=not zeroed");
}

TEST(Explain, options_decide) {
  CodegenOptions plain, trusting;
  plain.body = Body::plain;
  trusting.unchecked = true;
  EXPECT_EQ(
      found(gather, plain),
      "i in range(k.shape[0])=serial k[i]=proved a[k[i]]=checked a[0]=checked c[i]=proved c=not zeroed");
  EXPECT_EQ(found(gather, trusting),
            "i in range(k.shape[0])=parallel (on as many threads as its work is worth) k[i]=proved "
            "a[k[i]]=unchecked a[0]=proved c[i]=proved c=not zeroed");
}

TEST(Explain, conditions_have_the_larger_side_first) {
  EXPECT_EQ(
      found("def f(a, k):\n  for i in range(a.shape[0]):\n    k[i + 2] = 1\n  return k\n"),
      "i in range(a.shape[0])=parallel vector (on as many threads as its work is worth, 16 iterations at "
      "once) k[i + 2]=conditional | k.shape[0] >= "
      "a.shape[0] + 2");
}

TEST(Explain, loops_have_their_claims) {
  std::string_view claims =
      "def f(a, k):\n  for i in parallel(2, k.shape[0], 3):\n    k[i] = 1\n"
      "  for j in parallel(1, k.shape[0]):\n    k[j] = k[j - 1]\n"
      "  n = k[0]\n  for m in reduce(n):\n    k[0] += 1\n  for o in vectorize(n):\n    k[o] = 1\n"
      "  return k\n";
  std::string text = found(claims);
  EXPECT_EQ(
      text.substr(0, text.find(" k[i]=")),
      "i in parallel(2, k.shape[0], 3)=parallel (on as many threads as its work is worth; `parallel(i)` is "
      "proved: no iteration depends on another) "
      "j in parallel(1, k.shape[0])=serial (W401: `parallel(j)` is false: iterations of `j` "
      "depend on each other) "
      "m in reduce(n)=serial (`reduce(m)` is proved: iterations depend on each other only by a sum, whose "
      "order is free) "
      "o in vectorize(n)=vector (16 iterations at once; `vectorize(o)` is proved: no iteration depends on "
      "another)");
}

/// What is said of the claim of the first loop, from "is proved: " on.
std::string claim_of(std::string_view loop, FpMode fp = FpMode::normal) {
  CodegenOptions options;
  options.fp = fp;
  std::string text =
      found(cat("def f(a, k):\n  s = float64(0)\n", loop, "  a[0] = s\n  return a, k\n"), options,
            unit::signature({unit::tensor(1, DType::f64), unit::tensor(1, DType::i64)}));
  size_t at = text.find("is proved: "), end = text.find(')', at);
  return at == std::string::npos ? text : text.substr(at + 11, end - at - 11);
}

TEST(Explain, a_proved_claim_names_the_reductions_that_its_iterations_share) {
  std::string by = "iterations depend on each other only by ", sum = by + "a sum, whose order is free";
  std::string_view line = "  for i in parallel(a.shape[0]):\n    s += a[i]\n";
  EXPECT_EQ(claim_of(line), sum);
  EXPECT_EQ(claim_of(line, FpMode::fast), sum);
  EXPECT_EQ(claim_of("  for i in vectorize(a.shape[0]):\n    s = max(s, a[i])\n"),
            by + "a maximum, whose order is free");
  EXPECT_EQ(claim_of("  for i in parallel(a.shape[0]):\n    k[0] += 1\n    k[1] ^= 1\n"),
            by + "a sum, whose order is free, and by a bitwise exclusive or, whose order is free");
  EXPECT_EQ(claim_of("  for i in reduce(a.shape[0]):\n    s += a[i]\n", FpMode::strict),
            by + "a sum, whose order is kept");
  EXPECT_EQ(claim_of("  for i in vectorize(a.shape[0] - 1):\n    a[i] = a[i + 1]\n"),
            by + "the order of statements, which lanes keep");
  EXPECT_EQ(claim_of("  for i in reduce(a.shape[0]):\n    a[i] = 1\n"), "no iteration depends on another");
}

TEST(Explain, copies_of_an_expanded_loop_are_no_loops) {
  EXPECT_EQ(found("def f(a, k):\n  for i in const_range(2):\n    if k[0] > 3:\n      break\n    k[0] = i\n"
                  "  while k[0] > 0:\n    k[0] -= 1\n  return k\n")
                .substr(0, 21),
            "while k[0] > 0=serial");
}

TEST(Explain, a_shared_buffer_is_told_once) {
  Signature s = unit::signature({unit::tensor(1), unit::tensor(1)});
  s.args[1].alias = 0;
  s.outs = {StrideClass::contiguous};
  s.out_aliases = {0};
  EXPECT_EQ(found("def f(a, b):\n  c = output_tensor(a.shape, a.dtype)\n  c[0] = b[0]\n  return c\n", {}, s),
            "b[0]=proved c[0]=proved | b is a | c is a");
}

TEST(Explain, excerpts_are_one_line) {
  SourceMap sources;
  uint32_t id = sources.add_text("<text>", 0, "a[i,\n     j]");
  EXPECT_EQ(excerpt(sources, {id, 0, 12}), "a[i, j]");
  EXPECT_EQ(excerpt(sources, {id, 0, 100}), "");
}

}  // namespace
}  // namespace kw
