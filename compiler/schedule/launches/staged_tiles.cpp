// The loops over a tile count its elements, so that no barrier stands between their rows.
#include "schedule/launches/staged_tiles.h"

#include <algorithm>

#include "analysis/gpu/combined_values.h"
#include "analysis/gpu/vector_accesses.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
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

/// Notes the loads of a body, and the buffers that it may not stage.
struct Loads {
  std::vector<std::pair<Buf, std::vector<Expr>>> read;
  std::unordered_set<const BufNode *> refused;

  explicit Loads(const Stmt &body) {
    std::unordered_set<const SymNode *> bound;
    walk(
        body, [&](const Store &n, const Stmt &) { refused.insert(n.buf.get()); },
        [&](const Let &n, const Stmt &) { bound.insert(n.sym.get()); },
        [&](const For &n, const Stmt &) { bound.insert(n.iter.get()); },
        [&](const Select &n, const Expr &) { refuse(n.yes), refuse(n.no); },
        [&](const Logic &n, const Expr &) { refuse(n.b); });
    // What only some iterations evaluate may lie out of bounds in the others.
    walk(
        body, [&](const If &n, const Stmt &) { refuse_all(n.yes), n.no ? refuse_all(n.no) : void(); },
        [&](const For &n, const Stmt &) { refuse_all(n.body); },
        [&](const While &n, const Stmt &) { refuse(n.cond), refuse_all(n.body); });
    for_each_evaluated(body, [&](const Expr &root) {
      walk(root, [&](const Load &n, const Expr &) {
        for (const Expr &i : n.index) {
          walk(i, [&](const Ref &r, const Expr &) {
            if (bound.count(r.sym.get())) refused.insert(n.buf.get());
          });
          if (has_load(i)) refused.insert(n.buf.get());
        }
        auto known = std::find_if(read.begin(), read.end(), [&](const auto &r) { return r.first == n.buf; });
        if (known == read.end())
          read.emplace_back(n.buf, n.index);
        else if (!equal(known->second, n.index))
          refused.insert(n.buf.get());
      });
    });
  }

 private:
  void refuse(const Expr &e) {
    walk(e, [&](const Load &n, const Expr &) { refused.insert(n.buf.get()); });
  }
  void refuse_all(const Stmt &s) {
    for_each_evaluated(s, [&](const Expr &e) { refuse(e); });
  }
};

/// The shape of a tile and the order of its elements. Eight threads side by side have a line of 128 bytes in
/// vectors of 16, so a warp has four rows, and later four columns. One element between the rows puts all its
/// words in different banks, here of four bytes:
///     column 4c + v of row r: bank (4c + v + r) % 32      column c of row 4r + v: bank (4r + v + c) % 32
/// Two elements of two bytes, or four of one, share a bank, so the rows of a warp are as many apart. Results
/// that no vector fits take as many steps: their threads read columns side by side.
class TileShape {
 public:
  explicit TileShape(const std::vector<Buf> &buffers) {
    int64_t widest = 0, bytes = 0;  // of the elements at one place
    for (const Buf &b : buffers) {
      widest = std::max<int64_t>(widest, item_size(b->dtype));
      bytes += item_size(b->dtype);
    }
    side = widest < bank_bytes ? most_side : most_side / 2;
    auto has_room = [&] { return side * pitch() * bytes + exchanged_bytes <= most_shared_bytes; };
    while (side > least_side && !has_room()) side /= 2;
    fits = has_room();
    line_ = std::min(side, line_bytes / widest);
    rows_apart_ = std::max<int64_t>(1, bank_bytes / widest);
  }

  int64_t side = 0;  ///< rows and columns
  bool fits = false;

  /// Returns the elements from a row to the next one.
  int64_t pitch() const { return side + 1; }
  /// Returns the row of element k. The elements go along a line, then through the rows of a warp and further
  /// rows, and then to the next line of each row.
  Expr row(const Sym &k) const {
    if (rows_apart_ == 1) return digit(k, line_, side);
    int64_t rows = rows_of_warp * rows_apart_;
    Expr first = mul(digit(k, line_ * rows, side / rows), const_int(rows));
    Expr in_warp = mul(digit(k, line_, rows_of_warp), const_int(rows_apart_));
    return add(add(first, in_warp), digit(k, line_ * rows_of_warp, rows_apart_));
  }
  Expr column(const Sym &k) const {
    Expr in_line = digit(k, 1, line_);
    if (line_ == side) return in_line;
    return add(mul(digit(k, line_ * side, side / line_), const_int(line_)), in_line);
  }

 private:
  /// Chosen: each of 256 threads copies four vectors of a tile of f32, eight of f64 and f16; tiles of 32
  /// still have a line of f32 in each row.
  static constexpr int64_t most_side = 128, least_side = 32;
  /// A line of the caches, and a bank (CUDA C++ Programming Guide, 5.3.2). The 32 vectors of a warp, of 16
  /// bytes, are four lines.
  static constexpr int64_t line_bytes = 128, bank_bytes = 4, rows_of_warp = 4;

  /// Returns k // size % count.
  Expr digit(const Sym &k, int64_t size, int64_t count) const {
    Expr out = kw::ref(k);
    if (size > 1) out = binary(BinOp::floor_div, out, const_int(size));
    return size * count < side * side ? binary(BinOp::floor_mod, out, const_int(count)) : out;
  }

  int64_t line_ = 0, rows_apart_ = 0;
};

/// A tile: two loops over at most so many iterations of each as it has rows.
class TileBuilder {
 public:
  TileBuilder(const For &outer, const For &inner, const std::vector<Buf> &buffers, const Loc &loc)
      : outer_(outer), inner_(inner), loc_(loc), loads_(inner.body), shape_(buffers) {
    for (const Buf &b : buffers) {
      Sym name = make_sym(SymKind::buffer, b->dtype, b->sym->name + "_tile");
      tiles_.push_back(
          {b, make_buf(name, {const_int(shape_.side), const_int(shape_.pitch())}, Space::shared)});
    }
  }

  Stmt run() {
    std::vector<Stmt> statements{copy_tiles(), run_tile()};
    Stmt out = seq(std::move(statements), loc_);
    for (const Tile &t : tiles_) out = alloc(t.copy, Fill::none, out, loc_);
    out = let(first_j_, first(inner_, tile_j_), out, loc_);
    out = let(first_i_, first(outer_, tile_i_), out, loc_);
    return grid(outer_, tile_i_, grid(inner_, tile_j_, std::move(out)));
  }

 private:
  struct Tile {
    Buf source, copy;
  };
  Expr first(const For &n, const Sym &tile) const {
    return add(n.lo, mul(kw::ref(tile), const_int(shape_.side)));
  }

  Stmt grid(const For &n, const Sym &tile, Stmt body) const {
    Expr tiles =
        binary(BinOp::floor_div, add(trips_of(n), const_int(shape_.side - 1)), const_int(shape_.side));
    For out{tile, const_int(0), tiles, 1, ForKind::grid, Hint::none, {}, std::move(body)};
    out.how.per_block = 1, out.id = n.id;
    return for_loop(std::move(out), loc_);
  }
  /// for k in block(0, 4096): the elements of a tile.
  Stmt each(const Sym &k, Stmt body, LoopId id) const {
    For out{k,  const_int(0),   const_int(shape_.side * shape_.side), 1, ForKind::block, Hint::none,
            {}, std::move(body)};
    out.how.threads = static_cast<uint32_t>(block_team_threads), out.how.unroll = 4, out.id = id;
    vectorize_team(out);
    return for_loop(std::move(out), loc_);
  }
  /// Returns statements for the iterations that exist: tiles at the end are cut short.
  Stmt guarded(const Sym &i, const Sym &j, Stmt body) const {
    Expr inside =
        logic(true, binary(BinOp::lt, kw::ref(i), outer_.hi), binary(BinOp::lt, kw::ref(j), inner_.hi));
    return if_else(inside, std::move(body), {}, loc_);
  }

  /// Returns names for the row and column of element k around a body, and for the iterations that they are.
  Stmt named(const Sym &k, const Sym &row, const Sym &column, const Sym &at_row, const Expr &first_row,
             const Sym &at_column, const Expr &first_column, Stmt body) const {
    body = let(at_column, add(first_column, kw::ref(column)), std::move(body), loc_);
    body = let(at_row, add(first_row, kw::ref(row)), std::move(body), loc_);
    return let(row, shape_.row(k), let(column, shape_.column(k), std::move(body), loc_), loc_);
  }
  /// Threads side by side read what is side by side: the elements along the outer loop.
  Stmt copy_tiles() const {
    Sym k = new_iterator("k"), i = new_local(outer_.iter->name), j = new_local(inner_.iter->name);
    Sym row = new_local("row"), column = new_local("column");
    Substitution with;
    with.values[outer_.iter.get()] = kw::ref(i), with.values[inner_.iter.get()] = kw::ref(j);
    std::vector<Stmt> copies;
    for (const Tile &t : tiles_) {
      std::vector<Expr> index = index_of(t.source);
      for (Expr &e : index) e = substituted(e, with);
      copies.push_back(
          store(t.copy, {kw::ref(row), kw::ref(column)}, load(t.source, std::move(index)), loc_));
    }
    Stmt body = guarded(i, j, seq(std::move(copies), loc_));
    body = named(k, row, column, j, kw::ref(first_j_), i, kw::ref(first_i_), std::move(body));
    return each(k, std::move(body), outer_.id);
  }
  Stmt run_tile() const {
    Sym k = new_iterator("k"), i = new_local(outer_.iter->name), j = new_local(inner_.iter->name);
    Sym row = new_local("row"), column = new_local("column");
    Stmt body = rewrite(inner_.body, [&](const Load &n, const Expr &e) {
      for (const Tile &t : tiles_)
        if (t.source == n.buf) return load(t.copy, {kw::ref(column), kw::ref(row)}, e.loc());
      return e;
    });
    Substitution with;
    with.values[outer_.iter.get()] = kw::ref(i), with.values[inner_.iter.get()] = kw::ref(j);
    body = guarded(i, j, substituted(body, with));
    body = named(k, row, column, i, kw::ref(first_i_), j, kw::ref(first_j_), std::move(body));
    return each(k, std::move(body), inner_.id);
  }
  const std::vector<Expr> &index_of(const Buf &b) const {
    return std::find_if(loads_.read.begin(), loads_.read.end(), [&](const auto &r) { return r.first == b; })
        ->second;
  }

  const For &outer_, &inner_;
  Loc loc_;
  Loads loads_;
  TileShape shape_;
  std::vector<Tile> tiles_;
  Sym tile_i_ = new_iterator(outer_.iter->name + "0"), tile_j_ = new_iterator(inner_.iter->name + "0"),
      first_i_ = new_local("first_" + outer_.iter->name), first_j_ = new_local("first_" + inner_.iter->name);
};

}  // namespace

std::vector<Buf> stageable_buffers(const For &outer, const For &inner) {
  std::vector<Buf> out;
  Loads loads(inner.body);
  for (const auto &[buf, index] : loads.read) {
    if (loads.refused.count(buf.get()) || buf->space == Space::registers || buf->space == Space::constant)
      continue;
    int outer_count = 0, inner_count = 0;
    bool fits = true;
    for (const Expr &e : index) {
      bool is_outer = is_iterator(e, outer.iter), is_inner = is_iterator(e, inner.iter);
      outer_count += is_outer, inner_count += is_inner;
      fits = fits && (is_outer || is_inner || (!mentions(e, outer.iter) && !mentions(e, inner.iter)));
    }
    bool strides = !index.empty() && is_iterator(index.back(), outer.iter);
    if (fits && strides && outer_count == 1 && inner_count == 1) out.push_back(buf);
  }
  return out;
}

Stmt staged_tiles(const For &outer, const For &inner, const std::vector<Buf> &buffers, const Loc &loc) {
  return TileBuilder(outer, inner, buffers, loc).run();
}

bool tiles_fit(const std::vector<Buf> &buffers) { return TileShape(buffers).fits; }

}  // namespace kw
