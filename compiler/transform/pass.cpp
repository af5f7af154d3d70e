// Runs passes, and writes the reports that KW_DEBUG asks for.
#include "transform/pass.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

#include "ir/print.h"
#include "ir/verify.h"
#include "support/diagnostic.h"
#include "support/log.h"
#include "support/text.h"

namespace kw {

double now_ms() {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

/// Milliseconds that this thread has spent on reports and verification so far.
static thread_local double aside_ms = 0;

StageClock::StageClock() : begin_(now_ms() - aside_ms) {}

double StageClock::ms() const { return now_ms() - aside_ms - begin_; }

namespace {

/// Excludes its lifetime from the times of stages.
class Aside {
 public:
  Aside() = default;
  Aside(const Aside &) = delete;
  Aside &operator=(const Aside &) = delete;
  ~Aside() { aside_ms += clock_.ms(); }

 private:
  StageClock clock_;  // the clock excludes what an inner Aside has counted already
};

}  // namespace

/// Returns a file name, "add.main-1a2b3c4d.lower.kwir"; kernels and versions of one name have files of their
/// own.
static std::string dump_file(std::string_view stage, const Func &f) {
  return cat(f.name, f.version.empty() ? "" : ".", f.version, ".", stage, ".kwir");
}

/// Writes the printed IR to a file of its own, or to stderr if no directory is set. A failure is logged and
/// does not end the compilation.
static void dump(std::string_view stage, const Func &f, const DebugOptions &options) {
  std::string text = print(f);
  if (options.dump_dir.empty()) {
    // one write, so that dumps of several threads do not mix line by line
    std::string out = cat("# after ", stage, "\n", text);
    std::fwrite(out.data(), 1, out.size(), stderr);
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(options.dump_dir, error);
  std::ofstream file(cat(options.dump_dir, "/", dump_file(stage, f)), std::ios::binary);
  file << text;
  if (file) return;
  static std::mutex mutex;
  static std::string told;  // each directory is reported once
  std::scoped_lock lock(mutex);
  if (std::exchange(told, options.dump_dir) == options.dump_dir) return;
  log_message(LogArea::compile, LogLevel::warning,
              cat("cannot write dumps into ", options.dump_dir, ": ",
                  error ? error.message() : std::strerror(errno)));
}

void report_stage(std::string_view stage, const Func &f, double ms) {
  Aside aside;
  const DebugOptions &options = debug_options();
  auto wanted = [&](const std::string &name) { return name == stage || name == "all"; };
  bool dumped = std::any_of(options.dump_after.begin(), options.dump_after.end(), wanted);
  if (dumped && glob_match(options.kernel, f.name)) dump(stage, f, options);
  report_time(stage, f.name, ms);
}

void report_time(std::string_view stage, const std::string &kernel, double ms) {
  Aside aside;
  const DebugOptions &options = debug_options();
  if (!options.time || ms < 0 || !glob_match(options.kernel, kernel)) return;
  char line[160];
  int n = std::snprintf(line, sizeof line, "[kw] %-20s %-16.*s %9.3f ms\n", kernel.c_str(),
                        static_cast<int>(stage.size()), stage.data(), ms);
  std::fwrite(line, 1, static_cast<size_t>(std::min<int>(n, sizeof line - 1)), stderr);
}

void finish_stage(std::string_view stage, const Func &f, double ms) {
  Aside aside;
#ifdef NDEBUG
  bool verify_each = debug_options().verify_each;
#else
  bool verify_each = true;
#endif
  report_stage(stage, f, ms);
  // The stage is reported first: the dump shows the IR that the verification is about to reject.
  if (!verify_each) return;
  std::string wrong = verify(f);
  ensure(wrong.empty(), cat("pass ", stage, " broke the IR of '", f.name, "': ", wrong));
}

Func run_passes(std::span<const Pass> passes, Func f, const Target &target) {
  for (const Pass &pass : passes) {
    StageClock clock;
    f = pass.run(f, target);
    finish_stage(pass.name, f, clock.ms());
  }
  return f;
}

}  // namespace kw
