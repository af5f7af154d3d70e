// A loop nest as the scheduler sees it: loops with their ranges, statements with their guards and accesses,
// all as linear forms over numbered variables. What is not affine becomes a variable of its own, so no kernel
// is given up. Extraction only: nothing here says what depends on what.
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
    iterator,  ///< of a loop of the nest
    symbol,    ///< the same in the whole nest: extents, scalar arguments, iterators of loops around it
    quotient,  ///< an integer that the constraints define: of // and %, of a step
    opaque,    ///< an expression that is not affine, such as an element of an index array
  };
  Kind kind = Kind::symbol;
  Expr expr;                      ///< what it stands for; null for a quotient
  std::vector<uint32_t> loops;    ///< the loops of the nest that it may change with
  bool stable = true;             ///< equal iterations of these loops see equal values
  bool reads_data = false;        ///< its value comes from memory
  std::optional<int64_t> most{};  ///< a bound of its magnitude
  std::vector<Constraint> known{};

  /// True when a free choice of its value, within what is known, may be a value that it never has.
  bool is_guess() const;
};

struct NestLoop {
  const For *loop = nullptr;        ///< null: a while, whose iterations have no number
  Loc loc{};                        ///< of the statement
  uint32_t variable = 0;            ///< its iterator; of no meaning for a while
  std::vector<Constraint> range{};  ///< what its iterator satisfies
  bool exact = true;                ///< every iteration in the range runs
  uint32_t parent = no_loop;        ///< the loop of the nest around it

  static constexpr uint32_t no_loop = UINT32_MAX;
};

struct NestAccess {
  Buf buf;
  Loc loc;
  bool is_write = false;
  std::vector<Expr> index;
  std::vector<LinearForm> subscripts;
  std::vector<std::optional<LinearForm>> extents;  ///< of the buffer, where they are linear
  std::vector<Constraint> guard;  ///< the lazy conditions inside the statement under which it happens
  bool may = false;               ///< happens under conditions that are in no guard
  size_t home = 0;                ///< the number of loops of the nest around the buffer's Alloc
  ReductionMark reduction;
};

/// One statement that touches memory. Its reads come before its write.
struct NestStatement {
  Stmt at;
  std::vector<uint32_t> loops;  ///< around it, outermost first
  std::vector<Constraint> guard;
  bool may = false;
  std::vector<NestAccess> accesses;
};

/// Statements and loops are in the order of the text; of a nest at a For, loops[0] is that and around all.
struct Nest {
  std::vector<NestVariable> variables;
  std::vector<NestLoop> loops;
  std::vector<NestStatement> statements;
  std::vector<uint32_t> around;     ///< the iterators of the loops around the root, which are symbols
  std::vector<Constraint> context;  ///< conditions around the root
  bool exact = true;                ///< these conditions and loops say exactly when the root runs
  bool complete = true;             ///< false: it is too large, and statements are missing
};

/// What stands around a loop: one entry per enclosing loop, condition and definition.
struct ScopeItem {
  const For *loop = nullptr;  ///< when neither `sym` nor `expr` is set: an enclosing loop; null for a while
  Sym sym{};                  ///< a Let's symbol, whose value is `expr`
  Expr expr{};                ///< without `sym`: a condition, and `holds` its value here
  bool holds = true;
};
using NestScope = std::vector<ScopeItem>;  ///< outermost first

/// Calls visit(statement, loop, scope) for each For under a statement, outer ones first.
void for_each_loop(const Stmt &root,
                   const std::function<void(const Stmt &, const For &, const NestScope &)> &visit);

/// of_written: reads of buffers that the nest never stores to are left out, since no order of iterations
/// changes them.
enum class Reads : uint8_t { all, of_written };

/// The nest under a For statement. Extents are taken as at least 1: for others the plain body runs.
Nest extract_nest(const Stmt &root, const NestScope &scope, Reads reads = Reads::all);
/// The loops and statements of a whole chain: there may be several outermost loops, or none.
Nest extract_region(const Stmt &region, const NestScope &scope);

}  // namespace kw
