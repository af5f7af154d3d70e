// The pass runner: order, dumps into files, and the verifier that names the pass.
#include "transform/pass.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ir/build.h"
#include "ir/print.h"
#include "support/log.h"
#include "support/options.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The debug options of a test, taken back at its end.
class Options {
 public:
  explicit Options(const DebugOptions &o) : before_(debug_options()) { set_debug_options(o); }
  ~Options() { set_debug_options(before_); }

 private:
  DebugOptions before_;
};

Func sample() {
  return unit::ir("def f(c: out(i64, ())):\n  fp('default')\n  dims()\n  c[()] = 1\n  return c\n");
}
Func add_two(const Func &f, const Target &) {
  Func out = f;
  out.body = seq({f.body, store(f.results[0], {}, const_int(2))});
  return out;
}
Func add_three(const Func &f, const Target &) {
  Func out = f;
  out.body = seq({f.body, store(f.results[0], {}, const_int(3))});
  return out;
}
Func break_it(const Func &f, const Target &) {
  Func out = f;
  out.body = make_stmt({}, Jump{JumpKind::break_loop});
  return out;
}

std::string content(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

TEST(Passes, run_in_order) {
  const Pass passes[] = {{"two", add_two}, {"three", add_three}};
  EXPECT_NE(print(run_passes(passes, sample(), {})).find("  c[()] = 1\n  c[()] = 2\n  c[()] = 3\n"),
            std::string::npos);
  EXPECT_EQ(print(run_passes({}, sample(), {})), print(sample()));
}

TEST(Passes, a_pass_that_breaks_the_ir_is_named) {
  DebugOptions o;
  o.verify_each = true;
  Options options(o);
  const Pass passes[] = {{"two", add_two}, {"breaker", break_it}};
  try {
    run_passes(passes, sample(), {});
    FAIL() << "accepted";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.found()[0].code, Code::E503);
    EXPECT_NE(error.found()[0].message.find("pass breaker broke the IR of 'f'"), std::string::npos)
        << error.what();
  }
}

TEST(Passes, dumps_go_into_files_that_read_back) {
  unit::TempDir temp;
  DebugOptions o;
  o.dump_after = {"two"};
  o.dump_dir = temp.path();
  Options options(o);
  const Pass passes[] = {{"two", add_two}, {"three", add_three}};
  run_passes(passes, sample(), {});
  EXPECT_EQ(content(temp.path("f.two.kwir")), print(add_two(sample(), {})));
  EXPECT_FALSE(std::filesystem::exists(temp.path("f.three.kwir")));
  Func version = sample();
  version.version = "plain-12ab";
  run_passes(passes, version, {});
  EXPECT_EQ(content(temp.path("f.plain-12ab.two.kwir")), print(add_two(sample(), {})));
}

TEST(Passes, dumps_of_all_stages_of_chosen_kernels) {
  unit::TempDir temp;
  DebugOptions o;
  o.dump_after = {"all"};
  o.dump_dir = temp.path();
  const Pass passes[] = {{"two", add_two}, {"three", add_three}};
  o.kernel = "g*";
  {
    Options options(o);
    run_passes(passes, sample(), {});
    EXPECT_TRUE(std::filesystem::is_empty(temp.path()));
  }
  o.kernel = "f*";
  Options options(o);
  run_passes(passes, sample(), {});
  EXPECT_TRUE(std::filesystem::exists(temp.path("f.two.kwir")));
  EXPECT_TRUE(std::filesystem::exists(temp.path("f.three.kwir")));
}

TEST(Passes, debug_options_never_change_the_result) {
  unit::TempDir temp;
  const Pass passes[] = {{"two", add_two}, {"three", add_three}};
  std::string plain = print(run_passes(passes, sample(), {}));
  DebugOptions o;
  o.dump_after = {"all"};
  o.dump_dir = temp.path();
  o.verify_each = o.interp = true;
  Options options(o);
  EXPECT_EQ(print(run_passes(passes, sample(), {})), plain);
}

TEST(Passes, an_unusable_dump_folder_is_no_error) {
  DebugOptions o;
  o.dump_after = {"all"};
  o.dump_dir = "/proc/nowhere";
  Options options(o);
  take_log_records();
  const Pass passes[] = {{"two", add_two}, {"three", add_three}};
  EXPECT_NO_THROW(run_passes(passes, sample(), {}));
  std::vector<LogRecord> told = take_log_records();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].text, "cannot write dumps into /proc/nowhere: No such file or directory");
}

TEST(Passes, dumps_without_a_folder_and_times_go_to_stderr) {
  DebugOptions o;
  o.dump_after = {"two"};
  o.time = true;
  Options options(o);
  testing::internal::CaptureStderr();
  const Pass passes[] = {{"two", add_two}, {"three", add_three}};
  run_passes(passes, sample(), {});
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("# after two\n# kw-ir 2\n"), 0u) << text;
  EXPECT_NE(text.find("[kw] f                    three "), std::string::npos) << text;
}

TEST(Passes, the_time_of_a_stage_is_without_the_reports_of_those_inside_it) {
  DebugOptions o;
  o.time = true;
  Options options(o);
  testing::internal::CaptureStderr();
  StageClock clock;
  double begin = now_ms();
  for (int i = 0; i < 100; ++i) report_time("inner", "f", 1);
  double wall = now_ms() - begin, own = clock.ms();
  testing::internal::GetCapturedStderr();
  EXPECT_LT(own, wall);
}

}  // namespace
}  // namespace kw
