// Builds affine forms and computes with them.
#include "analysis/affine.h"

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"

namespace kw {

namespace {

// with atoms below 2^46 the sum stays below 2^62
constexpr int64_t max_weight = int64_t{1} << 15, max_constant = int64_t{1} << 61;

/// Returns whether the value surely fits 62 bits if each atom is below 2^46 in magnitude.
bool in_range(const Affine &a) {
  int64_t weight = 0;
  for (const AffineTerm &t : a.terms) {
    if (t.coefficient > max_weight || t.coefficient < -max_weight) return false;
    weight += t.coefficient < 0 ? -t.coefficient : t.coefficient;
  }
  return weight <= max_weight && a.constant <= max_constant && a.constant >= -max_constant;
}

/// Adds one term, or grows the coefficient of an equal atom. Returns false on overflow.
bool add_term(Affine &a, const Expr &atom, int64_t coefficient) {
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (!equal(a.terms[i].atom, atom)) continue;
    if (__builtin_add_overflow(a.terms[i].coefficient, coefficient, &a.terms[i].coefficient)) return false;
    // no coefficient of a form is zero: terms that cancel disappear
    if (a.terms[i].coefficient == 0) a.terms.erase(a.terms.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  if (coefficient) a.terms.push_back({atom, coefficient});
  return true;
}

/// Makes an atom of an expression that is not affine: n // 2   →   1 · (n // 2).
Affine atom_form(const Expr &e) { return {{{e, 1}}, 0}; }

std::optional<Affine> binary_form(const Expr &e, const Binary &n) {
  if (n.op != BinOp::add && n.op != BinOp::sub && n.op != BinOp::mul) return atom_form(e);
  auto a = affine_of(n.a), b = affine_of(n.b);
  if (!a || !b) return std::nullopt;
  if (n.op == BinOp::add) return add_scaled(*a, *b, 1);
  if (n.op == BinOp::sub) return add_scaled(*a, *b, -1);
  // a constant factor on either side scales the other side; a product of two variables is an atom
  if (a->is_constant()) std::swap(a, b);
  if (!b->is_constant()) return atom_form(e);
  return add_scaled(Affine{}, *a, b->constant);
}

}  // namespace

std::optional<Affine> add_scaled(const Affine &a, const Affine &b, int64_t factor) {
  Affine out = a;
  int64_t scaled;
  if (__builtin_mul_overflow(b.constant, factor, &scaled) ||
      __builtin_add_overflow(out.constant, scaled, &out.constant))
    return std::nullopt;
  for (const AffineTerm &t : b.terms)
    if (__builtin_mul_overflow(t.coefficient, factor, &scaled) || !add_term(out, t.atom, scaled))
      return std::nullopt;
  return in_range(out) ? std::optional(out) : std::nullopt;
}

std::optional<Affine> substitute(const Affine &a, size_t index, const Affine &value) {
  Affine rest = a;
  int64_t coefficient = rest.terms[index].coefficient;
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(index));
  return add_scaled(rest, value, coefficient);
}

std::optional<Affine> affine_of(const Expr &e) {
  //     2 * (i + 1) - j   →   2 · i + -1 · j + 2
  if (e.dtype() != DType::i64) return std::nullopt;
  if (auto v = as_int(e)) {
    Affine out{{}, *v};
    return in_range(out) ? std::optional(out) : std::nullopt;
  }
  if (const Binary *n = as<Binary>(e)) return binary_form(e, *n);
  if (const Unary *n = as<Unary>(e); n && n->op == UnOp::neg) {
    auto a = affine_of(n->a);
    return a ? add_scaled(Affine{}, *a, -1) : std::nullopt;
  }
  return atom_form(e);
}

Expr to_expr(const Affine &a, Loc loc) {
  Expr out;
  for (const AffineTerm &t : a.terms) {
    Expr term = binary(BinOp::mul, t.atom, const_int(t.coefficient, loc), loc);
    out = out ? binary(BinOp::add, out, term, loc) : term;
  }
  if (!out) return const_int(a.constant, loc);
  return a.constant ? binary(BinOp::add, out, const_int(a.constant, loc), loc) : out;
}

}  // namespace kw
