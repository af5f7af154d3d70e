// The form is what the directives that stage arrays build.
#include "analysis/gpu/pipeline.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

/// Adds the buffers that a statement copies to. Returns whether it does nothing else.
static bool only_copies(const Stmt &body, std::vector<Buf> &parts) {
  bool fits = true;
  for_each_statement(body, [&](const Stmt &s) {
    if (const Store *n = as<Store>(s)) {
      const Load *from = as<Load>(n->value);
      fits = fits && from && n->buf->space == Space::shared && from->buf->space != Space::registers &&
             from->buf->space != Space::constant;
      parts.push_back(n->buf);
    } else {
      fits = fits && (as<Let>(s) || as<If>(s));
    }
    return true;
  });
  return fits;
}

std::optional<Pipeline> pipeline_of(const For &loop) {
  if (loop.kind != ForKind::serial || loop.step != 1 || as_int(loop.lo) != 0 || jumps_of(loop.body).any())
    return {};
  Pipeline out;
  for_each_in_block(loop.body, [&](const Stmt &s) {
    if (out.copies) return;
    if (const Let *n = as<Let>(s))
      out.names.push_back(n);
    else
      out.copies = s;
  });
  const For *copies = as<For>(out.copies);
  bool fits = copies && copies->kind == ForKind::block && only_copies(copies->body, out.parts);
  return fits ? std::optional(std::move(out)) : std::nullopt;
}

std::unordered_map<const BufNode *, uint32_t> stages_of(const Stmt &body) {
  std::unordered_map<const BufNode *, uint32_t> out;
  walk(body, [&](const For &n, const Stmt &) {
    if (n.how.stages < 2) return;
    if (auto pipeline = pipeline_of(n))
      for (const Buf &b : pipeline->parts) out[b.get()] = std::max(out[b.get()], n.how.stages);
  });
  return out;
}

}  // namespace kw
