// If an address is known before the loop, code there can test whether rows begin at cache lines.
#include "analysis/vector/streams.h"

#include "ir/build.h"
#include "ir/limits.h"
#include "ir/walk.h"

namespace kw {

BufferSet write_only_outputs(const Func &f) {
  BufferSet out;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.kind != ForKind::vector) return;
    walk(n.body, [&](const Store &s, const Stmt &) {
      bool row = s.buf->strides.empty() || as_int(s.buf->strides.back()) == 1;
      if (s.buf->space == Space::param && row && !s.index.empty()) out.insert(s.buf.get());
    });
  });
  // a load anywhere in the function excludes its buffer, whether it comes before the store or after it
  if (!out.empty()) walk(f.body, [&](const Load &l, const Expr &) { out.erase(l.buf.get()); });
  return out;
}

/// Returns whether the place depends on no load and no Let of the loop body: only the iterator may change it.
static bool is_known_before(const std::vector<Expr> &index, const For &n) {
  std::unordered_set<const SymNode *> bound_inside;
  walk(n.body, [&](const Let &l, const Stmt &) { bound_inside.insert(l.sym.get()); });
  bool known = true;
  for (const Expr &i : index)
    walk(
        i, [&](const Load &, const Expr &) { known = false; },
        [&](const Ref &r, const Expr &) { known = known && !bound_inside.count(r.sym.get()); });
  return known;
}

bool can_stream(const For &n, const BufferSet &outputs) {
  if (n.kind != ForKind::vector || n.step != 1) return false;
  bool some = false, plain = true;
  auto stores_here = [&](const Store &s) { return outputs.count(s.buf.get()) > 0; };
  walk(
      n.body,
      [&](const Store &s, const Stmt &) {
        if (!stores_here(s)) return;
        some = true;
        plain = plain && is_known_before(s.index, n);
      },
      [&](const For &, const Stmt &) { plain = false; },
      // a store under a condition may leave elements of its row unwritten
      [&](const If &, const Stmt &branch) {
        walk(branch, [&](const Store &s, const Stmt &) { plain = plain && !stores_here(s); });
      });
  return some && plain;
}

bool gains_by_streams(const For &n, const VectorizationAnalysis &view, const BufferSet &outputs) {
  // Operations per iteration. Chosen: a loop with more is not limited by memory.
  constexpr uint32_t few = 16;
  if (view.work().operations > few || view.work().scatters > 0 || !can_stream(n, outputs)) return false;
  bool whole_lines = true;
  walk(n.body, [&](const Store &s, const Stmt &) {
    // one vector iteration must write whole cache lines
    bool fills = n.how.vector_width * item_size(s.buf->dtype) % cache_line == 0;
    if (outputs.count(s.buf.get())) whole_lines = whole_lines && fills;
  });
  return whole_lines;
}

}  // namespace kw
