// Function → artifact, without LLVM: records, facts, sites and warnings; the interpreter is the back end.
#include "driver/compile.h"

#include <gtest/gtest.h>

#include "codegen/backend.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/build_id.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

struct Compiled {
  unit::Lowered lowered;
  Artifact artifact;
};

Compiled compiled(std::string_view text, const Signature &s, const CodegenOptions &options = {}) {
  Compiled out{unit::lower_text(text, s, options), {}};
  EXPECT_TRUE(out.lowered.errors.empty()) << out.lowered.errors[0].message;
  Target target = unit::with_fma();
  out.artifact =
      compile(out.lowered.func, {*out.lowered.sources, s, options, target, "interp"}, out.lowered.warnings);
  return out;
}

constexpr std::string_view gather =
    "def f(a, w, p):\n  c = output_tensor((w.shape[0],), a.dtype)\n"
    "  for i in range(w.shape[0]):\n    c[i] = a[w[i]] * p\n  return c\n";
Signature gather_signature() {
  return unit::signature({unit::tensor(1, DType::f64, StrideClass::general), unit::tensor(1, DType::i64),
                          unit::weak(DType::f64)});
}

TEST(Compile, records_describe_the_parameters_in_order) {
  Artifact a = compiled(gather, gather_signature()).artifact;
  ASSERT_EQ(a.params.size(), 4u);
  std::string text;
  for (const ParamRecord &p : a.params)
    text += cat(p.name, " ", p.is_tensor, " ", short_name(p.dtype), " ", p.rank, " ",
                static_cast<int>(p.mode), " ", static_cast<int>(p.stride_class), " ", p.arg, "; ");
  EXPECT_EQ(text, "a True f64 1 0 2 0; w True i64 1 0 0 1; p False f64 0 0 0 2; c True f64 1 1 0 -1; ");
  EXPECT_EQ(a.results, std::vector<uint32_t>{3});
  EXPECT_EQ(a.name, "f");
  EXPECT_EQ(a.from, build_id());
}

TEST(Compile, the_code_of_the_interpreter_is_printed_ir) {
  Artifact a = compiled(gather, gather_signature()).artifact;
  EXPECT_EQ(a.code_kind, CodeKind::ir);
  EXPECT_EQ(verify(unit::ir(a.code)), "");
  EXPECT_NE(a.code.find("check(cast(u64, w[i + k_1]) < cast(u64, a_0), site=0)"), std::string::npos)
      << a.code;
}

TEST(Compile, sites_name_tensor_dimension_and_place) {
  Artifact a = compiled(gather, gather_signature()).artifact;
  ASSERT_EQ(a.sites.size(), 1u);
  EXPECT_EQ(a.sites[0].tensor, "a");
  EXPECT_EQ(a.sites[0].dim, 0u);
  EXPECT_EQ(a.sites[0].line, 4);
  EXPECT_EQ(a.sites[0].column, 14u);
  EXPECT_EQ(a.sites[0].line_text, "    c[i] = a[w[i]] * p");
}

TEST(Compile, the_plain_body_checks_what_its_loops_do_not_prove_and_debug_mode_every_access) {
  CodegenOptions plain, debug;
  plain.body = Body::plain;
  debug.debug = true;
  Artifact of_plain = compiled(gather, gather_signature(), plain).artifact;
  Artifact of_debug = compiled(gather, gather_signature(), debug).artifact;
  EXPECT_EQ(of_plain.sites.size(), 1u);
  EXPECT_EQ(of_debug.sites.size(), 3u);
  for (const Artifact &a : {of_plain, of_debug}) EXPECT_EQ(a.code.find("fact("), std::string::npos);
}

TEST(Compile, warnings_travel_with_the_artifact) {
  Artifact a = compiled(
                   "def f(a):\n  y = output_tensor(a.shape, a.dtype)\n  for i in range(a.shape[0]):\n    "
                   "y[i] = y[i] * a[i]\n"
                   "  return y\n",
                   unit::signature({unit::tensor(1)}))
                   .artifact;
  ASSERT_EQ(a.warnings.size(), 1u);
  EXPECT_EQ(a.warnings[0].code, Code::W301);
  EXPECT_EQ(a.warnings[0].line, 4);
}

TEST(Compile, warnings_of_passes_come_last) {
  Signature s = unit::signature({unit::tensor(1)});
  unit::Lowered found = unit::lower_text(
      "def f(a):\n  s = a[0]\n  for i in parallel(a.shape[0]):\n    s = a[i]\n  a[0] = s\n  return a\n", s);
  found.func.warnings.push_back({Code::W409, found.func.body.loc(), "of a pass", {}, {}});
  Target target = unit::with_fma();
  Artifact a = compile(found.func, {*found.sources, s, {}, target, "interp"}, {});
  ASSERT_EQ(a.warnings.size(), 2u);
  EXPECT_EQ(a.warnings[0].code, Code::W401);
  EXPECT_EQ(a.warnings[1].message, "of a pass");
}

TEST(Compile, static_bounds_errors_end_it) {
  Signature s = unit::signature({unit::tensor(1)});
  unit::Lowered l = unit::lower_text(
      "def f(a):\n  y = output_tensor(a.shape, a.dtype)\n  for i in range(a.shape[0]):\n"
      "    y[i] = a[i + 1]\n  return y\n",
      s);
  CodegenOptions options;
  Target target = unit::with_fma();
  try {
    compile(l.func, {*l.sources, s, options, target, "interp"}, {});
    FAIL() << "accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E301);
  }
}

TEST(Compile, malformed_ir_and_unknown_back_ends_are_internal_errors) {
  Func f;
  f.name = "f";
  f.body = make_stmt({}, Jump{JumpKind::break_loop});
  SourceMap sources;
  Signature s;
  CodegenOptions options;
  Target target;
  for (std::string_view backend : {"interp", "nothing"}) {
    if (backend == "nothing") f.body = seq({});
    try {
      compile(f, {sources, s, options, target, backend}, {});
      FAIL() << "accepted";
    } catch (const CompileError &error) {
      EXPECT_EQ(error.found()[0].code, Code::E503);
    }
  }
}

TEST(Compile, equal_requests_give_equal_bytes) {
  EXPECT_EQ(serialize(compiled(gather, gather_signature()).artifact),
            serialize(compiled(gather, gather_signature()).artifact));
}

TEST(Backends, the_interpreter_takes_functions_unexpanded) {
  EXPECT_EQ(find_backend("llvm").code_kind, CodeKind::elf);
  EXPECT_EQ(find_backend("interp").code_kind, CodeKind::ir);
  EXPECT_TRUE(find_backend("interp").lowering.empty());
}

}  // namespace
}  // namespace kw
