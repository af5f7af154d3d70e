// The table of expansions.
#include "transform/math/expand.h"

#include <unordered_map>

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "transform/math/exact.h"
#include "transform/math/exp.h"
#include "transform/math/exponential.h"
#include "transform/math/functions.h"
#include "transform/math/single_functions.h"

namespace kw {

namespace {

/// Expands functions that compute in float64, also for float32 if that has no form of its own; null for
/// others.
Expr expand_real(const Arith &a, Fn fn, const Expr &x, const Expr &y, const Target &target) {
  switch (fn) {
    case Fn::exp2: return expand_exp2(a, x);
    case Fn::expm1: return expand_expm1(a, x);
    case Fn::sigmoid: return expand_sigmoid(a, x);
    case Fn::log:
    case Fn::log2:
    case Fn::log10:
    case Fn::log1p: return expand_logarithm(a, fn, x);
    case Fn::sin:
    case Fn::cos:
    case Fn::tan: return expand_trigonometric(a, fn, x);
    case Fn::asin: return expand_asin(a, x);
    case Fn::acos: return expand_acos(a, x);
    case Fn::atan: return expand_atan(a, x);
    case Fn::atan2: return expand_atan2(a, x, y);
    case Fn::sinh:
    case Fn::cosh:
    case Fn::tanh: return expand_hyperbolic(a, fn, x);
    case Fn::power: return expand_power(a, x, y, target);
    case Fn::erf: return expand_erf(a, x);
    case Fn::erfc: return expand_erfc(a, x);
    default: return {};
  }
}

}  // namespace

Expr expand_call(Fn fn, const std::vector<Expr> &args, Loc loc, const Target &target) {
  const Expr &x = args[0];
  DType t = x.dtype();
  bool on_bits = fn == Fn::to_bits || fn == Fn::from_bits || fn == Fn::abs || fn == Fn::fma;
  if (is_half(t) && !on_bits) {  // by way of float32
    std::vector<Expr> wide;
    for (const Expr &a : args) wide.push_back(cast(DType::f32, a, loc));
    Expr result = expand_call(fn, wide, loc, target);
    return result.dtype() == DType::f32 ? cast(t, result, loc) : result;
  }
  bool real = is_float(t);
  switch (fn) {
    case Fn::floor:
    case Fn::ceil:
    case Fn::trunc:
    case Fn::round: return expand_rounding(fn, x, target);
    case Fn::isnan:
    case Fn::isinf:
    case Fn::isfinite: return expand_class(fn, x);
    case Fn::sign: return expand_sign(x);
    case Fn::ceil_div: return expand_ceil_div(x, args[1]);
    case Fn::exp: return expand_exp(x, target);
    case Fn::rsqrt: return binary(BinOp::true_div, const_float(x.dtype(), 1), call(Fn::sqrt, {x}), loc);
    default: break;
  }
  if (fn == Fn::fmod && !real) return expand_integer_fmod(x, args[1]);
  if (fn == Fn::power && !real) return expand_integer_power(x, args[1]);
  if (t == DType::f32)
    if (Expr result = expand_single(fn, x, target)) return result;
  // For float32 the formulas run in plain float64 and leave out the low parts of pairs.
  Expr y = args.size() > 1 ? cast(DType::f64, args[1]) : Expr{};
  Arith arith(target, x.dtype() == DType::f64);
  if (Expr result = real ? expand_real(arith, fn, cast(DType::f64, x), y, target) : Expr{})
    return cast(x.dtype(), result, loc);
  return call(fn, args, loc);
}

namespace {

/// The functions of one type that a kernel calls very often. They get code of their own, which back ends make
/// once for all calls.
class SharedFunctions {
 public:
  explicit SharedFunctions(const Stmt &body) {
    walk(body, [&](const Call &n, const Expr &) { ++calls_[key_of(n.fn, compute_type(n.args[0].dtype()))]; });
  }
  bool has(Fn fn, DType t) const {
    constexpr uint32_t most = 16;  // chosen: kernels of the bench call none more than 8 times
    bool is_float_function = row_of(fn).cost == Cost::function && (t == DType::f32 || t == DType::f64);
    auto found = calls_.find(key_of(fn, t));
    return is_float_function && fn != Fn::fmod && found != calls_.end() && found->second > most;
  }
  /// Returns the type of the computation: 16-bit floats are computed as float32.
  static DType compute_type(DType t) { return is_half(t) ? DType::f32 : t; }

 private:
  static int key_of(Fn fn, DType t) { return static_cast<int>(fn) * 64 + static_cast<int>(t); }
  std::unordered_map<int, uint32_t> calls_;
};

}  // namespace

/// Gives the remaining calls the type of the computation, so that float16 and float32 share one function.
Func expand_math(const Func &f, const Target &target) {
  SharedFunctions shared(f.body);
  Func out = f;
  out.body = rewrite(f.body, [&](const Call &n, const Expr &e) {
    DType t = n.args[0].dtype(), compute = SharedFunctions::compute_type(t);
    if (!shared.has(n.fn, compute)) return expand_call(n.fn, n.args, e.loc(), target);
    if (t == compute) return e;
    std::vector<Expr> args;
    for (const Expr &a : n.args) args.push_back(cast(compute, a, e.loc()));
    return cast(t, call(n.fn, std::move(args), e.loc()), e.loc());
  });
  return out;
}

}  // namespace kw
