// Applies one directive after the other, each to the last piece.
#include "schedule/steps/distribute_loops.h"

#include "analysis/nest/access_stride.h"
#include "ir/match.h"
#include "schedule/tree/statement_list.h"

namespace kw {

/// Returns the loops directly inside `around`, or the outermost loops if it is null.
static std::vector<uint32_t> neighbours(const Nest &nest, const Sym &around) {
  return loops_in(nest, around ? find_loop(nest, around).value() : NestLoop::no_loop);
}

uint32_t loop_at(const Nest &nest, const Sym &around, size_t place) {
  return neighbours(nest, around).at(place);
}

std::optional<Sym> tile_parallel(LoopNest &nest, const Sym &iter, int64_t size) {
  uint32_t loop = *find_loop(nest.nest(), iter);
  if (!nest.is_free(loop, FreeFor::threads) || !nest.try_apply(Tile{{loop}, {size}}).ok())
    return std::nullopt;
  const std::vector<NestLoop> &loops = nest.nest().loops;
  return loops[loops[*find_loop(nest.nest(), iter)].parent].loop->iter;
}

/// Returns a scalar that the loop writes outside of its inner loops; null if there is none.
static Buf written_scalar(const Nest &nest, uint32_t loop) {
  for (const NestStatement &s : nest.statements)
    for (const NestAccess &a : s.accesses)
      if (is_inside(s, loop) && a.buf->space == Space::registers && a.is_write && s.loops.back() == loop)
        return a.buf;
  return {};
}

bool expand_scalars(LoopNest &nest, const Sym &iter) {
  // Most scalars that are expanded. Chosen: their arrays share the L1 cache with the data.
  constexpr int most = 4;
  for (int count = 0; count <= most; ++count) {
    uint32_t loop = *find_loop(nest.nest(), iter);
    Buf scalar = written_scalar(nest.nest(), loop);
    if (!scalar) return true;
    if (count == most || !nest.try_apply(Expand{scalar, loop}).ok()) return false;
  }
  return false;
}

///     for i: s; for j: a; t   →   for i: s   for i: for j: a   for i: t
/// A piece is one loop, or all statements up to the next loop. The last piece is distributed again until
/// nothing follows.
std::optional<LoopPieces> distribute_all(LoopNest &nest, const Sym &around, size_t place) {
  LoopPieces out{place, 1};
  for (;; ++out.count) {
    uint32_t last = loop_at(nest.nest(), around, place + out.count - 1);
    StatementList body = statements_of(nest.nest().loops[last].loop->body);
    size_t at = 0;
    // Definitions in front of a loop stay with that loop.
    while (at < body.size() && body[at].opens) ++at;
    bool is_loop = at < body.size() && as<For>(body[at].s);
    while (!is_loop && at + 1 < body.size() && !as<For>(body[at + 1].s)) ++at;
    if (at + 1 >= body.size()) return out;
    size_t before = neighbours(nest.nest(), around).size();
    if (!nest.try_apply(Distribute{last, static_cast<int64_t>(at)}).ok()) return std::nullopt;
    // An empty piece was dropped.
    if (neighbours(nest.nest(), around).size() != before + 1) return std::nullopt;
  }
}

}  // namespace kw
