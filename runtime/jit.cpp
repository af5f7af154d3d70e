// Compiles kernels through the cache.
#include "runtime/jit.h"

#include <pthread.h>

#include <algorithm>

#include "analysis/nest/sum_order.h"
#include "codegen/backend.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/llvm_library.h"
#include "driver/compile.h"
#include "driver/pipeline.h"
#include "frontend/ir_mode.h"
#include "frontend/lexer.h"
#include "frontend/lower/lower.h"
#include "frontend/parser.h"
#include "frontend/sema/check.h"
#include "ir/print.h"
#include "runtime/device.h"
#include "runtime/frozen.h"
#include "support/build_id.h"
#include "support/log.h"
#include "support/stack.h"
#include "support/text.h"

namespace kw {

namespace {

/// One front-end run with all data that it refers to.
struct Parsed {
  SourceMap sources;
  Func func;
  Sink sink;
};

/// Throws the diagnostics of a compilation with their positions resolved, because `sources` does not outlive
/// the call.
[[noreturn]] void raise_resolved(const CompileError &e, const SourceMap &sources) {
  std::vector<Resolved> errors;
  for (const Diagnostic &d : e.found()) errors.push_back(resolve(d, sources));
  throw ResolvedError(std::move(errors));
}

/// Runs `f` and converts its CompileErrors to errors with lines.
template <class F>
auto resolving(const SourceMap &sources, F &&f) {
  try {
    return f();
  } catch (const CompileError &e) {
    raise_resolved(e, sources);
  }
}

/// Returns the body and the first digits of the key: readable, and distinct for each entry of the cache.
std::string version_text(const Request &r) {
  constexpr std::string_view names[] = {"main-", "plain-", "overlapping-"};
  return cat(names[static_cast<size_t>(r.options.body)], key_of(r).text().substr(0, 8));
}

/// Makes the source program in `p`; `locals`, if given, receives notes on the local variables. Throws
/// ResolvedError.
void parse(const Request &r, const SourceText &source, Parsed &p, std::vector<LocalNote> *locals = nullptr) {
  ensure(r.derive.empty(), "no derivation is implemented");
  StageClock clock;
  // first line 0, so that all lines are relative to the function's first line
  uint32_t id = p.sources.add_text(source.path, 0, source.text);
  std::vector<uint32_t> callees;
  for (const SourceText &callee : source.callees)
    callees.push_back(p.sources.add_text(callee.path, 0, callee.text));
  resolving(p.sources, [&] {
    p.func = compile_source({p.sources, id, r.signature, r.captures, r.options, callees, locals}, p.sink);
    return 0;
  });
  if (!debug_options().dump_dir.empty()) p.func.version = version_text(r);
  p.func = source_program(std::move(p.func), r.target);
  report_stage("lower", p.func, clock.ms());
}

CompileInput input_of(const Request &r, const Parsed &p) {
  std::span<const TextPlace> places = r.places;
  return {p.sources, r.signature, r.options,
          r.target,  r.backend,   places.first(r.options.debug_info ? places.size() : 0)};
}

/// Returns whether the parameters of an entry match the arguments of the request: an entry of another writer
/// may not.
bool fits(const Artifact &a, const Request &r) {
  size_t outputs = 0;
  auto is_of_call = [&](const ParamRecord &p) {
    outputs += p.mode == ParamMode::out;
    if (p.mode == ParamMode::out || p.arg < 0) return p.mode == ParamMode::out && p.arg < 0;
    if (static_cast<size_t>(p.arg) >= r.signature.args.size()) return false;
    const ArgSpec &given = r.signature.args[static_cast<size_t>(p.arg)];
    bool is_tensor = given.kind == ArgKind::tensor;
    return p.is_tensor == is_tensor && (!is_tensor || (p.rank == given.rank && p.dtype == given.dtype &&
                                                       p.stride_class == given.stride_class));
  };
  return a.code_kind == find_backend(r.backend).code_kind &&
         std::all_of(a.params.begin(), a.params.end(), is_of_call) && outputs <= max_outputs;
}

}  // namespace

/// Returns what loads the code of a request.
static const DeviceApi &device_of(const Request &r) {
  bool is_device_code = find_backend(r.backend).code_kind == CodeKind::cuda;
  return device_api(is_device_code ? DeviceKind::cuda : DeviceKind::cpu);
}

std::shared_ptr<const LoadedKernel> Jit::find(const Request &r) {
  auto kernel = find_stored(r);
  if (!kernel && !is_frozen()) {
    find_backend(r.backend).prepare(r.target);
    device_of(r).prepare();
  }
  return kernel;
}

/// Returns whether an entry of the cache may serve the request. A cached kernel passes through no stage, so
/// it could not print one.
static bool may_be_stored(const Request &r) {
  const DebugOptions &options = debug_options();
  return options.cache && (options.dump_after.empty() || !glob_match(options.kernel, r.name));
}

bool Jit::for_stored(const Request &r, const std::function<bool(Artifact)> &use) {
  if (!may_be_stored(r)) return false;
  Hash128 key = key_of(r);
  auto is_used = [&](const std::optional<std::string> &bytes) {
    if (!bytes) return false;
    auto artifact = deserialize(*bytes);
    // The whole preimage is compared, because a file of this name may hold another request.
    if (artifact && artifact->key == key_text(r) && fits(*artifact, r)) return use(std::move(*artifact));
    log_message(LogArea::cache, LogLevel::info,
                cat("entry ", key.text(), " of kernel '", r.name, "' is unusable: damaged file"));
    return false;
  };
  auto own = cache_.read(key);
  if (is_used(own)) return true;
  // removed, because every later process would fail on the entry too
  if (own) cache_.remove(key);
  return std::any_of(shared_.begin(), shared_.end(),
                     [&](const SharedCache &shared) { return is_used(shared.read(key)); });
}

std::shared_ptr<const LoadedKernel> Jit::find_stored(const Request &r) {
  double begin = now_ms();
  std::string key = key_of(r).text();
  std::shared_ptr<const LoadedKernel> kernel;
  for_stored(r, [&](Artifact artifact) {
    std::string error;
    kernel = device_of(r).load(std::move(artifact), {code_name(r), r.places}, error);
    if (kernel && kernel->stack_bytes() > kernel_stack) kernel = nullptr, error = "too much stack";
    if (!kernel)
      log_message(LogArea::cache, LogLevel::info,
                  cat("entry ", key, " of kernel '", r.name, "' is unusable: ", error));
    return kernel != nullptr;
  });
  if (!kernel) return nullptr;
  report_time("cached", r.name, now_ms() - begin);
  log_message(LogArea::cache, LogLevel::debug, cat("entry ", key, " serves kernel '", r.name, "'"));
  return kernel;
}

/// Logs a compilation: as a warning if it took over a second.
static void log_compilation(const Request &r, const SourceText &source, double ms) {
  std::vector<std::string> types;
  for (const ArgSpec &a : r.signature.args) types.push_back(type_text(a));
  auto tenths = static_cast<int64_t>(ms * 10 + 0.5);
  log_message(
      LogArea::compile, ms > 1000 ? LogLevel::warning : LogLevel::info,
      cat("kernel '", r.name, "' (", source.path, ":", source.first_line, ") for (", join_text(types, ", "),
          ") was compiled in ", tenths / 10, ".", tenths % 10, " ms for ", r.target.class_name()));
}

Artifact compile_request(const Request &r, const SourceText &source) {
  HoldForks whole;  // a child would find tables half built, and their guards held for ever
  Parsed p;
  parse(r, source, p);
  Artifact a = resolving(p.sources, [&] { return kw::compile(p.func, input_of(r, p), p.sink.warnings()); });
  a.key = key_text(r);
  return a;
}

Resolved Jit::frozen_error_of(const Request &r) {
  std::string key = key_of(r).text();
  {
    std::scoped_lock state(mutex_);
    if (auto known = frozen_.find(key); known != frozen_.end()) return known->second;
  }
  Resolved error = frozen_error(r, cache_, shared_);  // reads files
  std::scoped_lock state(mutex_);
  return frozen_.emplace(key, std::move(error)).first->second;
}

std::shared_ptr<const LoadedKernel> Jit::compile(const Request &r, const SourceText &source) {
  if (is_frozen()) throw ResolvedError({frozen_error_of(r)});
  std::optional<CompileLock> lock;
  if (may_be_stored(r) && cache_problem().empty()) {
    lock.emplace(cache_.lock_path(key_of(r)));
    // another process may have stored the kernel since the caller looked
    if (auto kernel = find_stored(r)) return kernel;
  }
  double begin = now_ms();
  Artifact a = compile_request(r, source);
  // before loading, which takes the artifact
  std::string bytes = debug_options().cache ? serialize(a) : std::string(), error;
  auto kernel = device_of(r).load(std::move(a), {code_name(r), r.places}, error);
  if (!kernel)
    throw ResolvedError({Resolved{Code::E503,
                                  -1,
                                  0,
                                  0,
                                  {},
                                  cat("the code of '", r.name, "' cannot be loaded: ", error),
                                  {},
                                  {"report it with the output of KW_DEBUG=\"dump:after=all\""}}});
  if (kernel->stack_bytes() > kernel_stack) throw ResolvedError({stack_error(r.name, kernel->stack_bytes())});
  // only a kernel that was loaded and fits the stack is stored
  store(r, bytes);
  double ms = now_ms() - begin;
  report_time("total", r.name, ms);
  log_compilation(r, source, ms);
  return kernel;
}

void Jit::store(const Request &r, std::string_view bytes) {
  if (bytes.empty()) return;
  std::scoped_lock state(mutex_);
  cache_.write(key_of(r), bytes);
  log_message(LogArea::cache, LogLevel::debug,
              cat("entry ", key_of(r).text(), " of kernel '", r.name, "' is stored"));
}

Artifact Jit::make(const Request &r, const SourceText &source, bool &was_stored) {
  Artifact out;
  was_stored = for_stored(r, [&](Artifact a) { return out = std::move(a), true; });
  if (was_stored) return out;
  if (is_frozen()) throw ResolvedError({frozen_error_of(r)});
  double begin = now_ms();
  out = compile_request(r, source);
  if (debug_options().cache) store(r, serialize(out));
  log_compilation(r, source, now_ms() - begin);
  return out;
}

/// Returns an entry only if its stored key is the whole `key`, not merely its hash.
std::optional<Artifact> Jit::find_code(const std::string &key, CodeKind kind) const {
  if (!debug_options().cache) return std::nullopt;
  auto fitting = [&](const std::optional<std::string> &bytes) -> std::optional<Artifact> {
    auto stored = bytes ? deserialize(*bytes) : std::nullopt;
    bool fits = stored && stored->code_kind == kind && stored->key == key;
    return fits ? std::move(stored) : std::nullopt;
  };
  Hash128 hash = hash_bytes(key);
  auto found = fitting(cache_.read(hash));
  for (size_t i = 0; !found && i < shared_.size(); ++i) found = fitting(shared_[i].read(hash));
  return found;
}

void Jit::store_code(const Artifact &a) {
  if (!debug_options().cache) return;
  std::string bytes = serialize(a);
  std::scoped_lock lock(mutex_);
  cache_.write(hash_bytes(a.key), bytes);
}

std::unique_ptr<CompileLock> Jit::lock_code(const std::string &key) const {
  if (!debug_options().cache || !cache_problem().empty()) return nullptr;
  return std::make_unique<CompileLock>(cache_.lock_path(hash_bytes(key)));
}

void Jit::set_recorder(Recorder recorder) {
  auto made = recorder ? std::make_shared<const Recorder>(std::move(recorder)) : nullptr;
  std::scoped_lock lock(mutex_);
  recorder_.swap(made);  // the old one is destroyed without the lock
}

std::shared_ptr<const Recorder> Jit::recorder() const {
  std::scoped_lock lock(mutex_);
  return recorder_;
}

const size_t most_characters = max_text;

Resolved stack_error(const std::string &name, size_t bytes) {
  std::string message = cat("the code of '", name, "' takes ", bytes,
                            " bytes of stack, and a kernel has at most ", kernel_stack);
  return {Code::E122, -1,      0,  0,
          {},         message, {}, {"split the kernel, so that fewer values are needed at a time"}};
}

Jit &process_jit() {
  static Jit instance(default_cache_directory(), default_cache_size(), open_shared_caches());
  // the fork waits until no thread is writing to the cache
  static const int handlers = pthread_atfork([] { instance.before_fork(); }, [] { instance.after_fork(); },
                                             [] { instance.after_fork(); });
  static_cast<void>(handlers);
  return instance;
}

std::string Jit::store_entry(const Hash128 &key, std::string_view bytes) {
  std::scoped_lock lock(mutex_);
  cache_.write(key, bytes);
  return cache_.problem();
}

std::string Jit::cache_problem() const {
  std::scoped_lock lock(mutex_);
  return cache_.problem();
}

std::string inspect(const Request &r, const SourceText &source, std::string_view stage) {
  Parsed p;
  parse(r, source, p);
  CompileInput input = input_of(r, p);
  return resolving(p.sources, [&]() -> std::string {
    // The stages of code generation start from the last stage of the passes.
    bool machine = stage == "llvm" || stage == "asm" || stage == "cuda" || stage == "ptx";
    auto f = func_at_stage(p.func, input, machine ? "final" : stage);
    if (!f) {
      std::string known = join_text(stage_names(input), ", ");
      throw std::invalid_argument(cat("no stage is called '", stage, "'; the stages are ", known));
    }
    if (!machine) return print(*f);
    if (stage == "cuda" || stage == "ptx") {
      SourcePlaces places{p.sources, input.places};
      std::string text =
          cuda_text(emit_launches(*f, r.target, input.places.empty() ? nullptr : &places).bytes);
      HoldForks whole;
      return stage == "cuda" ? text : compile_by_nvrtc(text, r.target.arch, NvrtcWant::ptx).bytes;
    }
    return call_llvm(*f, r.target, stage == "llvm" ? LlvmWant::ir : LlvmWant::assembly);
  });
}

WorkCount count_work(const Request &r, const SourceText &source, std::span<const int64_t> dims,
                     std::span<const uint64_t> scalars) {
  Parsed p;
  parse(r, source, p);
  CompileInput input = input_of(r, p);
  return resolving(p.sources,
                   [&] { return count_work(*func_at_stage(p.func, input, "lower"), dims, scalars); });
}

/// Returns the order of a sum as explain() prints it.
static std::string order_words(Order order) {
  return order == Order::lanes ? "lanes" : order == Order::any ? "any order" : "source order";
}

ResolvedExplanation explain(const Request &r, const SourceText &source) {
  Parsed p;
  std::vector<LocalNote> locals;
  parse(r, source, p, &locals);
  Explanation found = resolving(p.sources, [&] { return explain(p.func, input_of(r, p)); });
  for (LocalNote &n : locals) found.findings.push_back({"local", n.loc, n.name, -1, n.type, {}});
  for (const OrderedSum &sum : find_sums(p.func)) {
    std::vector<std::string> names;
    for (const Sym &loop : sum.band) names.push_back(loop->name);
    found.findings.push_back({"sum", sum.store.loc(), excerpt(p.sources, sum.store.loc()), -1,
                              order_words(sum.order), cat("over ", join_text(names, ", "), "; ", sum.why)});
  }
  ResolvedExplanation out{
      std::move(found.conditions), std::move(found.schedule), {}, std::move(found.shared)};
  for (Finding &f : found.findings) {
    bool known = f.loc.known();
    int32_t line = known ? static_cast<int32_t>(p.sources.position(f.loc).line) : -1;
    uint32_t text = known ? p.sources.text_number(f.loc.source) : 0;
    out.findings.push_back({std::move(f), line, text});
  }
  return out;
}

std::vector<Resolved> check_text(const SourceText &source, const Captures &captures) {
  SourceMap sources;
  uint32_t id = sources.add_text(source.path, 0, source.text);
  std::vector<Resolved> out;
  Sink sink;
  try {
    // errors in the sink and the error that ended the check are handled alike
    check_source(sources, id, captures, sink);
    sink.throw_if_errors();
  } catch (const CompileError &e) {
    for (const Diagnostic &d : e.found()) out.push_back(resolve(d, sources));
  }
  return out;
}

std::vector<std::string> parameter_names(const SourceText &source) {
  SourceMap sources;
  uint32_t id = sources.add_text(source.path, 0, source.text);
  return resolving(sources, [&] {
    Sink sink;
    ast::Function f = parse_function(tokenize(sources, id), sink);
    sink.throw_if_errors();
    std::vector<std::string> names;
    for (const ast::Parameter &p : f.params) names.push_back(p.name);
    return names;
  });
}

uint32_t count_definition_lines(std::string_view text) {
  try {
    return definition_lines(text);
  } catch (const CompileError &) {
    return 0;
  }
}

std::shared_ptr<const Func> parse_ir_text(std::string_view text, std::string &error) {
  SourceMap sources;
  uint32_t id = sources.add_text("<ir>", 0, std::string(text));
  try {
    return std::make_shared<const Func>(parse_ir(sources, id));
  } catch (const CompileError &e) {
    error = e.what();
    return nullptr;
  }
}

std::shared_ptr<const LoadedKernel> load_ir_text(std::string_view text, std::string &error) {
  auto f = parse_ir_text(text, error);
  if (!f) return nullptr;
  try {
    return device_api(DeviceKind::cpu).load(compile_unscheduled(*f, host_target()), "kw_ir", error);
  } catch (const CompileError &e) {
    error = e.what();
    return nullptr;
  }
}

}  // namespace kw
