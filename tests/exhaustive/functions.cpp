// Float32 functions by compiled kernels against the float64 functions of the C library: every argument of one
// function of one argument, or random pairs for one of two. Prints the largest error in units of the last
// place and lists the points within 1e-4 of the bound, where that reference is no judge; run.py asks mpmath.
// Arguments: a name, then a stride over the bit patterns (1: all) or, for pairs, their number and a seed.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <utility>
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

struct PairRow {
  const char *name;
  double (*truth)(double, double);
  double bound;
};

constexpr Row table[] = {
    {"sqrt", std::sqrt, 1},
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

constexpr PairRow pairs[] = {{"atan2", std::atan2, 1}, {"power", std::pow, 1}, {"fmod", std::fmod, 0}};

constexpr size_t block = 1 << 16;
constexpr double doubtful = 1e-4;  ///< what the float64 reference itself may be wrong by, in float32's places

std::shared_ptr<const LoadedKernel> compiled(const std::string &name, bool pair) {
  SourceText source{cat("def k(", pair ? "a, b" : "a",
                        "):\n    c = output_tensor(a.shape, a.dtype)\n    for i in range(a.shape[0]):\n",
                        "        c[i] = ", name, pair ? "(a[i], b[i])" : "(a[i])", "\n    return c\n"),
                    "k.py", 1};
  Request r;
  r.name = "k";
  r.identity = source.text;
  r.signature = pair ? unit::signature({unit::tensor(1, DType::f32), unit::tensor(1, DType::f32)})
                     : unit::signature({unit::tensor(1, DType::f32)});
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

/// The worst point so far, and those that need a better judge.
class LegalityChecker {
 public:
  LegalityChecker(const char *name, double bound) : name_(name), bound_(bound) {}
  void look(float got, double truth, float x, float y) {
    if (static_cast<float>(truth) == got && worst_ >= 0.5) return;  // rounded right: at most half a place
    double error = error_in_ulp(got, truth);
    if (!(error <= worst_)) worst_ = error;
    if (bound_ > 0 && error > bound_ - doubtful)
      std::printf("near %s %a %a %a %.6f\n", name_, static_cast<double>(x), static_cast<double>(y),
                  static_cast<double>(got), error);
  }
  void tell() const { std::printf("worst %s %.6f %g\n", name_, worst_, bound_); }

 private:
  const char *name_;
  double bound_, worst_ = 0;
};

/// False when the kernel fails.
bool run_all(const Row &row, uint64_t stride) {
  auto kernel = compiled(row.name, false);
  std::vector<float> x(block), y(block);
  LegalityChecker judge(row.name, row.bound);
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += block * stride) {
    for (size_t i = 0; i < block; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits + i * stride));
    void *data[] = {x.data(), y.data()};
    int64_t dims[] = {static_cast<int64_t>(block)};
    if (run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status != 0) return false;
    for (size_t i = 0; i < block; ++i) judge.look(y[i], row.truth(x[i]), x[i], 0);
  }
  judge.tell();
  return true;
}

/// A pair of one of three kinds: any bits, both near 1, or (for a power) a result that is in range.
std::pair<float, float> pair_at(std::mt19937_64 &random, bool power) {
  uint64_t bits = random();
  float x = std::bit_cast<float>(static_cast<uint32_t>(bits)),
        y = std::bit_cast<float>(static_cast<uint32_t>(bits >> 32));
  std::uniform_real_distribution<double> unit(-1, 1);
  switch (random() % 3) {
    case 0: return {x, y};
    case 1: return {static_cast<float>(unit(random)), static_cast<float>(unit(random))};
    default: break;
  }
  if (!power) return {static_cast<float>(unit(random) * 1e6), static_cast<float>(unit(random) * 10)};
  double base = random() % 2 ? 1 + unit(random) * 1e-3 : std::exp(unit(random) * 20);
  return {static_cast<float>(base), static_cast<float>(unit(random) * 104 / std::abs(std::log(base)))};
}

bool run_pairs(const PairRow &row, uint64_t count, uint64_t seed) {
  auto kernel = compiled(row.name, true);
  std::vector<float> x(block), y(block), z(block);
  LegalityChecker judge(row.name, row.bound);
  std::mt19937_64 random(seed);
  for (uint64_t done = 0; done < count; done += block) {
    for (size_t i = 0; i < block; ++i) std::tie(x[i], y[i]) = pair_at(random, row.truth(2, 3) == 8);
    void *data[] = {x.data(), y.data(), z.data()};
    int64_t dims[] = {static_cast<int64_t>(block), static_cast<int64_t>(block)};
    if (run_here(*kernel, {data, dims, nullptr, 0}, nullptr).status != 0) return false;
    for (size_t i = 0; i < block; ++i) judge.look(z[i], row.truth(x[i], y[i]), x[i], y[i]);
  }
  judge.tell();
  return true;
}

uint64_t number(char **words, int count, int at, uint64_t otherwise) {
  return count > at ? std::strtoull(words[at], nullptr, 10) : otherwise;
}

}  // namespace
}  // namespace kw

int main(int count, char **words) {
  std::string name = count > 1 ? words[1] : "";
  for (const kw::Row &row : kw::table)
    if (name == row.name) return !kw::run_all(row, std::max(uint64_t{1}, kw::number(words, count, 2, 1)));
  for (const kw::PairRow &row : kw::pairs)
    if (name == row.name)
      return !kw::run_pairs(row, kw::number(words, count, 2, 10'000'000), kw::number(words, count, 3, 1));
  std::fprintf(stderr, "usage: kw_exhaustive FUNCTION [STRIDE], or atan2|power|fmod [PAIRS [SEED]]\n");
  return 2;
}
