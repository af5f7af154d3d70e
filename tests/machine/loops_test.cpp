// Loops longer than the stretches between two looks at the cancel word, as machine code: the ends of a
// stretch are met by no smaller loop. Cancels nothing.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/jit.h"
#include "runtime/launch.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

std::shared_ptr<const LoadedKernel> compiled(const char *text, std::vector<ArgSpec> args) {
  SourceText source{text, "k.py", 1};
  Request r;
  r.name = "k";
  r.identity = source.text;
  r.signature = unit::signature(std::move(args));
  r.target = host_target();
  return Jit("", 0).compile(r, source);
}

TEST(MachineLoops, a_loop_goes_on_behind_each_look_at_the_cancel_word) {
  auto kernel = compiled(
      "def k(a):\n    c = output_tensor(a.shape, 'int32')\n    for i in range(a.shape[0]):\n"
      "        c[i] = i + 1\n    return c\n",
      {unit::tensor(1, DType::i8)});
  constexpr int64_t stretch = 1 << 20;
  for (int64_t n : {stretch - 1, stretch, stretch + 1, 2 * stretch + 5}) {
    std::vector<int8_t> a(static_cast<size_t>(n));
    std::vector<int32_t> c(a.size());
    void *data[] = {a.data(), c.data()};
    int64_t dims[] = {n};
    ASSERT_EQ(run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status, 0);
    for (size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], static_cast<int32_t>(i) + 1) << n;
  }
}

/// Several divisions keep the loop scalar and in one copy, so that it has stretches of its own.
TEST(MachineLoops, a_scalar_loop_goes_on_behind_each_look_at_the_cancel_word) {
  auto kernel = compiled(
      "def k(a):\n    c = output_tensor((1,), 'int64')\n    s = 1\n    for i in range(a.shape[0]):\n"
      "        s = (s * 31 + a[i]) % 1000003 // 3 + s % 7 + s // 5 % 11\n    c[0] = s\n    return c\n",
      {unit::tensor(1, DType::i64)});
  constexpr int64_t stretch = 1 << 20;
  for (int64_t n : {stretch - 1, stretch, stretch + 1, 2 * stretch + 5}) {
    std::vector<int64_t> a(static_cast<size_t>(n), 2);
    int64_t c = 0, s = 1;
    for (int64_t x : a) s = (s * 31 + x) % 1000003 / 3 + s % 7 + s / 5 % 11;
    void *data[] = {a.data(), &c};
    int64_t dims[] = {n};
    ASSERT_EQ(run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status, 0);
    EXPECT_EQ(c, s) << n;
  }
}

/// Of the index array whole vectors are looked at, then what is left of a block of 1,024.
TEST(MachineLoops, a_bad_subscript_is_found_wherever_it_stands) {
  auto kernel = compiled(
      "def k(a, idx):\n    c = output_tensor(idx.shape, a.dtype)\n    for i in range(idx.shape[0]):\n"
      "        c[i] = a[idx[i]]\n    return c\n",
      {unit::tensor(1), unit::tensor(1, DType::i64)});
  constexpr int64_t extent = 4;
  for (int64_t n : {1, 7, 8, 9, 24, 1023, 1024, 1025, 1040}) {
    std::vector<float> a(extent + 1), c(static_cast<size_t>(n));
    std::vector<int64_t> index(c.size());
    void *data[] = {a.data(), index.data(), c.data()};
    int64_t dims[] = {extent, n};
    EXPECT_EQ(run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status, 0) << n;
    for (size_t at = 0; at < index.size(); ++at) {
      index[at] = extent;  // its place can be read all the same
      RunResult r = run_here(*kernel, {data, dims, nullptr, 0}, nullptr);
      ASSERT_TRUE(r.status == 1 && r.fault.value == extent && r.fault.bound == extent) << at << " of " << n;
      index[at] = 0;
    }
  }
}

TEST(MachineLoops, the_loader_tells_how_much_stack_the_code_takes) {
  auto small = compiled("def k(a):\n    for i in range(a.shape[0]):\n        a[i] = a[i] * 2\n    return a\n",
                        {unit::tensor(1)});
  auto large = compiled(
      "def k(a):\n    for i in range(a.shape[0]):\n        t = allocate((512,), 'float32')\n"
      "        t[(i * 3) % 512] = a[i]\n        a[i] = t[(i * 2) % 512] + t[i % 512]\n    return a\n",
      {unit::tensor(1)});
  EXPECT_LT(small->stack_bytes(), 1024u);
  EXPECT_GE(large->stack_bytes(), 2048u);
}

}  // namespace
}  // namespace kw
