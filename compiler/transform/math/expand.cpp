// The table of expansions.
#include "transform/math/expand.h"

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "transform/math/exp.h"

namespace kw {

Expr expand_call(Fn fn, const std::vector<Expr> &args, Loc loc, const Target &target) {
  DType t = args[0].dtype();
  if (!row_of(fn).folds && (t == DType::f16 || t == DType::bf16)) {  // 16-bit floats by way of float32
    std::vector<Expr> wide;
    for (const Expr &a : args) wide.push_back(cast(DType::f32, a, loc));
    Expr result = expand_call(fn, wide, loc, target);
    return result.dtype() == DType::f32 ? cast(t, result, loc) : result;
  }
  if (fn == Fn::exp) return expand_exp(args[0], target);
  return call(fn, args, loc);
}

Func expand_math(const Func &f, const Target &target) {
  Func out = f;
  out.body = rewrite(
      f.body, [&](const Call &n, const Expr &e) { return expand_call(n.fn, n.args, e.loc(), target); });
  return out;
}

}  // namespace kw
