// Kernels given as text, called from C++.
#include "runtime/calls/loop_kernel.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/op_error.h"
#include "support/text.h"
#include "tests/unit/runtime/tensors.h"

namespace kw {
namespace {

const char *const add_text = R"(def add(a, b):
    c = output_tensor(a.shape, a.dtype)
    for p in grid(a.shape):
        c[p] = a[p] + b[p]
    return c
)";

TEST(LoopKernel, RunsForEveryShapeAndDtype) {
  Interpreted interpreted;
  LoopKernel add("add", add_text, "add.py");
  EXPECT_EQ(values(add({tensor({2}, {1, 2}), tensor({2}, {10, 20})})[0]), (Values{11, 22}));
  EXPECT_EQ(values(add({tensor({1, 3}, {1, 2, 3}), tensor({1, 3}, {1, 1, 1})})[0]), (Values{2, 3, 4}));
  Tensor halves = tensor({2}, {1, 2}, DType::i32);
  EXPECT_EQ(values(add({halves, halves})[0]), (Values{2, 4}));
  EXPECT_EQ(values(add({tensor({}, {1}), tensor({}, {2})})[0]), (Values{3}));
  EXPECT_EQ(values(add({tensor({0}, {}), tensor({0}, {})})[0]), Values{});
}

TEST(LoopKernel, TakesViewsAndNumbers) {
  Interpreted interpreted;
  LoopKernel scaled("scaled",
                    "def scaled(a, s):\n"
                    "    c = output_tensor(a.shape, a.dtype)\n"
                    "    for i, j in grid(a.shape):\n"
                    "        c[i, j] = a[i, j] * s\n"
                    "    return c\n",
                    "scaled.py");
  Tensor a = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(scaled({a.permuted(std::vector<size_t>{1, 0}), 2.0})[0]), (Values{2, 8, 4, 10, 6, 12}));
  EXPECT_EQ(values(scaled({tensor({1}, {3}).broadcast(std::vector<int64_t>{2, 2}), int64_t{2}})[0]),
            (Values{6, 6, 6, 6}));
}

TEST(LoopKernel, ChangesArgumentsThatItReturns) {
  Interpreted interpreted;
  LoopKernel shift("shift",
                   "def shift(a, b):\n"
                   "    for i in range(a.shape[0]):\n"
                   "        a[i] = b[i] + 1\n"
                   "    return a\n",
                   "shift.py");
  Tensor a = tensor({4}, {0, 0, 0, 0}), b = tensor({4}, {1, 2, 3, 4});
  uint64_t before = a.storage().writes();
  EXPECT_TRUE(shift({a, b})[0].is(a));
  EXPECT_EQ(values(a), (Values{2, 3, 4, 5}));
  EXPECT_EQ(a.storage().writes(), before + 1);
  // overlapping: in source order
  Tensor all = tensor({5}, {1, 0, 0, 0, 0});
  auto part = [&](int64_t first) {
    return Tensor::over(all.shared_storage(), static_cast<float *>(all.data()) + first, DType::f32,
                        std::vector<int64_t>{4}, {});
  };
  shift({part(1), part(0)});
  EXPECT_EQ(values(all), (Values{1, 2, 3, 4, 5}));
  // the same view twice: compiled as one buffer
  EXPECT_TRUE(shift({a, a})[0].is(a));
  EXPECT_EQ(values(a), (Values{3, 4, 5, 6}));
}

TEST(LoopKernel, RefusesWhatCannotRun) {
  Interpreted interpreted;
  LoopKernel pick("pick",
                  "def pick(a, k):\n"
                  "    c = output_tensor((1,), a.dtype)\n"
                  "    c[0] = a[k]\n"
                  "    return c\n",
                  "pick.py");
  Tensor a = tensor({4}, {1, 2, 3, 4});
  EXPECT_EQ(values(pick({a, int64_t{3}})[0]), (Values{4}));
  EXPECT_EQ(error_of<ResolvedError>([&] { pick({a, int64_t{4}}); }),
            "index 4 is out of range for dimension 0 of 'a', whose extent is 4 (valid 0..3)");
  EXPECT_EQ(error_of<ResolvedError>([&] { pick({a, 0.5}); }), "an index is a Python float, not an integer");
  EXPECT_EQ(error_of<OpError>([&] { pick({a}); }), "kernel 'pick' takes 2 arguments, but 1 were given");
  EXPECT_EQ(error_of<OpError>([&] { pick(std::vector<Operand>(40, a)); }),
            "kernel 'pick' takes 2 arguments, but 40 were given");
  std::string parameters = "a0";
  for (int i = 1; i < 65; ++i) parameters += cat(", a", i);
  LoopKernel many("many", cat("def many(", parameters, "):\n    return a0\n"), "many.py");
  EXPECT_EQ(error_of<OpError>([&] { many(std::vector<Operand>(65, a)); }),
            "kernel 'many': a kernel has at most 64 parameters");
  LoopKernel clear("clear",
                   "def clear(a):\n"
                   "    for i in range(a.shape[0]):\n"
                   "        a[i] = 0\n"
                   "    return a\n",
                   "clear.py");
  float memory[2] = {};
  Tensor constant =
      Tensor::over(Storage::adopt(memory, false, [] {}), memory, DType::f32, std::vector<int64_t>{2}, {});
  EXPECT_EQ(error_of<OpError>([&] { clear({constant}); }),
            "argument 'a' of kernel 'clear' is written but read-only; pass a writable copy: a.copy()");
  EXPECT_EQ(
      error_of<OpError>([&] { clear({tensor({1}, {1}).broadcast(std::vector<int64_t>{3})}); }),
      "argument 'a' of kernel 'clear' is written but several of its elements share memory; pass a copy: "
      "a.copy()");
}

TEST(LoopKernel, ServesThreads) {
  Interpreted interpreted;
  LoopKernel add("add", add_text, "add.py");
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int n = 1; n < 5; ++n) {
        Tensor a = tensor(std::vector<int64_t>(static_cast<size_t>(1 + t % 3), 1), {1.0 * t});
        right += values(add({a, a})[0]) == Values{2.0 * t};
      }
    });
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(right, 32);
}

}  // namespace
}  // namespace kw
