// Affine forms of integer expressions: constant + Σ coefficient · atom. An atom is a symbol or an expression
// that is not affine itself. Arithmetic is overflow-checked; a form that could wrap in 64 bits for symbols
// below 2^46 is not affine.
#pragma once

#include <optional>
#include <vector>

#include "ir/limits.h"
#include "ir/node.h"

namespace kw {

struct AffineTerm {
  Expr atom;
  int64_t coefficient;
};

struct Affine {
  std::vector<AffineTerm> terms;  ///< no two atoms equal, no coefficient zero; order of first occurrence
  int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
};

/// Returns the form of an i64 expression; nothing if coefficients leave the safe range.
std::optional<Affine> affine_of(const Expr &e);
/// Returns a + factor · b; nothing if coefficients leave the safe range.
std::optional<Affine> add_scaled(const Affine &a, const Affine &b, int64_t factor);
/// Returns `a` with the atom of term `index` replaced by `value`.
std::optional<Affine> substitute(const Affine &a, size_t index, const Affine &value);
/// Returns the expression of a form.
Expr to_expr(const Affine &a, Loc loc = {});

}  // namespace kw
