// The schedules of the kernels in tests/golden/kernels.py for two kinds of processors and a GPU, line by
// line, and what each step alone adds to them. BLESS=1 writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "driver/explain.h"
#include "driver/pipeline.h"
#include "ir/print.h"
#include "schedule/choose_cpu.h"
#include "schedule/choose_gpu.h"
#include "schedule/replay.h"
#include "support/text.h"
#include "tests/unit/helpers.h"
#include "tests/unit/schedule/cpu/choices.h"

namespace kw {
namespace {

std::string read(const std::string &path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

/// "f32[:, :] i64" → one argument each.
Signature signature_of(const std::string &types) {
  std::vector<ArgSpec> args;
  for (size_t at = 0; at < types.size();) {
    size_t space = at;
    for (int open = 0; space < types.size() && (open || types[space] != ' '); ++space)
      open += types[space] == '[' ? 1 : types[space] == ']' ? -1 : 0;
    std::string type = types.substr(at, space - at);
    DType t = type.starts_with("f32") ? DType::f32 : DType::i64;
    auto rank = static_cast<uint8_t>(std::count(type.begin(), type.end(), ':'));
    args.push_back(rank ? unit::tensor(rank, t) : unit::weak(t));
    at = space + 1;
  }
  return unit::signature(std::move(args));
}

/// The kernels of the file, ready to be scheduled. A kernel is a paragraph that begins with the types of its
/// arguments.
std::vector<Func> kernels_for(const Target &target) {
  std::string kernels = read(cat(KW_GOLDEN, "/kernels.py"));
  std::vector<Func> out;
  for (size_t at = kernels.find("\n\n\n# "); at != std::string::npos; at = kernels.find("\n\n\n# ", at)) {
    at += 5;
    size_t text = kernels.find('\n', at) + 1, end = kernels.find("\n\n\n", at);
    std::string types = kernels.substr(at, text - 1 - at);
    Func f = unit::kernel(kernels.substr(text, end == std::string::npos ? end : end + 1 - text),
                          signature_of(types));
    out.push_back(run_pipeline(f, {}, target));
  }
  return out;
}

/// The directives of each kernel, under its name.
std::string schedules(const Target &target) {
  std::string out;
  std::span<const ScheduleStep> steps = target.is_gpu() ? gpu_steps() : cpu_steps();
  for (const Func &f : kernels_for(target)) {
    out += cat(f.name, "\n");
    Schedule chosen = run_schedule(f, target, steps, true);
    EXPECT_EQ(print(run_schedule(f, target, steps, false).func), print(chosen.func));
    EXPECT_TRUE(chosen.func.warnings.empty()) << f.name;  // W409: no step of its own is refused
    std::vector<std::string> lines = texts_of(chosen.steps);
    EXPECT_EQ(unit::replay_error(f, lines, chosen.func), "") << f.name;
    if (lines.empty()) lines.emplace_back("as written");
    for (const std::string &line : lines) out += cat("  ", line, "\n");
  }
  return out;
}

/// The directives that each step adds to those of the steps before it, under its name; of each kernel one
/// line at most, so that the text stays short.
std::string added_by_each_step(const Target &target) {
  std::string out;
  std::vector<Func> kernels = kernels_for(target);
  for (size_t step = 0; step < cpu_steps().size(); ++step) {
    out += cat(cpu_steps()[step].name, "\n");
    size_t found = 0;
    for (const Func &f : kernels) {
      std::vector<std::string> before =
          texts_of(run_schedule(f, target, cpu_steps().first(step), true).steps);
      for (const std::string &line :
           texts_of(run_schedule(f, target, cpu_steps().first(step + 1), true).steps)) {
        if (auto known = std::find(before.begin(), before.end(), line); known != before.end()) {
          before.erase(known);
          continue;
        }
        out += cat("  ", f.name, ": ", line, "\n");
        ++found;
        break;
      }
    }
    EXPECT_GT(found, 0u) << "no kernel shows the step " << cpu_steps()[step].name;
  }
  return out;
}

void expect_golden(const std::string &name, const std::string &found) {
  std::string path = cat(KW_GOLDEN, "/", name, ".txt");
  if (std::getenv("BLESS")) std::ofstream(path) << found;
  EXPECT_EQ(found, read(path)) << "BLESS=1 writes " << path << " anew";
  EXPECT_GT(std::count(found.begin(), found.end(), '\n'), 60);
}

const Target avx2{"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma"}};
const Target avx512{"x86_64-unknown-linux-gnu",
                    {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"}};

TEST(GoldenSchedules, avx2) { expect_golden("avx2", schedules(avx2)); }

TEST(GoldenSchedules, avx512) { expect_golden("avx512", schedules(avx512)); }

TEST(GoldenSchedules, sm_90) { expect_golden("sm_90", schedules(*target_of_class("sm_90"))); }

TEST(GoldenSchedules, of_each_step) { expect_golden("steps", added_by_each_step(avx512)); }

}  // namespace
}  // namespace kw
