// Finds the memory dependences of a nest: pairs of accesses that may touch one element in two iterations. For
// each it finds the loop that carries it, and its directions. Conservative: it may report too many, never too
// few.
#pragma once

#include <functional>
#include <string>

#include "analysis/affine.h"
#include "analysis/nest/nest.h"
#include "analysis/solve.h"

namespace kw {

/// The sink's iteration of a loop relative to the source's, in execution order.
enum class Direction : uint8_t { equal, later, earlier, not_earlier, not_later, unequal, any };

/// The access `from` of statement `source` executes before the access `to` of `sink`; one of them writes.
struct Dependence {
  uint32_t source = 0, sink = 0;  ///< statements of the nest
  uint32_t from = 0, to = 0;      ///< accesses of these statements
  /// The index of the common loop that carries it; `common` if it is loop-independent.
  uint32_t level = 0;
  uint32_t common = 0;  ///< the number of common enclosing loops
  /// Filled on request, one entry per common loop. A distance is a difference of iterator values.
  std::vector<Direction> directions{};
  std::vector<std::optional<int64_t>> distances{};
};

struct DependenceQuery {
  std::optional<uint32_t> loop;  ///< only dependences that this loop carries
  bool directions = false;
  int64_t work = 100'000;                  ///< budget in products of rows; the search ends when it is used up
  std::vector<const BufNode *> without{};  ///< buffers to ignore
  /// Returns whether a pair of accesses at a level is of interest, before the search; empty: all are.
  std::function<bool(const Dependence &)> wanted{};
  /// Called for each dependence found; false ends the search. May be empty.
  std::function<bool(const Dependence &)> on_found{};
};

struct Dependences {
  std::vector<Dependence> found;
  bool complete = true;  ///< false: the nest is too large or the work was used up; other pairs may depend
};

Dependences find_dependences(const Nest &nest, const DependenceQuery &query = {});

/// The constraints on one pair of accesses in two iterations, as a linear system that queries extend. The
/// first `equal` common loops are in the same iteration; with `later`, the sink follows the source in the
/// next common loop.
class PairSystem {
 public:
  PairSystem(const Nest &nest, const Dependence &pair, uint32_t equal, bool later);

  /// Restricts common loop `m` to this direction (equal, later or earlier).
  void restrict_to(uint32_t m, Direction direction);
  /// Restricts the distance of common loop `m` to at least (or, below, at most) `distance`.
  void restrict_distance(uint32_t m, bool below, int64_t distance);
  /// Requires that the sink's iteration of one loop precedes the source's iteration of another loop with the
  /// same range. Each loop encloses its statement.
  void restrict_to_earlier(uint32_t source_loop, uint32_t sink_loop);
  /// Requires that the subscripts of both statements are within the extents.
  void keep_in_bounds();
  /// Adds conditions (each >= 0) over sizes and scalar arguments, if they concern symbols of the system.
  void keep_sizes(std::vector<Affine> conditions);
  bool surely_empty(int64_t *work) const { return system_.surely_empty(work); }

  /// Values of the variables at both ends; small values are tried first. Variables that the pair does not
  /// depend on have none.
  struct Point {
    std::vector<std::optional<int64_t>> at_source, at_sink;
    std::vector<std::pair<Expr, int64_t>> others;  ///< sizes that only keep_sizes knows
  };
  std::optional<Point> find_point(int64_t *work = nullptr);
  /// Returns false if the system omits a condition or admits impossible values: then a point need not be a
  /// conflict.
  bool exact() const { return exact_; }

 private:
  enum Side : uint8_t { at_source, at_sink };
  const NestStatement &statement(Side side) const {
    return nest_.statements[side == at_source ? pair_.source : pair_.sink];
  }
  const NestAccess &access(Side side) const {
    return statement(side).accesses[side == at_source ? pair_.from : pair_.to];
  }
  bool same_at_both_ends(const NestVariable &v) const;
  size_t column(Side side, uint32_t variable);
  void add(Side side, const Constraint &c);
  void add(Side side, const std::vector<Constraint> &list) {
    for (const Constraint &c : list) add(side, c);
  }
  bool put(Side side, const LinearForm &form, int64_t factor, std::vector<int64_t> &row, int64_t &constant);
  void add_domain(Side side);
  void keep_in_bounds(Side side, const NestAccess &a);
  std::optional<uint32_t> symbol_of(const Expr &atom) const;
  std::vector<std::pair<Expr, size_t>>::const_iterator find_other(const Expr &atom) const;
  bool bears(const Affine &condition) const;
  void add_size_condition(const Affine &condition);
  void add_difference(uint32_t m, int64_t factor, int64_t constant, bool equality);
  void add_difference(const NestLoop &source_loop, const NestLoop &sink_loop, int64_t factor,
                      int64_t constant, bool equality);

  const Nest &nest_;
  Dependence pair_;
  uint32_t equal_;
  bool exact_;
  std::vector<size_t> columns_[2];               ///< by side and variable; SIZE_MAX if it has no column
  std::vector<std::pair<Expr, size_t>> others_;  ///< columns of sizes that are no variables of the nest
  LinearSystem system_{0};
};

}  // namespace kw
