// First reads: which buffers get a shadow, and where it is written and asked.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "codegen/interp/interp.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

Func with_body(std::string_view body) {
  return unit::ir(
      cat("def f(a: buf(f64, (n,)), c: out(f64, (n,), fill='empty')):\n  fp('default')\n  dims(n)\n", body,
          "  return c\n"));
}

std::string tracked(std::string_view body) {
  Func f = track_writes(with_body(body), unit::with_fma());
  EXPECT_EQ(verify(f), "") << print(f);
  EXPECT_TRUE(equal(unit::ir(print(f)), f)) << print(f);
  std::string text = print(f);
  return text.substr(text.find("dims(n)\n") + 8);
}

TEST(TrackWrites, what_is_surely_written_first_is_left_alone) {
  Func f = with_body("  for i in serial(0, n, 1):\n    c[i] = a[i]\n    c[i] = c[i] + 1.0\n");
  EXPECT_EQ(track_writes(f, unit::with_fma()).body.p, f.body.p);
  f = with_body("  c[0] = a[0]\n");  // the rest is zero, and nobody reads it here
  EXPECT_EQ(track_writes(f, unit::with_fma()).body.p, f.body.p);
}

TEST(TrackWrites, elements_that_start_as_zero_are_never_read_too_early) {
  for (std::string_view fill : {"zero", "meant"}) {
    Func f = with_body(cat("  t = alloc(f64, (3,), 'stack', fill='", fill, "')\n  c[0] = t[1]\n"));
    EXPECT_EQ(track_writes(f, unit::with_fma()).body.p, f.body.p);
  }
}

TEST(TrackWrites, an_output_has_its_shadow_around_the_body) {
  EXPECT_EQ(tracked("  c[0] = c[1] + a[0]\n"),
            "  site('E310', c, rank=1)\n"
            "  c_1 = alloc(b1, (n,), 'heap', fill='zero')\n"
            "  check(((-1) if c_1[1] else 1) < 0, site=0)\n"
            "  c[0] = c[1] + a[0]\n"
            "  c_1[0] = True\n"
            "  return c\n");
}

TEST(TrackWrites, a_temporary_of_each_iteration_has_a_shadow_of_its_own) {
  EXPECT_EQ(tracked("  for i in serial(0, n, 1):\n    t = alloc(f64, (2, 3), 'stack', fill='empty')\n    "
                    "c[i] = t[1, 2]\n"),
            "  site('E310', t, rank=2)\n"
            "  for i in serial(0, n, 1):\n"
            "    t = alloc(f64, (2, 3), 'stack', fill='empty')\n"
            "    t_1 = alloc(b1, (2, 3), 'stack', fill='zero')\n"
            "    check(((-1) if t_1[1, 2] else 8) < 3, site=0)\n"
            "    c[i] = t[1, 2]\n"
            "  return c\n");
}

TEST(TrackWrites, a_lazy_read_is_asked_for_where_it_happens_only) {
  EXPECT_EQ(tracked("  c[0] = a[0] if (0.0 < a[0]) else c[1]\n"),
            "  site('E310', c, rank=1)\n"
            "  c_1 = alloc(b1, (n,), 'heap', fill='zero')\n"
            "  if not (0.0 < a[0]):\n"
            "    check(((-1) if c_1[1] else 1) < 0, site=0)\n"
            "  c[0] = a[0] if (0.0 < a[0]) else c[1]\n"
            "  c_1[0] = True\n"
            "  return c\n");
}

TEST(TrackWrites, the_condition_of_a_while_is_asked_before_each_iteration) {
  std::string_view body = "  while c[0] < 3.0:\n    if a[0] < 2.0:\n      continue\n    c[0] = 5.0\n";
  Func f = track_writes(with_body(body), unit::with_fma());
  double a[] = {5.0}, c[] = {0.0};
  void *data[] = {a, c};
  int64_t dims[] = {1};
  InterpResult r = interpret(f, {data, dims, nullptr, nullptr});
  EXPECT_EQ(r.status, 1) << print(f);
  EXPECT_EQ(r.value - r.bound, 0);
}

}  // namespace
}  // namespace kw
