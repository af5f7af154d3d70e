// The texts of small kernels, and what they receive.
#include "codegen/cuda/emit.h"

#include <gtest/gtest.h>

#include "codegen/cuda/text.h"
#include "codegen/launch_program.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// What is made of a kernel over f32 a[n, m], i64 p[n], an integer k and a float q.
EmittedCode code_of(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n, m)), p: inout(i64, (n,)), k: scalar(i32), q: scalar(f32)):\n  fp('strict')\n"
      "  dims(n, m)\n  site('E303', a, 1)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  static const Target target = *target_of_class("sm_90");
  return emit_launches(unit::ir(text + "  return a, p\n"), target);
}
std::string text_of(std::string_view lines) { return code_of(lines).bytes; }

/// The statements of the only kernel, which one thread executes.
std::string body_of(std::string_view lines) {
  std::string text = text_of(lines), out;
  size_t begin = text.find(") {\n", text.find("KW_KERNEL(1)")) + 4;
  for (const std::string &line : split_text(text.substr(begin, text.rfind("}\n") - begin), '\n'))
    if (!line.empty()) out += cat(line.substr(2), "\n");
  return out;
}

TEST(EmitCuda, a_nest_is_a_grid) {
  EXPECT_EQ(text_of("for i in grid(0, n, 1):\n  for j in grid(0, m, 1, per_block=128):\n    a[i, j] = q"),
            "KW_KERNEL(128) f_0(f32 *__restrict__ a, i64 n, i64 m, f32 q) {\n"
            "  #pragma unroll 1\n"
            "  for (i64 i = kw_block(y); i < n; i += kw_blocks(y)) {\n"
            "    const i64 j = kw_block_number * 128 + kw_thread;\n"
            "    if (j < m) {\n"
            "      a[i * m + j] = q;\n    }\n  }\n}\n");
}

TEST(EmitCuda, directives_name_lines_of_the_source) {
  SourceMap sources;
  uint32_t first = sources.add_text("c.py", 0, "for\nbody\n");
  uint32_t second = sources.add_text("other.py", 0, "helper\n");
  std::vector<TextPlace> texts{{"/a \"b\"\\c.py", 10}, {"/other.py", 1}};
  SourcePlaces places{sources, texts};
  EXPECT_EQ(line_directive({first, 4, 5}, places), "#line 11 \"/a \\\"b\\\"\\\\c.py\"");
  EXPECT_EQ(line_directive({second, 0, 1}, places), "#line 1 \"/other.py\"");
  EXPECT_EQ(line_directive({}, places), "");
  CudaText text;
  std::string none = text.comes_from("#line 3 \"a\"");
  text.open("if (x)"), text.close();
  text.comes_from(none), text.line("y;");
  EXPECT_EQ(text.take(), "#line 3 \"a\"\nif (x) {\n#line 3 \"a\"\n}\ny;\n");
}

TEST(EmitCuda, a_loop_runs_what_blocks_are_not_there_for) {
  // z is a loop of the nest
  std::string text = text_of(
      "for i in grid(0, 9, 1):\n  for k in grid(0, n, 1):\n"
      "    for j in grid(0, m, 1, per_block=128):\n      a[k, j] = q");
  constexpr std::string_view loop =
      "for (i64 j = kw_block(x) * 128 + kw_thread; j < m; j += kw_blocks(x) * 128) {\n";
  EXPECT_NE(text.find(loop), std::string::npos) << text;
}

TEST(EmitCuda, iterations_are_counted_where_a_loop_begins_elsewhere) {
  std::string text = text_of("for i in grid(2, n, 3, per_block=64):\n  p[i] = i");
  EXPECT_NE(text.find("  for (i64 k = kw_block(x) * 64 + kw_thread; k < trips; k += kw_blocks(x) * 64) {\n"
                      "    const i64 i = 2 + k * 3;\n    p[i] = i;\n  }\n"),
            std::string::npos)
      << text;
}

TEST(EmitCuda, integers_wrap_and_subscripts_do_not) {
  EXPECT_EQ(body_of("p[n - 1] = (p[0] + 1) * p[1]"),
            "p[n - 1] = (i64)((u64)(i64)((u64)p[0] + (u64)1ll) * (u64)p[1]);\n");
  EXPECT_EQ(body_of("p[0] = cast(i64, neg(k))"), "p[0] = (i64)(i32)(0u - (u32)k);\n");
  EXPECT_EQ(body_of("p[0] = (p[1] // 3) % p[2]"), "p[0] = kw_floor_mod(kw_floor_div(p[1], 3ll), p[2]);\n");
  EXPECT_EQ(body_of("p[0] = (p[1] << 3) >> p[2]"), "p[0] = kw_shr((i64)((u64)p[1] << 3), p[2]);\n");
  EXPECT_EQ(body_of("p[0] = min(p[1], ~p[2])"), "p[0] = kw_min(p[1], (i64)(~p[2]));\n");
}

TEST(EmitCuda, floats_keep_their_bits) {
  EXPECT_EQ(body_of("a[0, 1] = (q * f32(0.1)) - f32(-2.0)"), "a[1] = (q * 0.1f) - (-2.0f);\n");
  EXPECT_EQ(body_of("a[0, 0] = fma(q, q, sqrt(q))"), "a[0] = kw_fma(q, q, kw_sqrt(q));\n");
  EXPECT_EQ(body_of("p[0] = cast(i64, q)"), "p[0] = kw_to<i64>(q);\n");
  EXPECT_EQ(body_of("a[0, 0] = max(q, cast(f32, k))"), "a[0] = kw_max(q, (f32)k);\n");
}

TEST(EmitCuda, lazy_operands_stay_lazy) {
  EXPECT_EQ(body_of("p[0] = p[1] if (n < 2) else p[2]"), "p[0] = (n < 2ll) ? p[1] : p[2];\n");
  EXPECT_EQ(body_of("if (n < 2) and (p[0] < 3):\n  p[1] = 4\nelse:\n  p[1] = 5"),
            "if ((n < 2ll) && (p[0] < 3ll)) {\n  p[1] = 4ll;\n} else {\n  p[1] = 5ll;\n}\n");
}

TEST(EmitCuda, lazy_operands_stay_lazy_deep_in_an_expression) {
  std::string deep = "(((((p[40] + n) + n) + n) + n) if (40 < n) else 0)";
  for (int k = 1; k <= 11; ++k) deep = cat("(p[", k, "] + ", deep, ")");
  std::string text = body_of(cat("p[0] = ", deep));
  EXPECT_LT(text.find(" ? "), text.find("p[40]")) << text;
}

TEST(EmitCuda, what_is_used_twice_gets_a_name) {
  EXPECT_EQ(body_of("u: i64 = p[0]\np[1] = u * u"), "const i64 u = p[0];\np[1] = (i64)((u64)u * (u64)u);\n");
  std::string text = text_of("a[0, 0] = exp(q)");
  EXPECT_NE(text.find("KW_FUNCTION f32 kw_exp_f32(f32 x) {\n"), std::string::npos);
  EXPECT_NE(text.find("  a[0] = kw_exp_f32(q);\n"), std::string::npos);
}

TEST(EmitCuda, loops_cells_and_jumps) {
  EXPECT_EQ(body_of("t = alloc(i64, (), 'registers')\nt[()] = 0\nfor i in serial(n - 1, -1, -1):\n"
                    "  t[()] = t[()] + p[i]\n  if t[()] < 0:\n    break\np[0] = t[()]"),
            "i64 t;\nt = 0ll;\n#pragma unroll 1\nfor (i64 i = (n - 1); i > (-1); i--) {\n"
            "  t = (i64)((u64)t + (u64)p[i]);\n  if (t < 0ll) {\n    break;\n  }\n}\np[0] = t;\n");
  EXPECT_EQ(
      body_of("for i in serial(0, n, 4):\n  p[i] = 1"),
      "i64 i = 0;\n#pragma unroll 1\nfor (u64 left = kw_trips(i, n, 4); left; left--, i = (i64)((u64)i + "
      "(u64)4ll)) {\n  p[i] = 1ll;\n}\n");
  EXPECT_EQ(body_of("while p[0] < n:\n  p[0] = p[0] + 1"),
            "u32 turns = 0;\nwhile (true) {\n  if (!(p[0] < n)) break;\n"
            "  if (kw_is_cancelled(call, turns++)) return;\n  p[0] = (i64)((u64)p[0] + (u64)1ll);\n}\n");
}

TEST(EmitCuda, a_fault_tells_its_place_in_source_order) {
  std::string check = "check(cast(u64, p[i]) < cast(u64, m), site=0)";
  std::string text = text_of(cat("for i in grid(0, n, 1, per_block=64):\n  ", check, "\n  a[i, p[i]] = q"));
  EXPECT_NE(text.find("    const u64 v = (u64)p[i];\n    const u64 v_1 = (u64)m;\n    if (!(v < v_1)) {\n"
                      "      kw_fault(call, i * 1 + 0, (i64)v, (i64)v_1);\n      return;\n    }\n"),
            std::string::npos)
      << text;
}

TEST(EmitCuda, names_are_those_of_cpp) {
  std::string text = text_of("double: i64 = p[0]\nkw_x: i64 = p[1]\np[2] = double + kw_x");
  EXPECT_NE(text.find("const i64 double_1 = p[0];"), std::string::npos) << text;
  EXPECT_NE(text.find("const i64 v_kw_x = p[1];"), std::string::npos) << text;
}

TEST(LaunchProgram, statements_between_launches_are_one_thread) {
  EmittedCode code =
      code_of("p[0] = 1\np[1] = 2\nfor i in grid(0, n, 1, per_block=32):\n  p[i] = 3\np[2] = 4");
  ASSERT_EQ(code.launches.kernels.size(), 3u);
  std::vector<std::string> kernels;
  for (const LaunchKernel &k : code.launches.kernels)
    kernels.push_back(cat(k.name, " ", k.threads, " ", k.params.size()));
  EXPECT_EQ(join_text(kernels, ", "), "f_0 1 1, f_1 32 2, f_2 1 1");
  EXPECT_EQ(code.bytes.substr(code.launches.kernels[2].begin),
            "KW_KERNEL(1) f_2(i64 *__restrict__ p) {\n  p[2] = 4ll;\n}\n");
}

TEST(LaunchProgram, later_launches_look_for_a_fault) {
  EmittedCode code = code_of("check(p[0] < n, site=0)\nfor i in grid(0, n, 1, per_block=32):\n  p[i] = 3");
  std::string second = code.bytes.substr(code.launches.kernels.at(1).begin);
  EXPECT_TRUE(
      second.starts_with("KW_KERNEL(32) f_1(i64 *__restrict__ p, i64 n, KW_CALL call) {\n"
                         "  if (kw_has_failed(call)) return;\n"))
      << second;
}

TEST(LaunchProgram, launches_share_cells_in_memory) {
  EmittedCode code = code_of(
      "x = alloc(i64, (), 'registers')\nx[()] = p[0]\n"
      "for i in grid(0, n, 1, per_block=32):\n  p[i] = x[()]");
  ASSERT_EQ(code.launches.kernels.size(), 2u);
  EXPECT_NE(code.bytes.find("f_0(const i64 *__restrict__ p, i64 *__restrict__ x) {\n  x[0] = p[0];\n"),
            std::string::npos)
      << code.bytes;
  using Kind = CudaParam::Kind;
  EXPECT_EQ(code.launches.kernels[1].params,
            (std::vector<CudaParam>{{Kind::data, 1}, {Kind::slot, 0}, {Kind::dim, 0}}));
}

TEST(LaunchProgram, a_function_is_shared_by_the_kernels) {
  EmittedCode code = code_of("a[0, 0] = exp(q)\nfor i in grid(0, n, 1, per_block=32):\n  a[i, 1] = exp(q)");
  EXPECT_EQ(code.bytes.find("kw_exp_f32(f32 x)"), code.bytes.rfind("kw_exp_f32(f32 x)"));
  EXPECT_EQ(code.bytes.substr(code.launches.shared_bytes, 9), "KW_KERNEL");
  EXPECT_EQ(code.launches.kernels[0].begin, code.launches.shared_bytes);
}

TEST(LaunchProgram, temporaries_of_threads_lie_in_memory) {
  EmittedCode code = code_of(
      "for i in grid(0, n, 1, per_block=32):\n  t = alloc(f32, (m,), 'heap')\n  t[0] = q\n  a[i, 0] = t[0]");
  EXPECT_EQ(code.launches.kernels[0].temporaries, 1u);
  EXPECT_NE(code.bytes.find("f32 *t = t_all + kw_number_of_thread() * ("), std::string::npos) << code.bytes;
}

}  // namespace
}  // namespace kw
