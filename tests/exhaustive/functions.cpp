// Every float32 argument of every elementary function of one argument, by compiled kernels, against the
// float64 functions of the C library. Prints the largest error of each in units of the last place and lists
// points that lie within 1e-4 of the bound, where that reference is no judge. Arguments: a stride over the
// bit patterns (1: all), then names of functions (none: all). Ends with 1 when a bound is broken.
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/jit.h"
#include "runtime/launch.h"
#include "support/text.h"
#include "tests/unit/helpers.h"

namespace kw {
namespace {

struct Row {
  const char *name;
  double (*truth)(double);
  double bound;
};

constexpr Row table[] = {
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 2},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 3},
    {"exp", std::exp, 1},
    {"exp2", std::exp2, 1},
    {"expm1", std::expm1, 1},
    {"log", std::log, 1},
    {"log2", std::log2, 1},
    {"log10", std::log10, 1},
    {"log1p", std::log1p, 1},
    {"sin", std::sin, 1},
    {"cos", std::cos, 1},
    {"tan", std::tan, 1},
    {"asin", std::asin, 1},
    {"acos", std::acos, 1},
    {"atan", std::atan, 1},
    {"sinh", std::sinh, 1},
    {"cosh", std::cosh, 1},
    {"tanh", std::tanh, 1},
    {"erf", std::erf, 1},
    {"erfc", std::erfc, 1},
};

std::shared_ptr<const LoadedKernel> compiled(const std::string &name) {
  SourceText source{
      cat("def k(a):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n",
          "        c[i] = ", name, "(a[i])\n    return c\n"),
      "k.py", 1};
  Request r;
  r.name = "k";
  r.identity = source.text;
  r.signature = unit::signature({unit::tensor(1, DType::f32)});
  r.target = host_target();
  return Jit("", 0).compile(r, source);
}

/// An overflow counts from 2^128; infinite where only one is NaN.
double error_in_ulp(float got, double truth) {
  if (std::isnan(got) || std::isnan(truth)) return std::isnan(got) && std::isnan(truth) ? 0 : HUGE_VAL;
  double top = std::copysign(0x1p128, truth), value = std::isinf(got) ? std::copysign(0x1p128, got) : got;
  if (std::abs(truth) > 0x1p128) truth = top;
  int exponent = truth == 0 ? -149 : std::max(std::min(std::ilogb(truth), 127) - 23, -149);
  return std::abs(value - truth) * std::ldexp(1.0, -exponent);
}

/// The largest error over every stride-th bit pattern.
double worst_error(const Row &row, uint64_t stride) {
  constexpr size_t block = 1 << 16;
  auto kernel = compiled(row.name);
  std::vector<float> x(block), y(block);
  double worst = 0;
  int listed = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += block * stride) {
    for (size_t i = 0; i < block; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits + i * stride));
    void *data[] = {x.data(), y.data()};
    int64_t dims[] = {static_cast<int64_t>(block)};
    if (run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status != 0) return HUGE_VAL;
    for (size_t i = 0; i < block; ++i) {
      double error = error_in_ulp(y[i], row.truth(x[i]));
      worst = std::max(worst, error);
      if (error > row.bound - 1e-4 && ++listed <= 20)
        std::printf("  %s(%a) = %a: %.6f ULP\n", row.name, static_cast<double>(x[i]),
                    static_cast<double>(y[i]), error);
    }
  }
  return worst;
}

}  // namespace
}  // namespace kw

int main(int count, char **words) {
  uint64_t stride = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1;
  bool broken = false;
  for (const kw::Row &row : kw::table) {
    bool wanted = count <= 2;
    for (int i = 2; i < count; ++i) wanted |= std::string(words[i]) == row.name;
    if (!wanted) continue;
    double worst = kw::worst_error(row, stride ? stride : 1);
    std::printf("%-8s %.6f ULP (bound %g)\n", row.name, worst, row.bound);
    std::fflush(stdout);
    broken |= !(worst <= row.bound);
  }
  return broken;
}
