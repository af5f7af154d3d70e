// Emptiness of systems of linear constraints over the integers: equalities are substituted, inequalities
// eliminated by Fourier and Motzkin with coefficients reduced by their gcd. Exact where it says "empty";
// "maybe" is no proof of a point. Takes microseconds for systems of a loop nest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kw {

/// Constraints Σ coefficient[i] · x[i] + constant >= 0 (or = 0) over integer variables x.
class LinearSystem {
 public:
  explicit LinearSystem(size_t variables) : variables_(variables) {}

  /// A new variable; returns its number.
  size_t add_variable();
  size_t variables() const { return variables_; }
  /// Missing coefficients at the end are 0.
  void at_least_zero(std::vector<int64_t> coefficients, int64_t constant);
  void equal_zero(std::vector<int64_t> coefficients, int64_t constant);

  /// True only when no integer point satisfies all constraints. False also when the numbers leave 64 bits or
  /// the elimination grows beyond its limit of rows. Every product of two rows takes one from `work`, and at
  /// 0 the answer is false.
  bool surely_empty(int64_t *work = nullptr) const;

  /// A point that satisfies all constraints, or nothing when the search ends without one, which proves
  /// nothing. Variables are fixed in the given order, then the others by their number; each takes values near
  /// 0 first. Every look at a row takes one from `work`, and at 0 the search ends.
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
