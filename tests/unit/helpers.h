#pragma once

// What the unit tests share: IR and kernels from text, signatures, temporary folders, seeded randomness,
// small stacks and child processes. Holds no tests and checks nothing of the product by itself.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/nest/nest.h"
#include "ir/func.h"
#include "ir/signature.h"
#include "support/diagnostic.h"
#include "support/options.h"
#include "support/target.h"

namespace kw::unit {

/// Tests of values look at every nth sample under the sanitizers, which slow them some thirty times and see
/// the same code at work in each sample.
extern const int every_nth;

/// Printed IR without its opening line → function; throws CompileError when the text is malformed.
Func ir(std::string_view text);

/// A kernel's way through the front end; `errors` have 1-based lines.
struct Lowered {
  std::shared_ptr<SourceMap> sources;
  Func func;
  std::vector<Diagnostic> warnings;
  std::vector<Resolved> errors;
};
Lowered lower_text(std::string_view text, const Signature &signature, const CodegenOptions &options = {},
                   const Captures &captures = {});
/// The same for a text that must have no errors; throws std::runtime_error with the first error's message.
Func kernel(std::string_view text, const Signature &signature, const CodegenOptions &options = {});

ArgSpec tensor(uint8_t rank, DType dtype = DType::f32, StrideClass c = StrideClass::contiguous);
ArgSpec weak(DType dtype);
/// Every argument becomes its own alias class.
Signature signature(std::vector<ArgSpec> args);

/// x86-64 with and without fma, independent of the machine that runs the tests.
Target with_fma();
Target without_fma();

/// The order marks of all stores, in the order of the program.
std::vector<Order> orders(const Func &f);

/// A loop of a function by the name of its iterator, with what stands around it.
struct FoundLoop {
  Stmt loop;
  NestScope scope;
};
FoundLoop find_loop(const Func &f, const std::string &iterator);

/// Turns verify=each off for a scope, so that vector loops without a vector form run serially.
class Unverified {
 public:
  Unverified() : before_(debug_options()) {
    DebugOptions quiet = before_;
    quiet.verify_each = false;
    set_debug_options(quiet);
  }
  ~Unverified() { set_debug_options(before_); }
  Unverified(const Unverified &) = delete;

 private:
  DebugOptions before_;
};

/// A folder of this process that is removed with everything in it.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir &) = delete;
  ~TempDir();
  std::string path(std::string_view name = {}) const;

 private:
  std::filesystem::path root_;
};

/// The number in KW_TEST_SEED, or one fixed for all runs. Tests name it in a SCOPED_TRACE.
uint64_t seed();
using Random = std::mt19937_64;

/// Runs `f` to its end in a thread with a stack of `bytes`.
void run_on_stack(size_t bytes, const std::function<void()> &f);
/// Whether a child of a process that has other threads may start some: the thread sanitizer ends it.
extern const bool children_may_start_threads;
/// Pages of memory that this process has.
int64_t resident_pages();
/// Runs `f` in a forked child: its exit code, or minus the number of the signal that ended it.
int run_in_child(const std::function<int()> &f);

}  // namespace kw::unit
