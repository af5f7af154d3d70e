// Walks each statement once.
#include "schedule/tree/accesses.h"

#include <optional>

#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

bool is_iterator(const Expr &e, const Sym &iter) {
  const Ref *n = as<Ref>(e);
  return n && n->sym == iter;
}

bool loads(const Expr &e, const Buf &b) {
  bool found = false;
  walk(e, [&](const Load &n, const Expr &) { found = found || n.buf == b; });
  return found;
}

bool stores_to(const Stmt &s, const Buf &b) {
  bool found = false;
  walk(s, [&](const Store &n, const Stmt &) { found = found || n.buf == b; });
  return found;
}

bool accesses(const Stmt &s, const Buf &b) {
  bool found = stores_to(s, b);
  for_each_evaluated(s, [&](const Expr &e) { found = found || loads(e, b); });
  return found;
}

static bool goes_on(const Stmt &s) { return as<Let>(s) || as<Alloc>(s); }

void for_each_own(const Stmt &s, const std::function<void(const Expr &)> &f) {
  goes_on(s) ? for_each_expression(s, f) : for_each_evaluated(s, f);
}

bool is_stored_first(const Stmt &block, const Buf &b) {
  std::optional<bool> first;
  for_each_in_block(block, [&](const Stmt &s) {
    if (first) return;
    const Store *own = as<Store>(s);
    bool writes = own && own->buf == b, reads = false;
    for_each_own(s, [&](const Expr &e) { reads = reads || loads(e, b); });
    if (reads || writes || (!goes_on(s) && stores_to(s, b))) first = writes && !reads;
  });
  return first.value_or(false);
}

}  // namespace kw
