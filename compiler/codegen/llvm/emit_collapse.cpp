// Rows that lie end to end: a loop over rows whose only statement runs over the elements of a row in lanes.
// Where every row is as long as the loop, which the call tells, all rows are one: short rows fill no
// register, and each ends with a rest.
//     for i in range(n): for j in range(m): c[i, j] = a[i, j]   →   for j in range(n * m): c[0, j] = a[0, j]
#include <algorithm>

#include "analysis/vectorization.h"
#include "codegen/llvm/emit.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;

namespace {

bool is_ref_to(const Expr &e, const Sym &sym) {
  const Ref *n = as<Ref>(e);
  return n && n->sym == sym;
}

/// Buffers of which the body uses the element of this row and column, when it uses the two iterators for
/// nothing else, and stores to no other element; else none.
std::vector<Buf> buffers_in_rows(const For &rows, const For &row) {
  std::vector<Buf> out;
  std::vector<const BufNode *> stored, elsewhere;
  auto in_row = [&](const Buf &b, const std::vector<Expr> &index) {
    size_t rank = index.size();
    bool here = rank >= 2 && is_ref_to(index[rank - 1], row.iter) && is_ref_to(index[rank - 2], rows.iter);
    for (size_t d = 0; here && d + 2 < rank; ++d)
      here = !mentions(index[d], rows.iter) && !mentions(index[d], row.iter);
    if (!here)
      elsewhere.push_back(b.get());
    else if (std::find(out.begin(), out.end(), b) == out.end())
      out.push_back(b);
    return here;
  };
  bool plain = true;
  Expr nothing = const_int(0);
  Stmt rest = rewrite(
      row.body,
      [&](const Load &n, const Expr &e) {
        bool cell = n.buf->space == Space::registers;
        plain &= !cell || n.index.empty();
        return !cell && in_row(n.buf, n.index) ? cast(e.dtype(), nothing) : e;
      },
      [&](const Store &n, const Stmt &s) {
        if (n.buf->space == Space::registers) return s;
        stored.push_back(n.buf.get());
        plain &= n.order != Order::lanes;
        return in_row(n.buf, n.index) ? store(n.buf, {n.index.size(), nothing}, n.value) : s;
      });
  walk(
      rest, [&](const Ref &n, const Expr &) { plain &= n.sym != rows.iter && n.sym != row.iter; },
      [&](const For &, const Stmt &) { plain = false; }, [&](const While &, const Stmt &) { plain = false; },
      [&](const Check &, const Stmt &) { plain = false; });
  for (const BufNode *b : stored)
    plain &= std::find(elsewhere.begin(), elsewhere.end(), b) == elsewhere.end();
  return plain ? out : std::vector<Buf>{};
}

}  // namespace

/// The vector loop over a row that is all the loop does, when it could run over all rows at once.
FunctionEmitter::RowToCollapse FunctionEmitter::row_to_collapse(const For &rows) const {
  const For *whole = as<For>(rows.body), *row = whole;
  if (row && row->kind == ForKind::parallel && (status_ || lanes_)) row = loop_in_blocks(*row);
  bool fits = row && rows.step == 1 && row->step == 1 && runs_in_vectors(*row) && as_int(whole->lo) == 0 &&
              (as<Ref>(whole->hi) || as_int(whole->hi)) && !mentions(whole->hi, rows.iter);
  if (!fits) return {};
  VectorizationAnalysis view(*row);
  bool joins = view.reductions().empty() && view.arg_reductions().empty() && !view.has_lane_sums();
  return joins ? RowToCollapse{row, buffers_in_rows(rows, *row)} : RowToCollapse{};
}

/// Rows one by one, or as one row where they lie end to end. Rows of a constant length have code of their
/// own.
void FunctionEmitter::rows_loop(const For &rows, const RowToCollapse &joint, V lo, V trips) {
  V zero = b_.getInt64(0), one = b_.getInt64(1);
  For elements = *as<For>(rows.body);  // may run in blocks
  elements.step = 1;
  V length = trip_count(elements, zero, expr(elements.hi));
  V joined = whole_rows_ ? whole_rows_ : b_.getTrue();
  for (const Buf &b : joint.buffers) {
    const std::vector<V> &strides = entry_of(buffers_, b.get()).strides;  // null: 1
    V stride = strides[b->rank() - 2], last = strides.back();
    joined = b_.CreateAnd(joined, b_.CreateICmpEQ(stride ? stride : one, length));
    if (last) joined = b_.CreateAnd(joined, b_.CreateICmpEQ(last, one));
  }
  V all = b_.CreateMul(length, trips), fewest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, trips, one);
  memo_.clear();
  auto run = [&](V joined_length, V count) {
    collapsed_row_ = joint.row, collapsed_length_ = joined_length;
    plain_loop(rows, lo, count, true);
    collapsed_row_ = nullptr;
    memo_.clear();
  };
  if (!llvm::isa<llvm::ConstantInt>(length))
    return run(b_.CreateSelect(joined, all, length), b_.CreateSelect(joined, fewest, trips));
  BasicBlock *as_one = block("as_one"), *apart = block("apart"), *done = block("done");
  b_.CreateCondBr(joined, as_one, apart);
  b_.SetInsertPoint(as_one);
  run(all, fewest);
  b_.CreateBr(done);
  b_.SetInsertPoint(apart);
  run(length, trips);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace kw
