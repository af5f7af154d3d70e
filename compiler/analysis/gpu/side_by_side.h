// How values change over iterations side by side that one thread executes: `width` of them, the first of
// which is a multiple of it.
//     for k in block: let i = i0 + k // 32: let j = j0 + k % 32: if i < n and j < m: c[i, j] = …
//     side by side by 4, i is fixed and j goes up by one from j0 + a multiple of 4
#pragma once

#include <optional>
#include <vector>

#include "ir/node.h"

namespace kw {

/// The body of a loop: names of values that load nothing, a condition or null, and what is executed where it
/// holds.
struct GuardedBody {
  std::vector<Stmt> names;  ///< a Let each, the outermost first
  Expr guard;
  Stmt inner;
};
/// Returns the parts of the body of a block loop; the condition loads nothing and has no else. All of the
/// body of another loop is `inner`: nothing tests its condition for several iterations at once.
GuardedBody vector_body(const For &loop);
/// Returns `inner` in the names of a body.
Stmt with_names(const GuardedBody &parts, const Stmt &inner);

class SideBySide {
 public:
  /// The names are those between the loop and what is asked about.
  SideBySide(const For &loop, int64_t width, const std::vector<Stmt> &names);

  /// Returns whether a value, or one of several, depends on the iterator other than by what it loads.
  bool moves(const Expr &e) const;
  bool moves(const std::vector<Expr> &list) const;
  /// Returns whether a value, which loads nothing, is the same for the iterations.
  bool is_fixed(const Expr &e) const;
  /// Returns x if a value goes up by one with each iteration, from x plus a multiple of the width; x stands
  /// for itself outside of the loop, and may be the constant 0.
  std::optional<Expr> base_of(const Expr &e) const;
  /// Returns whether a condition that holds for the last iteration of the loop holds for all, unless one of
  /// `increasing_values` wraps: each part of it compares what only goes up with a bound that is the same for
  /// all.
  bool is_decided_by_last(const Expr &cond) const;
  /// Returns what the parts of such a condition compare. The value of the first iteration is at most that of
  /// the last one if none between them wraps.
  std::vector<Expr> increasing_values(const Expr &cond) const;

 private:
  /// Returns whether a value mentions neither the iterator nor a name of the body.
  bool is_outer(const Expr &e) const;
  /// Returns whether a value is the same for the iterations and a multiple of the width.
  bool is_fixed_multiple(const Expr &e) const;
  bool is_greatest_at_last(const Expr &e) const;
  /// Returns whether k, k // a, k % b or k // a % b, multiplied by `times`, is greatest for the last k and
  /// never wraps.
  bool is_greatest_digit(const Expr &e, int64_t times) const;
  const Expr *named(const Expr &e) const;
  /// Returns whether an operation divides by a multiple of the width, perhaps as a shift or a mask.
  bool is_quotient(const Binary &n) const;
  bool is_remainder(const Binary &n) const;

  Sym iter_;
  Expr lo_, trips_;
  int64_t width_;
  std::vector<std::pair<Sym, Expr>> names_;
};

}  // namespace kw
