// Extracts a loop nest for the scheduler: loops with their ranges, statements with their guards and accesses,
// as linear forms over numbered variables. An expression that is not affine becomes a variable of its own, so
// every kernel has a nest. Ignores dependences.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/nest/reduce.h"
#include "ir/func.h"

namespace kw {

/// Σ coefficient · variable + constant, over the variables of a Nest.
struct LinearForm {
  std::vector<std::pair<uint32_t, int64_t>> terms;  ///< (variable, coefficient), no variable twice
  int64_t constant = 0;

  friend bool operator==(const LinearForm &, const LinearForm &) = default;
};

/// form >= 0, or form = 0.
struct Constraint {
  LinearForm form;
  bool equality = false;
};

struct NestVariable {
  enum class Kind : uint8_t {
    iterator,  ///< the iterator of a loop of the nest
    symbol,    ///< invariant in the nest: extents, scalar arguments, iterators of enclosing loops
    quotient,  ///< an integer that constraints define: from //, % or a step
    opaque,    ///< an expression that is not affine, such as an element of an index array
  };
  Kind kind = Kind::symbol;
  Expr expr;                      ///< the expression it stands for; null for a quotient
  std::vector<uint32_t> loops;    ///< the loops of the nest along which it may change
  bool stable = true;             ///< it has equal values in equal iterations of these loops
  bool reads_data = false;        ///< its value is read from memory
  std::optional<int64_t> most{};  ///< a bound on its absolute value
  std::vector<Constraint> known{};

  /// Returns whether the constraints also admit values that the variable never has.
  bool is_guess() const;
};

struct NestLoop {
  const For *loop = nullptr;        ///< null for a while, whose iterations are not numbered
  Loc loc{};                        ///< the location of the statement
  uint32_t variable = 0;            ///< its iterator; meaningless for a while
  std::vector<Constraint> range{};  ///< the constraints on its iterator
  bool exact = true;                ///< every iteration that satisfies the range runs
  uint32_t parent = no_loop;        ///< the enclosing loop of the nest

  static constexpr uint32_t no_loop = UINT32_MAX;
};

struct NestAccess {
  Buf buf;
  Loc loc;
  bool is_write = false;
  std::vector<Expr> index;
  std::vector<LinearForm> subscripts;
  std::vector<std::optional<LinearForm>> extents;  ///< of the buffer; nothing for those that are not linear
  std::vector<Constraint> guard;  ///< the lazy conditions inside the statement that must hold
  bool may = false;               ///< further conditions apply that no guard contains
  size_t home = 0;                ///< the number of loops of the nest around the Alloc of the buffer
  ReductionMark reduction;
};

/// A statement that accesses memory. Its reads precede its write.
struct NestStatement {
  Stmt at;
  std::vector<uint32_t> loops;  ///< the enclosing loops of the nest, outermost first
  std::vector<Constraint> guard;
  bool may = false;
  std::vector<NestAccess> accesses;
};

/// Statements and loops are in source order. In the nest of a For, loops[0] is that loop.
struct Nest {
  std::vector<NestVariable> variables;
  std::vector<NestLoop> loops;
  std::vector<NestStatement> statements;
  std::vector<uint32_t> around;     ///< the iterators of the loops around the nest, which are symbols
  std::vector<Constraint> context;  ///< the conditions around the nest
  bool exact = true;                ///< the context says exactly when the nest runs
  bool complete = true;             ///< false: the nest is too large, and statements are missing
};

/// One enclosing loop, condition or definition of a place.
struct ScopeItem {
  const For *loop = nullptr;  ///< if neither `sym` nor `expr` is set: the enclosing loop; null for a while
  Sym sym{};                  ///< the symbol of a Let with the value `expr`
  Expr expr{};                ///< without `sym`: a condition whose value here is `holds`
  bool holds = true;

  bool is_loop() const { return !sym && !expr; }
  bool is_condition() const { return !sym && expr; }
};
using NestScope = std::vector<ScopeItem>;  ///< outermost first

/// Calls visit(statement, loop, scope) for each For in a statement, outer loops first.
void for_each_loop(const Stmt &root,
                   const std::function<void(const Stmt &, const For &, const NestScope &)> &visit);

/// of_written omits the reads of buffers that the nest never stores to: reordering cannot change them.
enum class Reads : uint8_t { all, of_written };

/// Extracts the nest of a For statement. Assumes extents of at least 1: for others the body runs unscheduled.
Nest extract_nest(const Stmt &root, const NestScope &scope, Reads reads = Reads::all);
/// Extracts the nest of a statement list, which may have several outermost loops, or none.
Nest extract_region(const Stmt &region, const NestScope &scope);

}  // namespace kw
