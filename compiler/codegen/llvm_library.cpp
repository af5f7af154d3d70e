// dlopen of the LLVM part, once.
#include "codegen/llvm_library.h"

#include <dlfcn.h>

#include <mutex>

#include "codegen/llvm/llvm_entry.h"
#include "support/build_id.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

namespace {

using CompileFn = decltype(&kw_llvm_compile);

[[noreturn]] void library_error(std::string message) {
  throw CompileError(Diagnostic{Code::E502,
                                {},
                                std::move(message),
                                {},
                                {"reinstall kernelwright; cached kernels run without this library"}});
}

std::string library_path() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&library_path), &info) || !info.dli_fname)
    library_error("cannot tell where the core library lies");
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return cat(slash == std::string::npos ? "." : path.substr(0, slash), "/libkernelwright_llvm.so");
}

CompileFn open_library() {
  static std::mutex mutex;
  static CompileFn fn = nullptr;
  std::scoped_lock lock(mutex);
  if (fn) return fn;
  std::string path = library_path();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) library_error(cat("cannot open the compiler library: ", dlerror()));
  fn = reinterpret_cast<CompileFn>(dlsym(handle, "kw_llvm_compile"));
  if (!fn) library_error(cat(path, " has no entry kw_llvm_compile"));
  return fn;
}

struct Received {
  int32_t status = 0;
  std::string text;
};

Received request(const Func &f, const Target &target, int32_t want, int32_t provoke) {
  Received out;
  std::string id(build_id());
  KwLlvmRequest r{id.c_str(), &f, &target, want, provoke};
  auto receive = [](void *context, const char *data, size_t size) {
    static_cast<std::string *>(context)->assign(data, size);
  };
  out.status = open_library()(&r, receive, &out.text);
  if (out.status == 2) library_error(std::move(out.text));
  return out;
}

}  // namespace

std::string call_llvm(const Func &f, const Target &target, LlvmWant want) {
  Received r = request(f, target, static_cast<int32_t>(want), 0);
  ensure(r.status == 0, cat("LLVM failed on '", f.name, "': ", r.text));
  return std::move(r.text);
}

std::string provoke_llvm_fault(const Func &f, const Target &target, int32_t what) {
  Received r = request(f, target, 0, what);
  return r.status == 0 ? std::string() : r.text;
}

}  // namespace kw
