// Which loops keep what they stored for the next iteration, and which must read it again.
#include "schedule/steps/steps.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// The body behind the facts, or "" where nothing is carried.
std::string carried(std::string_view body) {
  Func f =
      unit::ir(cat("def f(a: buf(f32, (n,)), s: inout(f32, (n,)), m: inout(f32, (n, n))):\n"
                   "  fp('strict')\n  dims(n)\n",
                   body, "  return s, m\n"));
  LoopNest nest(f);
  scalar_replacement(nest);
  Func out = nest.func();
  EXPECT_EQ(verify(out), "") << print(out);
  if (out.body.p == f.body.p) return "";
  std::string text = print(out);
  size_t at = text.find("  last = ");
  return text.substr(at, text.find("  return") - at);
}

TEST(ScalarReplacement, a_recurrence_keeps_its_last_element) {
  EXPECT_EQ(carried("  for i in serial(1, n, 1):\n    s[i] = s[i - 1] * a[i]\n"),
            "  last = alloc(f32, (), 'registers')\n"
            "  last[()] = s[0] if (1 < n) else f32(0.0)\n"
            "  for i in serial(1, n, 1):\n"
            "    value: f32 = last[()] * a[i]\n"
            "    s[i] = value\n"
            "    last[()] = value\n");
  EXPECT_NE(carried("  for i in serial(n - 3, 0, -2):\n    s[i] = s[i + 2] * a[i]\n").find("s[n - 3 + 2]"),
            0u);
  EXPECT_NE(carried("  for i in serial(0, n, 1):\n    s[3] = s[3] + a[i]\n"), "");
}

TEST(ScalarReplacement, other_elements_are_read_again) {
  for (std::string_view body : {
           "    s[i] = s[i - 2] * a[i]\n",                            // older
           "    s[i] = s[i] * a[i]\n",                                // never stored before
           "    s[i] = s[i - 1] * a[i]\n    s[i - 1] = a[i]\n",       // stored again
           "    s[i] = a[i]\n    m[i, 0] = s[i - 1]\n",               // read behind the next store
           "    if f32(0.0) < a[i]:\n      s[i] = s[i - 1]\n",        // not stored by every iteration
           "    s[i] = s[i - 1] if f32(0.0) < a[i] else f32(0.0)\n",  // perhaps no element
           "    m[i, i] = m[i - 1, i] + a[i]\n",                      // in the other direction
       })
    EXPECT_EQ(carried(cat("  for i in serial(2, n, 1):\n", body)), "") << body;
  EXPECT_EQ(carried("  for i in serial(1, n, 1):\n    t = alloc(f32, (1,), 'stack')\n    t[0] = a[i]\n"
                    "    s[i] = t[0]\n"),
            "");
  EXPECT_EQ(carried("  for i in serial(0, 1, 1):\n    t = alloc(f32, (1,), 'stack', fill='zero')\n"
                    "    t[0] = t[0] + a[i]\n"),
            "");
  EXPECT_EQ(carried("  for i in parallel(1, n, 1):\n    s[i] = s[i - 1] * a[i]\n"), "");
}

TEST(ScalarReplacement, a_condition_may_read_once_more) {
  EXPECT_NE(carried("  for i in serial(1, n, 1):\n"
                    "    s[i] = s[i - 1] + (s[i - 1] if f32(0.0) < a[i] else f32(0.0))\n"),
            "");
}

}  // namespace
}  // namespace kw
