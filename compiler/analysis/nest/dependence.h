// Memory dependences of a nest: which pairs of accesses may touch one element in two iterations, which loop
// carries that, and in which directions. Only "none" is a proof; what is reported may be too much, never too
// little. Knows nothing of what is done with them.
#pragma once

#include <functional>
#include <string>

#include "analysis/affine.h"
#include "analysis/nest/nest.h"
#include "analysis/solve.h"

namespace kw {

/// Of the sink's iteration of a loop against the source's, in the order in which the loop runs.
enum class Direction : uint8_t { equal, later, earlier, not_earlier, not_later, unequal, any };

/// The access `from` of statement `source` happens first, then `to` of `sink`; one of them writes.
struct Dependence {
  uint32_t source = 0, sink = 0;  ///< statements of the nest
  uint32_t from = 0, to = 0;      ///< accesses of these
  /// Number of the common loop that carries it: the loops outside it are in the same iteration. Equal to
  /// `common` when the iterations of all common loops are the same.
  uint32_t level = 0;
  uint32_t common = 0;  ///< the loops around both
  /// Filled when asked for, one entry per common loop; a distance in the iterator's own values.
  std::vector<Direction> directions{};
  std::vector<std::optional<int64_t>> distances{};
};

struct DependenceQuery {
  std::optional<uint32_t> loop;  ///< only those that this loop of the nest carries
  bool directions = false;
  int64_t work = 100'000;                  ///< products of rows; when they are used up the search ends
  std::vector<const BufNode *> without{};  ///< buffers that nothing is asked of
  /// Whether a pair of accesses at a level is of interest, before it is searched; empty: all are.
  std::function<bool(const Dependence &)> wanted{};
  /// Told of each that is found; false ends the search. May be empty.
  std::function<bool(const Dependence &)> on_found{};
};

struct Dependences {
  std::vector<Dependence> found;
  bool complete =
      true;  ///< false: the nest is too large or the work was used up; every other pair may depend
};

Dependences find_dependences(const Nest &nest, const DependenceQuery &query = {});

/// "<", "=", ">", "<=", ">=", "<>" or "*" per loop: "(=, <, *)".
std::string direction_text(const Dependence &d);

/// All that is known of one pair of accesses in two iterations, as a linear system to which questions are
/// added. The first `equal` common loops are in the same iteration; `later` puts the sink behind the source
/// in the common loop that follows them.
class PairSystem {
 public:
  PairSystem(const Nest &nest, const Dependence &pair, uint32_t equal, bool later);

  /// Restricts common loop `m` to this direction (equal, later or earlier).
  void restrict_to(uint32_t m, Direction direction);
  /// Restricts the distance of common loop `m` to at least (or, below, at most) `distance`.
  void restrict_distance(uint32_t m, bool below, int64_t distance);
  /// Puts the sink's iteration of one loop in front of the source's iteration of another one with the same
  /// range; both loops are around their statement.
  void restrict_to_earlier(uint32_t source_loop, uint32_t sink_loop);
  /// The subscripts of both statements lie within the extents.
  void keep_in_bounds();
  /// Conditions (each >= 0) over sizes and scalar arguments, as far as they bear on those of the system.
  void keep_sizes(std::vector<Affine> conditions);
  bool surely_empty(int64_t *work) const { return system_.surely_empty(work); }

  /// Values of the variables at both ends, small ones first; nothing for those that the pair does not depend
  /// on.
  struct Point {
    std::vector<std::optional<int64_t>> at_source, at_sink;
    std::vector<std::pair<Expr, int64_t>> others;  ///< sizes that only keep_sizes knows
  };
  std::optional<Point> find_point(int64_t *work = nullptr);
  /// False when the system leaves out a condition, or has a variable that is a guess: a point of it may be no
  /// conflict then.
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
  std::vector<size_t> columns_[2];               ///< of each variable; SIZE_MAX when it has none
  std::vector<std::pair<Expr, size_t>> others_;  ///< columns of sizes that are no variables of the nest
  LinearSystem system_{0};
};

}  // namespace kw
