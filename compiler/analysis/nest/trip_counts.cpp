// Proves properties of loop ranges, and computes trip counts.
#include "analysis/nest/trip_counts.h"

#include <algorithm>

#include "analysis/affine.h"
#include "analysis/solve.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/match.h"

namespace kw {

namespace {

// Sums and differences of 256 values below this cannot wrap in 64 bits.
constexpr int64_t small = int64_t{1} << 55;

/// Adds |factor| · most to a sum; returns false if the sum is no longer small.
bool grow(int64_t &sum, int64_t factor, int64_t most) {
  int64_t part;
  return factor != INT64_MIN && !__builtin_mul_overflow(factor < 0 ? -factor : factor, most, &part) &&
         !__builtin_add_overflow(sum, part, &sum) && sum < small;
}

/// A linear system over one iteration of the loops around a loop, `loop` itself excluded.
class OneIteration {
 public:
  OneIteration(const Nest &nest, uint32_t loop) : nest_(nest), columns_(nest.variables.size(), SIZE_MAX) {
    for (uint32_t l = nest.loops[loop].parent; l != NestLoop::no_loop; l = nest.loops[l].parent)
      for (const Constraint &c : nest.loops[l].range) add(c);
    for (const Constraint &c : nest.context) add(c);
  }

  void add(const Constraint &c) {
    std::vector<int64_t> row;
    for (auto [v, factor] : c.form.terms) {
      size_t at = column(v);
      if (row.size() <= at) row.resize(at + 1);
      row[at] += factor;
    }
    if (c.equality)
      system_.equal_zero(std::move(row), c.form.constant);
    else
      system_.at_least_zero(std::move(row), c.form.constant);
  }
  bool surely_empty() const {
    // steps of the solver. Chosen: some 0.2 ms
    int64_t work = 2000;
    return system_.surely_empty(&work);
  }

 private:
  size_t column(uint32_t v) {
    if (columns_[v] != SIZE_MAX) return columns_[v];
    // the constraints may name the variable itself, so that it has its column before they are added
    size_t at = columns_[v] = system_.add_variable();
    for (const Constraint &c : nest_.variables[v].known) add(c);
    return at;
  }

  const Nest &nest_;
  std::vector<size_t> columns_;
  LinearSystem system_{0};
};

/// Returns 0 if the form has no term of the variable.
int64_t coefficient_of(const LinearForm &form, uint32_t v) {
  for (auto [u, c] : form.terms)
    if (u == v) return c;
  return 0;
}

/// Returns -a - b - 2 if the iterator cancels; nothing if it does not, or if 64 bits cannot hold the result.
std::optional<LinearForm> below_sum(const LinearForm &a, const LinearForm &b, uint32_t iterator) {
  // i - lo >= 0 and hi - 1 - i >= 0   →   lo - hi - 1 >= 0, which says lo > hi
  LinearForm out{{}, -2};
  for (const LinearForm *form : {&a, &b}) {
    if (__builtin_sub_overflow(out.constant, form->constant, &out.constant)) return std::nullopt;
    for (auto [v, c] : form->terms) {
      if (v == iterator) continue;
      if (c == INT64_MIN) return std::nullopt;
      out.terms.emplace_back(v, -c);
    }
  }
  return coefficient_of(a, iterator) == -coefficient_of(b, iterator) ? std::optional(out) : std::nullopt;
}

Expr u64(uint64_t v) { return constant(Value{DType::u64, v}); }

}  // namespace

bool has_small_bounds(const Nest &nest, uint32_t loop) {
  const NestLoop &l = nest.loops[loop];
  if (!l.loop || !l.exact || step_size(*l.loop) >= small) return false;
  for (const Constraint &c : l.range) {
    if (c.equality) continue;
    int64_t sum = 0;
    if (!grow(sum, c.form.constant, 1)) return false;
    for (auto [v, factor] : c.form.terms)
      if (v != l.variable && (!nest.variables[v].most || !grow(sum, factor, *nest.variables[v].most)))
        return false;
  }
  return true;
}

bool is_small_at(const Nest &nest, uint32_t loop, const Expr &e) {
  auto form = affine_of(e);
  int64_t sum = 0;
  if (!form || !grow(sum, form->constant, 1)) return false;
  for (const AffineTerm &t : form->terms) {
    const Ref *r = as<Ref>(t.atom);
    std::optional<int64_t> most;
    if (is_extent(t.atom)) most = max_extent;
    for (uint32_t l = nest.loops[loop].parent; r && l != NestLoop::no_loop; l = nest.loops[l].parent)
      if (nest.loops[l].loop && nest.loops[l].loop->iter == r->sym && has_small_bounds(nest, l))
        most = nest.variables[nest.loops[l].variable].most;
    if (!most || !grow(sum, t.coefficient, *most)) return false;
  }
  return true;
}

bool is_never_inverted(const Nest &nest, uint32_t loop) {
  const NestLoop &l = nest.loops[loop];
  bool known = l.loop && l.exact;
  for (const Constraint &a : l.range)
    for (const Constraint &b : l.range) {
      if (a.equality || b.equality || coefficient_of(a.form, l.variable) <= 0 ||
          coefficient_of(b.form, l.variable) >= 0)
        continue;
      // for each lower and each upper bound, lo > hi must have no solution
      auto inverted = below_sum(a.form, b.form, l.variable);
      if (!known || !inverted) return false;
      OneIteration system(nest, loop);
      system.add({*inverted, false});
      known = system.surely_empty();
    }
  return known;
}

BlockCount count_blocks(const Nest &nest, uint32_t loop, const Expr &lo, const Expr &hi, int64_t size) {
  const For &n = *nest.loops[loop].loop;
  bool up = n.step > 0;
  const Expr &from = up ? lo : hi, &to = up ? hi : lo;
  if (has_small_bounds(nest, loop)) {
    Expr span = sub(to, from);
    if (!is_never_inverted(nest, loop)) span = binary(BinOp::max, span, const_int(0));
    // blocks of `size` iterations: (hi - lo + step - 1) // (step * size)
    int64_t step = step_size(n), per_block;
    if (step > 1 && !__builtin_mul_overflow(step, size, &per_block) && per_block < small)
      return {binary(BinOp::floor_div, add(span, const_int(step - 1)), const_int(per_block))};
    if (step == 1) return {binary(BinOp::floor_div, span, const_int(size))};
  }
  // bounds of any size: u64 holds the span and the trip count, and no sum of signed values can wrap
  uint64_t step = up ? static_cast<uint64_t>(n.step) : 0 - static_cast<uint64_t>(n.step);
  Expr span = sub(cast(DType::u64, to), cast(DType::u64, from));
  Expr trips = add(binary(BinOp::floor_div, sub(span, u64(1)), u64(step)), u64(1));
  trips = select(binary(BinOp::lt, from, to), trips, u64(0));
  Expr per_block = u64(static_cast<uint64_t>(size));
  Expr left = binary(BinOp::floor_mod, trips, per_block);
  return {cast(DType::i64, binary(BinOp::floor_div, trips, per_block)), binary(BinOp::eq, left, u64(0))};
}

bool surely_none(const Expr &lo, const Expr &hi, int64_t step) {
  auto a = as_int(lo), b = as_int(hi);
  return a && b && (step > 0 ? *a >= *b : *a <= *b);
}

std::optional<uint64_t> constant_trips(const For &loop) {
  auto lo = as_int(loop.lo), hi = as_int(loop.hi);
  if (!lo || !hi) return std::nullopt;
  bool up = loop.step > 0;
  if (up ? *lo >= *hi : *lo <= *hi) return 0;
  auto word = [](int64_t v) { return static_cast<uint64_t>(v); };
  // the span of two i64 values may exceed INT64_MAX
  uint64_t span = up ? word(*hi) - word(*lo) : word(*lo) - word(*hi);
  return (span - 1) / (up ? word(loop.step) : 0 - word(loop.step)) + 1;
}

/// Collects the operands of nested minima or maxima.
static void operands_of(const Expr &e, BinOp op, std::vector<Expr> &out) {
  const Binary *n = as<Binary>(e);
  if (!n || n->op != op) {
    out.push_back(e);
    return;
  }
  operands_of(n->a, op, out), operands_of(n->b, op, out);
}

std::optional<uint64_t> most_trips(const For &loop) {
  if (auto known = constant_trips(loop)) return known;
  if (step_size(loop) != 1) return std::nullopt;
  const Expr &low = loop.step > 0 ? loop.lo : loop.hi, &high = loop.step > 0 ? loop.hi : loop.lo;
  std::vector<Expr> lows, highs;
  operands_of(low, BinOp::max, lows), operands_of(high, BinOp::min, highs);
  std::optional<uint64_t> most;
  for (const Expr &a : lows)
    for (const Expr &b : highs) {
      // the trip count is at most the distance of any lower and any upper bound, where the symbols cancel
      auto span = affine_of(sub(b, a));
      if (!span || !span->is_constant()) continue;
      auto trips = static_cast<uint64_t>(std::max<int64_t>(span->constant, 0));
      most = std::min(most.value_or(trips), trips);
    }
  return most;
}

}  // namespace kw
