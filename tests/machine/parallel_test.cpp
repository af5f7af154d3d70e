// Parallel loops as machine code: the bits of the interpreter for any number of threads, trips and chunks;
// and faults, cancelling, memory of threads, forks, many callers. The kernels are IR, which no pass has seen.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "codegen/llvm_library.h"
#include "ir/build.h"
#include "runtime/cpu/float_control.h"
#include "runtime/cpu/pool.h"
#include "runtime/cpu/thread_count.h"
#include "runtime/jit.h"
#include "runtime/launch.h"
#include "runtime/versions/entry.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

const uint32_t counts[] = {1, 2, 3, 8};

/// Sets the number of threads for a scope.
class Threads {
 public:
  explicit Threads(uint32_t n) : before_(thread_count()) { set_thread_count(n); }
  Threads(const Threads &) = delete;
  ~Threads() { set_thread_count(before_); }

 private:
  uint32_t before_;
};

/// Kernels over float64 a[n], an integer p and float64 w[n, 4] by the lines of their body.
std::string text_of(std::string_view body) {
  return cat(
      "# kw-ir 2\ndef f(a: buf(f64, (n,)), p: weak(i64), w: inout(f64, (n, 4))):\n  fp('strict')\n  "
      "dims(n)\n",
      "  site('E303', w, 0)\n  site('E303', a, 0)\n", body, "  return w\n");
}

std::shared_ptr<const LoadedKernel> compiled(std::string_view body) {
  std::string error;
  auto out = load_ir_text(text_of(body), error);
  EXPECT_TRUE(out) << error;
  return out;
}

std::shared_ptr<const LoadedKernel> interpreted(std::string_view body) {
  Artifact a;
  a.code_kind = CodeKind::ir;
  a.code = text_of(body);
  std::string error;
  auto out = LoadedKernel::load(std::move(a), "kw_test", error);
  EXPECT_TRUE(out) << error;
  return out;
}

struct Outcome {
  RunResult result;
  std::vector<double> w;
  friend void PrintTo(const Outcome &x, std::ostream *out) { *out << "status " << x.result.status; }
  friend bool operator==(const Outcome &x, const Outcome &y) {
    const KwFault &f = x.result.fault, &g = y.result.fault;
    bool same_fault = f.state == g.state && f.site == g.site && f.value == g.value && f.bound == g.bound;
    size_t bytes = x.w.size() * sizeof(double);
    return x.result.status == y.result.status && same_fault && x.w.size() == y.w.size() &&
           (bytes == 0 || std::memcmp(x.w.data(), y.w.data(), bytes) == 0);
  }
};

Outcome run(const LoadedKernel &k, int64_t n, uint64_t p = 3, const volatile uint32_t *cancel = nullptr) {
  std::vector<double> a(static_cast<size_t>(n) + 1);
  Outcome out{{}, std::vector<double>(4 * static_cast<size_t>(n) + 1)};
  for (size_t i = 0; i < a.size(); ++i) a[i] = 0.1 + 1.0 / static_cast<double>(i + 3);
  for (size_t i = 0; i < out.w.size(); ++i) out.w[i] = -1.0 / static_cast<double>(i + 1);
  void *data[] = {a.data(), out.w.data()};
  int64_t dims[] = {n};
  int64_t workspace = evaluate_entry(k.artifact().program, dims, 1, &p, 1).workspace;
  out.result = run_here(k, {data, dims, &p, workspace}, cancel);
  return out;
}

/// The same result, bit by bit, as the interpreter's on one thread after the other.
void expect_same(std::string_view body) {
  auto machine = compiled(body), oracle = interpreted(body);
  ASSERT_TRUE(machine && oracle);
  for (int64_t n : {0, 1, 2, 7, 1000}) {
    Outcome want = run(*oracle, n);
    for (uint32_t threads : counts) {
      Threads scope(threads);
      for (int round = 0; round < 5; ++round)
        ASSERT_EQ(run(*machine, n), want) << body << n << " trips, " << threads << " threads";
    }
  }
}

TEST(MachineParallel, one_loop_cut_in_any_way) {
  for (const char *words : {"", ", chunk=1", ", chunk=2", ", chunk=7", ", chunk=1000", ", chunk=4000"})
    expect_same(cat("  for i in parallel(0, n, 1", words, "):\n    w[i, 0] = a[i] * 3.5 + w[i, 1]\n"));
}

TEST(MachineParallel, bounds_and_steps) {
  for (const char *bounds : {"1, n, 1", "n - 1, -1, -1", "0, n, 3", "n - 1, 0, -2", "p, n, 2", "0, 7 * p, 25",
                             "5, 5, 1", "9, 2, 1"})
    for (const char *width : {"0", "3"})
      expect_same(cat("  for i in parallel(", bounds, ", chunk=", width,
                      "):\n    if (0 <= i) and (i < n):\n      w[i, 2] = a[i] - cast(f64, i)\n"));
}

TEST(MachineParallel, captures_of_every_kind) {
  expect_same(
      "  x: f64 = a[0] * 2.0 if 0 < n else 1.0\n  yes: b1 = p < 4\n  h: f32 = cast(f32, x)\n"
      "  t = alloc(f64, (n,), 'heap', fill='zero')\n  s = alloc(f64, (3,), 'stack', fill='zero')\n"
      "  c = alloc(i64, (), 'registers', fill='zero')\n  d = alloc(b1, (), 'registers', fill='zero')\n"
      "  for k in serial(0, 3, 1):\n    s[k] = cast(f64, k) * 0.3\n    c[()] = c[()] + k\n"
      "  d[()] = yes\n"
      "  for i in parallel(0, n, 1):\n    t[i] = x + a[i] * s[i % 3] + cast(f64, c[()] + p)\n"
      "    if d[()] and yes:\n      w[i, 1] = t[i] + cast(f64, h)\n"
      "  for i in parallel(0, n, 1, chunk=2):\n    w[i, 0] = t[n - 1 - i]\n");
}

TEST(MachineParallel, loops_jumps_and_cells_inside) {
  expect_same(
      "  for i in parallel(0, n, 1):\n    s = alloc(f64, (), 'registers')\n    s[()] = a[i]\n"
      "    k = alloc(i64, (), 'registers', fill='zero')\n"
      "    for j in serial(0, 4, 1):\n      if j == 2:\n        continue\n      s[()] = s[()] * 0.75 + w[i, "
      "j]\n"
      "    while k[()] < i % 5:\n      k[()] = k[()] + 1\n      if k[()] == 3:\n        break\n"
      "    w[i, 3] = s[()] + cast(f64, k[()])\n");
}

TEST(MachineParallel, a_parallel_loop_inside_another_one) {
  expect_same(
      "  for i in parallel(0, n, 1, chunk=1):\n    for j in parallel(0, 4, 1):\n"
      "      w[i, j] = a[i] * cast(f64, j) + w[i, j]\n");
}

TEST(MachineParallel, regions_one_after_the_other_in_serial_loops) {
  expect_same(
      "  for k in serial(0, 5, 1):\n    for i in parallel(0, n, 1):\n"
      "      w[i, k % 4] = w[n - 1 - i, (k + 3) % 4] * 0.5 + a[i]\n"
      "    if k < 3:\n      for i in parallel(0, n, 1, chunk=3):\n        w[i, 2] = w[i, 2] + cast(f64, "
      "k)\n");
}

/// How many chunks each region of a run has, with two threads.
std::string chunks_of(std::string_view body, int64_t n) {
  static std::string seen;
  auto machine = compiled(body);
  auto parallel = [](const KwEnv *, int64_t chunks, void (*run_chunk)(void *, int64_t, int32_t),
                     void *frame) {
    seen += cat(chunks, " ");
    for (int64_t i = 0; i < chunks; ++i) run_chunk(frame, i, 0);
  };
  uint32_t cancel = 0;
  KwEnv env{KW_ABI_VERSION, 2, parallel, nullptr, &cancel};
  std::vector<double> a(static_cast<size_t>(n)), w(4 * static_cast<size_t>(n));
  void *data[] = {a.data(), w.data()};
  uint64_t p = 3;
  KwFault fault{};
  seen.clear();
  EXPECT_EQ(machine->run(&env, data, &n, &p, nullptr, &fault), 0);
  return seen;
}

TEST(MachineParallel, phases_that_a_loop_repeats_are_shared_out_together) {
  std::string_view longer =
      "    for i in parallel(0, n, 1):\n      w[i, 0] = a[i] + a[i] * a[i] + a[i] * w[i, 1]\n";
  std::string_view shorter = "    for i in parallel(0, n, 1):\n      w[i, 1] = w[i, 0]\n";
  std::string repeat = "  for k in serial(0, 2, 1):\n";
  auto once = [](std::string_view loop) { return cat("  if 0 < p:\n", loop); };
  constexpr int64_t size = 160000;  // 16 and 6 operations each, and 2^20 are worth two threads
  EXPECT_EQ(chunks_of(once(longer), size), "2 ");
  EXPECT_EQ(chunks_of(once(shorter), size), "");
  EXPECT_EQ(chunks_of(cat(repeat, shorter), size), "");
  EXPECT_EQ(chunks_of(cat(repeat, longer, shorter), size), "2 2 2 2 ");
  EXPECT_EQ(chunks_of(cat(repeat, shorter, longer), size), "2 2 2 2 ");
  std::string few = "    for i in parallel(0, n // 8, 1):\n      w[i, 1] = w[i, 0]\n";  // a quarter is needed
  EXPECT_EQ(chunks_of(cat(repeat, longer, few), size), "2 2 ");
}

TEST(MachineParallel, functions_and_remainders_inside) {
  expect_same("  for i in parallel(0, n, 1):\n    w[i, 0] = exp(a[i]) + fmod(w[i, 1], 0.3) + a[i] % 0.07\n");
}

/// Every iteration fills all of its temporaries first, so that one shared by two threads would show.
TEST(MachineParallel, each_thread_has_temporaries_of_its_own) {
  expect_same(
      "  u = alloc(f64, (n,), 'heap', fill='zero')\n"
      "  for i in parallel(0, n, 1, chunk=1):\n    t = alloc(f64, (n,), 'heap')\n"
      "    z = alloc(f64, (i + 1, 2), 'heap', fill='zero')\n    q = alloc(f64, (8,), 'stack', fill='zero')\n"
      "    for j in serial(0, min(n, 20), 1):\n      t[j] = cast(f64, i * 3 + j)\n"
      "    for j in serial(0, min(n, 20), 1):\n      z[i, 1] = z[i, 1] + t[j] * a[j]\n"
      "    q[i % 8] = z[i, 1]\n    u[i] = q[i % 8] + t[0]\n    w[i, 1] = u[i]\n");
}

TEST(MachineParallel, a_fault_ends_the_kernel) {
  for (const char *width : {"0", "1", "5"}) {
    std::string body =
        cat("  for i in parallel(0, n, 1, chunk=", width,
            "):\n    check(cast(u64, i) < cast(u64, p), site=1)\n    w[i, 0] = a[i]\n", "  w[0, 3] = 77.0\n");
    auto machine = compiled(body);
    for (uint32_t threads : counts) {
      Threads scope(threads);
      for (int64_t n : {8, 1000}) {
        Outcome got = run(*machine, n, 7);
        ASSERT_EQ(got.result.status, 1);
        EXPECT_EQ(got.result.fault.state, 2u);
        EXPECT_EQ(got.result.fault.site, 1u);
        EXPECT_GE(got.result.fault.value, 7);
        EXPECT_LT(got.result.fault.value, n);
        EXPECT_EQ(got.result.fault.bound, 7);
        EXPECT_NE(got.w[3], 77.0) << "what follows the loop ran";
        EXPECT_EQ(run(*machine, 7, 7).result.status, 0);
      }
    }
  }
}

/// The only fault is the interpreter's, wherever it stands.
TEST(MachineParallel, one_fault_is_found_by_every_number_of_threads) {
  auto machine = compiled("  for i in parallel(0, n, 1):\n    check(i != p, site=0)\n    w[i, 0] = a[i]\n");
  for (uint32_t threads : counts) {
    Threads scope(threads);
    for (uint64_t at = 0; at < 64; ++at) {
      RunResult r = run(*machine, 64, at).result;
      ASSERT_TRUE(r.status == 1 && r.fault.value == static_cast<int64_t>(at) && r.fault.site == 0) << at;
    }
  }
}

constexpr std::string_view centuries =
    "  for i in parallel(0, 4611686018427387904, 1):\n    w[i % 2, 1] = cast(f64, i)\n";

TEST(MachineParallel, cancelling_ends_long_chunks_and_many_chunks) {
  for (const char *words : {"1):\n    w[(i // 4611686018427387) % 2, 1] = cast(f64, i)\n",
                            "1, chunk=1000):\n    w[0, 1] = a[0]\n",
                            "1, chunk=1):\n    for j in serial(0, 100, 1):\n"
                            "      w[0, 1] = a[j % 2]\n"}) {
    auto machine = compiled(cat("  for i in parallel(0, 4611686018427387904, ", words));
    for (uint32_t threads : counts) {
      Threads scope(threads);
      std::vector<double> a(8), w(32);
      void *data[] = {a.data(), w.data()};
      int64_t dims[] = {8};
      uint64_t p = 0;
      int looks = 0;
      EXPECT_EQ(run_watched(*machine, {data, dims, &p, 0}, [&] { return ++looks == 2; }).status, 2);
    }
  }
}

TEST(MachineParallel, a_run_that_is_cancelled_before_it_begins_does_nothing) {
  auto machine = compiled(centuries);
  volatile uint32_t cancel = 1;
  for (uint32_t threads : counts) {
    Threads scope(threads);
    EXPECT_EQ(run(*machine, 4, 0, &cancel).result.status, 2);
  }
}

constexpr std::string_view sums =
    "  for i in parallel(0, n, 1, chunk=3):\n    for j in serial(0, n, 1):\n      w[i, 0] = w[i, 0] * 0.5 + "
    "a[j]\n";

TEST(MachineParallel, thirty_two_callers_at_once) {
  auto machine = compiled(sums);
  Outcome want = run(*interpreted(sums), 100);
  Threads scope(4);
  std::vector<std::thread> callers;
  std::vector<int> wrong(32);
  for (size_t t = 0; t < wrong.size(); ++t)
    callers.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) wrong[t] += !(run(*machine, 100) == want);
    });
  for (std::thread &t : callers) t.join();
  EXPECT_EQ(wrong, std::vector<int>(32));
}

TEST(MachineParallel, children_of_fork_run_kernels) {
  auto machine = compiled(sums);
  Outcome want = run(*interpreted(sums), 100);
  Threads scope(3);
  EXPECT_EQ(run(*machine, 100), want);
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(unit::run_in_child([&] { return run(*machine, 100) == want && pool_workers() == 2 ? 0 : 1; }),
              0);
  EXPECT_EQ(run(*machine, 100), want);
}

#if defined(__x86_64__)
/// Workers that began before must follow: half of a least number is zero for all or for none.
TEST(MachineParallel, a_caller_that_flushes_subnormals_gets_one_answer) {
  auto machine = compiled("  for i in parallel(0, n, 1, chunk=1):\n    w[i, 0] = a[0] * 1e-308 * 0.01\n");
  Threads scope(4);
  for (uint32_t change : {0u, 0x8040u, 0u}) {
    uint32_t before = _mm_getcsr();
    for (int round = 0; round < 50; ++round) {
      _mm_setcsr(before | change);
      Outcome got = run(*machine, 64);
      _mm_setcsr(before);
      for (size_t i = 0; i < 64; ++i) ASSERT_EQ(got.w[4 * i] == 0.0, change != 0) << i;
    }
  }
}
#endif

/// A mutable scalar from outside would be one in each thread.
TEST(MachineParallel, a_cell_from_outside_cannot_be_written) {
  std::string error;
  EXPECT_FALSE(load_ir_text(text_of("  c = alloc(f64, (), 'registers', fill='zero')\n"
                                    "  for i in parallel(0, n, 1):\n    c[()] = c[()] + a[i]\n"),
                            error));
  EXPECT_NE(error.find("a parallel loop stores to a cell made outside it"), std::string::npos) << error;
}

/// What emitting a function says, which nothing has verified.
std::string error_of(Stmt body) {
  Func f;
  f.name = "f";
  f.body = std::move(body);
  try {
    call_llvm(f, host_target(), LlvmWant::object);
  } catch (const CompileError &e) {
    return e.what();
  }
  return "emitted";
}

TEST(MachineParallel, what_cannot_be_captured_is_an_internal_error) {
  Buf cell = make_buf(make_sym(SymKind::buffer, DType::i64, "x"), {}, Space::registers);
  Sym i = make_sym(SymKind::iter, DType::i64, "i"), t = make_sym(SymKind::local, DType::i64, "t");
  auto loop = [&](Stmt body) {
    return make_stmt(
        {}, For{i, const_int(0), const_int(9), 1, ForKind::parallel, Hint::none, {}, std::move(body)});
  };
  auto made = [&](Stmt body) { return alloc(cell, Fill::zero, std::move(body)); };
  auto says = [&](Stmt body, std::string_view what) {
    std::string text = error_of(std::move(body));
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  says(loop(made(store(cell, {}, kw::ref(i)))), "emitted");
  says(made(loop(store(cell, {}, kw::ref(i)))), "the parallel loop stores to 'x', a cell made outside it");
  says(loop(made(store(cell, {}, kw::ref(t)))), "'t' has no value before a parallel loop that uses it");
  says(loop(let(t, load(cell, {}), {})), "'x' is not there before a parallel loop that uses it");
}

TEST(MachineParallel, memory_of_threads_that_cannot_be_had_is_told) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers end the process instead of refusing memory";
#endif
  auto machine = compiled(
      "  for i in parallel(0, n, 1, chunk=1):\n    t = alloc(f64, (p * 10000000000000,), 'heap')\n"
      "    t[i] = a[i]\n    w[i, 0] = t[i]\n");
  for (uint32_t threads : counts) {
    Threads scope(threads);
    EXPECT_EQ(run(*machine, 4, 7).result.status, 3);
  }
}

}  // namespace
}  // namespace kw
