// Replaces both iterators in a copy of the body: none may be left.
#include "analysis/vector/row_collapse.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

bool is_ref_to(const Expr &e, const Sym &sym) {
  const Ref *n = as<Ref>(e);
  return n && n->sym == sym;
}

}  // namespace

std::vector<Buf> buffers_in_rows(const For &rows, const For &row) {
  std::vector<Buf> out;
  std::vector<const BufNode *> stored, elsewhere;
  // accepts [..., rows, row] if the leading subscripts depend on neither iterator
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
  // accepted subscripts become 0 in the copy: an iterator that is left over has another use
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
  // a buffer that is stored to has all its accesses at this row and column, so that rows stay independent
  for (const BufNode *b : stored)
    plain &= std::find(elsewhere.begin(), elsewhere.end(), b) == elsewhere.end();
  return plain ? out : std::vector<Buf>{};
}

const For *row_of(const For &rows, bool in_region) {
  if (rows.kind != ForKind::serial && rows.kind != ForKind::parallel) return nullptr;
  const For *whole = as<For>(rows.body), *row = whole;
  if (row && row->kind == ForKind::parallel && in_region) row = loop_in_blocks(*row);
  // the length of a row must be one value for all rows, known before them
  bool fits = row && rows.step == 1 && row->step == 1 && row->kind == ForKind::vector &&
              as_int(whole->lo) == 0 && (as<Ref>(whole->hi) || as_int(whole->hi)) &&
              !mentions(whole->hi, rows.iter);
  return fits ? row : nullptr;
}

bool can_flatten(const For &rows, const For &row, const VectorizationAnalysis &view) {
  bool accumulates = !view.reductions().empty() || !view.arg_reductions().empty() || view.has_lane_sums();
  return !accumulates && !buffers_in_rows(rows, row).empty();
}

}  // namespace kw
