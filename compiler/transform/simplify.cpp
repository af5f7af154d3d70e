// Eliminates dead scalars, until nothing is dead. An element that a dead value reads is still read: its
// subscript may be out of range.
#include "transform/passes.h"

#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

/// Returns the rest of a store that nobody reads.
static Stmt without_store(const Store &n, const Stmt &s) {
  if (!reads_elements(n.value)) return seq({});
  return let(make_sym(SymKind::local, n.value.dtype(), "unread", s.loc()), n.value, seq({}), s.loc());
}

static bool remove_dead_scalars(Func &f) {
  std::unordered_set<const BufNode *> read;
  bool dead = false;
  walk(f.body, [&](const Load &n, const Expr &) { read.insert(n.buf.get()); });
  auto is_dead = [&](const Buf &b) { return b->space == Space::registers && !read.count(b.get()); };
  walk(f.body, [&](const Alloc &n, const Stmt &) { dead |= is_dead(n.buf); });
  if (!dead) return false;
  f.body = rewrite(
      f.body, [&](const Store &n, const Stmt &s) { return is_dead(n.buf) ? without_store(n, s) : s; },
      [&](const Alloc &n, const Stmt &s) { return is_dead(n.buf) ? n.body : s; });
  return true;
}

Func simplify(const Func &f, const Target &) {
  Func out = f;
  while (remove_dead_scalars(out)) {
  }
  return out;
}

}  // namespace kw
