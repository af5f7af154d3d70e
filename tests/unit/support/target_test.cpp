// Targets: sorted features, the text that LLVM and the key get, and the host.
#include "support/target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/text.h"

namespace kw {
namespace {

TEST(Target, feature_text_is_in_llvm_form) {
  Target t;
  EXPECT_EQ(t.feature_text(), "");
  t.features = {"avx", "avx2", "fma"};
  EXPECT_EQ(t.feature_text(), "+avx,+avx2,+fma");
}

TEST(Target, asks_for_whole_feature_names) {
  Target t{"x86_64-unknown-linux-gnu", {"avx2", "fma", "sse4.1"}};
  EXPECT_TRUE(t.has("avx2"));
  EXPECT_TRUE(t.has("sse4.1"));
  EXPECT_FALSE(t.has("avx"));
  EXPECT_FALSE(t.has("sse4"));
  EXPECT_FALSE(t.has(""));
}

TEST(Target, fma_is_a_feature_on_x86_and_always_there_on_aarch64) {
  EXPECT_TRUE((Target{"x86_64-unknown-linux-gnu", {"fma"}}).has_fma());
  EXPECT_FALSE((Target{"x86_64-unknown-linux-gnu", {"avx2"}}).has_fma());
  EXPECT_TRUE((Target{"aarch64-unknown-linux-gnu", {}}).has_fma());
}

TEST(Target, the_host_has_the_sorted_features_of_its_class) {
  const Target &t = host_target();
  EXPECT_EQ(&t, &host_target());
  EXPECT_TRUE(t.triple.ends_with("-unknown-linux-gnu")) << t.triple;
  ASSERT_FALSE(t.features.empty());
  EXPECT_TRUE(std::is_sorted(t.features.begin(), t.features.end())) << t.feature_text();
  EXPECT_EQ(std::adjacent_find(t.features.begin(), t.features.end()), t.features.end()) << t.feature_text();
  for (const std::string &f : t.features) EXPECT_TRUE(t.has(f)) << f;
  EXPECT_EQ(t.feature_text(), target_of_class(t.machine().name)->feature_text());
}

Target xeon() { return *target_of_class("avx512"); }

TEST(Target, a_name_is_a_class_of_machines) {
  EXPECT_EQ(parse_target("", xeon()).target.feature_text(), xeon().feature_text());
  EXPECT_EQ(parse_target("host", xeon()).target.feature_text(), xeon().feature_text());
  EXPECT_EQ(parse_target("avx512", xeon()).target.feature_text(), xeon().feature_text());
  EXPECT_EQ(parse_target("avx2", xeon()).target.feature_text(),
            "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+popcnt,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3");
  EXPECT_EQ(parse_target("generic", xeon()).target.feature_text(),
            "+popcnt,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3");
}

TEST(Target, classes_of_an_architecture_grow) {
  for (bool is_x86 : {true, false})
    for (const Machine &m : machines(is_x86)) {
      Target t = *target_of_class(m.name);
      EXPECT_EQ(t.machine().name, m.name);
      EXPECT_TRUE(t.has(m.defining)) << m.name;
      EXPECT_TRUE(std::is_sorted(m.features.begin(), m.features.end())) << m.name;
      for (const Machine &before : machines(is_x86))
        EXPECT_EQ(runs_on(*target_of_class(before.name), t), &before <= &m)
            << before.name << " on " << m.name;
    }
  EXPECT_FALSE(target_of_class("host"));
  EXPECT_FALSE(runs_on(*target_of_class("neon"), xeon()));
}

TEST(Target, what_the_processor_cannot_run_is_an_error) {
  Target avx2 = parse_target("avx2", xeon()).target;
  EXPECT_EQ(parse_target("avx512", avx2).error, "KW_TARGET: this processor cannot run code for 'avx512'");
  EXPECT_EQ(parse_target("avx2", parse_target("generic", avx2).target).error,
            "KW_TARGET: this processor cannot run code for 'avx2'");
  EXPECT_EQ(parse_target("AVX2", avx2).error,
            "KW_TARGET: there is no target 'AVX2'; the targets are: host, avx512, avx2, generic");
  EXPECT_EQ(parse_target("generic", avx2).error, "");
}

TEST(Target, a_grain_stands_behind_the_name) {
  EXPECT_EQ(parse_target("avx2", xeon()).target.work_per_thread(), 1 << 19);
  EXPECT_EQ(parse_target("avx2,grain=3", xeon()).target.work_per_thread(), 8);
  EXPECT_EQ(parse_target(",grain=0", xeon()).target.work_per_thread(), 1);
  EXPECT_FALSE(parse_target("avx2,grain=3", xeon()).target.has("avx512f"));
  for (std::string_view wrong : {"avx2,grain=", "host,grain=41", ",grain=-1", "host,grain=2,", "host,"})
    EXPECT_EQ(parse_target(wrong, xeon()).error,
              cat("KW_TARGET: '", wrong.substr(wrong.find(',') + 1), "' is not grain=N with N from 0 to 40"));
  EXPECT_EQ(parse_target("avx3,grain=2", xeon()).error,
            "KW_TARGET: there is no target 'avx3'; the targets are: host, avx512, avx2, generic");
}

TEST(Target, registers_and_masks_follow_from_the_features) {
  Target avx512 = xeon(), avx2 = parse_target("avx2", avx512).target,
         generic = parse_target("generic", avx512).target, arm{"aarch64-unknown-linux-gnu", {"neon"}};
  auto shape = [](const Target &t) { return std::pair(t.vector_bytes(), t.vector_registers()); };
  EXPECT_EQ(shape(avx512), std::pair(64u, 32u));
  EXPECT_EQ(shape(avx2), std::pair(32u, 16u));
  EXPECT_EQ(shape(generic), std::pair(16u, 16u));
  EXPECT_EQ(shape(arm), std::pair(16u, 32u));
  EXPECT_TRUE(avx512.has_masks(8) && avx512.has_masks(64) && avx512.has_gather());
  EXPECT_TRUE(avx2.has_masks(32) && !avx2.has_masks(16) && !avx2.has_gather());
  EXPECT_FALSE(generic.has_masks(64) || generic.has_gather());
}

TEST(Target, every_field_is_walked_by_name) {
  // A new field breaks this binding: hash it in for_each_field and add it here.
  auto [triple, features, work, arch] = Target{"x86_64", {"avx2"}, 3, ""};
  auto fields = [](const Target &t) {
    std::vector<std::string> seen;
    for_each_field(t, [&](std::string_view name, const std::string &text) {
      seen.push_back(std::string(name) + "=" + text);
    });
    return seen;
  };
  EXPECT_EQ(fields({triple, features, work, arch}),
            (std::vector<std::string>{"triple=x86_64", "features=+avx2", "machine=avx2",
                                      "log2_work_per_thread=3"}));
  EXPECT_EQ(fields(*target_of_class("sm_90a")),
            (std::vector<std::string>{"triple=nvptx64-nvidia-cuda", "features=+bf16,+fma,+half",
                                      "machine=sm_90a"}));
}

TEST(Target, an_architecture_is_a_gpu) {
  for (const GpuMachine &m : gpu_machines()) {
    Target t = *target_of_class(m.name);
    EXPECT_TRUE(t.is_gpu());
    EXPECT_EQ(&t.gpu(), &m);
    EXPECT_EQ(t.class_name(), m.name);
    EXPECT_TRUE(t.has_fma() && t.has_half() && t.has_rounding());
    EXPECT_FALSE(t.has_scale() || t.has_masks(64) || t.has_gather());
  }
  EXPECT_EQ(target_of_class("sm_100f")->gpu().name, "sm_100");
  EXPECT_EQ(target_of_class("sm_103a")->gpu().name, "sm_103");
  for (std::string_view wrong : {"sm_", "sm_9", "sm_900", "sm_80a", "sm_90f", "sm_90aa", "sm_70", "SM_90"})
    EXPECT_FALSE(target_of_class(wrong)) << wrong;
  EXPECT_FALSE(xeon().is_gpu());
  EXPECT_FALSE(runs_on(*target_of_class("sm_90"), xeon()));
  EXPECT_EQ(parse_target("sm_90", xeon()).error,
            "KW_TARGET: there is no target 'sm_90'; the targets are: host, avx512, avx2, generic");
}

}  // namespace
}  // namespace kw
