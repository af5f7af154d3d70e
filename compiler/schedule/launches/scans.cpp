// Serial loops over parts of a tile run in threads side by side; rows of 33 elements keep their accesses in
// different banks.
#include "schedule/launches/scans.h"

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

/// A tile: elements that a thread accumulates one after the other, and how many threads do. Chosen: 17 KB of
/// shared memory for 32 bits, of which eight blocks fit a multiprocessor.
constexpr int64_t of_thread = 32, rows = 128, tile_size = of_thread * rows;
constexpr int64_t pitch = of_thread + 1;
/// Parts, through which one thread goes. Chosen: that takes some 30 µs.
constexpr int64_t most_parts = 1024;
/// Iterations that one team executes faster than three launches begin. Chosen.
constexpr int64_t few = 1024;
/// Parts of which one thread loads from memory at once, which takes some 600 cycles. Chosen.
constexpr uint32_t parts_at_once = 32;

/// Finds what one iteration accumulates.
class ScanFinder {
 public:
  ScanFinder(const For &loop, FpMode fp) : loop_(loop), fp_(fp) {}

  std::optional<Scan> run() {
    if (!is_straight(loop_.body) || loop_.kind != ForKind::serial) return std::nullopt;
    walk(
        loop_.body, [&](const Let &n, const Stmt &) { values_.emplace(n.sym.get(), n.value); },
        [&](const Alloc &n, const Stmt &) { own_.insert(n.buf.get()); });
    for_each_in_block(loop_.body, [&](const Stmt &s) {
      if (const Store *n = as<Store>(s)) candidate(*n);
      stored_before(s);
    });
    return found_ && is_used() && is_alone() ? std::optional(*found_) : std::nullopt;
  }

 private:
  /// Replaces the names of values by the values.
  Expr whole(const Expr &e) const {
    return rewrite(e, [&](const Ref &n, const Expr &old) {
      auto value = values_.find(n.sym.get());
      return value == values_.end() ? old : whole(value->second);
    });
  }
  void candidate(const Store &n) {
    if (n.buf->rank() || own_.count(n.buf.get()) || found_) return;
    Store resolved = n;
    resolved.value = whole(n.value);
    Accumulation a = accumulation_of(resolved);
    DType t = n.buf->dtype;
    if (!a.term || bit_width(t) < 32) return;
    bool is_free = !is_exact(a.op, t);
    // A product of parts may overflow where a factor of 0 comes first.
    if (is_free && (fp_ != FpMode::fast || a.op == BinOp::mul)) return;
    Scan scan{n.buf, a.op, is_free, a.term};
    if (a.op == BinOp::sub) scan.op = BinOp::add, scan.term = binary(BinOp::sub, zero(t), a.term);
    // The term is the same before the first iteration as in its own.
    bool fixed = true;
    walk(scan.term, [&](const Load &l, const Expr &) { fixed = fixed && !stored_.count(l.buf.get()); });
    if (fixed) found_ = scan;
  }
  static Expr zero(DType t) { return constant({t, 0}); }
  void stored_before(const Stmt &s) {
    walk(s, [&](const Store &n, const Stmt &) { stored_.insert(n.buf.get()); });
  }
  /// Returns whether another statement than the accumulation uses the cell, by whatever name.
  bool is_used() const {
    bool used = false;
    auto look = [&](const Expr &e) {
      walk(whole(e), [&](const Load &l, const Expr &) { used = used || l.buf == found_->cell; });
    };
    auto each = [&](const auto &, const Stmt &s) {
      const Store *n = as<Store>(s);
      if (!as<Let>(s) && !(n && n->buf == found_->cell)) for_each_expression(s, look);
    };
    walk(loop_.body, each);
    return used;
  }
  /// Returns whether the cell is stored to once, and the term reads neither it nor cells of the iteration.
  bool is_alone() const {
    int stores = 0;
    walk(loop_.body, [&](const Store &n, const Stmt &) { stores += n.buf == found_->cell; });
    bool alone = stores == 1;
    walk(found_->term, [&](const Load &l, const Expr &) {
      alone = alone && l.buf != found_->cell && !own_.count(l.buf.get());
    });
    return alone;
  }

  const For &loop_;
  FpMode fp_;
  std::unordered_map<const SymNode *, Expr> values_;
  std::unordered_set<const BufNode *> own_, stored_;
  std::optional<Scan> found_;
};

/// Returns the body with a cell of its own, which begins with `start`.
Stmt own_iteration(const Stmt &body, const Scan &scan, const Expr &start, Substitution with, const Loc &loc) {
  Buf own = make_buf(make_sym(SymKind::buffer, scan.cell->dtype, scan.cell->sym->name + "_own"), {},
                     Space::registers);
  with.buffers[scan.cell.get()] = own;
  Stmt one = rewrite(body, [&](const Store &n, const Stmt &s) {
    return n.buf == scan.cell ? store(n.buf, n.index, n.value, s.loc()) : s;  // no loop sums in it any more
  });
  return alloc(own, Fill::none, seq({store(own, {}, start, loc), copy_of(one, std::move(with))}, loc), loc);
}

class ScanBuilder {
 public:
  ScanBuilder(const For &loop, FpMode fp, const Loc &loc)
      : loop_(loop), loc_(loc), scan_(*scan_of(loop, fp)) {
    parts_ = array("parts", {const_int(most_parts)}, Space::heap);
    starts_ = array("starts", {const_int(most_parts)}, Space::heap);
    tile_ = array("tile", {const_int(rows), const_int(pitch)}, Space::shared);
    sums_ = array("sums", {const_int(rows)}, Space::shared);
    ahead_ = array("ahead", {const_int(rows)}, Space::shared);
  }

  Stmt run() const {
    Expr count = kw::ref(count_), size = kw::ref(size_);
    Expr of_all = const_int(most_parts * tile_size);
    Expr tiles = binary(BinOp::floor_div, add(count, sub(of_all, const_int(1))), of_all);
    Stmt three = alloc(parts_, Fill::none,
                       alloc(starts_, Fill::none, seq({reduce(), combine(), execute()}, loc_), loc_), loc_);
    Stmt out = let(blocks_, binary(BinOp::floor_div, add(count, sub(size, const_int(1))), size), three, loc_);
    out = let(size_, mul(tiles, const_int(tile_size)), out, loc_);
    out = if_else(binary(BinOp::le, count, const_int(few)), in_one_thread(), out, loc_);
    return let(count_, trips_of(loop_), out, loc_);
  }

 private:
  Buf array(const char *name, std::vector<Expr> extents, Space space) const {
    std::string whole = scan_.cell->sym->name + "_" + name;
    return make_buf(make_sym(SymKind::buffer, scan_.cell->dtype, whole), std::move(extents), space);
  }
  Buf cell(const char *name) const { return array(name, {}, Space::registers); }

  Expr identity() const { return identity_of(scan_.op, scan_.cell->dtype); }
  /// The substitution of the loop's iterator by iteration k from 0 on.
  Substitution iteration(const Expr &k, const Sym &by) const {
    Substitution with;
    with.values[loop_.iter.get()] = add(loop_.lo, mul(k, const_int(loop_.step)));
    with.loops[loop_.iter.get()] = {by};
    return with;
  }
  Expr term(const Expr &k) const { return substituted(scan_.term, iteration(k, {})); }
  Stmt accumulate(const Buf &into, const Expr &value, const Sym &over) const {
    OrderMark order = scan_.is_free ? OrderMark(Order::any, {over}) : OrderMark();
    return store(into, {}, binary(scan_.op, load(into, {}), value), loc_, std::move(order));
  }

  Stmt loop(const Sym &iter, const Expr &lo, const Expr &hi, ForKind kind, Stmt body,
            uint32_t of_unrolled = shared_loads_at_once) const {
    For out{iter, lo, hi, 1, kind, Hint::none, {}, std::move(body)};
    if (kind == ForKind::grid) out.how.per_block = 1, out.id = loop_.id;
    if (kind == ForKind::unroll) out.how.unroll = of_unrolled;
    if (kind == ForKind::block)
      out.how.threads = static_cast<uint32_t>(block_team_threads), out.how.unroll = team_unroll(out);
    return for_loop(std::move(out), loc_);
  }
  static Expr least(const Expr &a, const Expr &b) { return binary(BinOp::min, a, b); }

  /// for b in grid: part = identity; for k in block(b size, (b + 1) size): part += term; parts[b] = part
  Stmt reduce() const {
    Sym b = new_iterator("b"), k = new_iterator("k");
    Buf part = cell("part");
    Expr first = mul(kw::ref(b), kw::ref(size_)), end = least(kw::ref(count_), add(first, kw::ref(size_)));
    Stmt body = seq({store(part, {}, identity(), loc_),
                     loop(k, first, end, ForKind::block, accumulate(part, term(kw::ref(k)), k)),
                     store(parts_, {kw::ref(b)}, load(part, {}), loc_)},
                    loc_);
    return loop(b, const_int(0), kw::ref(blocks_), ForKind::grid, alloc(part, Fill::none, body, loc_));
  }

  /// Returns statements with a cell of its own in place of the loop's, which lies in memory, because several
  /// launches use it.
  template <class F>
  Stmt in_own_cell(F &&statements) const {
    Buf own = cell("own");
    std::vector<Stmt> all{store(own, {}, load(scan_.cell, {}), loc_), statements(own),
                          store(scan_.cell, {}, load(own, {}), loc_)};
    return alloc(own, Fill::none, seq(std::move(all), loc_), loc_);
  }

  Stmt in_one_thread() const {
    return in_own_cell([&](const Buf &own) {
      Substitution with;
      with.buffers[scan_.cell.get()] = own;
      For serial = *as<For>(copy_of(for_loop(loop_, loc_), std::move(with)));
      serial.how.max_trips = few;
      return for_loop(std::move(serial), loc_);
    });
  }

  /// for b: starts[b] = s; s += parts[b]
  Stmt combine() const {
    return in_own_cell([&](const Buf &own) {
      Sym b = new_iterator("b");
      Stmt body = seq(
          {store(starts_, {kw::ref(b)}, load(own, {}), loc_), accumulate(own, load(parts_, {kw::ref(b)}), b)},
          loc_);
      return loop(b, const_int(0), kw::ref(blocks_), ForKind::unroll, std::move(body), parts_at_once);
    });
  }

  /// for b in grid: carry = starts[b]; for each tile of the part: …
  Stmt execute() const {
    Sym b = new_iterator("b"), t = new_iterator("t"), first = new_local("first");
    Buf carry = cell("carry");
    Expr begin = mul(kw::ref(b), kw::ref(size_)), end = least(kw::ref(count_), add(begin, kw::ref(size_)));
    Expr tiles =
        binary(BinOp::floor_div, add(sub(end, begin), const_int(tile_size - 1)), const_int(tile_size));
    Stmt tile =
        let(first, add(begin, mul(kw::ref(t), const_int(tile_size))), one_tile(carry, kw::ref(first)), loc_);
    Stmt body = seq({store(carry, {}, load(starts_, {kw::ref(b)}), loc_),
                     loop(t, const_int(0), tiles, ForKind::serial, std::move(tile))},
                    loc_);
    for (const Buf &array : {carry, tile_, sums_, ahead_}) body = alloc(array, Fill::none, body, loc_);
    return loop(b, const_int(0), kw::ref(blocks_), ForKind::grid, std::move(body));
  }

  Stmt one_tile(const Buf &carry, const Expr &first) const {
    Buf sum = cell("sum");
    Sym e = new_iterator("e"), r = new_iterator("r"), u = new_iterator("u");
    auto place = [](const Sym &at) {
      return std::vector<Expr>{binary(BinOp::floor_div, kw::ref(at), const_int(of_thread)),
                               binary(BinOp::floor_mod, kw::ref(at), const_int(of_thread))};
    };
    auto along_row = [&](Stmt body) {
      return loop(u, const_int(0), const_int(of_thread), ForKind::unroll, std::move(body));
    };
    Expr left = sub(kw::ref(count_), first), here = load(tile_, {kw::ref(r), kw::ref(u)});
    // tile[e] = term of e, or nothing behind the end
    Expr exists = binary(BinOp::lt, kw::ref(e), left);
    Stmt fill = loop(e, const_int(0), const_int(tile_size), ForKind::block,
                     store(tile_, place(e), select(exists, term(add(first, kw::ref(e))), identity()), loc_));
    // sums[r] = tile[r, 0] + … + tile[r, 31]
    Stmt add_rows = loop(r, const_int(0), const_int(rows), ForKind::block,
                         alloc(sum, Fill::none,
                               seq({store(sum, {}, identity(), loc_), along_row(accumulate(sum, here, u)),
                                    store(sums_, {kw::ref(r)}, load(sum, {}), loc_)},
                                   loc_),
                               loc_));
    // ahead[r] = what comes before row r
    Stmt go_through = loop(r, const_int(0), const_int(rows), ForKind::unroll,
                           seq({store(ahead_, {kw::ref(r)}, load(carry, {}), loc_),
                                accumulate(carry, load(sums_, {kw::ref(r)}), r)},
                               loc_));
    // tile[r, u] = what comes before it
    Sym value = make_sym(SymKind::local, scan_.cell->dtype, "value");
    Stmt shift = let(
        value, here,
        seq({store(tile_, {kw::ref(r), kw::ref(u)}, load(sum, {}), loc_), accumulate(sum, kw::ref(value), u)},
            loc_),
        loc_);
    Stmt spread =
        loop(r, const_int(0), const_int(rows), ForKind::block,
             alloc(sum, Fill::none,
                   seq({store(sum, {}, load(ahead_, {kw::ref(r)}), loc_), along_row(shift)}, loc_), loc_));
    Expr k = add(first, kw::ref(e));
    Stmt run = loop(e, const_int(0), least(left, const_int(tile_size)), ForKind::block,
                    own_iteration(loop_.body, scan_, load(tile_, place(e)), iteration(k, e), loc_));
    Stmt out =
        seq({copy_of(fill), copy_of(add_rows), copy_of(go_through), copy_of(spread), std::move(run)}, loc_);
    return out;
  }

  const For &loop_;
  Loc loc_;
  Scan scan_;
  Buf parts_, starts_;       ///< in memory: of each part what it gives, and what comes before it
  Buf tile_, sums_, ahead_;  ///< that a team shares: elements, and of each row of them likewise
  Sym count_ = new_local("n"), size_ = new_local("size"), blocks_ = new_local("blocks");
};

}  // namespace

std::optional<Scan> scan_of(const For &loop, FpMode fp) { return ScanFinder(loop, fp).run(); }

Stmt without_scan(const For &loop, const Scan &scan, const Loc &loc) {
  Buf start = make_buf(make_sym(SymKind::buffer, scan.cell->dtype, "start"), {}, Space::registers);
  For out = loop;
  Substitution with;
  out.body = own_iteration(loop.body, scan, load(start, {}), std::move(with), loc);
  return for_loop(std::move(out), loc);
}

Stmt scanned(const For &loop, FpMode fp, const Loc &loc) { return ScanBuilder(loop, fp, loc).run(); }

}  // namespace kw
