// Sizes of temporaries count as used: the Alloc of a temporary evaluates them.
#include "analysis/captures.h"

#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

LoopCaptures captures_of(const For &loop) {
  LoopCaptures out;
  std::unordered_set<const SymNode *> seen;
  // the walk below does not visit the extents of buffers, so they are collected here and searched afterwards
  std::vector<Expr> sizes;
  auto use = [&](const Sym &s) {
    if (seen.insert(s.get()).second) out.symbols.push_back(s);
  };
  auto use_buffer = [&](const Buf &b) {
    if (seen.insert(b->sym.get()).second) out.buffers.push_back(b);
  };
  out.made.insert(loop.iter.get());
  walk(
      loop.body, [&](const Let &n, const Stmt &) { out.made.insert(n.sym.get()); },
      [&](const For &n, const Stmt &) { out.made.insert(n.iter.get()); },
      [&](const Alloc &n, const Stmt &) {
        out.made.insert(n.buf->sym.get());
        sizes.insert(sizes.end(), n.buf->extents.begin(), n.buf->extents.end());
        sizes.insert(sizes.end(), n.buf->strides.begin(), n.buf->strides.end());
      },
      [&](const Check &, const Stmt &) { out.checks = true; },
      [&](const Ref &n, const Expr &) { use(n.sym); },
      [&](const Load &n, const Expr &) { use_buffer(n.buf); },
      [&](const Store &n, const Stmt &) {
        // Allocs precede their stores in source order: a mutable scalar of the loop itself is in `made` here
        bool cell = n.buf->space == Space::registers;
        ensure(!cell || out.made.count(n.buf->sym.get()),
               cat("the parallel loop stores to '", n.buf->sym->name, "', a cell made outside it"));
        use_buffer(n.buf);
      });
  for (const Expr &size : sizes) walk(size, [&](const Ref &n, const Expr &) { use(n.sym); });
  // `made` is complete only at the end
  std::erase_if(out.symbols, [&](const Sym &s) { return out.made.count(s.get()) != 0; });
  std::erase_if(out.buffers, [&](const Buf &b) { return out.made.count(b->sym.get()) != 0; });
  return out;
}

}  // namespace kw
