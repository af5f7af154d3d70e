// Accumulating stores, `s[x] = s[x] ⊕ t`, and the loops that such a store reduces over. The front end decides
// the order of a sum with it, the interpreter executes the decision. It changes nothing.
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

namespace kw {

/// What a store puts together with the element that it writes: by + - * min max & | ^, on either side but
/// for -. The first operand counts as the element when both are.
struct Accumulation {
  BinOp op{};
  Expr read, term;  ///< null when the store is none
  bool is_sum_or_product() const {
    return term && (op == BinOp::add || op == BinOp::sub || op == BinOp::mul);
  }
};
Accumulation accumulation_of(const Store &s);
/// True when terms that such an operation puts together may come in any order and every bit stays.
bool is_exact(BinOp op, DType t);

/// The magnitude of a loop's step; that of -2^63 is taken as 2^63 - 1.
int64_t step_size(const For &loop);

/// True when the load reads the element that the store writes.
bool same_place(const Load &a, const Store &s);
bool mentions(const Expr &e, const Sym &sym);
bool mentions(const std::vector<Expr> &list, const Sym &sym);
/// True when the value depends on memory, cells included.
bool has_load(const Expr &e);
/// True when it is made of constants, sizes and scalar arguments: the same in the whole call.
bool is_of_call(const Expr &e);
bool has_check(const Stmt &s);
/// True when evaluating reads an element of rank 1 or more, whose subscript may be out of range.
bool reads_elements(const Expr &e);

/// Returns the loops of the band that the store's mark names, innermost first, out of the loops around it
/// (outermost first, null for a while).
std::vector<const For *> band_of(const Store &s, const std::vector<const For *> &loops);

/// Returns whether a sum in the order `lanes` numbers its terms by the iterations of the loop.
bool counts_lanes(const For &loop);

/// Calls visit(statement, store, loops around it) for every store in source order. The loops are outermost
/// first; a null stands for a While, beyond which no band reaches.
void for_each_store(
    const Stmt &root,
    const std::function<void(const Stmt &, const Store &, const std::vector<const For *> &)> &visit);

}  // namespace kw
