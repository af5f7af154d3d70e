// The iterations of a part stay a serial loop, which each thread of the team executes.
#include "schedule/launches/staged_chain.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/launches/row_accesses.h"
#include "schedule/launches/staging.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Threads that copy for the one chain. Chosen: a warp for each of the four schedulers of a multiprocessor,
/// so that no warp waits for the instructions of another one.
constexpr int64_t threads = 128;
/// Iterations of a part. Chosen: eight of each thread, whose copies hide the time of a barrier.
constexpr int64_t part = 8 * threads;
/// Most parts of an array: one in use, and three under way.
constexpr uint32_t most_stages = 4;
/// Bytes of a block. Chosen: nine blocks fit a multiprocessor of 228 KB.
constexpr int64_t most_bytes = 24 << 10;

std::vector<RowAccess> accesses_of(const For &loop) {
  return row_accesses(loop, [&](const std::vector<Expr> &index) {
    bool fits = !index.empty() && is_iterator(index.back(), loop.iter);
    for (size_t d = 0; d + 1 < index.size(); ++d) {
      fits = fits && !has_load(index[d]) && !mentions(index[d], loop.iter);
      // What the loop itself names is not known before its iterations.
      walk(loop.body, [&](const Let &n, const Stmt &) { fits = fits && !mentions(index[d], n.sym); });
    }
    return fits;
  });
}

int64_t bytes_of(const std::vector<RowAccess> &rows, uint32_t stages) {
  int64_t bytes = 0;
  for (const RowAccess &r : rows)
    bytes += part * static_cast<int64_t>(item_size(r.buf->dtype)) * (r.is_loaded ? stages : 1);
  return bytes;
}
/// Returns how many parts of each array fit, at least two.
uint32_t stages_of(const std::vector<RowAccess> &rows) {
  uint32_t stages = most_stages;
  while (stages > 2 && bytes_of(rows, stages) > most_bytes) --stages;
  return stages;
}

class ChainBuilder {
 public:
  ChainBuilder(const For &loop, const Loc &loc) : loop_(loop), loc_(loc), rows_(accesses_of(loop)) {
    for (const RowAccess &r : rows_) {
      Sym name = make_sym(SymKind::buffer, r.buf->dtype, r.buf->sym->name + "_part");
      parts_.push_back(make_buf(name, {const_int(part)}, Space::shared));
    }
  }

  Stmt run() const {
    std::vector<Stmt> statements;
    if (Stmt in = copies(true)) statements.push_back(in);
    statements.push_back(iterations());
    if (Stmt out = copies(false)) statements.push_back(out);
    Expr at = add(loop_.lo, mul(kw::ref(number_), const_int(part)));
    Expr count = binary(BinOp::floor_div, add(trips_of(loop_), const_int(part - 1)), const_int(part));
    Stmt body = let(end_, binary(BinOp::min, loop_.hi, add(kw::ref(first_), const_int(part))),
                    seq(std::move(statements), loc_), loc_);
    For out{number_,         const_int(0), count, 1,
            ForKind::serial, Hint::none,   {},    let(first_, at, std::move(body), loc_)};
    out.id = loop_.id;
    if (std::any_of(rows_.begin(), rows_.end(), can_copy_ahead)) out.how.stages = stages_of(rows_);
    Stmt whole = for_loop(std::move(out), loc_);
    for (const Buf &b : parts_) whole = alloc(b, Fill::none, whole, loc_);
    return whole;
  }

 private:
  Buf part_of(const Buf &b) const {
    for (size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].buf == b) return parts_[i];
    return {};
  }

  Stmt iterations() const {
    For out = loop_;
    out.lo = kw::ref(first_), out.hi = kw::ref(end_);
    out.kind = ForKind::unroll, out.how.unroll = shared_iterations_at_once(loop_);
    Expr place = sub(kw::ref(loop_.iter), kw::ref(first_));
    out.body = rewrite(
        loop_.body,
        [&](const Load &l, const Expr &e) {
          Buf copy = part_of(l.buf);
          return copy ? load(copy, {place}, e.loc()) : e;
        },
        [&](const Store &s, const Stmt &old) {
          Buf copy = part_of(s.buf);
          return copy ? store(copy, {place}, s.value, old.loc(), s.order) : old;
        });
    return for_loop(std::move(out), loc_);
  }

  /// Copies parts in, or those that are stored out.
  Stmt copies(bool in) const {
    Sym k = make_sym(SymKind::iter, DType::i64, "k");
    Substitution with;
    with.values[loop_.iter.get()] = add(kw::ref(first_), kw::ref(k));
    std::vector<Stmt> statements;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const RowAccess &r = rows_[i];
      if (in ? !r.is_loaded : !r.is_stored) continue;
      std::vector<Expr> index = r.index;
      for (Expr &e : index) e = substituted(e, with);
      statements.push_back(in ? store(parts_[i], {kw::ref(k)}, load(r.buf, index), loc_)
                              : store(r.buf, index, load(parts_[i], {kw::ref(k)}), loc_));
    }
    if (statements.empty()) return {};
    For out{k,          const_int(0), sub(kw::ref(end_), kw::ref(first_)), 1, ForKind::block,
            Hint::none, {},           seq(std::move(statements), loc_)};
    out.how.threads = static_cast<uint32_t>(threads);
    // The copies back would take 40 registers and not 32, and nearly twice the time to compile.
    if (in) vectorize_team(out);
    return for_loop(std::move(out), loc_);
  }

  const For &loop_;
  Loc loc_;
  std::vector<RowAccess> rows_;
  std::vector<Buf> parts_;
  Sym number_ = make_sym(SymKind::iter, DType::i64, loop_.iter->name + "0"),
      first_ = make_sym(SymKind::local, DType::i64, "first_" + loop_.iter->name),
      end_ = make_sym(SymKind::local, DType::i64, "end_" + loop_.iter->name);
};

}  // namespace

bool can_stage_chain(const For &loop) {
  bool fits = loop.step == 1 && is_straight(loop.body) && !has_load(loop.lo) && !has_load(loop.hi);
  if (!fits) return false;
  walk(loop.body, [&](const Store &s, const Stmt &) { fits = fits && s.order == Order::source; });
  std::vector<RowAccess> rows = accesses_of(loop);
  return fits && !rows.empty() && bytes_of(rows, 2) <= most_bytes;
}

int64_t bytes_of_chain(const For &loop) {
  std::vector<RowAccess> rows = accesses_of(loop);
  return bytes_of(rows, stages_of(rows));
}

Stmt staged_chain(const For &loop, const Loc &loc) { return ChainBuilder(loop, loc).run(); }

}  // namespace kw
