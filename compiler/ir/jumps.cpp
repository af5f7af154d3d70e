// One walk that stops at inner loops.
#include "ir/jumps.h"

#include "ir/match.h"

namespace kw {

static void find(const Stmt &root, Jumps &out) {
  for (const Stmt *s = &root; s && *s; s = chain_next(*s->p)) {
    if (const Jump *n = as<Jump>(*s)) {
      bool breaks = n->kind == JumpKind::break_loop;
      if (breaks && !out.breaks) out.first_break = s->loc();
      (breaks ? out.breaks : out.continues) = true;
    }
    if (const If *n = as<If>(*s)) find(n->yes, out), find(n->no, out);
    if (const Seq *n = as<Seq>(*s))
      for (size_t i = 0; i + 1 < n->items.size(); ++i) find(n->items[i], out);
  }
}

bool always_jumps(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = chain_next(*s->p)) {
    if (as<Jump>(*s)) return true;
    const If *n = as<If>(*s);
    if (n && n->no && always_jumps(n->yes) && always_jumps(n->no)) return true;
    const Seq *list = as<Seq>(*s);
    for (size_t i = 0; list && i + 1 < list->items.size(); ++i)
      if (always_jumps(list->items[i])) return true;
  }
  return false;
}

Jumps jumps_of(const Stmt &body) {
  Jumps out;
  find(body, out);
  return out;
}

}  // namespace kw
