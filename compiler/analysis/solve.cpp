// Substitutes equalities, then eliminates variables, the cheapest first.
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

/// Rows of coefficients, each followed by its constant, in one allocation.
class RowTable {
 public:
  explicit RowTable(size_t width) : width_(width) {}

  size_t size() const { return numbers_.size() / (width_ + 1); }
  bool empty() const { return numbers_.empty(); }
  int64_t *operator[](size_t row) { return numbers_.data() + row * (width_ + 1); }
  const int64_t *operator[](size_t row) const { return numbers_.data() + row * (width_ + 1); }
  /// Adds a row of zeros; invalidates pointers to other rows.
  int64_t *add() {
    numbers_.resize(numbers_.size() + width_ + 1);
    return (*this)[size() - 1];
  }
  void add(const int64_t *row) { numbers_.insert(numbers_.end(), row, row + width_ + 1); }
  void reserve(size_t rows) { numbers_.reserve(rows * (width_ + 1)); }
  void drop_last() { numbers_.resize(numbers_.size() - width_ - 1); }
  void clear() { numbers_.clear(); }

 private:
  size_t width_;
  std::vector<int64_t> numbers_;
};

/// One run on a copy of the rows. Every bool member function returns whether the system is shown to be empty.
class Elimination {
 public:
  Elimination(const LinearSystem &s, int64_t *work)
      : width_(s.variables_), equalities_(width_), rows_(width_), work_(work) {
    copy(s.equalities_, equalities_);
    copy(s.inequalities_, rows_);
  }

  bool run() {
    if (gave_up_) return false;
    for (size_t e = 0; e < equalities_.size(); ++e)
      if (tighten_equality(equalities_[e])) return true;
    for (size_t r = 0; r < rows_.size(); ++r)
      if (tighten(rows_[r])) return true;
    if (substitute_all()) return true;
    if (gave_up_) return false;
    leave_only_used();
    while (!gave_up_ && !rows_.empty()) {
      if (merge_parallel()) return true;
      std::optional<size_t> variable = cheapest();
      if (!variable) return false;
      if (eliminate(*variable)) return true;
    }
    return false;
  }

 private:
  // Most rows of a system in elimination, which can grow with the square in each step. Chosen; beyond it
  // nothing is proved.
  static constexpr size_t max_rows = 300;

  void copy(const std::vector<LinearSystem::Row> &from, RowTable &to) {
    to.reserve(from.size());
    for (const LinearSystem::Row &r : from) {
      int64_t *row = to.add();
      std::copy(r.c.begin(), r.c.end(), row);
      row[width_] = r.k;
      gave_up_ |= std::count(row, row + width_ + 1, INT64_MIN) > 0;
    }
  }

  int64_t gcd_of(const int64_t *row) const {
    int64_t g = 0;
    for (size_t i = 0; i < width_ && g != 1; ++i)
      if (row[i]) g = std::gcd(g, row[i]);
    return g;
  }
  static int64_t floor_divide(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
  }

  /// Divides a row by the gcd of its coefficients; rounds the constant down, which keeps all integer points.
  bool tighten(int64_t *row) const {
    int64_t g = gcd_of(row);
    if (g == 0) return row[width_] < 0;
    // 4 · x - 3 >= 0   →   x - 1 >= 0
    if (g > 1) {
      for (size_t i = 0; i < width_; ++i) row[i] /= g;
      row[width_] = floor_divide(row[width_], g);
    }
    return false;
  }
  bool tighten_equality(int64_t *row) const {
    int64_t g = gcd_of(row);
    if (g == 0) return row[width_] != 0;
    // the gcd test: 2 · x + 1 = 0 has no integer solution
    if (row[width_] % g != 0) return true;
    if (g > 1)
      for (size_t i = 0; i <= width_; ++i) row[i] /= g;
    return false;
  }

  /// Computes a += factor · b; gives up if a number leaves 64 bits or cannot be negated.
  void add_multiple(int64_t *a, const int64_t *b, int64_t factor) {
    bool wide = false;
    for (size_t i = 0; i <= width_; ++i) {
      int64_t part;
      wide |= __builtin_mul_overflow(b[i], factor, &part) || __builtin_add_overflow(a[i], part, &a[i]) ||
              a[i] == INT64_MIN;
    }
    gave_up_ |= wide;
  }

  /// Solves equalities for a variable with a coefficient of 1 or -1 and substitutes it everywhere.
  bool substitute_all() {
    for (bool found = true; found && !gave_up_;) {
      found = false;
      for (size_t e = 0; e < equalities_.size() && !found; ++e)
        for (size_t v = 0; v < width_ && !found; ++v)
          if (equalities_[e][v] == 1 || equalities_[e][v] == -1) {
            found = true;
            if (substitute(e, v)) return true;
          }
    }
    return false;
  }
  /// Removes variable `v` by equality `e`, which leaves the system. The coefficient of 1 or -1 keeps all
  /// solutions integers.
  bool substitute(size_t e, size_t v) {
    std::vector<int64_t> pivot(equalities_[e], equalities_[e] + width_ + 1);
    if (e + 1 != equalities_.size()) {
      const int64_t *last = equalities_[equalities_.size() - 1];
      std::copy(last, last + width_ + 1, equalities_[e]);
    }
    equalities_.drop_last();
    for (auto *table : {&equalities_, &rows_})
      for (size_t r = 0; r < table->size(); ++r) {
        int64_t *row = (*table)[r];
        if (!row[v]) continue;
        add_multiple(row, pivot.data(), -row[v] * pivot[v]);
        if (gave_up_) return false;
        if (table == &rows_ ? tighten(row) : tighten_equality(row)) return true;
      }
    return false;
  }

  /// Turns each equality into two rows and removes the columns of variables that no row has any more.
  void leave_only_used() {
    std::vector<size_t> used;
    for (size_t v = 0; v < width_; ++v) {
      bool has = false;
      for (const auto *table : {&equalities_, &rows_})
        for (size_t r = 0; r < table->size() && !has; ++r) has = (*table)[r][v] != 0;
      if (has) used.push_back(v);
    }
    used.push_back(width_);
    RowTable rows(used.size() - 1);
    rows.reserve(rows_.size() + 2 * equalities_.size());
    auto add = [&](const int64_t *from, int64_t sign) {
      int64_t *to = rows.add();
      for (size_t i = 0; i < used.size(); ++i) to[i] = sign * from[used[i]];
    };
    for (size_t r = 0; r < rows_.size(); ++r) add(rows_[r], 1);
    for (size_t e = 0; e < equalities_.size(); ++e) add(equalities_[e], 1), add(equalities_[e], -1);
    width_ = used.size() - 1;
    rows_ = std::move(rows);
    equalities_.clear();
  }

  /// Keeps only the tightest of rows with equal coefficients; decides rows without variables.
  bool merge_parallel() {
    std::vector<const int64_t *> order;
    for (size_t r = 0; r < rows_.size(); ++r) order.push_back(rows_[r]);
    // of rows with equal coefficients the one with the least constant comes first, and it is the tightest
    std::sort(order.begin(), order.end(), [&](const int64_t *a, const int64_t *b) {
      return std::lexicographical_compare(a, a + width_ + 1, b, b + width_ + 1);
    });
    RowTable next(width_);
    next.reserve(order.size());
    for (const int64_t *row : order) {
      size_t kept = next.size();
      if (kept && std::equal(row, row + width_, next[kept - 1])) continue;
      bool has_variables = std::any_of(row, row + width_, [](int64_t c) { return c != 0; });
      if (!has_variables && row[width_] < 0) return true;
      if (has_variables) next.add(row);
    }
    rows_ = std::move(next);
    return false;
  }

  /// Returns the variable whose elimination adds the fewest rows; none if no variable is left.
  std::optional<size_t> cheapest() const {
    std::optional<size_t> best;
    int64_t least = INT64_MAX;
    for (size_t v = 0; v < width_; ++v) {
      int64_t above = 0, below = 0;
      for (size_t r = 0; r < rows_.size(); ++r) above += rows_[r][v] > 0, below += rows_[r][v] < 0;
      int64_t growth = above * below - above - below;
      if (above + below > 0 && growth < least) best = v, least = growth;
    }
    return best;
  }

  /// Combines each lower bound of the variable with each upper bound (Fourier and Motzkin):
  ///     x - a >= 0, b - x >= 0   →   b - a >= 0
  bool eliminate(size_t v) {
    RowTable next(width_);
    next.reserve(rows_.size());
    for (size_t r = 0; r < rows_.size(); ++r)
      if (rows_[r][v] == 0) next.add(rows_[r]);
    for (size_t l = 0; l < rows_.size(); ++l) {
      const int64_t *low = rows_[l];
      if (low[v] <= 0) continue;
      for (size_t h = 0; h < rows_.size(); ++h) {
        const int64_t *high = rows_[h];
        if (high[v] >= 0) continue;
        int64_t *sum = next.add();
        add_multiple(sum, low, -high[v]);
        add_multiple(sum, high, low[v]);
        gave_up_ |= work_ && --*work_ < 0;
        if (gave_up_) return false;
        if (tighten(sum)) return true;
      }
    }
    rows_ = std::move(next);
    gave_up_ = rows_.size() > max_rows;
    return false;
  }

  size_t width_;
  RowTable equalities_, rows_;
  int64_t *work_;
  bool gave_up_ = false;
};

bool LinearSystem::surely_empty(int64_t *work) const {
  return (!work || *work > 0) && Elimination(*this, work).run();
}

/// Fixes one variable after the other. Between two choices, every row narrows the ranges of the other
/// variables.
class PointSearch {
 public:
  PointSearch(const LinearSystem &s, const std::vector<size_t> &order, int64_t *work)
      : order_(order), rows_(s.inequalities_), work_(work) {
    for (const auto &r : s.equalities_) {
      if (r.k == INT64_MIN || std::count(r.c.begin(), r.c.end(), INT64_MIN) > 0) choices_ = 0;
      if (!choices_) return;
      rows_.push_back(r);
      rows_.push_back(r);
      for (int64_t &c : rows_.back().c) c = -c;
      rows_.back().k = -r.k;
    }
    for (size_t v = 0; v < s.variables_; ++v)
      if (std::find(order.begin(), order.end(), v) == order.end()) order_.push_back(v);
    ranges_.assign(s.variables_, {-limit, limit});
  }

  std::optional<std::vector<int64_t>> run() {
    if (!choices_ || !narrow(ranges_) || !fix(0, ranges_)) return std::nullopt;
    std::vector<int64_t> out;
    for (const Range &r : ranges_) out.push_back(r.low);
    return out;
  }

 private:
  struct Range {
    int64_t low, high;
  };
  using Ranges = std::vector<Range>;
  using Wide = __int128;
  // Most a variable may be in a search for a point: witnesses are shown to people, who prefer small values.
  static constexpr int64_t limit = int64_t{1} << 30;
  // Values tried, and passes over the rows per value, before the search gives up. Chosen.
  static constexpr int max_choices = 4096, max_rounds = 64;

  static Wide divide_down(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

  /// Returns the greatest value of coefficient · variable.
  static Wide most(const Ranges &ranges, int64_t c, size_t v) {
    return Wide{c} * (c > 0 ? ranges[v].high : ranges[v].low);
  }

  /// Narrows all ranges; returns false if one became empty or the work is used up.
  bool narrow(Ranges &ranges) const {
    // bounds propagation: each row limits each of its variables by the extremes of the others
    bool changed = true;
    for (int round = 0; changed && round < max_rounds; ++round) {
      changed = false;
      for (const auto &r : rows_) {
        if (work_ && --*work_ < 0) return false;
        Wide room = r.k;
        for (size_t v = 0; v < r.c.size(); ++v) room += most(ranges, r.c[v], v);
        if (room < 0) return false;
        for (size_t v = 0; v < r.c.size(); ++v) {
          if (r.c[v] == 0) continue;
          Wide rest = room - most(ranges, r.c[v], v);  // c · x + rest >= 0
          Range &range = ranges[v];
          Wide low = r.c[v] > 0 ? -divide_down(rest, r.c[v]) : Wide{range.low};
          Wide high = r.c[v] < 0 ? divide_down(rest, -Wide{r.c[v]}) : Wide{range.high};
          if (low > range.low) range.low = static_cast<int64_t>(low), changed = true;
          if (high < range.high) range.high = static_cast<int64_t>(high), changed = true;
          if (range.low > range.high) return false;
        }
      }
    }
    return true;
  }

  /// Fixes the variables of the order from `at` on. On success, the ranges are the point.
  bool fix(size_t at, Ranges &ranges) {
    if (at == order_.size()) return holds(ranges);
    size_t v = order_[at];
    Range range = ranges[v];
    // values near 0 come first, so that witnesses have small numbers
    int64_t start = std::clamp<int64_t>(0, range.low, range.high);
    for (int64_t distance = 0;; ++distance) {
      bool up = start + distance <= range.high, down = start - distance >= range.low;
      if (!up && !down) return false;
      for (int64_t sign : {1, -1}) {
        if (sign > 0 ? !up : !down || distance == 0) continue;
        if (--choices_ < 0 || (work_ && *work_ <= 0)) return false;
        Ranges next = ranges;
        next[v] = {start + sign * distance, start + sign * distance};
        if (!narrow(next) || !fix(at + 1, next)) continue;
        ranges = std::move(next);
        return true;
      }
    }
  }

  bool holds(const Ranges &point) const {
    return std::all_of(rows_.begin(), rows_.end(), [&](const auto &r) {
      Wide sum = r.k;
      for (size_t v = 0; v < r.c.size(); ++v) sum += Wide{r.c[v]} * point[v].low;
      return sum >= 0;
    });
  }

  std::vector<size_t> order_;
  std::vector<LinearSystem::Row> rows_;
  int64_t *work_;
  Ranges ranges_;
  int choices_ = max_choices;
};

std::optional<std::vector<int64_t>> LinearSystem::find_point(const std::vector<size_t> &order,
                                                             int64_t *work) const {
  return PointSearch(*this, order, work).run();
}

}  // namespace kw
