// Builds the three loops of a block.
#include "schedule/launches/private_bins.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "schedule/launches/flat_loops.h"
#include "schedule/launches/rfactor.h"
#include "schedule/launches/staging.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Bytes of the copy of a block. Chosen: six blocks fit a multiprocessor of 228 KB, which have 48 of its 64
/// warps.
constexpr int64_t most_bin_bytes = 32 << 10;
/// Iterations of a block, which pay for its copy: 64 for each thread. Chosen.
constexpr int64_t iterations_of_block = block_team_threads * 64;

/// Returns the operation that a loop accumulates by; nothing if there are several.
std::optional<BinOp> operation_of(const For &loop, const Buf &buf) {
  std::optional<BinOp> out;
  bool is_one = true;
  walk(loop.body, [&](const Store &n, const Stmt &) {
    if (n.buf != buf) return;
    Accumulation a = accumulation_of(n);
    BinOp op = a.op == BinOp::sub ? BinOp::add : a.op;
    is_one = is_one && a.term && (!out || *out == op);
    out = op;
  });
  return is_one ? out : std::nullopt;
}

class PrivateBinsNest {
 public:
  PrivateBinsNest(const std::vector<const For *> &loops, const Buf &buf, const Loc &loc)
      : loops_(loops), buf_(buf), loc_(loc), op_(*operation_of(*loops.front(), buf)) {
    DType t = buf->dtype;
    for (const Expr &e : buf->extents) size_ = mul(size_, e);
    int64_t bins = std::min(most(), as_int(size_).value_or(most()));
    own_ = make_buf(make_sym(SymKind::buffer, t, buf->sym->name + "_own"), {const_int(bins)}, Space::shared);
  }

  Stmt run() const {
    Sym b = new_iterator("b");
    Expr count = iterations_of(loops_), first = mul(kw::ref(b), const_int(iterations_of_block));
    Expr end = binary(BinOp::min, count, add(first, const_int(iterations_of_block)));
    Stmt body = alloc(own_, Fill::none, seq({clear(), accumulate(first, end), merge()}, loc_), loc_);
    Expr last = add(count, const_int(iterations_of_block - 1));
    Expr blocks = binary(BinOp::floor_div, last, const_int(iterations_of_block));
    For grid{b, const_int(0), blocks, 1, ForKind::grid, Hint::none, {}, std::move(body)};
    grid.how.per_block = 1, grid.id = loops_.front()->id, grid.atomics = {buf_};
    Stmt whole = for_loop(*loops_.front(), loc_), in_blocks = for_loop(std::move(grid), loc_);
    if (auto size = as_int(size_); size && *size <= most()) return in_blocks;
    return if_else(binary(BinOp::le, size_, const_int(most())), in_blocks, whole, loc_);
  }

 private:
  int64_t most() const { return most_bin_bytes / static_cast<int64_t>(item_size(buf_->dtype)); }
  Expr identity() const { return identity_of(op_, buf_->dtype); }

  /// Returns a loop that the threads of the block share.
  Stmt shared(const Sym &iter, Expr lo, Expr hi, std::vector<Buf> atomics, Stmt body) const {
    For out{iter, std::move(lo), std::move(hi), 1, ForKind::block, Hint::none, {}, std::move(body)};
    out.how.threads = static_cast<uint32_t>(block_team_threads);
    if (!atomics.empty()) out.id = loops_.back()->id;  // the others are none of the source
    out.atomics = std::move(atomics);
    return for_loop(std::move(out), loc_);
  }

  Stmt clear() const {
    Sym s = new_iterator("s");
    return shared(s, const_int(0), size_, {}, store(own_, {kw::ref(s)}, identity(), loc_));
  }

  Stmt accumulate(const Expr &first, const Expr &end) const {
    Sym k = new_iterator("k");
    Stmt body = rewrite(
        innermost_body(loops_, loc_),
        [&](const Load &n, const Expr &e) {
          return n.buf == buf_ ? load(own_, {place_of(n.index)}, e.loc()) : e;
        },
        [&](const Store &n, const Stmt &s) {
          return n.buf == buf_ ? store(own_, {place_of(n.index)}, n.value, s.loc(), n.order) : s;
        });
    return shared(k, first, end, {own_}, flat_iteration(loops_, k, body));
  }
  /// Returns the number of an element in the order of memory.
  Expr place_of(const std::vector<Expr> &index) const {
    Expr out = index[0];
    for (size_t d = 1; d < index.size(); ++d) out = add(mul(out, buf_->extents[d]), index[d]);
    return out;
  }

  /// Adds what is not as it was, because each element costs an atomic operation in memory.
  Stmt merge() const {
    Sym s = new_iterator("s");
    std::vector<Expr> index(buf_->rank());
    Expr rest = kw::ref(s);
    for (size_t d = index.size(); d-- > 1; rest = binary(BinOp::floor_div, rest, buf_->extents[d]))
      index[d] = binary(BinOp::floor_mod, rest, buf_->extents[d]);
    index[0] = rest;
    Expr mine = load(own_, {kw::ref(s)});
    Stmt add_mine = store(buf_, index, binary(op_, load(buf_, index), mine), loc_);
    Stmt body = if_else(binary(BinOp::ne, mine, identity()), add_mine, {}, loc_);
    return shared(s, const_int(0), size_, {}, std::move(body));
  }

  const std::vector<const For *> &loops_;
  const Buf &buf_;
  Loc loc_;
  BinOp op_;
  Buf own_;
  Expr size_ = const_int(1);
};

}  // namespace

/// Returns whether a loop loads elements of a buffer other than those that it accumulates in. A copy for a
/// block does not hold them.
static bool loads_others(const For &loop, const Buf &buf) {
  int loads = 0, stores = 0;
  walk(loop.body, [&](const Store &n, const Stmt &) { stores += n.buf == buf; });
  for_each_evaluated(loop.body, [&](const Expr &root) {
    walk(root, [&](const Load &n, const Expr &) { loads += n.buf == buf; });
  });
  return loads > stores;  // each accumulation loads its own
}

bool can_have_bins(const For &loop, const Buf &buf) {
  bool is_sized = std::all_of(buf->extents.begin(), buf->extents.end(), is_of_call);
  return buf->rank() && buf->strides.empty() && is_sized && operation_of(loop, buf).has_value() &&
         !loads_others(loop, buf);
}

Stmt with_private_bins(const std::vector<const For *> &loops, const Buf &buf, const Loc &loc) {
  return PrivateBinsNest(loops, buf, loc).run();
}

}  // namespace kw
