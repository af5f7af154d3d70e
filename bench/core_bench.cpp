// Loading of a cached object, the front end's time for a kernel of twenty lines, and what a parallel region
// costs beside its work.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "frontend/lower/lower.h"
#include "runtime/cpu/pool.h"
#include "runtime/jit.h"

namespace kw {
namespace {

constexpr const char *source = R"(def layernorm(x, gain, shift):
    y = output_tensor(x.shape, x.dtype)
    n = x.shape[1]
    for i in range(x.shape[0]):
        mean = 0.0
        for j in range(n):
            mean += x[i, j]
        mean = mean / n
        spread = 0.0
        for j in range(n):
            d = x[i, j] - mean
            spread += d * d
        scale = 1.0 / sqrt(spread / n + 1e-5)
        for j in range(n):
            v = (x[i, j] - mean) * scale
            if v > 0.0:
                y[i, j] = v * gain[j] + shift[j]
            else:
                y[i, j] = v * 0.5
    return y
)";

Signature signature() {
  Signature s;
  for (uint8_t rank : {2, 1, 1}) {
    ArgSpec a;
    a.rank = rank;
    s.args.push_back(a);
  }
  return s;
}

/// Parse, infer and lower.
void front_end(benchmark::State &state) {
  Captures captures;
  CodegenOptions options;
  Signature s = signature();
  for (auto _ : state) {
    SourceMap sources;
    uint32_t id = sources.add_text("bench", 0, source);
    Sink sink;
    Func f = compile_source({sources, id, s, captures, options}, sink);
    benchmark::DoNotOptimize(f.body.p.get());
  }
}
BENCHMARK(front_end)->Unit(benchmark::kMicrosecond);

Request request() { return {"layernorm", source, {}, signature(), {}, host_target(), "llvm"}; }

Artifact compiled() {
  Request r = request();
  return Jit("", 0).compile(r, {source, "bench", 1})->artifact();
}

/// Checksum, decoding, mapping, relocation and protection of one artifact in memory.
void load_artifact(benchmark::State &state) {
  std::string bytes = serialize(compiled());
  for (auto _ : state) {
    auto artifact = deserialize(bytes);
    std::string error;
    auto kernel = LoadedKernel::load(std::move(*artifact), error);
    benchmark::DoNotOptimize(kernel.get());
  }
}
BENCHMARK(load_artifact)->Unit(benchmark::kMicrosecond);

/// `kw_bench first_load DIRECTORY`: microseconds of the first load in a process; the first process compiles.
int first_load(const char *directory) {
  Jit jit(directory, uint64_t{1} << 30);
  Request r = request();
  auto begin = std::chrono::steady_clock::now();
  if (!jit.find(r)) return jit.compile(r, {source, "bench", 1}) ? 0 : 1;
  std::printf("%g\n",
              std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

/// The same from its file.
void load_cached(benchmark::State &state) {
  char directory[] = "/tmp/kw-bench-XXXXXX";
  if (!mkdtemp(directory)) return state.SkipWithError("no temporary directory");
  Request r = request();
  Jit jit(directory, uint64_t{1} << 30);
  jit.compile(r, {source, "bench", 1});
  for (auto _ : state) benchmark::DoNotOptimize(jit.find(r).get());
  jit.cache().clear();
  rmdir(directory);
}
BENCHMARK(load_cached)->Unit(benchmark::kMicrosecond);

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// A chain of multiplications, so that no other work of the core shortens it.
void work(int64_t steps) {
  uint64_t x = 1;
  for (int64_t k = 0; k < steps; ++k) benchmark::DoNotOptimize(x *= 0x9E3779B97F4A7C15u);
}

/// Steps of about so many microseconds.
int64_t steps_of(double microseconds) {
  constexpr int64_t probe = 100'000;
  double best = 1e9;
  for (int k = 0; k < 50; ++k) {
    auto begin = Clock::now();
    work(probe);
    best = std::min(best, microseconds_since(begin));
  }
  return static_cast<int64_t>(probe * microseconds / best);
}

/// Microseconds that a region of two chunks of equal work takes beyond the work of one chunk; the share
/// `quantile` of `count` regions takes less.
double region_cost(double chunk_work, int count, double quantile, std::chrono::milliseconds rest) {
  static const volatile uint32_t never = 0;
  int64_t steps = steps_of(chunk_work);
  auto body = [](void *frame, int64_t, int32_t) { work(*static_cast<int64_t *>(frame)); };
  std::vector<double> costs;
  for (int k = 0; k < count; ++k) {
    if (rest.count() > 0) std::this_thread::sleep_for(rest);
    auto begin = Clock::now();
    run_region({body, &steps, 2, 2, &never});
    costs.push_back(microseconds_since(begin) - chunk_work);
  }
  std::sort(costs.begin(), costs.end());
  return costs[static_cast<size_t>(quantile * (count - 1))];
}

/// `kw_bench fork_join`: one round, four numbers. The last is taken while another process fills a core.
int fork_join() {
  std::chrono::milliseconds at_once(0), idle(50);
  double empty = region_cost(0, 20'000, 0.5, at_once), hot = region_cost(5, 5'000, 0.5, at_once);
  double cold = region_cost(5, 21, 0.5, idle);
  pid_t other = fork();
  if (other == 0)
    for (;;) work(1 << 20);
  double beside_other = other > 0 ? region_cost(20, 5'000, 0.99, at_once) : 0;
  if (other > 0) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  std::printf("%g %g %g %g\n", empty, hot, cold, beside_other);
  return 0;
}

}  // namespace
}  // namespace kw

int main(int argc, char **argv) {
  if (argc == 3 && std::string_view(argv[1]) == "first_load") return kw::first_load(argv[2]);
  if (argc == 2 && std::string_view(argv[1]) == "fork_join") return kw::fork_join();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
