// The fill of buffers follows from what is written.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

std::string filled(std::string_view body) {
  Func f = unit::ir(cat("def f(a: buf(f64, (n,)), c: out(f64, (n,))):\n  fp('default')\n  dims(n)\n", body,
                        "  return c\n"));
  return print(fill_buffers(f, unit::with_fma()));
}

TEST(FillBuffers, outputs_that_are_not_wholly_written_are_zeroed) {
  EXPECT_NE(filled("  c[0] = a[0]\n").find("c: out(f64, (n,), fill='zero')"), std::string::npos);
  EXPECT_NE(filled("  for i in serial(0, n, 1):\n    c[i] = a[i]\n").find("c: out(f64, (n,))"),
            std::string::npos);
}

TEST(FillBuffers, temporaries_lose_a_needless_fill_and_get_a_needed_one) {
  std::string written = "  for i in serial(0, 4, 1):\n    t[i] = a[0]\n  c[0] = t[3]\n",
              unwritten = "  c[0] = t[3]\n";
  EXPECT_NE(filled("  t = alloc(f64, (4,), 'heap', fill='zero')\n" + written)
                .find("t = alloc(f64, (4,), 'heap')\n"),
            std::string::npos);
  EXPECT_NE(filled("  t = alloc(f64, (4,), 'heap')\n" + unwritten)
                .find("t = alloc(f64, (4,), 'heap', fill='zero')"),
            std::string::npos);
}

}  // namespace
}  // namespace kw
