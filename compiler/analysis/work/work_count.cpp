// Two walks over the source program with the sizes of a call: one counts operations with exact values of the
// iterators, the other bounds subscripts by their ranges.
#include "analysis/work/work_count.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/init.h"
#include "analysis/work/access_boxes.h"
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

struct Operations {
  double float64 = 0, float32 = 0, statements = 0;
  double all() const { return float64 + float32; }
  Operations &operator+=(const Operations &o) {
    float64 += o.float64, float32 += o.float32, statements += o.statements;
    return *this;
  }
  Operations operator*(double by) const { return {float64 * by, float32 * by, statements * by}; }
};

/// Counts operations. Iterators have exact values.
class OperationCounter {
 public:
  OperationCounter(CallRanges known, WorkCount &out) : known_(std::move(known)), out_(out) {}

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
        n.statements += as<Store>(s) || as<Let>(s);
        if (const auto *let = as<Let>(s)) bind(let->sym, range_of(let->value, known_));
      }
    });
    return n;
  }

 private:
  void unknown(std::string why) {
    if (out_.unknown_operations.empty()) out_.unknown_operations = std::move(why);
  }
  void at_most(std::string why) {
    if (out_.at_most_operations.empty()) out_.at_most_operations = std::move(why);
  }
  void bind(const Sym &sym, std::optional<CallRange> range) {
    if (range && range->is_one())
      known_[sym.get()] = *range;
    else
      known_.erase(sym.get());
  }

  Operations count_loop(const For &loop) {
    auto lo = range_of(loop.lo, known_), hi = range_of(loop.hi, known_);
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
    auto cond = range_of(branch.cond, known_);
    if (cond && cond->is_one()) return n += count(cond->low ? branch.yes : branch.no);
    Operations yes = count(branch.yes), no = count(branch.no);
    if (yes.all() != no.all()) at_most("of branches that depend on the data the longer one is counted");
    return n += yes.all() >= no.all() ? yes : no;
  }

  Operations count(const Expr &e) {
    Operations n;
    if (const auto *select = as<Select>(e)) {
      n += count(select->cond);
      auto cond = range_of(select->cond, known_);
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

  CallRanges known_;
  WorkCount &out_;
  std::unordered_map<const For *, bool> dependent_;
};

/// Returns the bytes of a buffer that is filled before the kernel runs.
double whole_bytes(const BufNode &buf, const CallRanges &known) {
  auto bytes = static_cast<double>(item_size(buf.dtype));
  for (const Expr &extent : buf.extents) {
    auto n = range_of(extent, known);
    bytes *= n ? static_cast<double>(std::max<int64_t>(n->high, 0)) : 0;
  }
  return bytes;
}

}  // namespace

WorkCount count_work(const Func &f, std::span<const int64_t> dims, std::span<const uint64_t> scalars) {
  WorkCount out;
  CallRanges known;
  for (size_t i = 0; i < std::min(f.extents.size(), dims.size()); ++i)
    known[f.extents[i].get()] = {dims[i], dims[i]};
  size_t next = 0;
  for (const Param &p : f.params) {
    if (p.buf || next == scalars.size()) continue;
    Value v{p.sym->dtype, scalars[next++]};
    if (!is_float(v.dtype)) known[p.sym.get()] = {to_int(v), to_int(v)};
  }
  Operations n = OperationCounter(known, out).count(f.body);
  out.float64 = n.float64, out.float32 = n.float32, out.statements = n.statements;
  AccessBoxes boxes(known);
  boxes.visit(f.body);
  const std::vector<Buf> zeroed = analyse_initialisation(f).needs_zero;
  for (const Param &p : f.params) {
    if (!p.buf) continue;
    auto add = [&](const AccessBoxes::Bytes &bytes, double &sum) {
      sum += bytes.count;
      if (!bytes.is_exact && out.at_most_bytes.empty())
        out.at_most_bytes = cat("a call may use fewer elements of '", p.buf->sym->name, "' than are counted");
    };
    // an output that is read was written before, or is zero
    if (p.mode != ParamMode::out) add(boxes.read(p.buf), out.bytes_read);
    if (p.mode == ParamMode::out && std::ranges::find(zeroed, p.buf) != zeroed.end())
      add({whole_bytes(*p.buf, known), true}, out.bytes_written);
    else if (p.mode != ParamMode::in)
      add(boxes.written(p.buf), out.bytes_written);
  }
  return out;
}

}  // namespace kw
