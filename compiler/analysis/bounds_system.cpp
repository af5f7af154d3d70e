// Adds "the goal is negative" to the system: if the system is then empty, the goal is proved.
#include "analysis/bounds_system.h"

#include "analysis/solve.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"

namespace kw {

namespace {

class BoundsSystem {
 public:
  explicit BoundsSystem(const PlaceFacts &facts)
      : ranges_(facts), extents_positive_(facts.extents_positive) {}

  void at_least_zero(const Affine &form, int64_t gap = 0) {
    std::vector<int64_t> row = row_of(form);
    system_.at_least_zero(std::move(row), form.constant - gap);
  }

  void loop(const For &n) {
    Affine iter{{{ref(n.iter), 1}}, 0};
    bool up = n.step > 0;
    if (auto lo = ranges_.exact_form(n.lo)) between(up ? *lo : iter, up ? iter : *lo, 0);
    if (auto hi = ranges_.exact_form(n.hi)) between(up ? iter : *hi, up ? *hi : iter, 1);
  }

  /// Adds the constraint low + gap <= high.
  void between(const Affine &low, const Affine &high, int64_t gap) {
    if (auto room = add_scaled(high, low, -1)) at_least_zero(*room, gap);
  }

  bool surely_empty() const { return system_.surely_empty(); }

 private:
  // Nesting depth of min, max, // and % up to which constraints are added. Chosen: each level adds rows to
  // eliminate.
  static constexpr int max_depth = 4;

  std::vector<int64_t> row_of(const Affine &form) {
    std::vector<size_t> columns;
    for (const AffineTerm &t : form.terms) columns.push_back(variable(t.atom));
    std::vector<int64_t> row(system_.variables());
    for (size_t i = 0; i < columns.size(); ++i) row[columns[i]] = form.terms[i].coefficient;
    return row;
  }

  size_t variable(const Expr &atom) {
    for (size_t i = 0; i < atoms_.size(); ++i)
      if (equal(atoms_[i], atom)) return i;
    atoms_.push_back(atom);
    size_t at = system_.add_variable();
    if (is_extent(atom)) at_least_zero({{{atom, 1}}, 0}, extents_positive_ ? 1 : 0);
    if (const Binary *n = as<Binary>(atom); n && depth_ < max_depth) {
      ++depth_;
      define(atom, *n);
      --depth_;
    }
    return at;
  }

  /// Adds the constraints between a compound atom and its operands.
  void define(const Expr &atom, const Binary &n) {
    Affine value{{{atom, 1}}, 0};
    auto a = ranges_.exact_form(n.a), b = ranges_.exact_form(n.b);
    if (n.op == BinOp::min || n.op == BinOp::max) {
      bool is_min = n.op == BinOp::min;
      for (const auto &side : {a, b})
        if (side) between(is_min ? value : *side, is_min ? *side : value, 0);
      return;
    }
    if (n.op == BinOp::floor_mod && b) {
      Affine last = *b;
      if (!__builtin_sub_overflow(last.constant, 1, &last.constant) && ranges_.surely_nonnegative(last))
        at_least_zero(value), between(value, last, 0);
    }
    auto divisor = as_int(n.b);
    if (!a || !divisor || *divisor <= 0 || *divisor > max_divisor) return;
    if (n.op == BinOp::floor_div) {
      auto rest = add_scaled(*a, value, -*divisor);  // 0 <= a - d · value < d
      if (rest) remainder(*rest, *divisor);
    } else if (n.op == BinOp::floor_mod) {
      remainder(value, *divisor);
      // a - value is a multiple of d
      size_t quotient = system_.add_variable();
      atoms_.push_back({});
      if (auto rest = add_scaled(*a, value, -1)) {
        std::vector<int64_t> row = row_of(*rest);
        row.resize(system_.variables());
        row[quotient] = -*divisor;
        system_.equal_zero(std::move(row), rest->constant);
      }
    }
  }
  void remainder(const Affine &rest, int64_t divisor) {
    at_least_zero(rest);
    between(rest, Affine{{}, divisor}, 1);
  }

  ValueRanges ranges_;
  bool extents_positive_;
  std::vector<Expr> atoms_;  ///< by variable; null for a variable that stands for no expression
  LinearSystem system_{0};
  int depth_ = 0;
};

}  // namespace

bool follows_by_elimination(const PlaceFacts &facts, const Affine &goal) {
  BoundsSystem system(facts);
  auto opposite = add_scaled(Affine{}, goal, -1);
  if (!opposite) return false;
  system.at_least_zero(*opposite, 1);
  for (const For *loop : facts.loops) system.loop(*loop);
  for (const Affine &c : facts.constraints) system.at_least_zero(c);
  return system.surely_empty();
}

}  // namespace kw
