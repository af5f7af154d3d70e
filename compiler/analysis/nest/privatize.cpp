// Finds the first accesses in a loop, and reads elsewhere.
#include "analysis/nest/privatize.h"

#include <algorithm>
#include <unordered_set>

#include "ir/walk.h"

namespace kw {

namespace {

using Bufs = std::unordered_set<const BufNode *>;

/// Adds the buffers that a tree of statements reads outside the body of one loop.
void reads_without(const Stmt &root, const For *loop, Bufs &out) {
  auto read = [&](const Expr &e) { walk(e, [&](const Load &n, const Expr &) { out.insert(n.buf.get()); }); };
  for_each_statement(root, [&](const Stmt &s) {
    for_each_expression(s, read);
    const For *n = as<For>(s);
    return !n || n != loop;
  });
}

}  // namespace

std::vector<const BufNode *> private_scalars(const Func &f, const Nest &nest, uint32_t loop) {
  std::vector<const BufNode *> candidates;
  Bufs seen;
  for (const NestStatement &s : nest.statements) {
    auto depth = std::find(s.loops.begin(), s.loops.end(), loop);
    if (depth == s.loops.end()) continue;
    bool always = depth + 1 == s.loops.end() && !s.may && s.guard.empty();
    for (const NestAccess &a : s.accesses) {
      // the first access in source order decides: an unconditional write directly in the loop's body
      bool first = seen.insert(a.buf.get()).second;
      if (first && always && a.is_write && a.buf->space == Space::registers && a.index.empty())
        candidates.push_back(a.buf.get());
    }
  }
  if (candidates.empty()) return {};
  Bufs elsewhere;
  reads_without(f.body, nest.loops[loop].loop, elsewhere);
  std::erase_if(candidates, [&](const BufNode *b) { return elsewhere.count(b) > 0; });
  return candidates;
}

bool could_be_private(const Func &f, const Nest &nest, uint32_t loop, const BufNode &buf) {
  // a read outside the loop needs the value of the last iteration
  Bufs elsewhere;
  reads_without(f.body, nest.loops[loop].loop, elsewhere);
  if (elsewhere.count(&buf)) return false;
  for (const NestStatement &s : nest.statements) {
    if (std::find(s.loops.begin(), s.loops.end(), loop) == s.loops.end()) continue;
    for (const NestAccess &a : s.accesses)
      if (a.buf.get() == &buf) return a.is_write;
  }
  return false;
}

bool writes_outer_scalar(const Stmt &s, const std::vector<const BufNode *> &but) {
  Bufs own(but.begin(), but.end());
  bool found = false;
  walk(s, [&](const Alloc &n, const Stmt &) { own.insert(n.buf.get()); });
  walk(s, [&](const Store &n, const Stmt &) {
    found = found || (n.buf->space == Space::registers && !own.count(n.buf.get()));
  });
  return found;
}

}  // namespace kw
