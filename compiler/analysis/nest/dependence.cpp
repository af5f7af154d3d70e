// Builds systems of pairs, and searches all pairs of accesses.
#include "analysis/nest/dependence.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ir/equal.h"
#include "ir/match.h"

namespace kw {

namespace {

/// Counts the loops that enclose both statements.
uint32_t common_loops(const NestStatement &a, const NestStatement &b) {
  auto end = std::mismatch(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end());
  return static_cast<uint32_t>(end.first - a.loops.begin());
}

}  // namespace

PairSystem::PairSystem(const Nest &nest, const Dependence &pair, uint32_t equal, bool later)
    : nest_(nest), pair_(pair), equal_(equal), exact_(nest.exact) {
  for (auto &list : columns_) list.assign(nest.variables.size(), SIZE_MAX);
  add_domain(at_source);
  add_domain(at_sink);
  for (uint32_t v : nest.around) column(at_source, v);  // the nest runs only for values in their ranges
  for (const Constraint &c : nest.context) add(at_source, c);
  const NestAccess &x = access(at_source), &y = access(at_sink);
  // both touch one element: equal subscripts in each dimension; a row that overflows is left out, which may
  // only add dependences
  for (size_t d = 0; d < x.subscripts.size(); ++d) {
    std::vector<int64_t> row;
    int64_t constant = 0;
    if (put(at_source, x.subscripts[d], 1, row, constant) && put(at_sink, y.subscripts[d], -1, row, constant))
      system_.equal_zero(std::move(row), constant);
  }
  if (later) restrict_to(equal, Direction::later);
}

/// Returns whether a variable has one value in both iterations: it changes in none of the loops where they
/// differ.
bool PairSystem::same_at_both_ends(const NestVariable &v) const {
  if (v.kind == NestVariable::Kind::symbol) return true;
  const auto &loops = statement(at_source).loops;
  auto outside = [&](uint32_t loop) {
    return std::find(loops.begin(), loops.begin() + equal_, loop) != loops.begin() + equal_;
  };
  return v.stable && std::all_of(v.loops.begin(), v.loops.end(), outside);
}

size_t PairSystem::column(Side side, uint32_t variable) {
  if (columns_[side][variable] != SIZE_MAX) return columns_[side][variable];
  const NestVariable &v = nest_.variables[variable];
  size_t at = system_.add_variable();
  columns_[side][variable] = at;
  // one value at both ends means one column
  if (same_at_both_ends(v)) columns_[1 - side][variable] = at;
  exact_ = exact_ && !v.is_guess();
  add(side, v.known);
  return at;
}

/// Adds factor · form to a row. Returns false if a number leaves 64 bits; the system is then not exact.
bool PairSystem::put(Side side, const LinearForm &form, int64_t factor, std::vector<int64_t> &row,
                     int64_t &constant) {
  int64_t part;
  bool fits = !__builtin_mul_overflow(form.constant, factor, &part) &&
              !__builtin_add_overflow(constant, part, &constant);
  for (auto [v, c] : form.terms) {
    size_t at = column(side, v);
    if (row.size() <= at) row.resize(at + 1);
    fits =
        fits && !__builtin_mul_overflow(c, factor, &part) && !__builtin_add_overflow(row[at], part, &row[at]);
  }
  exact_ = exact_ && fits;
  return fits;
}

void PairSystem::add(Side side, const Constraint &c) {
  std::vector<int64_t> row;
  int64_t constant = 0;
  if (!put(side, c.form, 1, row, constant)) return;
  if (c.equality)
    system_.equal_zero(std::move(row), constant);
  else
    system_.at_least_zero(std::move(row), constant);
}

/// Adds the constraints that hold whenever the access happens: the ranges of its loops and its guards.
void PairSystem::add_domain(Side side) {
  const NestStatement &s = statement(side);
  const NestAccess &a = access(side);
  exact_ = exact_ && !s.may && !a.may;
  for (uint32_t l : s.loops) {
    const NestLoop &loop = nest_.loops[l];
    exact_ = exact_ && loop.loop && loop.exact;
    if (loop.loop) column(side, loop.variable);
    add(side, loop.range);
  }
  add(side, s.guard);
  add(side, a.guard);
}

/// Adds factor · (sink - source) + constant >= 0 (or = 0), for the iterators of a common loop.
void PairSystem::add_difference(uint32_t m, int64_t factor, int64_t constant, bool equality) {
  const NestLoop &loop = nest_.loops[statement(at_source).loops[m]];
  if (loop.loop)
    add_difference(loop, loop, factor, constant, equality);  // iterations of a while have no number
}

void PairSystem::add_difference(const NestLoop &source_loop, const NestLoop &sink_loop, int64_t factor,
                                int64_t constant, bool equality) {
  size_t from = column(at_source, source_loop.variable), to = column(at_sink, sink_loop.variable);
  std::vector<int64_t> row(system_.variables());
  row[from] -= factor;
  row[to] += factor;
  if (equality)
    system_.equal_zero(std::move(row), constant);
  else
    system_.at_least_zero(std::move(row), constant);
}

void PairSystem::restrict_to(uint32_t m, Direction direction) {
  const For *loop = nest_.loops[statement(at_source).loops[m]].loop;
  // a later iteration of a loop that counts down has a smaller iterator
  int64_t forward = loop && loop->step < 0 ? -1 : 1;
  if (direction == Direction::equal)
    add_difference(m, 1, 0, true);
  else
    add_difference(m, direction == Direction::later ? forward : -forward, -1, false);
}

void PairSystem::restrict_to_earlier(uint32_t source_loop, uint32_t sink_loop) {
  const NestLoop &from = nest_.loops[source_loop], &to = nest_.loops[sink_loop];
  add_difference(from, to, from.loop->step < 0 ? 1 : -1, -1, false);
}

void PairSystem::restrict_distance(uint32_t m, bool below, int64_t distance) {
  add_difference(m, below ? -1 : 1, below ? distance : -distance, false);
}

void PairSystem::keep_in_bounds(Side side, const NestAccess &a) {
  for (size_t d = 0; d < a.subscripts.size(); ++d) {
    add(side, {a.subscripts[d], false});
    if (!a.extents[d]) continue;
    std::vector<int64_t> row;
    int64_t constant = -1;
    if (put(side, *a.extents[d], 1, row, constant) && put(side, a.subscripts[d], -1, row, constant))
      system_.at_least_zero(std::move(row), constant);
  }
}

void PairSystem::keep_in_bounds() {
  // Accesses of each statement whose bounds are added to a witness search. Chosen.
  constexpr size_t most_others = 32;
  keep_in_bounds(at_source, access(at_source));
  bool exact = exact_;  // what the other accesses read is no condition of the conflict
  for (Side side : {at_source, at_sink}) {
    const auto &all = statement(side).accesses;
    for (size_t i = 0; i < std::min(all.size(), most_others); ++i)
      if (!all[i].may && all[i].guard.empty()) keep_in_bounds(side, all[i]);
  }
  exact_ = exact;
}

std::optional<uint32_t> PairSystem::symbol_of(const Expr &atom) const {
  for (uint32_t v = 0; v < nest_.variables.size(); ++v)
    if (nest_.variables[v].kind == NestVariable::Kind::symbol && equal(nest_.variables[v].expr, atom))
      return v;
  return std::nullopt;
}

std::vector<std::pair<Expr, size_t>>::const_iterator PairSystem::find_other(const Expr &atom) const {
  return std::find_if(others_.begin(), others_.end(), [&](const auto &o) { return equal(o.first, atom); });
}

/// Returns whether the condition concerns a size of the system, or is false. It must name only symbols of the
/// nest, sizes and scalar arguments.
bool PairSystem::bears(const Affine &condition) const {
  bool known = condition.is_constant() && condition.constant < 0;
  for (const AffineTerm &t : condition.terms) {
    const Ref *r = as<Ref>(t.atom);
    auto v = symbol_of(t.atom);
    if (!v && !(r && (r->sym->kind == SymKind::extent || r->sym->kind == SymKind::param))) return false;
    known = known || find_other(t.atom) != others_.end() || (v && columns_[at_source][*v] != SIZE_MAX);
  }
  return known;
}

void PairSystem::add_size_condition(const Affine &condition) {
  std::vector<int64_t> row;
  for (const AffineTerm &t : condition.terms) {
    size_t at;
    if (auto v = symbol_of(t.atom)) {
      at = column(at_source, *v);
    } else if (auto found = find_other(t.atom); found != others_.end()) {
      at = found->second;
    } else {
      at = system_.add_variable();
      others_.emplace_back(t.atom, at);
      std::vector<int64_t> one(at + 1);
      one[at] = 1;
      if (as<Ref>(t.atom)->sym->kind == SymKind::extent) system_.at_least_zero(std::move(one), -1);
    }
    if (row.size() <= at) row.resize(at + 1);
    row[at] += t.coefficient;
  }
  system_.at_least_zero(std::move(row), condition.constant);
}

void PairSystem::keep_sizes(std::vector<Affine> conditions) {
  bool exact = exact_;
  // a condition that is added may bring sizes in, by which others become relevant
  for (bool more = true; more;) {
    auto is_aside = [&](const Affine &c) { return !bears(c); };
    auto rest = std::stable_partition(conditions.begin(), conditions.end(), is_aside);
    std::vector<Affine> now(rest, conditions.end());
    conditions.erase(rest, conditions.end());
    for (const Affine &c : now) add_size_condition(c);
    more = !now.empty();
  }
  exact_ = exact;
}

std::optional<PairSystem::Point> PairSystem::find_point(int64_t *work) {
  // sizes are fixed first, then the source's iteration, then the sink's
  std::vector<size_t> order;
  auto add_kind = [&](Side side, NestVariable::Kind kind) {
    for (uint32_t v = 0; v < nest_.variables.size(); ++v)
      if (size_t at = columns_[side][v]; at != SIZE_MAX && nest_.variables[v].kind == kind)
        if (std::find(order.begin(), order.end(), at) == order.end()) order.push_back(at);
  };
  add_kind(at_source, NestVariable::Kind::symbol);
  for (const auto &other : others_) order.push_back(other.second);
  for (Side side : {at_source, at_sink}) add_kind(side, NestVariable::Kind::iterator);
  auto found = system_.find_point(order, work);
  if (!found) return std::nullopt;
  Point out;
  for (const auto &[atom, at] : others_) out.others.emplace_back(atom, (*found)[at]);
  for (Side side : {at_source, at_sink})
    for (size_t at : columns_[side])
      (side == at_source ? out.at_source : out.at_sink)
          .push_back(at == SIZE_MAX ? std::nullopt : std::optional((*found)[at]));
  return out;
}

namespace {

/// Builds one linear system for each pair of accesses and each level. Cheaper tests come first.
class DependenceSearch {
 public:
  DependenceSearch(const Nest &nest, const DependenceQuery &query)
      : nest_(nest), query_(query), work_(query.work) {}

  Dependences run() {
    // a buffer that is only read has no dependences
    std::map<const BufNode *, Touches> touches;
    std::vector<const BufNode *> buffers;  // in source order
    std::unordered_set<const BufNode *> written;
    for (const NestStatement &s : nest_.statements)
      for (const NestAccess &a : s.accesses)
        if (a.is_write && may_depend(s, a)) written.insert(a.buf.get());
    for (const BufNode *b : query_.without) written.erase(b);
    uint64_t count = 0;
    for (uint32_t s = 0; s < nest_.statements.size(); ++s) {
      alike_.emplace_back(nest_.statements[s].accesses.size());
      for (uint32_t a = 0; a < nest_.statements[s].accesses.size(); ++a) {
        const NestAccess &access = nest_.statements[s].accesses[a];
        if (!written.count(access.buf.get()) || !may_depend(nest_.statements[s], access)) continue;
        alike_[s][a] = first_alike(s, a, count++);
        Touches &list = touches[access.buf.get()];
        if (list.all.empty()) buffers.push_back(access.buf.get());
        list.all.emplace_back(s, a);
        if (access.is_write) list.writes.emplace_back(s, a);
      }
    }
    for (const BufNode *buf : buffers)
      for (auto [s, x] : touches[buf].all)
        for (auto [t, y] : access(s, x).is_write ? touches[buf].all : touches[buf].writes)
          if (work_ > 0 && !ended_) pair({s, t, x, y});
    return {std::move(found_), nest_.complete && work_ > 0};
  }

 private:
  using Places = std::vector<std::pair<uint32_t, uint32_t>>;  // (statement, access)
  struct Touches {
    Places all, writes;
  };
  // Budget that building one system takes, in products of rows. Chosen.
  static constexpr int64_t work_of_system = 10;

  /// Returns false for accesses outside the queried loop, and for buffers that each of its iterations
  /// allocates.
  bool may_depend(const NestStatement &s, const NestAccess &a) const {
    if (!query_.loop) return true;
    auto level =
        static_cast<size_t>(std::find(s.loops.begin(), s.loops.end(), *query_.loop) - s.loops.begin());
    return level < s.loops.size() && a.home <= level;
  }

  const NestAccess &access(uint32_t s, uint32_t a) const { return nest_.statements[s].accesses[a]; }

  bool may_hold(const PairSystem &system) {
    work_ -= work_of_system;
    return !system.surely_empty(&work_);
  }

  /// Returns the number of the statement's first access to the same element; an accumulator has two accesses.
  uint64_t first_alike(uint32_t s, uint32_t a, uint64_t number) const {
    const NestAccess &x = access(s, a);
    for (uint32_t b = 0; b < a && x.guard.empty() && !x.may; ++b)
      if (const NestAccess &y = access(s, b);
          y.buf == x.buf && y.guard.empty() && !y.may && y.subscripts == x.subscripts)
        return alike_[s][b];
    return number;
  }

  /// Returns one answer for all accesses of a statement to the same element.
  bool may_hold(const Dependence &d, bool later) {
    uint64_t from = alike_[d.source][d.from], to = alike_[d.sink][d.to];
    // both are indices of 32 bits
    auto [at, is_new] = answers_.try_emplace({from << 32 | to, d.level}, false);
    if (is_new) at->second = may_hold(PairSystem(nest_, d, d.level, later));
    return at->second;
  }

  void pair(Dependence d) {
    d.common = common_loops(nest_.statements[d.source], nest_.statements[d.sink]);
    const auto &loops = nest_.statements[d.source].loops;
    if (apart(access(d.source, d.from), access(d.sink, d.to))) return;
    for (d.level = 0; d.level < d.common && !ended_; ++d.level) {
      if (query_.loop && loops[d.level] != *query_.loop) continue;
      // a buffer allocated inside the loop is a different one in each iteration
      if (access(d.source, d.from).home > d.level) continue;
      if (is_wanted(d) && !steps_apart(d) && may_hold(d, true)) add(d);
    }
    if (query_.loop || d.source > d.sink || (d.source == d.sink && d.from >= d.to)) return;
    if (!ended_ && is_wanted(d) && may_hold(d, false)) add(d);
  }
  bool is_wanted(const Dependence &d) const { return !query_.wanted || query_.wanted(d); }

  /// Returns whether some subscript is the same sum at both ends and differs in each iteration of the loop
  /// that would carry the dependence. Inner loops then cannot make up for one step of that loop. This proves
  /// most pairs of blocked loops independent, without a system.
  bool steps_apart(const Dependence &d) const {
    const NestAccess &x = access(d.source, d.from), &y = access(d.sink, d.to);
    for (size_t k = 0; k < x.subscripts.size(); ++k)
      if (x.subscripts[k] == y.subscripts[k] && outruns_inner_loops(x.subscripts[k], d)) return true;
    return false;
  }

  bool outruns_inner_loops(const LinearForm &form, const Dependence &d) const {
    // Products of two coefficients below this cannot overflow.
    constexpr int64_t small = int64_t{1} << 30;
    const auto &loops = nest_.statements[d.source].loops;
    int64_t step = 0, inner = 0;
    for (auto [v, c] : form.terms) {
      const NestVariable &variable = nest_.variables[v];
      if (variable.kind == NestVariable::Kind::symbol) continue;
      if (variable.kind != NestVariable::Kind::iterator || c > small || c < -small) return false;
      auto end = loops.begin() + d.common;
      auto m = static_cast<uint32_t>(std::find(loops.begin(), end, variable.loops[0]) - loops.begin());
      if (m < d.level) continue;
      int64_t size = c < 0 ? -c : c;
      if (m == d.level) {
        step = size;
        continue;
      }
      auto width = m < d.common ? constant_width(nest_.loops[loops[m]], v) : std::nullopt;
      if (!width || *width > small) return false;
      inner += size * *width;
    }
    return step > inner;
  }

  /// Returns the most by which two values of an iterator differ, if its bounds are constants.
  static std::optional<int64_t> constant_width(const NestLoop &loop, uint32_t variable) {
    std::optional<int64_t> low, high;
    for (const Constraint &c : loop.range) {
      bool alone = !c.equality && c.form.terms.size() == 1 && c.form.terms[0].first == variable;
      if (alone && c.form.terms[0].second == 1) low = -c.form.constant;
      if (alone && c.form.terms[0].second == -1) high = c.form.constant;
    }
    int64_t width;
    if (!low || !high || __builtin_sub_overflow(*high, *low, &width)) return std::nullopt;
    return std::max<int64_t>(width, 0);
  }

  /// Returns whether the subscripts are different constants in some dimension.
  static bool apart(const NestAccess &a, const NestAccess &b) {
    for (size_t d = 0; d < a.subscripts.size(); ++d) {
      const LinearForm &x = a.subscripts[d], &y = b.subscripts[d];
      if (x.terms.empty() && y.terms.empty() && x.constant != y.constant) return true;
    }
    return false;
  }

  void add(Dependence d) {
    if (query_.directions)
      for (uint32_t m = 0; m < d.common; ++m) {
        d.directions.push_back(direction(d, m));
        d.distances.push_back(distance(d, m));
      }
    ended_ = query_.on_found && !query_.on_found(d);
    found_.push_back(std::move(d));
  }

  PairSystem system_of(const Dependence &d) const {
    return PairSystem(nest_, d, d.level, d.level < d.common);
  }

  Direction direction(const Dependence &d, uint32_t m) {
    if (m < d.level) return Direction::equal;
    if (m == d.level) return Direction::later;
    // the answers to three queries together give the direction
    bool feasible[3];
    for (Direction way : {Direction::equal, Direction::later, Direction::earlier}) {
      PairSystem system = system_of(d);
      system.restrict_to(m, way);
      feasible[static_cast<size_t>(way)] = may_hold(system);
    }
    auto [equal, later, earlier] = feasible;
    if (later && earlier) return equal ? Direction::any : Direction::unequal;
    if (later) return equal ? Direction::not_earlier : Direction::later;
    if (earlier) return equal ? Direction::not_later : Direction::earlier;
    return Direction::equal;
  }

  /// Returns the one distance of all pairs of iterations, if it is found and proved.
  std::optional<int64_t> distance(const Dependence &d, uint32_t m) {
    if (m < d.level) return 0;
    const NestLoop &loop = nest_.loops[nest_.statements[d.source].loops[m]];
    auto point = loop.loop ? system_of(d).find_point() : std::nullopt;
    if (!point) return std::nullopt;
    // one solution gives a guess, which is the distance if no solution lies above or below it
    int64_t guess = *point->at_sink[loop.variable] - *point->at_source[loop.variable];
    for (bool below : {false, true}) {
      PairSystem system = system_of(d);
      system.restrict_distance(m, below, below ? guess - 1 : guess + 1);
      if (may_hold(system)) return std::nullopt;
    }
    return guess;
  }

  const Nest &nest_;
  const DependenceQuery &query_;
  int64_t work_;
  std::vector<Dependence> found_;
  bool ended_ = false;                        ///< the caller needs no more dependences
  std::vector<std::vector<uint64_t>> alike_;  ///< the first equal access, by statement and access
  std::map<std::pair<uint64_t, uint32_t>, bool> answers_;
};

}  // namespace

Dependences find_dependences(const Nest &nest, const DependenceQuery &query) {
  return DependenceSearch(nest, query).run();
}

}  // namespace kw
