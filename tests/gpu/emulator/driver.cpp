// libcuda.so.1 for machines without a GPU: the functions of the CUDA driver that the product calls, over
// memory.cpp. Work in streams is done by one thread, as late as somebody waits for it and in an order that a
// seed chooses, so that a missing wait or event shows.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fibres.h"
#include "image.h"
#include "memory.h"
#include "requests.h"
#include "settings.h"

using Result = int;
namespace {

enum : Result {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  no_device = 100,
  invalid_image = 200,
  invalid_context = 201,
  no_binary = 209,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  too_many_resources = 701,
  capture_unsupported = 900,
};

}  // namespace

// What the handles of the driver's interface point to.
struct Context {
  int device;
};
struct Stream;
/// One piece of work in a stream, and the work that comes before it.
struct Work {
  std::function<void()> run;
  std::vector<std::shared_ptr<Work>> before;
  std::atomic<bool> is_done = false;
};
struct Stream {
  std::shared_ptr<Work> last;
  bool is_blocking = true;  ///< waits for the legacy stream, and that for it
  bool is_captured = false;
  std::vector<std::function<void()>> *graph = nullptr;  ///< that its work goes to while it is captured
};
struct Event {
  std::shared_ptr<Work> work;
};
struct Library {
  void *handle;
  std::string machine;
};
struct Function {
  void (*run)(void **params, const long long *size, unsigned long long seed);
  const char *name;
  int threads;
  const int *sizes;  ///< of the parameters, then 0
  void *library;
};
struct Pool {
  int device;
};

namespace {

/// The process's stand-in.
struct Driver {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Context> contexts;
  std::vector<std::shared_ptr<Work>> queue;  ///< not done, in the order of the calls
  std::shared_ptr<Work> demanded;            ///< somebody waits for it
  std::map<void *, std::unique_ptr<Stream>> streams;
  Stream legacy;
  std::atomic<Result> failure{success};
  uint64_t seed = std::strtoull(setting("KW_EMULATOR_SEED", "0").c_str(), nullptr, 10);
  uint64_t random = seed;
  uint32_t launches = 0;
  bool is_initialized = false, has_thread = false;
  size_t memory = std::strtoull(setting("KW_EMULATOR_MEMORY", "1073741824").c_str(), nullptr, 10);

  uint64_t next_random() { return (random = random * 6364136223846793005ull + 1442695040888963407ull) >> 33; }
};
Driver &driver() {
  static Driver &d = *new Driver;
  return d;
}
thread_local Context *present = nullptr;

/// Where a report leaves the running kernel.
jmp_buf leave;
bool is_running = false;

/// Returns a stream, or null. The default one is that of the context of this thread.
Stream *stream_of(void *handle) {
  Driver &d = driver();
  if (handle == nullptr || handle == reinterpret_cast<void *>(uintptr_t{1}))
    return present ? &d.legacy : nullptr;
  auto found = d.streams.find(handle);
  return found == d.streams.end() ? nullptr : found->second.get();
}

/// Does work, after all that comes before it.
void execute(const std::shared_ptr<Work> &work) {
  if (work->is_done) return;
  for (const auto &b : work->before) execute(b);
  if (driver().failure == success) work->run();
  work->before.clear();
  work->run = nullptr;
  work->is_done = true;
}

/// The thread of the devices. It does what somebody waits for, and with a seed now and then something else
/// before it.
void *serve(void *) {
  Driver &d = driver();
  std::unique_lock lock(d.mutex);
  while (true) {
    d.changed.wait(lock, [&] { return d.demanded != nullptr; });
    std::shared_ptr<Work> wanted_now = d.demanded, other;
    if (d.seed && !d.queue.empty() && d.next_random() % 2) other = d.queue[d.next_random() % d.queue.size()];
    lock.unlock();
    if (other) execute(other);
    execute(wanted_now);
    lock.lock();
    if (d.demanded == wanted_now) d.demanded = nullptr;
    std::erase_if(d.queue, [](const auto &w) { return w->is_done.load(); });
    d.changed.notify_all();
  }
  return nullptr;
}

/// Appends work to a stream, after other work if there is some.
void enqueue(Stream *s, std::function<void()> run, const std::shared_ptr<Work> &after = nullptr) {
  Driver &d = driver();
  std::scoped_lock lock(d.mutex);
  if (s->graph) return s->graph->push_back(std::move(run));
  auto work = std::make_shared<Work>();
  work->run = std::move(run);
  if (s->last) work->before.push_back(s->last);
  if (after) work->before.push_back(after);
  if (s == &d.legacy) {
    for (auto &[handle, other] : d.streams)
      if (other->is_blocking && other->last) work->before.push_back(other->last);
  } else if (s->is_blocking && d.legacy.last) {
    work->before.push_back(d.legacy.last);
  }
  s->last = work;
  d.queue.push_back(std::move(work));
}

/// Returns the last work of a stream at present: other threads may append more.
std::shared_ptr<Work> last_of(Stream *s) {
  std::scoped_lock lock(driver().mutex);
  return s->last;
}

/// Asks for work to be done; waits for it if wanted. Returns whether it is done.
bool demand(const std::shared_ptr<Work> &work, bool waits) {
  Driver &d = driver();
  std::unique_lock lock(d.mutex);
  if (!work || work->is_done) return true;
  if (!std::exchange(d.has_thread, true)) {
    pthread_t thread;
    pthread_create(&thread, nullptr, serve, nullptr);
    pthread_detach(thread);
  }
  d.changed.wait(lock, [&] { return !d.demanded || d.demanded == work || work->is_done || !waits; });
  if (!d.demanded) d.demanded = work, d.changed.notify_all();
  if (!waits) return false;
  d.changed.wait(lock, [&] { return work->is_done.load(); });
  return true;
}

bool is_full() {  // of so much work. Chosen: tests want less, and it runs within one another
  std::scoped_lock lock(driver().mutex);
  return driver().queue.size() > 4096;
}

/// The common beginning of a function: errors that stay, and errors that a test wants.
Result begin(const char *function) {
  if (Result r = wanted(function)) return r;
  if (!driver().is_initialized) return not_initialized;
  return driver().failure;
}

/// Finds the data of the library that a function lies in.
int find_data(dl_phdr_info *info, size_t, void *of) {
  auto p = reinterpret_cast<uintptr_t>(of);
  uintptr_t begin = UINTPTR_MAX, end = 0;
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto &h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD) continue;
    uintptr_t a = info->dlpi_addr + h.p_vaddr, b = a + h.p_memsz;
    holds = holds || (p >= a && p < b);
    begin = std::min(begin, a), end = std::max(end, b);
  }
  if (holds) emulator::own.data_begin = begin, emulator::own.data_end = end;
  return holds;
}

/// Runs all threads of a launch on the thread of the devices.
void run_launch(const Function &f, std::vector<std::vector<char>> params, std::array<long long, 4> size) {
  Driver &d = driver();
  std::vector<void *> pointers;
  for (auto &p : params) pointers.push_back(p.data());
  emulator::Running running;
  emulator::Unlocked unlocked;
  pthread_attr_t attributes;
  void *stack = nullptr;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  emulator::own.stack_begin = reinterpret_cast<uintptr_t>(stack);
  emulator::own.stack_end = emulator::own.stack_begin + bytes;
  dl_iterate_phdr(find_data, reinterpret_cast<void *>(f.run));
  emulator::here = {++d.launches, 1, f.name, static_cast<uint32_t>(size[3])};
  is_running = true;
  if (setjmp(leave) == 0) f.run(pointers.data(), size.data(), d.seed ? d.next_random() + 1 : 0);
  is_running = false;
  if (emulator::counts_requests) emulator::finish_requests(f.name);
  emulator::here = {};
}

}  // namespace

void emulator::report(const std::string &what) {
  std::fprintf(stderr, "[emulator] kernel %s, thread %u: %s\n", here.kernel, here.thread - 1, what.c_str());
  driver().failure = illegal_address;
  if (!is_running) std::abort();
  if (!leave_fibre()) leave_kernel();
  std::abort();
}

void emulator::leave_kernel() { longjmp(leave, 1); }

extern "C" {

/// Called by the kernels' runner for each thread.
void kw_emulator_thread(unsigned number) { emulator::here.thread = number + 1; }

Result cuInit(unsigned) {
  if (Result r = wanted("cuInit")) return r;
  Driver &d = driver();
  d.is_initialized = true;
  if (d.contexts.empty())
    for (size_t i = 0; i < capabilities().size(); ++i) d.contexts.push_back({static_cast<int>(i)});
  return success;
}
Result cuDriverGetVersion(int *version) {
  *version = std::atoi(setting("KW_EMULATOR_VERSION", "13000").c_str());
  return success;
}
Result cuGetErrorName(Result r, const char **name) {
  static const std::map<Result, const char *> names = {
      {invalid_value, "CUDA_ERROR_INVALID_VALUE"},
      {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {no_device, "CUDA_ERROR_NO_DEVICE"},
      {invalid_image, "CUDA_ERROR_INVALID_IMAGE"},
      {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {999, "CUDA_ERROR_UNKNOWN"}};
  auto found = names.find(r);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? invalid_value : success;
}
Result cuDeviceGetCount(int *count) {
  *count = static_cast<int>(driver().contexts.size());
  return begin("cuDeviceGetCount");
}
Result cuDeviceGet(int *device, int number) {
  *device = number;
  return number < static_cast<int>(driver().contexts.size()) ? begin("cuDeviceGet") : invalid_value;
}
Result cuDeviceGetName(char *name, int size, int device) {
  std::snprintf(name, static_cast<size_t>(size), "Emulated GPU %d", device);
  return begin("cuDeviceGetName");
}
Result cuDeviceGetAttribute(int *value, int which, int device) {
  int capability = capabilities()[static_cast<size_t>(device)];
  *value = which == 75 ? capability / 10 : which == 76 ? capability % 10 : which == 16 ? 4 : 1;
  return begin("cuDeviceGetAttribute");
}
Result cuDevicePrimaryCtxRetain(Context **context, int device) {
  *context = &driver().contexts[static_cast<size_t>(device)];
  return begin("cuDevicePrimaryCtxRetain");
}
Result cuCtxGetCurrent(Context **context) {
  *context = present;
  return driver().failure;
}
Result cuCtxSetCurrent(Context *context) {
  present = context;
  return begin("cuCtxSetCurrent");
}

Result cuStreamCreate(void **stream, unsigned flags) {
  Driver &d = driver();
  auto made = std::make_unique<Stream>();
  made->is_blocking = !(flags & 1);
  *stream = made.get();
  std::scoped_lock lock(d.mutex);
  d.streams.emplace(*stream, std::move(made));
  return success;
}
/// For tests: the seed of the orders from now on.
void kw_emulator_seed(unsigned long long seed) { driver().seed = driver().random = seed; }
/// For tests: from now on, or no more, the stream is captured.
void kw_emulator_capture(void *stream, int is_captured) { stream_of(stream)->is_captured = is_captured != 0; }
Result cuStreamIsCapturing(void *stream, int *state) {
  Stream *s = stream_of(stream);
  *state = s && s->is_captured;
  return s ? begin("cuStreamIsCapturing") : invalid_value;
}
/// A graph is the work of one stream, in its order, and the same object when it can be launched.
Result cuStreamBeginCapture_v2(void *stream, int) {
  Stream *s = stream_of(stream);
  if (!s || s->is_captured || s == &driver().legacy) return invalid_value;
  s->is_captured = true, s->graph = new std::vector<std::function<void()>>;
  return begin("cuStreamBeginCapture");
}
Result cuStreamEndCapture(void *stream, void **graph) {
  Stream *s = stream_of(stream);
  if (!s || !s->graph) return invalid_value;
  s->is_captured = false, *graph = std::exchange(s->graph, nullptr);
  return begin("cuStreamEndCapture");
}
Result cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  *executable = graph;
  return begin("cuGraphInstantiate");
}
Result cuGraphLaunch(void *executable, void *stream) {
  if (Result r = begin("cuGraphLaunch")) return r;
  Stream *s = stream_of(stream);
  if (!s) return invalid_value;
  for (const auto &run : *static_cast<std::vector<std::function<void()>> *>(executable)) enqueue(s, run);
  return success;
}
Result cuStreamSynchronize(void *stream) {
  if (Result r = begin("cuStreamSynchronize")) return r;
  Stream *s = stream_of(stream);
  if (!s) return invalid_value;
  if (s->is_captured) return capture_unsupported;
  demand(last_of(s), true);
  return driver().failure;
}
Result cuStreamQuery(void *stream) {
  if (Result r = begin("cuStreamQuery")) return r;
  Stream *s = stream_of(stream);
  if (!s) return invalid_value;
  if (s->is_captured) return capture_unsupported;
  bool is_done = demand(last_of(s), false);
  return is_done || driver().failure != success ? driver().failure.load() : not_ready;
}
Result cuCtxSynchronize(void) {
  if (Result r = begin("cuCtxSynchronize")) return r;
  Driver &d = driver();
  std::vector<std::shared_ptr<Work>> all;
  {
    std::scoped_lock lock(d.mutex);
    all = d.queue;
  }
  for (const auto &work : all) demand(work, true);
  return d.failure;
}
Result cuEventCreate(Event **event, unsigned) {
  *event = new Event;
  return begin("cuEventCreate");
}
Result cuEventRecord(Event *event, void *stream) {
  if (Result r = begin("cuEventRecord")) return r;
  Stream *s = stream_of(stream);
  if (!s) return invalid_value;
  enqueue(s, [] {});
  event->work = last_of(s);
  return success;
}
Result cuEventQuery(Event *event) {
  if (Result r = begin("cuEventQuery")) return r;
  // asks for no work: what nobody waits for stays undone
  bool is_done = !event->work || event->work->is_done;
  return is_done || driver().failure != success ? driver().failure.load() : not_ready;
}
Result cuStreamWaitEvent(void *stream, Event *event, unsigned) {
  if (Result r = begin("cuStreamWaitEvent")) return r;
  Stream *s = stream_of(stream);
  if (!s) return invalid_value;
  enqueue(s, [] {}, event->work);
  return success;
}

Result cuMemPoolCreate(Pool **pool, const void *properties) {
  int device = 0;
  std::memcpy(&device, static_cast<const char *>(properties) + 12, sizeof device);
  *pool = new Pool{device};
  return begin("cuMemPoolCreate");
}
Result cuMemPoolSetAttribute(Pool *, int, void *) { return begin("cuMemPoolSetAttribute"); }
Result cuMemPoolTrimTo(Pool *, size_t) { return begin("cuMemPoolTrimTo"); }
Result cuMemAllocFromPoolAsync(unsigned long long *memory, size_t bytes, Pool *pool, void *stream) {
  if (Result r = begin("cuMemAllocFromPoolAsync")) return r;
  Stream *s = stream_of(stream);
  if (!s || !bytes) return invalid_value;
  if (s->is_captured) return capture_unsupported;
  *memory = emulator::allocate(pool->device, bytes, driver().memory);
  return *memory ? success : out_of_memory;
}
Result cuMemFreeAsync(unsigned long long memory, void *stream) {
  Stream *s = stream_of(stream);
  if (!s) return invalid_value;
  enqueue(s, [memory] { emulator::release(memory); });
  return success;
}
Result cuPointerGetAttribute(void *value, int which, unsigned long long memory) {
  int device = emulator::device_of(memory);
  if (which != 9 || device < 0) return invalid_value;
  std::memcpy(value, &device, sizeof device);
  return begin("cuPointerGetAttribute");
}
Result cuMemGetInfo_v2(size_t *free, size_t *all) {
  *all = driver().memory;
  *free = *all - emulator::used_bytes(present ? present->device : 0);
  return begin("cuMemGetInfo");
}
Result cuMemAllocHost_v2(void **memory, size_t bytes) {
  *memory = std::calloc(1, bytes);
  emulator::add_pinned(*memory, bytes);
  return begin("cuMemAllocHost");
}

Result cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream) {
  if (Result r = begin("cuMemcpyHtoDAsync")) return r;
  Stream *s = stream_of(stream);
  if (!s || !emulator::is_allocated(to, bytes)) return invalid_value;
  // memory of the host that is not pinned has been read when the function returns
  auto copy = std::make_shared<std::string>();
  if (!emulator::is_pinned(from, bytes)) copy->assign(static_cast<const char *>(from), bytes);
  enqueue(s, [to, from, bytes, copy] {
    emulator::Unlocked unlocked;
    std::memcpy(reinterpret_cast<void *>(to), copy->empty() ? from : copy->data(), bytes);
    emulator::note_written(to, bytes);
  });
  return success;
}
Result cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream) {
  if (Result r = begin("cuMemcpyDtoHAsync")) return r;
  Stream *s = stream_of(stream);
  if (!s || !emulator::is_allocated(from, bytes)) return invalid_value;
  enqueue(s, [to, from, bytes] {
    emulator::Unlocked unlocked;
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  });
  return success;
}
Result cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
  if (Result r = begin("cuMemcpyDtoDAsync")) return r;
  Stream *s = stream_of(stream);
  if (!s || !emulator::is_allocated(from, bytes) || !emulator::is_allocated(to, bytes)) return invalid_value;
  enqueue(s, [to, from, bytes] {
    emulator::Unlocked unlocked;
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
    emulator::copy_notes(to, from, bytes);
  });
  return success;
}
Result cuMemsetD8Async(unsigned long long memory, unsigned char value, size_t bytes, void *stream) {
  if (Result r = begin("cuMemsetD8Async")) return r;
  Stream *s = stream_of(stream);
  if (!s || !emulator::is_allocated(memory, bytes)) return invalid_value;
  enqueue(s, [memory, value, bytes] {
    emulator::Unlocked unlocked;
    std::memset(reinterpret_cast<void *>(memory), value, bytes);
    emulator::note_written(memory, bytes);
  });
  return success;
}

/// Returns the library that a text of the stand-in's NVRTC holds; "" for others.
static std::string library_of_text(const char *text) {
  const std::string head = "// library of the host\n";
  std::string out;
  if (std::strncmp(text, head.c_str(), head.size()) != 0) return out;
  for (const char *p = text + head.size(); p[0] && p[1]; p += 2)
    out += static_cast<char>((p[0] - 'a') << 4 | (p[1] - 'a'));
  return out;
}

/// The machine code of the stand-in is a library of the host (nvrtc.cpp).
Result cuLibraryLoadData(Library **library, const void *code, int *, void **, unsigned, int *, void **,
                         unsigned) {
  if (Result r = begin("cuLibraryLoadData")) return r;
  std::string library_bytes = library_of_text(static_cast<const char *>(code));
  if (library_bytes.empty()) library_bytes = emulator::library_of_image(code);
  if (library_bytes.empty()) return invalid_image;
  // a file with a name of its own: the loader takes equal names for one library
  std::string path = "/tmp/kw_kernel_XXXXXX";
  int file = ::mkstemp(path.data());
  auto size = static_cast<ssize_t>(library_bytes.size());
  bool is_written = file >= 0 && ::write(file, library_bytes.data(), library_bytes.size()) == size;
  void *handle = is_written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!handle) std::fprintf(stderr, "[emulator] %s\n", dlerror());
  if (file >= 0) ::close(file), ::unlink(path.c_str());
  if (!handle) return invalid_image;
  const char *machine = static_cast<const char *>(dlsym(handle, "kw_emulated_arch"));
  *library = new Library{handle, machine ? machine : ""};
  return success;
}
Result cuLibraryGetKernel(Function **kernel, Library *library, const char *name) {
  if (Result r = begin("cuLibraryGetKernel")) return r;
  std::string base = name;
  auto run = reinterpret_cast<decltype(Function::run)>(dlsym(library->handle, (base + "_run").c_str()));
  auto *threads = static_cast<const int *>(dlsym(library->handle, (base + "_threads").c_str()));
  auto sizes = reinterpret_cast<const int *(*)()>(dlsym(library->handle, (base + "_sizes").c_str()));
  if (!run || !threads || !sizes) return not_found;
  *kernel = new Function{run, strdup(name), *threads, sizes(), library};
  return success;
}
Result cuKernelGetFunction(Function **function, Function *kernel) {
  // code for sm_90 runs on 9.x from 9.0 on, and PTX for 9.0 on all that is newer
  int capability = capabilities()[static_cast<size_t>(present ? present->device : 0)];
  const std::string &machine = static_cast<Library *>(kernel->library)->machine;
  bool is_ptx = machine.rfind("compute_", 0) == 0;
  int made_for = std::atoi(machine.c_str() + machine.find('_') + 1);
  if ((!is_ptx && capability / 10 != made_for / 10) || capability < made_for) return no_binary;
  *function = kernel;
  return present ? begin("cuKernelGetFunction") : invalid_context;
}
Result cuLaunchKernel(Function *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned threads_y,
                      unsigned threads_z, unsigned shared, void *stream, void **params, void **extra) {
  static const bool does_nothing = setting("KW_EMULATOR_LAUNCHES", "") == "none";
  if (does_nothing) return success;
  if (Result r = begin("cuLaunchKernel")) return r;
  Stream *s = stream_of(stream);
  bool fits = x >= 1 && y >= 1 && z >= 1 && y <= 65535 && z <= 65535 && x <= INT32_MAX && threads >= 1;
  if (!s || !present || !fits || threads_y != 1 || threads_z != 1 || extra || shared > (227u << 10))
    return invalid_value;
  if (static_cast<int>(threads) > f->threads) return too_many_resources;
  std::vector<std::vector<char>> copies;  // the caller's are gone when the kernel runs
  for (size_t i = 0; f->sizes[i]; ++i) {
    const char *p = static_cast<const char *>(params[i]);
    copies.emplace_back(p, p + f->sizes[i]);
  }
  std::array<long long, 4> size{x, y, z, threads};
  enqueue(s, [f, copies, size] { run_launch(*f, copies, size); });
  // a launch waits while a queue is full
  if (!s->graph && is_full()) demand(last_of(s), true);
  return success;
}

}  // extern "C"
