// What all tiles of two loops have in common: their launch, their memory, and the iterations in them.
//     for i: for j: S   →   for i0 in grid: for j0 in grid:
//         first_i = lo + side * i0; first_j = lo + side * j0; tile = alloc(shared)
//         copies and iterations, which the users of this class make
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

namespace kw {

/// A buffer of which tiles are copied: its copy, and the subscripts of the element that an iteration loads.
struct StagedTile {
  Buf source, copy;
  std::vector<Expr> index;
};

/// The most tiles along the two loops in the calls that launch them, which a condition of the host ensures:
/// then there is a block for each. 0 if there may be more.
struct MostTiles {
  int64_t outer = 0, inner = 0;
};

/// A square of a tile: its place there, in squares, and the first iterations of the two loops in it.
struct TileSquare {
  Sym row, column, outer, inner;
};

/// Two loops as tiles. Makes statements; which ones stand in a tile, its users decide.
class TileFrame {
 public:
  /// Tiles have `side` rows and columns.
  TileFrame(const For &outer, const For &inner, int64_t side, const Loc &loc, MostTiles most = {});

  /// Adds a buffer, whose copy has rows of `pitch` elements.
  void add(const Buf &b, std::vector<Expr> index, int64_t pitch);
  const std::vector<StagedTile> &tiles() const { return tiles_; }

  /// Returns the statements of a tile in the launch of all.
  Stmt launch(std::vector<Stmt> statements) const;
  /// The loop that goes along the columns of tiles. Threads side by side are in squares of one row.
  enum class Columns : uint8_t { outer, inner };
  /// Returns a loop over the squares of `width` rows and columns of a tile that hold an iteration, which the
  /// threads of a block share: tiles at the end are cut short. A thread executes `unroll` squares at once.
  Stmt each(int64_t width, Columns columns, uint32_t unroll,
            const std::function<Stmt(const TileSquare &)> &body) const;
  /// Returns the element of a tile's source that an iteration loads.
  Expr source(const StagedTile &t, const Expr &outer, const Expr &inner) const;
  /// Returns an iteration, which loads from this place of the tiles.
  Stmt iteration(const Expr &outer, const Expr &inner, const std::vector<Expr> &place) const;

 private:
  Stmt grid(const For &n, const Sym &tile, int64_t most_trips, Stmt body) const;

  const For &outer_, &inner_;
  int64_t side_;
  Loc loc_;
  MostTiles most_;
  std::vector<StagedTile> tiles_;
  Sym tile_i_, tile_j_, first_i_, first_j_;
};

}  // namespace kw
