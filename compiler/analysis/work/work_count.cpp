// Two walks over the source program with the sizes of a call: one counts operations with exact values of the
// iterators, the other bounds subscripts by their ranges.
#include "driver/work_count.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/intrinsics.h"
#include "ir/scalar_ops.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

namespace {

/// Iterations that are counted of a loop whose work depends on the iteration. The midpoint rule with 64
/// points is exact for work that grows evenly, and within 0.01 % for squares.
constexpr int64_t counted_iterations = 64;

constexpr std::string_view by_the_data = "as often as the data say";

/// A range of integers; both ends inclusive.
struct Range {
  int64_t low, high;
  bool is_one() const { return low == high; }
};
using Ranges = std::unordered_map<const SymNode *, Range>;

/// Returns a range if no end overflows.
std::optional<Range> range_of(__int128 a, __int128 b, __int128 c, __int128 d) {
  __int128 low = std::min({a, b, c, d}), high = std::max({a, b, c, d});
  if (low < INT64_MIN || high > INT64_MAX) return std::nullopt;
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

int64_t floored(int64_t a, int64_t b) {
  return to_int(apply(BinOp::floor_div, from_int(DType::i64, a), from_int(DType::i64, b)));
}

/// Bounds the values of integer expressions.
class RangeOf {
 public:
  explicit RangeOf(const Ranges &known) : known_(known) {}

  std::optional<Range> operator()(const Expr &e) const {
    if (is_float(e.dtype())) return std::nullopt;
    if (const auto *n = as<Const>(e)) {
      int64_t v = to_int(Value{e.dtype(), n->bits});
      return Range{v, v};
    }
    if (const auto *n = as<Ref>(e)) {
      auto found = known_.find(n->sym.get());
      return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    if (const auto *n = as<Cast>(e)) return (*this)(n->a);
    if (const auto *n = as<Unary>(e)) return unary(*n);
    if (const auto *n = as<Binary>(e)) return binary(*n);
    if (const auto *n = as<Logic>(e)) return logic(*n);
    if (const auto *n = as<Select>(e)) return select(*n);
    return std::nullopt;
  }

 private:
  std::optional<Range> unary(const Unary &n) const {
    auto a = (*this)(n.a);
    if (!a || n.op == UnOp::bit_not) return std::nullopt;
    if (n.op == UnOp::neg)
      return range_of(-__int128{a->low}, -__int128{a->high}, -__int128{a->low}, -__int128{a->high});
    return a->is_one() ? std::optional(Range{!a->low, !a->low}) : std::nullopt;
  }

  std::optional<Range> logic(const Logic &n) const {
    auto a = (*this)(n.a), b = (*this)(n.b);
    int64_t deciding = n.is_and ? 0 : 1;
    for (const auto &side : {a, b})
      if (side && side->is_one() && side->low == deciding) return side;
    return a && b && a->is_one() && b->is_one() ? b : std::nullopt;
  }

  std::optional<Range> select(const Select &n) const {
    auto cond = (*this)(n.cond), yes = (*this)(n.yes), no = (*this)(n.no);
    if (cond && cond->is_one()) return cond->low ? yes : no;
    if (!yes || !no) return std::nullopt;
    return Range{std::min(yes->low, no->low), std::max(yes->high, no->high)};
  }

  std::optional<Range> binary(const Binary &n) const {
    auto a = (*this)(n.a), b = (*this)(n.b);
    if (n.op == BinOp::floor_mod && b && b->low > 0) {
      if (a && floored(a->low, b->low) == floored(a->high, b->low) && b->is_one())
        return Range{a->low - floored(a->low, b->low) * b->low, a->high - floored(a->low, b->low) * b->low};
      return Range{0, b->high - 1};
    }
    if (!a || !b) return std::nullopt;
    __int128 al = a->low, ah = a->high, bl = b->low, bh = b->high;
    auto truth = [](bool surely, bool never) {
      return surely || never ? std::optional(Range{surely, surely}) : std::nullopt;
    };
    switch (n.op) {
      case BinOp::add: return range_of(al + bl, ah + bh, al + bl, ah + bh);
      case BinOp::sub: return range_of(al - bh, ah - bl, al - bh, ah - bl);
      case BinOp::mul: return range_of(al * bl, al * bh, ah * bl, ah * bh);
      case BinOp::min: return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
      case BinOp::max: return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
      case BinOp::floor_div:
        if (!b->is_one() || b->low <= 0) return std::nullopt;
        return Range{floored(a->low, b->low), floored(a->high, b->low)};
      case BinOp::lt: return truth(ah < bl, al >= bh);
      case BinOp::le: return truth(ah <= bl, al > bh);
      case BinOp::eq: return truth(a->is_one() && b->is_one() && al == bl, ah < bl || bh < al);
      case BinOp::ne: return truth(ah < bl || bh < al, a->is_one() && b->is_one() && al == bl);
      default: return std::nullopt;
    }
  }

  const Ranges &known_;
};

/// Returns the trip count of a loop between two values of its bounds.
int64_t trips_between(int64_t lo, int64_t hi, int64_t step) {
  __int128 span = step > 0 ? __int128{hi} - lo : __int128{lo} - hi, size = step > 0 ? step : -__int128{step};
  return span <= 0 ? 0 : static_cast<int64_t>((span + size - 1) / size);
}

struct Operations {
  double float64 = 0, float32 = 0;
  double all() const { return float64 + float32; }
  Operations &operator+=(const Operations &o) {
    float64 += o.float64, float32 += o.float32;
    return *this;
  }
  Operations operator*(double by) const { return {float64 * by, float32 * by}; }
};

/// Counts operations. Iterators have exact values.
class OperationCounter {
 public:
  OperationCounter(Ranges known, WorkCount &out) : known_(std::move(known)), out_(out) {}

  Operations count(const Stmt &block) {
    Operations n;
    for_each_in_block(block, [&](const Stmt &s) {
      if (const auto *loop = as<For>(s)) {
        n += count_loop(*loop);
      } else if (const auto *branch = as<If>(s)) {
        n += count_branch(*branch);
      } else if (const auto *repeated = as<While>(s)) {
        unknown(cat("a while loop runs ", by_the_data));
        n += count(repeated->cond);
        n += count(repeated->body);
      } else if (as<Jump>(s)) {
        unknown(cat("a loop that break or continue may leave runs ", by_the_data));
      } else if (!as<Check>(s)) {
        for_each_expression(s, [&](const Expr &e) { n += count(e); });
        if (const auto *let = as<Let>(s)) bind(let->sym, RangeOf(known_)(let->value));
      }
    });
    return n;
  }

 private:
  void unknown(std::string why) {
    if (out_.unknown_operations.empty()) out_.unknown_operations = std::move(why);
  }
  void at_most(std::string why) {
    if (out_.at_most.empty()) out_.at_most = std::move(why);
  }
  void bind(const Sym &sym, std::optional<Range> range) {
    if (range && range->is_one())
      known_[sym.get()] = *range;
    else
      known_.erase(sym.get());
  }

  Operations count_loop(const For &loop) {
    auto lo = RangeOf(known_)(loop.lo), hi = RangeOf(known_)(loop.hi);
    if (!lo || !hi || !lo->is_one() || !hi->is_one()) {
      unknown(cat("the loop over '", loop.iter->name, "' runs ", by_the_data));
      known_.erase(loop.iter.get());
      return count(loop.body);
    }
    int64_t trips = trips_between(lo->low, hi->low, loop.step);
    if (trips == 0) return {};
    int64_t samples = depends_on(loop) ? std::min(trips, counted_iterations) : 1;
    Operations n;
    for (int64_t k = 0; k < samples; ++k) {
      // the middle of each of `samples` equal parts
      auto iteration = static_cast<int64_t>((__int128{2} * k + 1) * trips / (__int128{2} * samples));
      int64_t at = lo->low + iteration * loop.step;
      known_[loop.iter.get()] = {at, at};
      n += count(loop.body);
    }
    known_.erase(loop.iter.get());
    return n * (static_cast<double>(trips) / static_cast<double>(samples));
  }

  Operations count_branch(const If &branch) {
    Operations n = count(branch.cond);
    auto cond = RangeOf(known_)(branch.cond);
    if (cond && cond->is_one()) return n += count(cond->low ? branch.yes : branch.no);
    Operations yes = count(branch.yes), no = count(branch.no);
    if (yes.all() != no.all()) at_most("of branches that depend on the data the longer one is counted");
    return n += yes.all() >= no.all() ? yes : no;
  }

  Operations count(const Expr &e) {
    Operations n;
    if (const auto *select = as<Select>(e)) {
      n += count(select->cond);
      auto cond = RangeOf(known_)(select->cond);
      Operations yes = count(select->yes), no = count(select->no);
      if (cond && cond->is_one()) return n += cond->low ? yes : no;
      if (yes.all() != no.all()) at_most("of branches that depend on the data the longer one is counted");
      return n += yes.all() >= no.all() ? yes : no;
    }
    for_each_operand(e, [&](const Expr &operand) { n += count(operand); });
    double own = 0;
    if (const auto *b = as<Binary>(e)) own = b->op <= BinOp::max;
    if (const auto *c = as<Call>(e))
      own = c->fn == Fn::fma                                                                      ? 2
            : c->fn == Fn::abs || row_of(c->fn).rule == TypeRule::to_bool || c->fn == Fn::to_bits ? 0
                                                                                                  : 1;
    if (is_float(e.dtype())) (e.dtype() == DType::f64 ? n.float64 : n.float32) += own;
    return n;
  }

  /// Returns whether the work of an iteration may depend on which one it is.
  bool depends_on(const For &loop) {
    auto known = dependent_.find(&loop);
    if (known != dependent_.end()) return known->second;
    std::unordered_set<const SymNode *> tainted{loop.iter.get()};
    bool depends = decides(loop.body, tainted);
    dependent_[&loop] = depends;
    return depends;
  }

  static bool mentions(const Expr &e, const std::unordered_set<const SymNode *> &symbols) {
    if (const auto *n = as<Ref>(e)) return symbols.contains(n->sym.get());
    if (as<Load>(e)) return false;  // its value is data
    bool found = false;
    for_each_operand(e, [&](const Expr &operand) { found = found || mentions(operand, symbols); });
    return found;
  }
  static bool chooses(const Expr &e, const std::unordered_set<const SymNode *> &symbols) {
    const auto *n = as<Select>(e);
    bool found = n && mentions(n->cond, symbols);
    for_each_operand(e, [&](const Expr &operand) { found = found || chooses(operand, symbols); });
    return found;
  }

  /// Returns whether a block runs or loops according to the symbols; adds what is computed from them.
  static bool decides(const Stmt &block, std::unordered_set<const SymNode *> &symbols) {
    bool found = false;
    for_each_in_block(block, [&](const Stmt &s) {
      for_each_expression(s, [&](const Expr &e) { found = found || chooses(e, symbols); });
      if (const auto *let = as<Let>(s); let && mentions(let->value, symbols)) symbols.insert(let->sym.get());
      if (const auto *loop = as<For>(s))
        found = found || mentions(loop->lo, symbols) || mentions(loop->hi, symbols);
      if (const auto *branch = as<If>(s)) found = found || mentions(branch->cond, symbols);
      for_each_block(s, [&](const Stmt &inner) { found = found || decides(inner, symbols); });
    });
    return found;
  }

  Ranges known_;
  WorkCount &out_;
  std::unordered_map<const For *, bool> dependent_;
};

/// Bounds the elements that are accessed. Iterators have ranges.
class AccessBoxes {
 public:
  AccessBoxes(Ranges known, WorkCount &out) : known_(std::move(known)), out_(out) {}

  void visit(const Stmt &block) {
    for_each_in_block(block, [&](const Stmt &s) {
      for_each_expression(s, [&](const Expr &e) { visit(e); });
      if (const auto *store = as<Store>(s)) add(store->buf, store->index, written_);
      if (const auto *let = as<Let>(s)) bind(let->sym, RangeOf(known_)(let->value));
      if (const auto *loop = as<For>(s))
        visit_loop(*loop);
      else if (const auto *branch = as<If>(s))
        visit_branch(*branch);
      else
        for_each_block(s, [&](const Stmt &inner) { visit(inner); });
    });
  }

  double bytes_read(const Buf &buf) const { return bytes(read_, buf); }
  double bytes_written(const Buf &buf) const { return bytes(written_, buf); }

 private:
  using Box = std::vector<Range>;
  using Boxes = std::unordered_map<const BufNode *, Box>;

  static double bytes(const Boxes &boxes, const Buf &buf) {
    auto found = boxes.find(buf.get());
    if (found == boxes.end()) return 0;
    double elements = 1;
    for (const Range &r : found->second)
      elements *= std::max(0.0, static_cast<double>(r.high) - static_cast<double>(r.low) + 1);
    return elements * item_size(buf->dtype);
  }

  void bind(const Sym &sym, std::optional<Range> range) {
    if (range)
      known_[sym.get()] = *range;
    else
      known_.erase(sym.get());
  }

  void visit_loop(const For &loop) {
    auto lo = RangeOf(known_)(loop.lo), hi = RangeOf(known_)(loop.hi);
    std::optional<Range> range;
    if (lo && hi) {
      range = loop.step > 0 ? Range{lo->low, hi->high - 1} : Range{hi->low + 1, lo->high};
      if (lo->is_one() && hi->is_one()) {
        int64_t trips = trips_between(lo->low, hi->low, loop.step);
        if (trips == 0) return;
        int64_t last = lo->low + (trips - 1) * loop.step;
        range = Range{std::min(lo->low, last), std::max(lo->low, last)};
      }
      if (range->low > range->high) return;
    }
    bind(loop.iter, range);
    visit(loop.body);
    known_.erase(loop.iter.get());
  }

  void visit_branch(const If &branch) {
    auto cond = RangeOf(known_)(branch.cond);
    bool known = cond && cond->is_one();
    if (!known || cond->low) visit(branch.yes);
    if (!known || !cond->low) visit(branch.no);
  }

  void visit(const Expr &e) {
    if (const auto *n = as<Load>(e)) add(n->buf, n->index, read_);
    for_each_operand(e, [&](const Expr &operand) { visit(operand); });
  }

  void add(const Buf &buf, const std::vector<Expr> &index, Boxes &boxes) {
    if (buf->space != Space::param) return;
    Box box;
    for (size_t d = 0; d < index.size(); ++d) {
      auto extent = RangeOf(known_)(buf->extents[d]), at = RangeOf(known_)(index[d]);
      Range whole{0, extent ? extent->high - 1 : 0};
      if (!at && out_.at_most.empty())
        out_.at_most = cat("where the data decide on a subscript, all of '", buf->sym->name, "' is counted");
      box.push_back(at ? Range{std::max(at->low, whole.low), std::min(at->high, whole.high)} : whole);
    }
    auto [place, is_new] = boxes.emplace(buf.get(), box);
    if (is_new) return;
    for (size_t d = 0; d < box.size(); ++d) {
      Range &r = place->second[d];
      r = {std::min(r.low, box[d].low), std::max(r.high, box[d].high)};
    }
  }

  Ranges known_;
  WorkCount &out_;
  Boxes read_, written_;
};

}  // namespace

WorkCount count_work(const Func &f, std::span<const int64_t> dims, std::span<const uint64_t> scalars) {
  WorkCount out;
  Ranges known;
  for (size_t i = 0; i < std::min(f.extents.size(), dims.size()); ++i)
    known[f.extents[i].get()] = {dims[i], dims[i]};
  size_t next = 0;
  for (const Param &p : f.params) {
    if (p.buf || next == scalars.size()) continue;
    Value v{p.sym->dtype, scalars[next++]};
    if (!is_float(v.dtype)) known[p.sym.get()] = {to_int(v), to_int(v)};
  }
  Operations n = OperationCounter(known, out).count(f.body);
  out.float64 = n.float64, out.float32 = n.float32;
  AccessBoxes boxes(known, out);
  boxes.visit(f.body);
  for (const Param &p : f.params) {
    if (!p.buf) continue;
    // an output that is read was written before, or is zero
    if (p.mode != ParamMode::out) out.bytes_read += boxes.bytes_read(p.buf);
    if (p.mode != ParamMode::in) out.bytes_written += boxes.bytes_written(p.buf);
  }
  return out;
}

}  // namespace kw
