// dlopen of the LLVM part, once.
#include "codegen/llvm_library.h"

#include <dlfcn.h>
#include <unistd.h>
#include <csignal>

#include <mutex>
#include <thread>

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

CompileFn open_now() {
  std::string path = library_path();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) library_error(cat("cannot open the compiler library: ", dlerror()));
  auto fn = reinterpret_cast<CompileFn>(dlsym(handle, "kw_llvm_compile"));
  if (!fn) library_error(cat(path, " has no entry kw_llvm_compile"));
  return fn;
}

class Library {
 public:
  CompileFn entry() {
    std::scoped_lock lock(mutex_);
    join();
    if (!entry_) entry_ = open_now();
    return entry_;
  }

  void open_early(const Target &target) {
    std::scoped_lock lock(mutex_);
    if (entry_ || opener_.joinable()) return;
    owner_ = getpid();
    opener_ = std::thread([this, target] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, nullptr);
      try {
        early_ = open_now();
        std::string id(build_id());
        KwLlvmRequest prepare{id.c_str(), nullptr, &target, 0, 0};
        early_(&prepare, [](void *, const char *, size_t) {}, nullptr);
      } catch (...) {  // entry() tries again and says what is wrong
      }
    });
  }

  ~Library() { join(); }

 private:
  void join() {
    if (!opener_.joinable()) return;
    if (owner_ == getpid()) {
      opener_.join();
      entry_ = early_;
    } else {
      opener_.detach();  // a child of fork has the object but not the thread
    }
  }

  std::mutex mutex_;
  std::thread opener_;
  pid_t owner_ = 0;
  CompileFn early_ = nullptr, entry_ = nullptr;
};

Library &library() {
  static Library it;
  return it;
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
  out.status = library().entry()(&r, receive, &out.text);
  if (out.status == 2) library_error(std::move(out.text));
  return out;
}

}  // namespace

void open_llvm_early(const Target &target) { library().open_early(target); }

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
