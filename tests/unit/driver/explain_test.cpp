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

/// "subject[dim]=what" of each access, then "name=what" of each buffer.
std::string found(std::string_view text, const CodegenOptions &options = {}) {
  Signature signature = unit::signature({unit::tensor(1), unit::tensor(1, DType::i64)});
  unit::Lowered lowered = unit::lower_text(text, signature, options);
  Target target = host_target();
  Explanation e = explain(lowered.func, {*lowered.sources, signature, options, target});
  std::string out;
  for (const Finding &finding : e.findings)
    out += cat(out.empty() ? "" : " ", finding.subject, "=", finding.what);
  for (const std::string &condition : e.conditions) out += cat(" | ", condition);
  return out;
}

TEST(Explain, findings_are_what_the_pipeline_did) {
  EXPECT_EQ(found(gather), "k[i]=proved a[k[i]]=checked a[0]=proved c[i]=proved c=not zeroed");
}

TEST(Explain, options_decide) {
  CodegenOptions plain, trusting;
  plain.body = Body::plain;
  trusting.unchecked = true;
  EXPECT_EQ(found(gather, plain), "k[i]=checked a[k[i]]=checked a[0]=checked c[i]=checked c=not zeroed");
  EXPECT_EQ(found(gather, trusting), "k[i]=proved a[k[i]]=unchecked a[0]=proved c[i]=proved c=not zeroed");
}

TEST(Explain, conditions_have_the_larger_side_first) {
  EXPECT_EQ(found("def f(a, k):\n  for i in range(a.shape[0]):\n    k[i + 2] = 1\n  return k\n"),
            "k[i + 2]=conditional | k.shape[0] >= a.shape[0] + 2");
}

TEST(Explain, excerpts_are_one_line) {
  SourceMap sources;
  uint32_t id = sources.add_text("<text>", 0, "a[i,\n     j]");
  EXPECT_EQ(excerpt(sources, {id, 0, 12}), "a[i, j]");
  EXPECT_EQ(excerpt(sources, {id, 0, 100}), "");
}

}  // namespace
}  // namespace kw
