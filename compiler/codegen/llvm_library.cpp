// Opens the LLVM library by dlopen, once, and never while the process forks.
#include "codegen/llvm_library.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <mutex>
#include <new>

#include "codegen/llvm/llvm_entry.h"
#include "support/build_id.h"
#include "support/diagnostic.h"
#include "support/memory.h"
#include "support/stack.h"
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

/// Returns the path of the LLVM library beside the library that holds this function. A search path could find
/// a library of another build.
std::string library_path() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&library_path), &info) || !info.dli_fname)
    library_error("cannot tell where the core library lies");
  std::string path = info.dli_fname;
  size_t slash = path.rfind('/');
  return cat(slash == std::string::npos ? "." : path.substr(0, slash), "/libkernelwright_llvm.so");
}

/// Finds the unwinder early. The C library looks for it when an exception first passes one of its functions.
/// If there is no memory for that, the process ends. One of these functions is pthread_once, under which
/// LLVM's passes register themselves.
void find_unwinder() {
  if (!can_throw()) throw std::bad_alloc();
  std::once_flag flag;
  try {
    std::call_once(flag, [] { throw std::bad_alloc(); });
  } catch (const std::bad_alloc &) {
  }
}

/// Returns whether there is room for a mapping of this file and for its static objects, which take 4 MB. The
/// loader does not report why it failed, and without memory for these objects the process ends.
bool has_room_for(const std::string &path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return true;
  // Room for relocations and static objects. Chosen: 16 MB.
  size_t size = static_cast<size_t>(status.st_size) + (size_t{16} << 20);
  void *room = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return errno != ENOMEM;
  ::munmap(room, size);
  return true;
}

/// Opens the library and returns its entry. A shortage of memory becomes std::bad_alloc, since dlopen reports
/// it like a missing file; any other failure becomes E502.
CompileFn open_now() {
  if (!has_llvm()) library_error("this build of kernelwright has no compiler for CPUs (KW_LLVM=OFF)");
  std::string path = library_path();
  find_unwinder();
  if (!has_room_for(path)) throw std::bad_alloc();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle && !has_room_for(path)) throw std::bad_alloc();
  if (!handle) library_error(cat("cannot open the compiler library: ", dlerror()));
  auto fn = reinterpret_cast<CompileFn>(dlsym(handle, "kw_llvm_compile"));
  if (!fn) library_error(cat(path, " has no entry kw_llvm_compile"));
  return fn;
}

/// Grows the heap for LLVM's tables in a few system calls. glibc grows the heap of a thread page by page, but
/// does not shrink it again.
void grow_heap_at_once() {
  constexpr size_t piece = 96 << 10;  // larger pieces do not come from the heap
  std::array<void *, 5> pieces;
  for (void *&p : pieces) p = ::operator new(piece);
  for (void *p : pieces) ::operator delete(p);
}

/// The library, and the number of threads in it. A fork waits until no thread is inside: the child would
/// inherit locks, the loader's among them, without the threads that release them.
class Library {
 public:
  Library();
  ~Library() {
    std::unique_lock lock(mutex_);
    // A child of fork has no opener thread that could leave, so it must not wait for one.
    if (owner_ == getpid()) unused_.wait(lock, [&] { return users_ == 0; });
  }

  void enter() {
    std::scoped_lock lock(mutex_);
    ++users_;
  }
  void leave() {
    std::scoped_lock lock(mutex_);
    if (--users_ == 0) unused_.notify_all();
  }
  /// Waits until no thread is in the library, and keeps others out until the fork has happened.
  void before_fork() {
    std::unique_lock lock(mutex_);
    unused_.wait(lock, [&] { return users_ == 0; });
    lock.release();  // held until after the fork
  }
  void after_fork() { mutex_.unlock(); }

  /// Returns the entry, for threads that have entered.
  CompileFn entry() {
    std::unique_lock lock(mutex_);
    if (opened_.valid()) {
      // The lock is released during the wait: other threads enter and leave meanwhile.
      std::shared_future<CompileFn> opened = opened_;
      lock.unlock();
      opened.wait();
      lock.lock();
      entry_ = opened.get();
    }
    if (!entry_) entry_ = open_now();
    return entry_;
  }

  /// Opens the library in a thread of its own. If no thread can be started, entry() opens the library.
  void open_early(const Target &target) {
    std::scoped_lock lock(mutex_);
    if (entry_ || has_opener_) return;
    try {
      auto promise = std::make_shared<std::promise<CompileFn>>();
      std::shared_future<CompileFn> opened = promise->get_future().share();
      has_opener_ = start_thread([this, target, promise] { open_and_prepare(target, std::move(*promise)); });
      if (!has_opener_) return;
      opened_ = std::move(opened);
      owner_ = getpid();
      ++users_;
    } catch (const std::bad_alloc &) {
    }
  }

 private:
  /// Announces once that the library is open, or at the end that it is not.
  struct Announcement {
    std::promise<CompileFn> &to;
    CompileFn entry = nullptr;
    bool is_made = false;
    void make() {
      if (!is_made) to.set_value(entry);
      is_made = true;
    }
  };

  /// Opens the library and lets it set up LLVM for `target`. Compiles may enter as soon as the library
  /// announces its set-up: they then wait for it inside.
  void open_and_prepare(const Target &target, std::promise<CompileFn> promise) {
    Announcement opened{promise};
    try {
      if (can_throw()) grow_heap_at_once(), opened.entry = open_now();
      std::string id(build_id());
      KwLlvmRequest prepare{id.c_str(), nullptr, &target, 0, 0, nullptr};
      auto announce = [](void *to, const char *, size_t) { static_cast<Announcement *>(to)->make(); };
      if (opened.entry) opened.entry(&prepare, announce, &opened);
    } catch (...) {  // entry() tries again and reports the error
    }
    opened.make();
    leave();
  }

  std::mutex mutex_;
  std::condition_variable unused_;
  int users_ = 0;
  bool has_opener_ = false;
  std::shared_future<CompileFn> opened_;
  pid_t owner_ = 0;
  CompileFn entry_ = nullptr;
};

/// Returns the only library of the process.
Library &library() {
  static Library it;
  return it;
}

/// Registers the handlers of fork, which exist as long as the process.
Library::Library() {
  ensure(pthread_atfork([] { library().before_fork(); }, [] { library().after_fork(); },
                        [] { library().after_fork(); }) == 0,
         "no memory for the handlers of fork");
}

/// The answer of one call: the status of kw_llvm_compile, and the result or the error text.
struct Received {
  int32_t status = 0;
  std::string text;
};

/// Calls the library. Throws E502 if it is of another build (status 2) and std::bad_alloc if it has no memory
/// (status 3). The caller judges status 1.
Received request(const Func &f, const Target &target, int32_t want, int32_t provoke,
                 const SourcePlaces *places = nullptr) {
  Received out;
  std::string id(build_id());
  KwLlvmRequest r{id.c_str(), &f, &target, want, provoke, places};
  auto receive = [](void *context, const char *data, size_t size) {
    static_cast<std::string *>(context)->assign(data, size);
  };
  HoldForks in_use;
  out.status = library().entry()(&r, receive, &out.text);
  if (out.status == 2) library_error(std::move(out.text));
  if (out.status == 3) throw std::bad_alloc();
  return out;
}

}  // namespace

bool has_llvm() {
#ifdef KW_WITHOUT_LLVM
  return false;
#else
  return true;
#endif
}

HoldForks::HoldForks() { library().enter(); }
HoldForks::~HoldForks() { library().leave(); }

void open_llvm_early(const Target &target) { library().open_early(target); }

std::string call_llvm(const Func &f, const Target &target, LlvmWant want, const SourcePlaces *places) {
  Received r = request(f, target, static_cast<int32_t>(want), 0, places);
  ensure(r.status == 0, cat("LLVM failed on '", f.name, "': ", r.text));
  return std::move(r.text);
}

std::string provoke_llvm_fault(const Func &f, const Target &target, int32_t what) {
  Received r = request(f, target, 0, what);
  return r.status == 0 ? std::string() : r.text;
}

}  // namespace kw
