// Source text → loaded kernel, through the cache. The only file of the runtime that calls the front end and
// the driver. It never calls Python, so callers pass text and captured values.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "analysis/work/work_count.h"
#include "driver/explain.h"
#include "runtime/cache.h"
#include "runtime/compile_lock.h"
#include "runtime/kernel.h"
#include "runtime/request.h"
#include "runtime/resolved_error.h"
#include "runtime/shared_cache.h"
#include "support/diagnostic.h"

namespace kw {

/// The kernel's source as the dispatcher read it.
struct SourceText {
  std::string text, path;
  uint32_t first_line = 1;
  std::vector<SourceText> callees = {};  ///< texts of the functions that it calls, by their numbers
};

/// Receives each version that a kernel compiled or loaded, in the thread that did.
using Recorder = std::function<void(const Request &, const SourceText &)>;

/// Compiles kernels through one disk cache. Thread-safe.
class Jit {
 public:
  Jit(std::string cache_directory, uint64_t cache_bytes, std::vector<SharedCache> shared = {})
      : cache_(std::move(cache_directory), cache_bytes), shared_(std::move(shared)) {}

  /// Loads a kernel from the disk cache, without source and LLVM. Returns null on a miss; then the compiler
  /// is initialized in the background, unless KW_FROZEN forbids compiling.
  std::shared_ptr<const LoadedKernel> find(const Request &r);
  /// Compiles a kernel, stores and loads it; throws ResolvedError. If another process compiles it just now,
  /// waits up to 10 s for that process and loads what it stored.
  std::shared_ptr<const LoadedKernel> compile(const Request &r, const SourceText &source);
  /// Returns the artifact of a request from a cache, or compiles and stores it. Loads nothing, so that it
  /// works for devices that this machine does not have. Throws ResolvedError.
  Artifact make(const Request &r, const SourceText &source, bool &was_stored);
  /// Returns code that is no kernel of its own, a shared library or machine code of a GPU, stored under a
  /// key; nothing on a miss.
  std::optional<Artifact> find_code(const std::string &key, CodeKind kind) const;
  /// Stores such code under its key, which states everything that it depends on.
  void store_code(const Artifact &a);
  /// Waits for other processes and threads that compile the code of a key, for up to 10 s; then the caller
  /// looks for it again. Null if the disk cache is not used.
  std::unique_ptr<CompileLock> lock_code(const std::string &key) const;
  /// Stores the bytes of an entry that another cache had. Returns why it could not be stored, or "".
  std::string store_entry(const Hash128 &key, std::string_view bytes);
  /// Returns why the disk cache is not used, or "".
  std::string cache_problem() const;
  DiskCache &cache() { return cache_; }
  /// Returns the shared caches, in the order in which they are looked up after `cache`.
  const std::vector<SharedCache> &shared_caches() const { return shared_; }
  /// Sets the recorder of the process; an empty one ends recording.
  void set_recorder(Recorder recorder);
  /// Returns the recorder, or null: then nobody needs the text of a version that the cache has.
  std::shared_ptr<const Recorder> recorder() const;
  /// Hold the mutex around a fork, because a child must not inherit a mutex that another thread holds.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  /// Loads an entry of the disk cache or of a shared one; null if there is no usable one.
  std::shared_ptr<const LoadedKernel> find_stored(const Request &r);
  /// Calls `use` with the artifact of each entry of a request, until it returns true.
  bool for_stored(const Request &r, const std::function<bool(Artifact)> &use);
  /// Stores the bytes of a request's artifact.
  void store(const Request &r, std::string_view bytes);
  /// Returns E507 for a version that no cache has.
  Resolved frozen_error_of(const Request &r);
  mutable std::mutex mutex_;  // guards the state of cache_, frozen_ and recorder_; files need no lock
  DiskCache cache_;
  std::map<std::string, Resolved> frozen_;  // by key
  std::vector<SharedCache> shared_;
  std::shared_ptr<const Recorder> recorder_;
};

/// The most characters of the text of a kernel.
extern const size_t most_characters;

/// Returns the error for code that needs more stack than kernel_stack.
Resolved stack_error(const std::string &name, size_t bytes);

/// Returns the process's compiler and cache, which the first call opens.
Jit &process_jit();

/// Compiles a request to an artifact, which is neither stored nor loaded. Throws ResolvedError.
Artifact compile_request(const Request &r, const SourceText &source);

/// Returns one stage of a kernel as text: "llvm", "asm", for a request of the back end "cuda" also "cuda" and
/// "ptx", or IR after a stage of stage_names (driver/compile.h). Throws ResolvedError, and
/// std::invalid_argument for other stages.
std::string inspect(const Request &r, const SourceText &source, std::string_view stage);

/// A finding with its location: a line as in Resolved, of a text.
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
/// Explains how the compiler treats a request; compiles it again. Throws ResolvedError.
ResolvedExplanation explain(const Request &r, const SourceText &source);

/// Counts what a call with these extents, strides and scalars computes and moves. Throws ResolvedError.
WorkCount count_work(const Request &r, const SourceText &source, std::span<const int64_t> dims,
                     std::span<const uint64_t> scalars);

/// Returns the E1xx errors that need no types; empty if there are none.
std::vector<Resolved> check_text(const SourceText &source, const Captures &captures);

/// Returns the names of the kernel's parameters. Throws ResolvedError for a text that cannot be parsed.
std::vector<std::string> parameter_names(const SourceText &source);

/// Returns the number of lines of the definition that the text begins with; 0 if it cannot be read.
uint32_t count_definition_lines(std::string_view text);

/// Parses printed IR; returns null and sets `error` on failure.
std::shared_ptr<const Func> parse_ir_text(std::string_view text, std::string &error);

/// Compiles printed IR to machine code of the host; returns null and sets `error` on failure. Adds no proofs
/// or checks that the IR lacks: for tests and measurements.
std::shared_ptr<const LoadedKernel> load_ir_text(std::string_view text, std::string &error);

}  // namespace kw
