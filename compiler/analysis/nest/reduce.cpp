// Matches the patterns of accumulation.
#include "analysis/nest/reduce.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Returns the reduction of an operator. A subtraction is a sum of negated terms.
ReductionKind kind_of(BinOp op) {
  switch (op) {
    case BinOp::add:
    case BinOp::sub: return ReductionKind::sum;
    case BinOp::mul: return ReductionKind::product;
    case BinOp::min: return ReductionKind::minimum;
    case BinOp::max: return ReductionKind::maximum;
    case BinOp::bit_and: return ReductionKind::bit_and;
    case BinOp::bit_or: return ReductionKind::bit_or;
    case BinOp::bit_xor: return ReductionKind::bit_xor;
    default: return ReductionKind::none;
  }
}

/// Returns whether `term` reads the very place that the store writes; analysis/nest/dependence checks other
/// places.
bool reads_same_place(const Expr &term, const Store &s) {
  bool found = false;
  walk(term, [&](const Load &n, const Expr &) { found |= same_place(n, s); });
  return found;
}

}  // namespace

/// Returns the accumulation of an fma, whose product is a term of the sum.
static Accumulation fused_accumulation_of(const Store &s) {
  // s = fma(a, b, s)   →   s + a * b
  const Expr *read = fused_accumulator_of(s);
  if (!read) return {};
  const Call *n = as<Call>(s.value);
  return {BinOp::add, *read, binary(BinOp::mul, n->args[0], n->args[1])};
}

AccumulatingStore reduction_of(const Store &s, const std::vector<const For *> &loops) {
  Accumulation found = accumulation_of(s);
  if (!found.term) found = fused_accumulation_of(s);
  AccumulatingStore out;
  // a term that reads the accumulator depends on all iterations before it
  if (!found.term || reads_same_place(found.term, s)) return out;
  out.read = found.read.p.get();
  out.mark.kind = kind_of(found.op);
  out.mark.any_order = is_exact(found.op, s.buf->dtype) || s.order == Order::any;
  if (s.order == Order::lanes) out.mark.free = band_of(s, loops);
  return out;
}

bool relaxable(const ReductionMark &a, const ReductionMark &b) {
  return a && a.kind == b.kind && a.group == b.group;
}

bool order_is_free(const ReductionMark &a, const For *loop) {
  return a.any_order || std::find(a.free.begin(), a.free.end(), loop) != a.free.end();
}

std::string_view reduction_verb(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::sum: return "sums into";
    case ReductionKind::product: return "multiplies into";
    case ReductionKind::arg_reduction: return "selects into";
    default: return "reduces into";
  }
}

std::string_view reduction_noun(ReductionKind kind) {
  switch (kind) {
    case ReductionKind::none: break;
    case ReductionKind::sum: return "a sum";
    case ReductionKind::product: return "a product";
    case ReductionKind::minimum: return "a minimum";
    case ReductionKind::maximum: return "a maximum";
    case ReductionKind::bit_and: return "a bitwise and";
    case ReductionKind::bit_or: return "a bitwise or";
    case ReductionKind::bit_xor: return "a bitwise exclusive or";
    case ReductionKind::arg_reduction: return "a selection";
  }
  return "a reduction";
}

}  // namespace kw
