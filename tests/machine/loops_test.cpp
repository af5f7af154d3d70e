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

TEST(MachineLoops, a_loop_goes_on_behind_each_look_at_the_cancel_word) {
  SourceText source{
      "def k(a):\n    c = output_tensor(a.shape, 'int32')\n    for i in range(a.shape[0]):\n"
      "        c[i] = i + 1\n    return c\n",
      "k.py", 1};
  Request r;
  r.name = "k";
  r.identity = source.text;
  r.signature = unit::signature({unit::tensor(1, DType::i8)});
  r.target = host_target();
  auto kernel = Jit("", 0).compile(r, source);
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

}  // namespace
}  // namespace kw
