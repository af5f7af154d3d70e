// Source text → loaded kernel, through the cache. The only place of the runtime that calls the front end and
// the driver; it never calls Python, so callers hand over text and captured values.
#pragma once

#include <memory>
#include <mutex>

#include "driver/explain.h"
#include "runtime/cache.h"
#include "runtime/kernel.h"
#include "runtime/request.h"
#include "support/diagnostic.h"

namespace kw {

/// The kernel's source as the dispatcher read it.
struct SourceText {
  std::string text, path;
  uint32_t first_line = 1;
  std::vector<SourceText> callees = {};  ///< of the functions that it calls, by their numbers
};

/// Errors of a compilation with their lines resolved, for raising in Python.
class ResolvedError : public std::exception {
 public:
  explicit ResolvedError(std::vector<Resolved> errors) : errors(std::move(errors)) {}
  const char *what() const noexcept override { return errors.empty() ? "" : errors[0].message.c_str(); }
  std::vector<Resolved> errors;
  std::string path = {};  ///< of a text that was given in C++: its lines count from 1
};

/// Compiles kernels through one disk cache. Any number of threads may call it.
class Jit {
 public:
  Jit(std::string cache_directory, uint64_t cache_bytes) : cache_(std::move(cache_directory), cache_bytes) {}

  /// From the disk cache, without source and LLVM. Null on a miss: the compiler then gets ready in the
  /// background.
  std::shared_ptr<const LoadedKernel> find(const Request &r);
  /// Compiles, stores and loads; throws ResolvedError.
  std::shared_ptr<const LoadedKernel> compile(const Request &r, const SourceText &source);
  /// The shared library that was stored under a key; nothing on a miss.
  std::optional<std::string> find_library(const std::string &key) const;
  /// `key` tells all that the library was made of; `name` is for people.
  void store_library(const std::string &key, const std::string &name, std::string image);
  /// Why the disk cache is not used, or "".
  std::string cache_problem() const;
  DiskCache &cache() { return cache_; }
  /// Around fork: a child must not inherit a mutex that another thread holds.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  /// Loads an entry of the disk cache; null if there is none that can be used.
  std::shared_ptr<const LoadedKernel> find_stored(const Request &r);
  mutable std::mutex mutex_;  // of cache_'s state; files need none
  DiskCache cache_;
};

/// Of the text of a kernel.
extern const size_t most_characters;

/// What is said of code that takes more of the stack than kernel_stack.
Resolved stack_error(const std::string &name, size_t bytes);

/// The process's compiler and cache, opened at first use.
Jit &process_jit();

/// The artifact of a request, neither stored nor loaded. Throws ResolvedError.
Artifact compile_request(const Request &r, const SourceText &source);

/// Stages of a kernel for reading: "llvm", "asm", or IR after a stage of stage_names (driver/compile.h).
/// Throws ResolvedError, and std::invalid_argument for other stages.
std::string inspect(const Request &r, const SourceText &source, std::string_view stage);

/// A finding with the place that it speaks of: a line as in Resolved, of a text.
struct ResolvedFinding {
  Finding finding;
  int32_t line = -1;
  uint32_t text = 0;
};
struct ResolvedExplanation {
  std::vector<std::string> conditions;
  std::vector<std::string> schedule;                        ///< as in Explanation
  std::vector<ResolvedFinding> findings;                    ///< loops, accesses, buffers, locals, sums
  std::vector<std::pair<std::string, std::string>> shared;  ///< as in Explanation
};
/// What the compiler does with a request, computed anew. Throws ResolvedError.
ResolvedExplanation explain(const Request &r, const SourceText &source);

/// E1xx errors that need no types; empty when there are none.
std::vector<Resolved> check_text(const SourceText &source, const Captures &captures);

/// Names of the kernel's parameters. Throws ResolvedError for a text that cannot be parsed.
std::vector<std::string> parameter_names(const SourceText &source);

/// Number of lines of the definition that the text begins with; 0 when it cannot be told.
uint32_t count_definition_lines(std::string_view text);

/// Printed IR → function, or null with `error`.
std::shared_ptr<const Func> parse_ir_text(std::string_view text, std::string &error);

/// Printed IR as machine code of the host, or null with `error`. Nothing that the IR leaves out is proved or
/// checked: for tests and measurements.
std::shared_ptr<const LoadedKernel> load_ir_text(std::string_view text, std::string &error);

}  // namespace kw
