// The table of expansions.
#include "transform/math/expand.h"

#include "ir/intrinsics.h"
#include "ir/rewrite.h"
#include "transform/math/exp.h"

namespace kw {

Expr expand_call(Fn fn, const std::vector<Expr> &args, Loc loc, const Target &target) {
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
