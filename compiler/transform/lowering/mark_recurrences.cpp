// A scalar qualifies if a serial loop sets it to the minimum or maximum of itself and another value, and no
// other kind of loop uses it.
#include "transform/lowering/passes.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Returns whether the value comes from the scalar by minima, maxima, sums and differences alone. These are
/// the operations that keep the value in a vector register.
bool reads_in_steps(const Expr &e, const BufNode *cell) {
  const Load *load = as<Load>(e);
  if (load) return load->buf.get() == cell;
  const Binary *n = as<Binary>(e);
  return is_step_of_recurrence(e) && (reads_in_steps(n->a, cell) || reads_in_steps(n->b, cell));
}

/// Returns whether a serial loop takes minima or maxima with the scalar's own value:
///     for i in serial(…): best = min(best + a[i], b[i])
/// A scalar that a loop of another kind reads or writes does not qualify.
bool is_recurrence(const Alloc &n) {
  bool elsewhere = false;
  auto note = [&](const Buf &b) { elsewhere |= b == n.buf; };
  walk(n.body, [&](const For &loop, const Stmt &) {
    if (loop.kind == ForKind::serial) return;
    walk(
        loop.body, [&](const Store &s, const Stmt &) { note(s.buf); },
        [&](const Load &l, const Expr &) { note(l.buf); });
  });
  if (elsewhere) return false;
  // a store often names its value first: `t = min(…); best = t`
  std::unordered_map<const SymNode *, Expr> values;
  walk(n.body, [&](const Let &let, const Stmt &) { values[let.sym.get()] = let.value; });
  bool found = false;
  walk(n.body, [&](const For &loop, const Stmt &) {
    if (loop.kind != ForKind::serial) return;
    walk(loop.body, [&](const Store &store, const Stmt &) {
      if (store.buf != n.buf) return;
      const Ref *name = as<Ref>(store.value);
      auto known = name ? values.find(name->sym.get()) : values.end();
      const Expr &value = known == values.end() ? store.value : known->second;
      found |= is_min_or_max(value) && reads_in_steps(value, n.buf.get());
    });
  });
  return found;
}

/// Returns whether a buffer is a scalar of i32, the only type that RecurrenceEmitter handles.
bool is_candidate(const Alloc &n) {
  return n.buf->space == Space::registers && n.buf->rank() == 0 && n.buf->dtype == DType::i32;
}

}  // namespace

Func mark_recurrences(const Func &f, const Target &target) {
  bool any = false;
  std::unordered_set<const BufNode *> in_vector_loops;
  walk(
      f.body, [&](const Alloc &n, const Stmt &) { any |= is_candidate(n); },
      [&](const For &n, const Stmt &) {
        if (n.kind != ForKind::vector) return;
        walk(n.body, [&](const Alloc &in, const Stmt &) { in_vector_loops.insert(in.buf.get()); });
      });
  if (!any || !target.has_vector_i32_minimum()) return f;
  Func out = f;
  out.body = rewrite(f.body, [&](const Alloc &n, const Stmt &s) {
    if (!is_candidate(n) || in_vector_loops.count(n.buf.get()) || !is_recurrence(n)) return s;
    return make_stmt(s.loc(), Alloc{n.buf, n.fill, n.body, true});
  });
  return out;
}

}  // namespace kw
