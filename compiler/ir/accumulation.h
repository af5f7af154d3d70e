// Recognizes accumulating stores, `s[x] = s[x] ⊕ t`, and the loops that such a store reduces over. The front
// end decides the order of a sum with it, and the interpreter executes that order. Changes nothing.
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

namespace kw {

/// A store that combines the element it writes with a term by + - * min max & | ^. The element may be either
/// operand, for - only the first. If both operands are the element, the first one counts as such.
struct Accumulation {
  BinOp op{};
  Expr read, term;  ///< null if the store does not accumulate
  bool is_sum_or_product() const {
    return term && (op == BinOp::add || op == BinOp::sub || op == BinOp::mul);
  }
};
Accumulation accumulation_of(const Store &s);
/// Returns the read of the element that a store adds a product to with one rounding, fma(a, b, element); else
/// null.
const Expr *fused_accumulator_of(const Store &s);
/// Returns whether the operation gives the same bits for every order of its terms.
bool is_exact(BinOp op, DType t);
/// Returns whether each store to the buffer can be an atomic operation of a GPU: it accumulates integers, or
/// floats of 32 or 64 bits, and the order of the accumulations, which differs from call to call, does not
/// show in the result.
bool can_be_atomic(const Stmt &body, const Buf &b);

/// Returns the magnitude of a loop's step; for -2^63 it is 2^63 - 1.
int64_t step_size(const For &loop);

/// Returns whether the load reads the element that the store writes.
bool same_place(const Load &a, const Store &s);
/// Returns whether the store leaves the element as it is, as one that adds 0 when it is simplified.
bool changes_nothing(const Store &s);
bool mentions(const Expr &e, const Sym &sym);
bool mentions(const std::vector<Expr> &list, const Sym &sym);
/// Returns whether the value depends on memory, mutable scalars included.
bool has_load(const Expr &e);
/// Returns whether the value depends only on constants, sizes and scalar arguments: it is the same in a whole
/// call.
bool is_of_call(const Expr &e);
bool has_check(const Stmt &s);
/// Returns whether the evaluation reads an element of rank 1 or more, whose subscript may be out of range.
bool reads_elements(const Expr &e);

/// Returns the reduction loops (band) that the store's mark names, innermost first. `loops` are the enclosing
/// loops, outermost first, null for a while.
std::vector<const For *> band_of(const Store &s, const std::vector<const For *> &loops);

/// Returns whether a sum in the order `lanes` numbers its terms by the iterations of the loop.
bool counts_lanes(const For &loop);

/// Calls visit(statement, store, enclosing loops) for every store in source order. The loops are outermost
/// first; a null stands for a While, beyond which no band reaches.
void for_each_store(
    const Stmt &root,
    const std::function<void(const Stmt &, const Store &, const std::vector<const For *> &)> &visit);

/// Returns whether an expression is a minimum or maximum.
bool is_min_or_max(const Expr &e);
/// Returns whether a recurrence may pass through the operation: a minimum, maximum, sum or difference.
bool is_step_of_recurrence(const Expr &e);

/// Returns the value that changes no result of the operation of an accumulation.
Expr identity_of(BinOp op, DType t);

}  // namespace kw
