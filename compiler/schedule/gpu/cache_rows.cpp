// Tries the buffers that are stored to in loops of teams.
#include "schedule/gpu/steps.h"

#include <algorithm>

#include "analysis/gpu/vector_accesses.h"
#include "analysis/nest/access_stride.h"
#include "ir/walk.h"

namespace kw {

void cache_rows(LoopNest &nest, const Target &) {
  if (!nest.nest().complete) return;
  std::vector<std::pair<Sym, Buf>> wanted;
  for (const NestLoop &l : nest.nest().loops) {
    if (!l.loop || l.loop->kind != ForKind::grid) continue;
    const For *around = l.parent == NestLoop::no_loop ? nullptr : nest.nest().loops[l.parent].loop;
    if (around && around->kind == ForKind::grid) continue;
    std::vector<Buf> stored;
    walk(l.loop->body, [&](const For &n, const Stmt &) {
      if (n.kind != ForKind::block) return;
      walk(n.body, [&](const Store &s, const Stmt &) {
        bool is_memory = s.buf->rank() > 0 && !is_team_array(*s.buf);
        if (is_memory && std::find(stored.begin(), stored.end(), s.buf) == stored.end())
          stored.push_back(s.buf);
      });
    });
    for (const Buf &b : stored) wanted.emplace_back(l.loop->iter, b);
  }
  for (const auto &[iter, buf] : wanted) {
    CacheRow cache{buf, *find_loop(nest.nest(), iter)};
    if (nest.legal(cache).ok()) nest.apply(cache);
  }
}

}  // namespace kw
