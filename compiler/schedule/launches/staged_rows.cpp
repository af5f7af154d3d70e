// Cuts the body into loops over columns and what stands between them. Each part becomes block loops, between
// which scalars of a row lie in arrays.
#include "schedule/launches/staged_rows.h"

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

/// Most tiles of an array of which one is in use and the others are under way. Chosen for a team on each of
/// 132 multiprocessors, of which each needs 11 KB under way to read at the full speed of an H100: columns
/// take less time than rows for a tile of 4 KB, because nothing is copied back.
constexpr uint32_t most_stages_of_rows = 4, most_stages_of_columns = 8;

/// A part of the body: a loop over columns, or statements between two such loops.
struct RowPart {
  const For *columns = nullptr;
  std::vector<Stmt> statements{};
  std::vector<RowAccess> rows{};
};

/// Returns statements whose names of loaded values, outside of loops, are cells: they live as long as a row.
///     scale = 1.0 / s[]; for j: y[i, j] = x[i, j] * scale   →   scale[] = 1.0 / s[]; for j: … * scale[]
Stmt with_cells(const Stmt &root) {
  if (const Let *n = as<Let>(root)) {
    if (!has_load(n->value)) return let(n->sym, n->value, with_cells(n->body), root.loc());
    return with_cell(*n, root.loc(), [](const Stmt &body) { return with_cells(body); });
  }
  if (const Alloc *n = as<Alloc>(root)) return alloc(n->buf, n->fill, with_cells(n->body), root.loc());
  const Seq *n = as<Seq>(root);
  if (!n) return root;
  std::vector<Stmt> items;
  for (const Stmt &item : n->items) items.push_back(with_cells(item));
  return seq(std::move(items), root.loc());
}
For with_cells(const For &rows) {
  For out = rows;
  out.body = with_cells(rows.body);
  return out;
}

/// The body of a loop over rows, or over columns, or nothing that fits.
class RowBody {
 public:
  RowBody(const For &rows, ThreadPath path) : rows_(rows), path_(path) {
    parts_.emplace_back();
    block(rows.body);
    bool goes_along =
        std::any_of(parts_.begin(), parts_.end(), [](const RowPart &p) { return !p.rows.empty(); });
    fits_ = fits_ && goes_along && rows.step == 1;
  }

  bool fits() const { return fits_; }
  const std::vector<RowPart> &parts() const { return parts_; }
  const std::vector<Buf> &cells() const { return cells_; }
  /// Values of the whole row, without loads.
  const std::vector<const Let *> &names() const { return names_; }

 private:
  void block(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) { statement(s); });
  }
  void statement(const Stmt &s) {
    if (as<Seq>(s)) return;  // its items come by themselves
    if (const Alloc *n = as<Alloc>(s)) {
      fits_ = fits_ && n->buf->space == Space::registers && n->buf->rank() == 0;
      cells_.push_back(n->buf);
      if (n->fill != Fill::none)
        parts_.back().statements.push_back(store(n->buf, {}, constant({n->buf->dtype, 0}), s.loc()));
    } else if (const Let *name = as<Let>(s)) {
      fits_ = fits_ && !has_load(name->value);
      names_.push_back(name);
    } else if (const For *loop = as<For>(s)) {
      columns(*loop);
    } else {
      fits_ = fits_ && is_straight(s);
      parts_.back().statements.push_back(s);
    }
  }
  void columns(const For &n) {
    bool is_fixed = !has_load(n.lo) && !has_load(n.hi);
    for (const Expr &bound : {n.lo, n.hi})
      walk(bound, [&](const Ref &r, const Expr &) {
        is_fixed = is_fixed && r.sym != rows_.iter &&
                   std::none_of(names_.begin(), names_.end(), [&](auto *l) { return l->sym == r.sym; });
      });
    // A sum in the order `lanes` counts the iterations of the whole loop.
    walk(n.body, [&](const Store &s, const Stmt &) { fits_ = fits_ && s.order == Order::source; });
    fits_ = fits_ && is_fixed && n.step == 1 && n.kind == ForKind::serial && is_straight(n.body);
    if (!fits_) return;
    auto place = [&](const std::vector<Expr> &index) { return is_place(index, n.iter); };
    parts_.push_back({&n, {}, row_accesses(n, place)});
    // Threads that go down columns store side by side.
    if (path_ == ThreadPath::columns)
      std::erase_if(parts_.back().rows, [](const RowAccess &r) { return !r.is_loaded; });
    parts_.emplace_back();
  }

  /// Returns whether subscripts are one row and one column, the last, and else the same in all iterations.
  bool is_place(const std::vector<Expr> &index, const Sym &inner) const {
    const Sym &row = path_ == ThreadPath::rows ? rows_.iter : inner,
              &column = path_ == ThreadPath::rows ? inner : rows_.iter;
    if (index.empty() || !is_iterator(index.back(), column)) return false;
    int row_count = 0;
    bool fits = true;
    for (size_t d = 0; d + 1 < index.size(); ++d) {
      bool is_row = is_iterator(index[d], row);
      row_count += is_row;
      walk(index[d],
           [&](const Ref &r, const Expr &) { fits = fits && (is_row || r.sym->kind != SymKind::local); });
      fits = fits && (is_row || (!mentions(index[d], row) && !mentions(index[d], column)));
      fits = fits && !has_load(index[d]);
    }
    return fits && row_count == 1;
  }

  const For &rows_;
  ThreadPath path_;
  bool fits_ = true;
  std::vector<RowPart> parts_;
  std::vector<Buf> cells_;
  std::vector<const Let *> names_;
};

/// How many teams of a block, and tiles of what a loop loads, memory has room for.
struct Room {
  int64_t teams = 0;
  uint32_t stages = 0;
};

int64_t shared_bytes_of(const RowBody &body, int64_t width, uint32_t stages) {
  std::unordered_map<const BufNode *, int64_t> tiles;
  for (const RowPart &p : body.parts())
    for (const RowAccess &r : p.rows) {
      int64_t bytes = tile_side * (width + 1) * static_cast<int64_t>(item_size(r.buf->dtype));
      int64_t &most = tiles[r.buf.get()];
      most = std::max(most, r.is_loaded ? bytes * std::max(stages, 1u) : bytes);
    }
  int64_t bytes = 0;
  for (const Buf &cell : body.cells()) bytes += width * static_cast<int64_t>(item_size(cell->dtype));
  for (const auto &[buf, size] : tiles) bytes += size;
  return bytes;
}

bool copies_ahead(const RowBody &body) {
  return std::any_of(body.parts().begin(), body.parts().end(), [](const RowPart &p) {
    return std::any_of(p.rows.begin(), p.rows.end(), can_copy_ahead);
  });
}

Room room_for(const RowBody &body, ThreadPath path, int64_t width) {
  uint32_t most = path == ThreadPath::rows ? most_stages_of_rows : most_stages_of_columns;
  for (uint32_t stages = copies_ahead(body) ? most : 0;; --stages) {
    int64_t teams = teams_of_block, bytes = shared_bytes_of(body, width, stages);
    while (teams && teams * bytes > most_shared_bytes) teams /= 2;
    if (teams || stages < 2) return {teams, stages};
  }
}

/// Builds the block loops of a team.
class RowBuilder {
 public:
  RowBuilder(const For &rows, ThreadPath path, int64_t width, const Loc &loc)
      : rows_(with_cells(rows)),
        path_(path),
        width_(width),
        loc_(loc),
        body_(rows_, path),
        room_(room_for(body_, path, width)) {
    for (const Buf &cell : body_.cells())
      arrays_.push_back(shared(cell, cell->sym->name + "_of_rows", {const_int(width)}));
    for (const RowPart &p : body_.parts())
      for (const RowAccess &r : p.rows)
        if (!tile_of(r.buf)) {
          // One more column: the elements of a column then lie in different banks.
          Expr row = const_int(path == ThreadPath::rows ? tile_side + 1 : width);
          tiles_.push_back({r.buf, shared(r.buf, r.buf->sym->name + "_tile", {const_int(tile_side), row})});
        }
  }

  Stmt run() const {
    std::vector<Stmt> statements;
    for (const RowPart &p : body_.parts()) {
      if (p.columns)
        statements.push_back(columns(p));
      else if (!p.statements.empty())
        statements.push_back(each_row(seq(p.statements, loc_)));
    }
    Stmt out = seq(std::move(statements), loc_);
    for (const Buf &array : arrays_) out = alloc(array, Fill::none, out, loc_);
    for (const auto &[buf, tile] : tiles_) out = alloc(tile, Fill::none, out, loc_);
    out = let(first_, add(rows_.lo, mul(kw::ref(number_), const_int(width_))), out, loc_);
    Expr count = binary(BinOp::floor_div, add(trips_of(rows_), const_int(width_ - 1)), const_int(width_));
    For grid{number_, const_int(0), count, 1, ForKind::grid, Hint::none, {}, std::move(out)};
    // Few teams lie on as many multiprocessors as there are.
    grid.how.per_block = width_ == few_columns ? 1 : static_cast<uint32_t>(room_.teams), grid.id = rows_.id;
    return for_loop(std::move(grid), loc_);
  }

 private:
  static Buf shared(const Buf &like, const std::string &name, std::vector<Expr> extents) {
    return make_buf(make_sym(SymKind::buffer, like->dtype, name), std::move(extents), Space::shared);
  }
  Buf tile_of(const Buf &b) const {
    auto found = std::find_if(tiles_.begin(), tiles_.end(), [&](const auto &t) { return t.first == b; });
    return found == tiles_.end() ? Buf{} : found->second;
  }

  static For block_loop(const Sym &iter, int64_t count, uint32_t unroll, LoopId id, Stmt body) {
    For out{iter, const_int(0), const_int(count), 1, ForKind::block, Hint::none, {}, std::move(body)};
    out.how.threads = static_cast<uint32_t>(warp_threads), out.how.unroll = unroll, out.id = id;
    return out;
  }

  /// Executes statements for each row of the team, with the scalars of the row.
  ///     for t in block: i = first + t; if i < hi: s = sums[t]; …; sums[t] = s
  Stmt each_row(const Stmt &body, const Sym &t = new_iterator("t")) const {
    Substitution with;
    Sym i = new_local(rows_.iter->name);
    with.values[rows_.iter.get()] = kw::ref(i);
    std::vector<Buf> own;
    std::vector<size_t> used;
    for (size_t c = 0; c < arrays_.size(); ++c) {
      if (!accesses(body, body_.cells()[c])) continue;
      const Buf &cell = body_.cells()[c];
      used.push_back(c);
      own.push_back(make_buf(make_sym(SymKind::buffer, cell->dtype, cell->sym->name), {}, Space::registers));
      with.buffers[cell.get()] = own.back();
    }
    Stmt named = body;
    for (size_t n = body_.names().size(); n-- > 0;)
      named = let(body_.names()[n]->sym, body_.names()[n]->value, named, loc_);
    std::vector<Stmt> statements;
    for (size_t k = 0; k < used.size(); ++k)
      if (!is_stored_first(body, body_.cells()[used[k]]))
        statements.push_back(store(own[k], {}, load(arrays_[used[k]], {kw::ref(t)}), loc_));
    statements.push_back(copy_of(named, std::move(with)));
    for (size_t k = 0; k < used.size(); ++k)
      statements.push_back(store(arrays_[used[k]], {kw::ref(t)}, load(own[k], {}), loc_));
    Stmt out = seq(std::move(statements), loc_);
    for (const Buf &cell : own) out = alloc(cell, Fill::none, out, loc_);
    out = if_else(binary(BinOp::lt, kw::ref(i), rows_.hi), std::move(out), {}, loc_);
    out = let(i, add(kw::ref(first_), kw::ref(t)), std::move(out), loc_);
    return for_loop(block_loop(t, width_, 0, rows_.id, std::move(out)), loc_);
  }
  /// for j0: copies in, 32 columns of each row, copies out
  Stmt columns(const RowPart &p) const {
    const For &n = *p.columns;
    Sym number = new_iterator(n.iter->name + "0"), first = new_local("first_" + n.iter->name),
        t = new_iterator("t");
    For piece = n;
    piece.lo = kw::ref(first);
    piece.hi = binary(BinOp::min, n.hi, add(kw::ref(first), const_int(tile_side)));
    piece.kind = ForKind::unroll, piece.how.unroll = shared_iterations_at_once(n);
    auto staged = [&](const Buf &b) {
      bool is_row = std::any_of(p.rows.begin(), p.rows.end(), [&](const RowAccess &r) { return r.buf == b; });
      return is_row ? tile_of(b) : Buf{};
    };
    auto place = [&] {
      std::vector<Expr> at{kw::ref(t), sub(kw::ref(n.iter), kw::ref(first))};
      if (path_ == ThreadPath::columns) std::swap(at[0], at[1]);
      return at;
    };
    piece.body = rewrite(
        n.body,
        [&](const Load &l, const Expr &e) {
          Buf tile = staged(l.buf);
          return tile ? load(tile, place(), e.loc()) : e;
        },
        [&](const Store &s, const Stmt &old) {
          Buf tile = staged(s.buf);
          return tile ? store(tile, place(), s.value, old.loc(), s.order) : old;
        });
    std::vector<Stmt> statements;
    Stmt in = copies(p, first, true);
    if (in) statements.push_back(in);
    statements.push_back(each_row(for_loop(std::move(piece), loc_), t));
    if (Stmt out = copies(p, first, false)) statements.push_back(out);
    Expr at = add(n.lo, mul(kw::ref(number), const_int(tile_side)));
    Expr count = binary(BinOp::floor_div, add(trips_of(n), const_int(tile_side - 1)), const_int(tile_side));
    For out{number,          const_int(0), count, 1,
            ForKind::serial, Hint::none,   {},    let(first, at, seq(std::move(statements), loc_), loc_)};
    out.id = n.id;
    out.how.stages = room_.stages > 1 && in ? room_.stages : 0;
    return for_loop(std::move(out), loc_);
  }

  /// Copies tiles in, or those that are stored out.
  Stmt copies(const RowPart &p, const Sym &first, bool in) const {
    Sym k = new_iterator("k"), i = new_local(rows_.iter->name), j = new_local(p.columns->iter->name);
    Substitution with;
    with.values[rows_.iter.get()] = kw::ref(i), with.values[p.columns->iter.get()] = kw::ref(j);
    // Threads side by side access what is side by side in a row of memory.
    bool by_rows = path_ == ThreadPath::rows;
    Expr in_row = const_int(by_rows ? tile_side : width_);
    Expr row = binary(BinOp::floor_div, kw::ref(k), in_row),
         column = binary(BinOp::floor_mod, kw::ref(k), in_row);
    std::vector<Stmt> statements;
    for (const RowAccess &r : p.rows) {
      if (in ? !r.is_loaded : !r.is_stored) continue;
      std::vector<Expr> index = r.index;
      for (Expr &e : index) e = substituted(e, with);
      Buf tile = tile_of(r.buf);
      statements.push_back(in ? store(tile, {row, column}, load(r.buf, index), loc_)
                              : store(r.buf, index, load(tile, {row, column}), loc_));
    }
    if (statements.empty()) return {};
    size_t copied = statements.size();
    Expr inside =
        logic(true, binary(BinOp::lt, kw::ref(i), rows_.hi), binary(BinOp::lt, kw::ref(j), p.columns->hi));
    Stmt body = if_else(inside, seq(std::move(statements), loc_), {}, loc_);
    body = let(j, add(kw::ref(first), by_rows ? column : row), std::move(body), loc_);
    body = let(i, add(kw::ref(first_), by_rows ? row : column), std::move(body), loc_);
    bool runs_ahead = in && room_.stages > 1;
    // A thread that waits for its loads begins several before the first store.
    uint32_t unroll = !in ? copies_back_at_once : runs_ahead ? copies_ahead_at_once : shared_loads_at_once;
    For out = block_loop(k, tile_side * width_, unroll, LoopId{}, std::move(body));
    int64_t vector = in ? team_vector_width(out) : 1;
    // A copy that runs ahead is of vectors on both sides; tiles of rows are padded.
    bool fits = !runs_ahead || vector_loop(out, vector).accesses.size() == 2 * copied;
    if (vector > 1 && fits) out.how.vector_width = static_cast<uint32_t>(vector);
    return for_loop(std::move(out), loc_);
  }

  For rows_;
  ThreadPath path_;
  int64_t width_;  ///< rows of a team, or columns
  Loc loc_;
  RowBody body_;
  Room room_;
  std::vector<Buf> arrays_;  ///< of each cell
  std::vector<std::pair<Buf, Buf>> tiles_;
  Sym number_ = new_iterator(rows_.iter->name + "0"), first_ = new_local("first_" + rows_.iter->name);
};

}  // namespace

bool can_stage_rows(const For &rows, ThreadPath path, int64_t width) {
  For own = with_cells(rows);
  RowBody body(own, path);
  return body.fits() && room_for(body, path, width).teams > 0;
}

Stmt staged_rows(const For &rows, ThreadPath path, int64_t width, const Loc &loc) {
  return RowBuilder(rows, path, width, loc).run();
}

}  // namespace kw
