// Which outputs are only written, which vector loops may bypass the caches for them, and which gain by it.
#include "analysis/vector/streams.h"

#include <gtest/gtest.h>

#include "ir/match.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

/// A function over an output y and x, z: f32[n, m] and w: i64[m].
Func with_body(std::string_view body, std::string_view type = "out(f32, (n, m))") {
  return unit::ir(cat("def f(y: ", type,
                      ", x: buf(f32, (n, m)), z: inout(f32, (n, m)), w: buf(i64, (m,)), p: weak(i64)):\n"
                      "  fp('default')\n  dims(n, m, s)\n",
                      body, "  return y, z\n"));
}

constexpr std::string_view lanes = "  for i in vector(0, m, 1, vector_width=16):\n";

/// The outputs that vector loops only write.
std::string outputs(std::string_view body, std::string_view type = "out(f32, (n, m))") {
  Func f = with_body(body, type);
  BufferSet found = write_only_outputs(f);
  std::vector<std::string> out;
  for (const Param &p : f.params)
    if (p.buf && found.count(p.buf.get())) out.push_back(p.buf->sym->name);
  EXPECT_EQ(out.size(), found.size());
  return join_text(out, " ");
}

TEST(Streams, outputs_that_vector_loops_store_to_and_nothing_reads_are_only_written) {
  EXPECT_EQ(outputs(cat(lanes, "    y[0, i] = x[0, i]\n    z[0, i] = x[1, i]\n")), "y z");
  EXPECT_EQ(outputs(cat(lanes, "    y[0, i] = x[0, i]\n    z[0, i] = z[1, i]\n")), "y");
  EXPECT_EQ(outputs(cat(lanes, "    y[0, i] = x[0, i]\n  z[0, 0] = y[p, p]\n")), "");
  EXPECT_EQ(outputs("  for i in serial(0, m, 1):\n    y[0, i] = x[0, i]\n"), "");
  EXPECT_EQ(outputs(cat("  t = alloc(f32, (n, m), 'heap')\n", lanes, "    t[0, i] = x[0, i]\n")), "");
}

TEST(Streams, rows_of_an_output_are_contiguous) {
  std::string body = cat(lanes, "    y[0, i] = x[0, i]\n");
  EXPECT_EQ(outputs(body, "out(f32, (n, m), strides=(s, 1))"), "y");
  EXPECT_EQ(outputs(body, "out(f32, (n, m), strides=(s, 2))"), "");
  EXPECT_EQ(outputs(body, "out(f32, (n, m), strides=(1, s))"), "");
}

bool streams(std::string_view body, std::string_view loop = lanes) {
  Func f = with_body(cat(loop, body));
  return can_stream(*as<For>(unit::find_loop(f, "i").loop), write_only_outputs(f));
}

TEST(Streams, places_are_known_before_the_loop) {
  EXPECT_TRUE(streams("    y[0, i] = x[0, i]\n"));
  EXPECT_TRUE(streams("    y[p, i + p] = x[0, i]\n"));
  EXPECT_TRUE(streams("    k: i64 = w[i]\n    y[0, i] = x[0, k]\n"));
  EXPECT_FALSE(streams("    k: i64 = i + 1\n    y[0, k] = x[0, i]\n"));
  EXPECT_FALSE(streams("    y[0, w[i]] = x[0, i]\n"));
  EXPECT_FALSE(streams("    z[0, i] = z[0, i] + x[0, i]\n"));
}

TEST(Streams, stores_under_conditions_and_in_inner_loops_are_excluded) {
  EXPECT_FALSE(streams("    if w[i] < 3:\n      y[0, i] = x[0, i]\n"));
  EXPECT_TRUE(streams("    y[0, i] = x[0, i]\n    if w[i] < 3:\n      z[0, i] = z[0, i] + f32(1.0)\n"));
  EXPECT_FALSE(streams("    for j in serial(0, n, 1):\n      y[j, i] = x[j, i]\n"));
  EXPECT_FALSE(streams("    y[0, i] = x[0, i]\n", "  for i in vector(0, m, 2, vector_width=16):\n"));
  EXPECT_FALSE(streams("    y[0, i] = x[0, i]\n", "  for i in serial(0, m, 1):\n"));
}

bool gains(std::string_view body, std::string_view loop = lanes) {
  Func f = with_body(cat(loop, body));
  const For &n = *as<For>(unit::find_loop(f, "i").loop);
  VectorizationAnalysis view(n);
  EXPECT_TRUE(view.is_vectorizable());
  return gains_by_streams(n, view, write_only_outputs(f));
}

TEST(Streams, loops_of_few_operations_that_store_whole_lines_gain) {
  auto product = [](int times) {
    std::string out = "    y[0, i] = x[0, i]";
    for (int k = 0; k < times; ++k) out += " * f32(2.0)";
    return out + "\n";
  };
  EXPECT_TRUE(gains(product(0)));
  EXPECT_TRUE(gains(product(16)));
  EXPECT_FALSE(gains(product(17)));
  EXPECT_FALSE(gains(product(0), "  for i in vector(0, m, 1, vector_width=8):\n"));
  EXPECT_FALSE(gains(cat(product(0), "    z[i, 0] = x[0, i]\n")));  // apart in memory
  EXPECT_FALSE(gains("    z[0, i] = z[0, i] + x[0, i]\n"));
}

}  // namespace
}  // namespace kw
