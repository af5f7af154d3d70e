// Implementations of the shared test helpers.
#include "tests/unit/helpers.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "driver/pipeline.h"
#include "frontend/ir_mode.h"
#include "frontend/lower/lower.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw::unit {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const int every_nth = 16;
#else
const int every_nth = 1;
#endif
#if defined(__SANITIZE_THREAD__)
const bool children_may_start_threads = false;
#else
const bool children_may_start_threads = true;
#endif

Func ir(std::string_view text) {
  SourceMap sources;
  return parse_ir(sources, sources.add_text("<test>", 1, cat("# kw-ir 2\n", text)));
}

Lowered lower_text(std::string_view text, const Signature &signature, const CodegenOptions &options,
                   const Captures &captures) {
  Lowered out;
  out.sources = std::make_shared<SourceMap>();
  uint32_t id = out.sources->add_text("k.py", 1, std::string(text));
  Sink sink;
  try {
    out.func =
        source_program(compile_source({*out.sources, id, signature, captures, options}, sink), with_fma());
    out.warnings = sink.warnings();
  } catch (const CompileError &error) {
    for (const Diagnostic &d : error.found()) out.errors.push_back(resolve(d, *out.sources));
  }
  return out;
}

Func kernel(std::string_view text, const Signature &signature, const CodegenOptions &options) {
  Lowered lowered = lower_text(text, signature, options);
  if (!lowered.errors.empty()) throw std::runtime_error(lowered.errors[0].message);
  return lowered.func;
}

ArgSpec tensor(uint8_t rank, DType dtype, StrideClass c) { return {ArgKind::tensor, dtype, rank, c, 0}; }
ArgSpec weak(DType dtype) { return {ArgKind::weak_scalar, dtype, 0, StrideClass::contiguous, 0}; }

Signature signature(std::vector<ArgSpec> args) {
  for (size_t i = 0; i < args.size(); ++i) args[i].alias = static_cast<uint8_t>(i);
  return {std::move(args), {}, {}};
}

Target with_fma() { return {"x86_64-unknown-linux-gnu", {"avx", "avx2", "fma", "sse2"}}; }
Target without_fma() { return {"x86_64-unknown-linux-gnu", {"sse2"}}; }

static bool find(const Stmt &root, const std::string &name, FoundLoop &out) {
  size_t before = out.scope.size();
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    auto inside = [&](ScopeItem item, const Stmt &body) {
      out.scope.push_back(std::move(item));
      if (body && find(body, name, out)) return true;
      out.scope.pop_back();
      return false;
    };
    if (const Let *n = as<Let>(*s)) out.scope.push_back({nullptr, n->sym, n->value, true});
    if (const While *n = as<While>(*s); n && inside({}, n->body)) return true;
    if (const For *n = as<For>(*s)) {
      if (n->iter->name == name) out.loop = *s;
      if (out.loop || inside({n, {}, {}, true}, n->body)) return true;
    }
    if (const If *n = as<If>(*s))
      if (inside({nullptr, {}, n->cond, true}, n->yes) || inside({nullptr, {}, n->cond, false}, n->no))
        return true;
    if (const Seq *n = as<Seq>(*s))
      for (size_t i = 0; i + 1 < n->items.size(); ++i)
        if (find(n->items[i], name, out)) return true;
  }
  out.scope.resize(before);
  return false;
}

FoundLoop find_loop(const Func &f, const std::string &iterator) {
  FoundLoop out;
  find(f.body, iterator, out);
  if (!out.loop) throw std::runtime_error("no loop over " + iterator);
  return out;
}

std::vector<Order> orders(const Func &f) {
  std::vector<Order> out;
  walk(f.body, [&](const Store &n, const Stmt &) { out.push_back(n.order.order); });
  return out;
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "kw_unit.XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
  root_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::string TempDir::path(std::string_view name) const {
  return name.empty() ? root_.string() : (root_ / name).string();
}

uint64_t seed() {
  const char *text = std::getenv("KW_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20250611;
}

void run_on_stack(size_t bytes, const std::function<void()> &f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread;
  auto start = [](void *argument) -> void * {
    (*static_cast<const std::function<void()> *>(argument))();
    return nullptr;
  };
  int failed = pthread_create(&thread, &attributes, start, const_cast<std::function<void()> *>(&f));
  pthread_attr_destroy(&attributes);
  if (failed) throw std::runtime_error("no thread");
  pthread_join(thread, nullptr);
}

int64_t resident_pages() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

int run_in_child(const std::function<int()> &f) {
  pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    int code = 255;
    try {
      code = f();
    } catch (...) {
      code = 254;
    }
    ::_exit(code);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace kw::unit
