// Builds the loops first, and asks then which of their accesses are vectors.
#include "schedule/launches/vector_tiles.h"

#include <algorithm>

#include "analysis/gpu/vector_accesses.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "schedule/launches/staged_tiles.h"
#include "schedule/launches/staging.h"
#include "schedule/launches/tile_frame.h"

namespace kw {

namespace {

class SquareBuilder {
 public:
  /// Squares have `width` rows and columns.
  SquareBuilder(const For &outer, const For &inner, const std::vector<Buf> &buffers, int64_t width,
                MostTiles most, const Loc &loc)
      : outer_(outer),
        inner_(inner),
        width_(width),
        side_(side_of_tiles(buffers)),
        loc_(loc),
        most_(most),
        frame_(outer, inner, side_, loc, most) {
    for (const auto &[buf, index] : staged_loads(inner, buffers)) frame_.add(buf, index, side_);
  }

  std::optional<VectorTiles> run(const For *grid, const Sym &misaligned) {
    Stmt launch = frame_.launch({copies(), iterations()});
    for (const For *n : {&outer_, &inner_}) want_multiple(n->lo), want_multiple(n->hi);
    walk(launch, [&](const For &n, const Stmt &) {
      if (n.kind == ForKind::vector) want_vectors(n);
    });
    want(binary(BinOp::le, trips_of(outer_), const_int(most_.outer * side_)));
    if (most_.inner) want(binary(BinOp::le, trips_of(inner_), const_int(most_.inner * side_)));
    if (grid) want(binary(BinOp::le, trips_of(*grid), const_int(most_blocks_yz)));
    want(binary(BinOp::eq, kw::ref(misaligned), const_int(0)));
    if (!is_possible_) return {};
    Expr fits = wanted_.front();
    for (size_t k = 1; k < wanted_.size(); ++k) fits = logic(true, fits, wanted_[k], loc_);
    return VectorTiles{fits, std::move(launch)};
  }

 private:
  Expr times_width(const Sym &s) const { return mul(kw::ref(s), const_int(width_)); }
  static Expr plus(const Expr &first, const Sym &offset) { return add(first, kw::ref(offset)); }

  /// Returns loops over the elements of a square: rows that are written out, each a vector.
  Stmt rows_of_vectors(const Sym &row, const Sym &element, Stmt body) const {
    For vector{element, const_int(0), const_int(width_), 1, ForKind::vector, Hint::none, {}, std::move(body)};
    vector.how.vector_width = static_cast<uint32_t>(width_);
    Stmt inner = for_loop(std::move(vector), loc_);
    For rows{row, const_int(0), const_int(width_), 1, ForKind::unroll, Hint::none, {}, std::move(inner)};
    rows.how.unroll = static_cast<uint32_t>(width_);
    return for_loop(std::move(rows), loc_);
  }
  /// Returns the place of an element of the tile: `row` of the square in the row `along`, and its element
  /// `element` in the square `across`.
  std::vector<Expr> place(const Sym &along, const Sym &row, const Sym &across, const Sym &element) const {
    Expr permuted = binary(BinOp::bit_xor, kw::ref(across), kw::ref(along));
    return {plus(times_width(along), row), plus(mul(permuted, const_int(width_)), element)};
  }

  Stmt copies() const {
    return frame_.each(width_, TileFrame::Columns::outer, 0, [&](const TileSquare &s) {
      std::vector<Stmt> all;
      for (const StagedTile &t : frame_.tiles()) all.push_back(copy(t, s));
      return seq(std::move(all), loc_);
    });
  }
  /// Returns a copy of a square, whose columns become rows of the tile.
  Stmt copy(const StagedTile &t, const TileSquare &s) const {
    Sym name = make_sym(SymKind::buffer, t.source->dtype, t.source->sym->name + "_square");
    Buf square = make_buf(name, {const_int(width_), const_int(width_)}, Space::stack);
    Sym u = new_iterator("u"), v = new_iterator("v");
    Expr from = frame_.source(t, plus(kw::ref(s.outer), v), plus(kw::ref(s.inner), u));
    Stmt in = rows_of_vectors(u, v, store(square, {kw::ref(u), kw::ref(v)}, from, loc_));
    u = new_iterator("u"), v = new_iterator("v");
    Expr element = load(square, {kw::ref(u), kw::ref(v)});
    Stmt out = rows_of_vectors(v, u, store(t.copy, place(s.column, v, s.row, u), element, loc_));
    return alloc(square, Fill::none, seq({in, out}, loc_), loc_);
  }
  Stmt iterations() const {
    return frame_.each(width_, TileFrame::Columns::inner, 0, [&](const TileSquare &s) {
      Sym u = new_iterator("u"), v = new_iterator("v");
      Expr i = plus(kw::ref(s.outer), u), j = plus(kw::ref(s.inner), v);
      return rows_of_vectors(u, v, frame_.iteration(i, j, place(s.row, u, s.column, v)));
    });
  }

  /// Notes what must hold in a call.
  void want(const Expr &e) {
    if (const Const *known = as<Const>(e)) {
      is_possible_ = is_possible_ && known->bits;
      return;
    }
    bool is_new = std::none_of(wanted_.begin(), wanted_.end(), [&](const Expr &w) { return equal(w, e); });
    if (is_new) wanted_.push_back(e);
  }
  /// Notes that a value must be a multiple of the width.
  void want_multiple(const Expr &e) {
    want(binary(BinOp::eq, binary(BinOp::floor_mod, e, const_int(width_)), const_int(0)));
  }
  /// Notes what makes the accesses of a loop whole and aligned vectors.
  void want_vectors(const For &n) {
    VectorLoop loop = vector_loop(n, width_);
    is_possible_ = is_possible_ && !loop.accesses.empty() && !moves_otherwise(n, loop);
    for (const VectorAccess &a : loop.accesses) {
      is_possible_ = is_possible_ && width_ * static_cast<int64_t>(item_size(a.buf->dtype)) <= widest_access;
      if (is_team_array(*a.buf)) continue;
      is_possible_ = is_possible_ && as<Ref>(a.base);  // an iteration with which a square begins, a multiple
      for (const Expr &e : multiples_in_rows(a))
        if (e.p != a.base.p) want_multiple(e);
    }
  }

  const For &outer_, &inner_;
  int64_t width_, side_;
  Loc loc_;
  MostTiles most_;
  TileFrame frame_;
  bool is_possible_ = true;   ///< in some calls
  std::vector<Expr> wanted_;  ///< what holds in these
};

}  // namespace

std::optional<VectorTiles> vector_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers,
                                        const For *grid, const Sym &misaligned, const Loc &loc) {
  if (!is_short_on_gpu(inner) || operations_on_gpu(inner) >= operations_of_function) return {};
  // Loops over blocks would take ten registers of each thread (NVRTC 13.0 for sm_90). Alone, the inner loop
  // needs none.
  MostTiles most{most_blocks_yz, grid ? most_blocks_yz : 0};
  for (int64_t width : {4, 2})
    if (auto tiles = SquareBuilder(outer, inner, buffers, width, most, loc).run(grid, misaligned))
      return tiles;
  return {};
}

}  // namespace kw
