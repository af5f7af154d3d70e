// What one launch costs in C++: by the driver alone, by our runtime, and replayed in a graph.
//     kw_launches [LAUNCHES [ROUNDS]]
// Prints microseconds of one launch, medians over the rounds: until the functions have returned, and until
// the device has executed all. Our kernel adds 1 to each element of 64 KB, which are compared at the end.
// More than 1,000 launches may fill the queue of a device, so that functions wait for it.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "runtime/cuda/cubins.h"
#include "runtime/cuda/run.h"
#include "runtime/jit.h"
#include "runtime/op_error.h"
#include "support/text.h"

namespace kw {
namespace {

constexpr const char *source = R"(def f(a):
    for i in range(a.shape[0]):
        a[i] = a[i] + 1.0
    return a
)";
constexpr int64_t count = 1 << 14;

/// The functions of the driver for graphs, which our runtime does not use.
struct GraphDriver {
  CuResult (*cuStreamCreate)(CuStream *, unsigned) = nullptr;
  CuResult (*cuStreamBeginCapture_v2)(CuStream, int) = nullptr;
  CuResult (*cuStreamEndCapture)(CuStream, void **) = nullptr;
  CuResult (*cuGraphInstantiateWithFlags)(void **, void *, unsigned long long) = nullptr;
  CuResult (*cuGraphLaunch)(void *, CuStream) = nullptr;

  GraphDriver() {
    const char *chosen = std::getenv("KW_LIBCUDA");
    void *library = dlopen(chosen && *chosen ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto find = [&](auto *&function, const char *name) {
      function = library ? reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name))
                         : nullptr;
      if (!function) throw OpError(OpError::Kind::value, cat("the driver has no function ", name));
    };
    find(cuStreamCreate, "cuStreamCreate");
    find(cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2");
    find(cuStreamEndCapture, "cuStreamEndCapture");
    find(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
    find(cuGraphLaunch, "cuGraphLaunch");
  }
};

struct Cost {
  double returned = 0, executed = 0;  ///< microseconds of one launch
};

class Launches {
 public:
  Launches(int launches, int rounds)
      : launches_(launches), rounds_(rounds), device_(cuda_device(0)), driver_(device_.driver()) {
    device_.enter();
    check(graphs_.cuStreamCreate(&stream_, 1), "cuStreamCreate");
    Request request = {"f", source, {}, {}, {}, device_.target(), "cuda"};
    ArgSpec array;
    array.rank = 1;
    request.signature.args.push_back(array);
    kernel_ = Jit("", 0).compile(request, {source, "launches.cpp", 1});
    data_ = device_.memory().allocate(count * sizeof(float), stream_);
    pointer_ = reinterpret_cast<void *>(data_);
    check(driver_.cuMemsetD8Async(data_, 0, count * sizeof(float), stream_), "cuMemsetD8Async");
  }

  /// An empty kernel, which takes no arguments.
  Cost by_driver() {
    Cubin code = compile_cubin({cuda_text("KW_KERNEL(32) nothing() {\n}\n"), device_.target().arch,
                                device_.runs_machine_code() ? NvrtcWant::cubin : NvrtcWant::ptx, "nothing"});
    CuLibrary library = nullptr;
    CuKernel kernel = nullptr;
    CuFunction function = nullptr;
    check(driver_.cuLibraryLoadData(&library, code.bytes.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cuLibraryLoadData");
    check(driver_.cuLibraryGetKernel(&kernel, library, "nothing"), "cuLibraryGetKernel");
    check(driver_.cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
    return measure(launches_, [&] {
      check(driver_.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr),
            "cuLaunchKernel");
    });
  }

  Cost by_runtime() {
    return measure(launches_, [&] { start(); });
  }

  /// All launches of a round in one graph, which is launched once.
  Cost by_graph() {
    void *graph = nullptr, *executable = nullptr;
    check(graphs_.cuStreamBeginCapture_v2(stream_, 0), "cuStreamBeginCapture");
    for (int k = 0; k < launches_; ++k) start();
    added_ -= launches_;  // not executed yet
    check(graphs_.cuStreamEndCapture(stream_, &graph), "cuStreamEndCapture");
    check(graphs_.cuGraphInstantiateWithFlags(&executable, graph, 0), "cuGraphInstantiate");
    Cost all = measure(1, [&] {
      check(graphs_.cuGraphLaunch(executable, stream_), "cuGraphLaunch");
      added_ += launches_;
    });
    return {all.returned / launches_, all.executed / launches_};
  }

  /// Returns what is wrong with the sum that our kernel made, or "".
  std::string problem() {
    std::vector<float> found(count);
    check(driver_.cuMemcpyDtoHAsync_v2(found.data(), data_, count * sizeof(float), stream_),
          "cuMemcpyDtoHAsync");
    device_.wait(stream_);
    for (float x : found)
      if (x != static_cast<float>(added_))
        return cat("the kernel was executed ", static_cast<int64_t>(x), " times, not ", added_);
    return "";
  }

 private:
  using Clock = std::chrono::steady_clock;

  void check(CuResult r, const char *function) {
    device_.check(r, function);
    if (r != cu_success) throw OpError(OpError::Kind::value, cat(function, ": ", name_of_result(driver_, r)));
  }

  void start() {
    CallWords words;
    words.data = &pointer_, words.dims = &count;
    start_on_device(device_, *kernel_, words, stream_, nullptr, false);
    ++added_;
  }

  Cost measure(int launches, const std::function<void()> &launch) {
    launch();
    std::vector<double> returned, executed;
    auto since = [](Clock::time_point begin) {
      return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    };
    for (int round = 0; round < rounds_; ++round) {
      device_.wait(stream_);
      auto begin = Clock::now();
      for (int k = 0; k < launches; ++k) launch();
      returned.push_back(since(begin) / launches);
      device_.wait(stream_);
      executed.push_back(since(begin) / launches);
    }
    auto median = [](std::vector<double> &times) {
      auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
      std::nth_element(times.begin(), middle, times.end());
      return *middle;
    };
    return {median(returned), median(executed)};
  }

  int launches_, rounds_;
  CudaDevice &device_;  // first: without a driver its error tells why
  GraphDriver graphs_;
  const CudaDriver &driver_;
  std::shared_ptr<const LoadedKernel> kernel_;
  CuStream stream_ = nullptr;
  CuPointer data_ = 0;
  void *pointer_ = nullptr;
  int64_t added_ = 0;  ///< to each element by all launches
};

int run(int launches, int rounds) {
  Launches bench(launches, rounds);
  std::printf("  a launch in C++ %26s %14s\n", "us to return", "us to execute");
  auto row = [](const char *name, Cost c) {
    std::printf("    %-24s %13.2f %14.2f\n", name, c.returned, c.executed);
  };
  row("driver, empty kernel", bench.by_driver());
  row("runtime, 64 KB", bench.by_runtime());
  row("graph, 64 KB", bench.by_graph());
  std::string problem = bench.problem();
  if (!problem.empty()) std::fprintf(stderr, "kw_launches: %s\n", problem.c_str());
  return problem.empty() ? 0 : 1;
}

}  // namespace
}  // namespace kw

int main(int argc, char **argv) {
  int launches = argc > 1 ? std::atoi(argv[1]) : 1000, rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  // Elements count the launches, which f32 does exactly up to 2^24.
  if (launches < 1 || rounds < 1 || int64_t{launches} * (2 * rounds + 2) > 1 << 24) {
    std::fprintf(stderr, "usage: kw_launches [LAUNCHES [ROUNDS]]\n");
    return 2;
  }
  try {
    return kw::run(launches, rounds);
  } catch (const kw::ResolvedError &e) {
    for (const kw::Resolved &r : e.errors) {
      std::fprintf(stderr, "kw_launches: %s\n", r.message.c_str());
      for (const auto *lines : {&r.notes, &r.help})
        for (const std::string &line : *lines) std::fprintf(stderr, "  %s\n", line.c_str());
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "kw_launches: %s\n", e.what());
  }
  return 1;
}
