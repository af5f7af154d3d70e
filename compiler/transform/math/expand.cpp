// The table of expansions.
#include "transform/math/expand.h"

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "transform/math/exact.h"
#include "transform/math/exp.h"

namespace kw {

Expr expand_call(Fn fn, const std::vector<Expr> &args, Loc loc, const Target &target) {
  const Expr &x = args[0];
  bool real = is_float(x.dtype());
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
    default: break;
  }
  if (fn == Fn::fmod && !real) return expand_integer_fmod(x, args[1]);
  if (fn == Fn::power && !real) return expand_integer_power(x, args[1]);
  return call(fn, args, loc);
}

Func expand_math(const Func &f, const Target &target) {
  Func out = f;
  out.body = rewrite(
      f.body, [&](const Call &n, const Expr &e) { return expand_call(n.fn, n.args, e.loc(), target); });
  return out;
}

}  // namespace kw
