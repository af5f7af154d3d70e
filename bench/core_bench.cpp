// Loading of a cached object and the front end's time for a kernel of twenty lines.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <string_view>

#include "frontend/lower.h"
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

}  // namespace
}  // namespace kw

int main(int argc, char **argv) {
  if (argc == 3 && std::string_view(argv[1]) == "first_load") return kw::first_load(argv[2]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
