// What the host of a GPU knows, which loops it can launch, and what it cannot run around them.
#include "analysis/gpu/launch_form.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/walk.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A kernel over f32 a[n, m], i64 p[n], an integer k and a float q.
Func kernel_of(std::string_view lines) {
  std::string text =
      "def f(a: inout(f32, (n, m)), p: inout(i64, (n,)), k: scalar(i64), q: scalar(f32)):\n  fp('strict')\n  "
      "dims(n, m)\n";
  for (const std::string &line : split_text(lines, '\n')) text += cat("  ", line, "\n");
  return unit::ir(text + "  return a, p\n");
}

/// The iterators of the loops that can be launched, by name.
std::string launchable(std::string_view lines) {
  Func f = kernel_of(lines);  // owns the loops
  std::vector<std::string> out;
  for (const For *n : launchable_loops(f)) out.push_back(n->iter->name);
  std::sort(out.begin(), out.end());
  return join_text(out, " ");
}

TEST(LaunchForm, the_host_knows_shapes_integers_and_its_own_loops) {
  Func f = kernel_of("a[0, 0] = q");
  HostValues host(f);
  Expr n = kw::ref(f.extents[0]), k = kw::ref(f.params[2].sym), q = kw::ref(f.params[3].sym);
  EXPECT_TRUE(host.holds(add(n, mul(k, const_int(2)))));
  EXPECT_TRUE(host.holds(select(binary(BinOp::lt, k, n), k, n)));
  EXPECT_FALSE(host.holds(q));
  EXPECT_FALSE(host.holds(cast(DType::i64, q)));
  EXPECT_FALSE(host.holds(binary(BinOp::lt, q, const_float(DType::f32, 1))));
  EXPECT_FALSE(host.holds(load(f.params[1].buf, {n})));
  Sym i = make_sym(SymKind::iter, DType::i64, "i");
  EXPECT_FALSE(host.holds(kw::ref(i)));
  host.add(i);
  EXPECT_TRUE(host.holds(kw::ref(i)));
  host.remove(i);
  EXPECT_FALSE(host.holds(kw::ref(i)));
}

TEST(LaunchForm, loops_with_known_bounds_can_be_launched) {
  EXPECT_EQ(launchable("for i in serial(0, n, 1):\n  for j in serial(i, m, 1):\n    a[i, j] = q"), "i j");
  EXPECT_EQ(launchable("for i in serial(0, p[0], 1):\n  for j in serial(0, m, 1):\n    a[i, j] = q"), "");
  EXPECT_EQ(launchable("for i in serial(0, n, 1):\n  for j in serial(0, p[i], 1):\n    a[i, j] = q"), "i");
  EXPECT_EQ(launchable("x: i64 = n + k\nfor i in serial(0, x, 1):\n  p[i] = 1"), "i");
  EXPECT_EQ(launchable("x: i64 = p[0]\nfor i in serial(0, x, 1):\n  p[i] = 1"), "");
}

TEST(LaunchForm, jumps_keep_the_loops_in_them_from_the_host) {
  EXPECT_EQ(launchable("for i in serial(0, n, 1):\n  for j in serial(0, m, 1):\n    a[i, j] = q\n"
                       "  if p[i] < 1:\n    break"),
            "i");
  EXPECT_EQ(launchable("while p[0] < 1:\n  for j in serial(0, n, 1):\n    p[j] = p[j] + 1"), "j");
  EXPECT_EQ(launchable("while p[0] < 1:\n  for j in serial(0, n, 1):\n    p[j] = p[j] + 1\n  break"), "");
}

TEST(LaunchForm, the_host_allocates_what_it_knows_the_size_of) {
  EXPECT_EQ(launchable("t = alloc(f32, (n,), 'heap')\nfor i in serial(0, n, 1):\n  t[i] = q"), "i");
  EXPECT_EQ(launchable("x: i64 = p[0]\nt = alloc(f32, (x,), 'heap')\nfor i in serial(0, n, 1):\n  p[i] = 1"),
            "");
}

TEST(LaunchForm, a_grid_takes_the_loops_that_are_all_of_it) {
  EXPECT_EQ(launchable("for i in grid(0, n, 1):\n  for j in serial(0, m, 1):\n    a[i, j] = q"), "j");
  EXPECT_EQ(launchable("for i in grid(0, n, 1):\n  for j in serial(0, i, 1):\n    a[i, j] = q"), "");
  EXPECT_EQ(launchable("for i in grid(0, n, 1):\n  p[i] = 0\n  for j in serial(0, m, 1):\n    a[i, j] = q"),
            "");
}

std::string error_of(std::string_view lines) { return launch_form_error(kernel_of(lines)); }

TEST(LaunchForm, what_the_host_cannot_run_is_told) {
  EXPECT_EQ(error_of("for t in serial(0, k, 1):\n  for i in grid(0, n, 1):\n    p[i] = t"), "");
  EXPECT_EQ(error_of("p[0] = p[1]\nx: i64 = p[0]\np[1] = x"), "");  // no launch needs a form
  EXPECT_EQ(error_of("x: i64 = p[0]\nfor i in grid(0, n, 1):\n  p[i] = x"),
            "the value of 'x' is computed on the device, before a launch");
  EXPECT_EQ(error_of("if p[0] < 1:\n  for i in grid(0, n, 1):\n    p[i] = 1"),
            "a condition around a launch is computed on the device");
  EXPECT_EQ(error_of("for t in serial(0, p[0], 1):\n  for i in grid(0, n, 1):\n    a[i, 0] = q"),
            "a bound of loop 't' is computed on the device");
  EXPECT_EQ(error_of("for i in grid(0, n, 1):\n  for j in grid(0, i, 1):\n    a[i, j] = q"),
            "a bound of grid loop 'j' is computed on the device");
  EXPECT_EQ(error_of("for t in serial(0, k, 1):\n  for i in grid(0, n, 1):\n    p[i] = t\n  break"),
            "a jump leaves a loop around a launch");
}

}  // namespace
}  // namespace kw
