// Decides whether systems of linear constraints over the integers are empty. Equalities are substituted,
// inequalities eliminated by Fourier-Motzkin with coefficients reduced by their gcd. The answer "empty" is
// exact; any other answer does not prove that a point exists. Takes microseconds for systems of a loop nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kw {

/// Divisors of // and % that become constraints. Chosen: larger ones would let the coefficients overflow in
/// the elimination.
inline constexpr int64_t max_divisor = int64_t{1} << 14;

/// Constraints Σ coefficient[i] · x[i] + constant >= 0 (or = 0) over integer variables x.
class LinearSystem {
 public:
  explicit LinearSystem(size_t variables) : variables_(variables) {}

  /// Adds a variable; returns its number.
  size_t add_variable();
  size_t variables() const { return variables_; }
  /// Adds a constraint. Missing coefficients at the end are 0.
  void at_least_zero(std::vector<int64_t> coefficients, int64_t constant);
  void equal_zero(std::vector<int64_t> coefficients, int64_t constant);

  /// Returns whether surely no integer point satisfies all constraints. False also if the numbers leave 64
  /// bits or the elimination exceeds its limit of rows. Every product of two rows takes one from `work`; at 0
  /// the answer is false.
  bool surely_empty(int64_t *work = nullptr) const;

  /// Returns a point that satisfies all constraints, or nothing if the search finds none, which proves
  /// nothing. Fixes variables in the given order, then the others by number. Tries values near 0 first. Every
  /// visit of a row takes one from `work`; at 0 the search ends.
  std::optional<std::vector<int64_t>> find_point(const std::vector<size_t> &order,
                                                 int64_t *work = nullptr) const;

 private:
  struct Row {
    std::vector<int64_t> c;
    int64_t k = 0;
  };
  friend class Elimination;
  friend class PointSearch;

  size_t variables_;
  std::vector<Row> equalities_, inequalities_;
};

}  // namespace kw
