// Substitution of equalities, then elimination of variables, the cheapest first.
#include "analysis/solve.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace kw {

size_t LinearSystem::add_variable() { return variables_++; }

void LinearSystem::at_least_zero(std::vector<int64_t> coefficients, int64_t constant) {
  inequalities_.push_back({std::move(coefficients), constant});
}
void LinearSystem::equal_zero(std::vector<int64_t> coefficients, int64_t constant) {
  equalities_.push_back({std::move(coefficients), constant});
}

/// One run on a copy of the rows. Every member answers true when the system is shown to be empty.
class Elimination {
 public:
  explicit Elimination(const LinearSystem &s)
      : width_(s.variables_), equalities_(s.equalities_), rows_(s.inequalities_) {
    for (auto *list : {&equalities_, &rows_})
      for (Row &r : *list) {
        r.c.resize(width_);
        gave_up_ |= r.k == INT64_MIN || std::count(r.c.begin(), r.c.end(), INT64_MIN) > 0;
      }
  }

  bool run() {
    if (gave_up_) return false;
    for (Row &r : equalities_)
      if (tighten_equality(r)) return true;
    for (Row &r : rows_)
      if (tighten(r)) return true;
    if (substitute_all()) return true;
    if (gave_up_) return false;
    split_equalities();
    while (!gave_up_ && !rows_.empty()) {
      if (merge_parallel()) return true;
      std::optional<size_t> variable = cheapest();
      if (!variable) return false;
      if (eliminate(*variable)) return true;
    }
    return false;
  }

 private:
  using Row = LinearSystem::Row;
  static constexpr size_t max_rows = 300;

  static int64_t gcd_of(const Row &r) {
    int64_t g = 0;
    for (int64_t c : r.c) g = std::gcd(g, c);
    return g;
  }
  static int64_t floor_divide(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }

  /// Divides by the gcd; the constant is rounded down, which keeps all integer points.
  static bool tighten(Row &r) {
    int64_t g = gcd_of(r);
    if (g == 0) return r.k < 0;
    if (g > 1) {
      for (int64_t &c : r.c) c /= g;
      r.k = floor_divide(r.k, g);
    }
    return false;
  }
  static bool tighten_equality(Row &r) {
    int64_t g = gcd_of(r);
    if (g == 0) return r.k != 0;
    if (r.k % g != 0) return true;
    for (int64_t &c : r.c) c /= g;
    r.k /= g;
    return false;
  }

  /// a += factor · b; gives up when a number leaves 64 bits or cannot be negated.
  void add_multiple(Row &a, const Row &b, int64_t factor) {
    auto step = [&](int64_t &x, int64_t y) {
      int64_t part;
      gave_up_ |=
          __builtin_mul_overflow(y, factor, &part) || __builtin_add_overflow(x, part, &x) || x == INT64_MIN;
    };
    for (size_t i = 0; i < width_; ++i) step(a.c[i], b.c[i]);
    step(a.k, b.k);
  }

  /// Solves an equality with a coefficient of 1 or -1 for that variable and substitutes it everywhere.
  bool substitute_all() {
    for (bool found = true; found && !gave_up_;) {
      found = false;
      for (size_t e = 0; e < equalities_.size() && !found; ++e)
        for (size_t v = 0; v < width_ && !found; ++v)
          if (equalities_[e].c[v] == 1 || equalities_[e].c[v] == -1) {
            found = true;
            if (substitute(e, v)) return true;
          }
    }
    return false;
  }
  bool substitute(size_t e, size_t v) {
    Row pivot = equalities_[e];
    equalities_.erase(equalities_.begin() + static_cast<std::ptrdiff_t>(e));
    for (Row &r : equalities_) {
      if (r.c[v]) add_multiple(r, pivot, -r.c[v] * pivot.c[v]);
      if (!gave_up_ && tighten_equality(r)) return true;
    }
    for (Row &r : rows_) {
      if (r.c[v]) add_multiple(r, pivot, -r.c[v] * pivot.c[v]);
      if (!gave_up_ && tighten(r)) return true;
    }
    return false;
  }

  void split_equalities() {
    for (const Row &r : equalities_) {
      Row opposite = r;
      for (int64_t &c : opposite.c) c = -c;
      opposite.k = -opposite.k;
      rows_.push_back(r);
      rows_.push_back(opposite);
    }
    equalities_.clear();
  }

  /// Of rows with equal coefficients only the tightest stays; rows without variables are decided.
  bool merge_parallel() {
    std::sort(rows_.begin(), rows_.end(),
              [](const Row &a, const Row &b) { return a.c != b.c ? a.c < b.c : a.k < b.k; });
    rows_.erase(
        std::unique(rows_.begin(), rows_.end(), [](const Row &a, const Row &b) { return a.c == b.c; }),
        rows_.end());
    for (const Row &r : rows_)
      if (r.k < 0 && std::all_of(r.c.begin(), r.c.end(), [](int64_t c) { return c == 0; })) return true;
    return false;
  }

  /// The variable whose elimination adds fewest rows; none when no variable is left.
  std::optional<size_t> cheapest() const {
    std::optional<size_t> best;
    int64_t least = INT64_MAX;
    for (size_t v = 0; v < width_; ++v) {
      int64_t above = 0, below = 0;
      for (const Row &r : rows_) above += r.c[v] > 0, below += r.c[v] < 0;
      int64_t growth = above * below - above - below;
      if (above + below > 0 && growth < least) best = v, least = growth;
    }
    return best;
  }

  bool eliminate(size_t v) {
    std::vector<Row> next;
    for (const Row &r : rows_)
      if (r.c[v] == 0) next.push_back(r);
    for (const Row &low : rows_) {
      if (low.c[v] <= 0) continue;
      for (const Row &high : rows_) {
        if (high.c[v] >= 0) continue;
        Row sum;
        sum.c.resize(width_);
        add_multiple(sum, low, -high.c[v]);
        add_multiple(sum, high, low.c[v]);
        if (gave_up_) return false;
        if (tighten(sum)) return true;
        next.push_back(std::move(sum));
      }
    }
    rows_ = std::move(next);
    gave_up_ = rows_.size() > max_rows;
    return false;
  }

  size_t width_;
  std::vector<Row> equalities_, rows_;
  bool gave_up_ = false;
};

bool LinearSystem::surely_empty() const { return Elimination(*this).run(); }

}  // namespace kw
