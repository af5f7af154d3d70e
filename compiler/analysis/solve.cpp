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
  Elimination(const LinearSystem &s, int64_t *work)
      : width_(s.variables_), equalities_(s.equalities_), rows_(s.inequalities_), work_(work) {
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
        gave_up_ |= work_ && --*work_ < 0;
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
  int64_t *work_;
  bool gave_up_ = false;
};

bool LinearSystem::surely_empty(int64_t *work) const {
  return (!work || *work > 0) && Elimination(*this, work).run();
}

/// Fixes one variable after the other; between two choices the ranges of the others are narrowed by every
/// row.
class PointSearch {
 public:
  PointSearch(const LinearSystem &s, const std::vector<size_t> &order)
      : order_(order), rows_(s.inequalities_) {
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
  static constexpr int64_t limit = int64_t{1} << 30;
  static constexpr int max_choices = 4096, max_rounds = 64;

  static Wide divide_down(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

  /// The greatest value that coefficient · variable can take.
  static Wide most(const Ranges &ranges, int64_t c, size_t v) {
    return Wide{c} * (c > 0 ? ranges[v].high : ranges[v].low);
  }

  /// False when a range became empty.
  bool narrow(Ranges &ranges) const {
    bool changed = true;
    for (int round = 0; changed && round < max_rounds; ++round) {
      changed = false;
      for (const auto &r : rows_) {
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

  /// Fixes the variables of the order from `at` on; on success the ranges are the point.
  bool fix(size_t at, Ranges &ranges) {
    if (at == order_.size()) return holds(ranges);
    size_t v = order_[at];
    Range range = ranges[v];
    int64_t start = std::clamp<int64_t>(0, range.low, range.high);
    for (int64_t distance = 0;; ++distance) {
      bool up = start + distance <= range.high, down = start - distance >= range.low;
      if (!up && !down) return false;
      for (int64_t sign : {1, -1}) {
        if (sign > 0 ? !up : !down || distance == 0) continue;
        if (--choices_ < 0) return false;
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
  Ranges ranges_;
  int choices_ = max_choices;
};

std::optional<std::vector<int64_t>> LinearSystem::find_point(const std::vector<size_t> &order) const {
  return PointSearch(*this, order).run();
}

}  // namespace kw
