// The table, by kind of operation.
#include "analysis/cost_model.h"

#include <array>

namespace kw {

namespace {

enum class Kind : uint8_t { free, simple, call, divide, integer_divide, function };

// Times are the throughput of vector code, measured on avx2 and avx512 machines and rounded (spec/cpu.md).
// Code was counted in the assembly of one operation. The row of elementary functions is the mean of those
// that kernels call most.
constexpr std::array<OperationCost, 6> table{{
    {0, 0},    // free: reinterpreted bits
    {1, 1},    // simple
    {1, 4},    // call: rounding, popcount, classification
    {4, 1},    // divide: quotients and roots of floats
    {10, 8},   // integer_divide: with its guards
    {20, 24},  // function
}};

OperationCost row(Kind kind) { return table[static_cast<size_t>(kind)]; }

}  // namespace

OperationCost cost_of(const Binary &n) {
  if (n.op == BinOp::floor_div || n.op == BinOp::floor_mod) return row(Kind::integer_divide);
  return row(n.op == BinOp::true_div ? Kind::divide : Kind::simple);
}

OperationCost cost_of(Fn fn) {
  switch (fn) {
    case Fn::to_bits:
    case Fn::from_bits: return row(Kind::free);
    case Fn::fma:
    case Fn::abs:
    case Fn::scale:
    case Fn::shift_left:
    case Fn::shift_right: return row(Kind::simple);
    case Fn::fmod: return row(Kind::function);
    case Fn::ceil_div:
    case Fn::quotient:
    case Fn::remainder: return row(Kind::integer_divide);
    default: break;
  }
  Cost cost = row_of(fn).cost;
  return row(cost == Cost::function ? Kind::function : cost == Cost::divide ? Kind::divide : Kind::call);
}

}  // namespace kw
