// Interval arithmetic in 128 bits.
#include "analysis/work/call_ranges.h"

#include <algorithm>

#include "ir/integers/integer_ops.h"
#include "ir/match.h"
#include "ir/scalar_ops.h"

namespace kw {

namespace {

using Range = CallRange;
using Ranges = CallRanges;

/// Returns a range if no end overflows.
std::optional<Range> range_between(__int128 a, __int128 b, __int128 c, __int128 d) {
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
    if (const auto *n = as<Cast>(e)) return cast(*n, e.dtype());
    if (const auto *n = as<Unary>(e)) return unary(*n);
    if (const auto *n = as<Binary>(e)) return binary(*n);
    if (const auto *n = as<Logic>(e)) return logic(*n);
    if (const auto *n = as<Select>(e)) return select(*n);
    return std::nullopt;
  }

 private:
  /// A conversion keeps what its type holds.
  std::optional<Range> cast(const Cast &n, DType to) const {
    auto a = (*this)(n.a);
    auto holds = [&](int64_t v) { return to_int(wrap_integer(to, v)) == v && (v >= 0 || is_signed_int(to)); };
    return a && is_int(to) && holds(a->low) && holds(a->high) ? a : std::nullopt;
  }

  std::optional<Range> unary(const Unary &n) const {
    auto a = (*this)(n.a);
    if (!a || n.op == UnOp::bit_not) return std::nullopt;
    if (n.op == UnOp::neg)
      return range_between(-__int128{a->low}, -__int128{a->high}, -__int128{a->low}, -__int128{a->high});
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
      case BinOp::add: return range_between(al + bl, ah + bh, al + bl, ah + bh);
      case BinOp::sub: return range_between(al - bh, ah - bl, al - bh, ah - bl);
      case BinOp::mul: return range_between(al * bl, al * bh, ah * bl, ah * bh);
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

}  // namespace

std::optional<CallRange> range_of(const Expr &e, const CallRanges &known) { return RangeOf(known)(e); }

int64_t trips_between(int64_t lo, int64_t hi, int64_t step) {
  __int128 span = step > 0 ? __int128{hi} - lo : __int128{lo} - hi, size = step > 0 ? step : -__int128{step};
  return span <= 0 ? 0 : static_cast<int64_t>((span + size - 1) / size);
}

}  // namespace kw
