// Emits the statements of a kernel: those that each thread executes for itself, and those of threads that
// share the iterations of a block loop (team).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "analysis/gpu/combined_values.h"
#include "codegen/cuda/emit.h"
#include "codegen/cuda/expressions.h"
#include "codegen/cuda/team.h"
#include "codegen/cuda/text.h"

namespace kw {

class CudaStatements {
 public:
  CudaStatements(const CudaSource &source, CudaNames &names, CudaText &text, CudaExpressions &expressions)
      : source_(source), names_(names), text_(text), expressions_(expressions) {}

  // What the head of the kernel knows.
  void set_atomics(std::unordered_set<Buf> buffers) { atomics_ = std::move(buffers); }
  bool is_atomic(const Buf &b) const { return atomics_.count(b) != 0; }
  /// A temporary of a thread or of a team lies in `all`, behind those of the threads or teams before it.
  void put_in_workspace(const Buf &b, std::string all, std::string number, Expr bytes) {
    workspace_[b.get()] = {std::move(all), std::move(number), std::move(bytes)};
  }
  void set_team(const CudaTeam &team) { team_ = &team; }
  /// Sets the number of the present iteration, in the order in which serial loops would execute them: among
  /// those of the team, or of all threads. Returns the number so far.
  std::string number_iterations(std::string number) { return std::exchange(number_, std::move(number)); }

  // What the emitter of block loops uses.
  CudaNames &names() { return names_; }
  CudaText &text() { return text_; }
  CudaExpressions &expressions() { return expressions_; }
  /// Lets the next accumulation of a sum of products, fma(a, b, cell), store its factors in two variables.
  void keep_factors(const Buf &cell, std::string left, std::string right) {
    factors_[cell.get()] = {std::move(left), std::move(right)};
  }
  /// Lets a conditional that selects assign the present number to a variable.
  void number_selection(const Selection &s, std::string variable) {
    selections_.insert_or_assign(s.at, Numbered{s, std::move(variable)});
  }
  /// Returns whether stores begin copies that threads wait for later.
  bool copies_ahead() const { return copies_ahead_; }
  /// Emits the body of a block loop, whose iterations one thread executes. With `can_end`, a check that fails
  /// returns false from the function around it.
  void iteration(const Stmt &body, bool can_end);

  void block(const Stmt &root);
  /// Defines a symbol whose value has the text.
  void define(const Sym &sym, const std::string &text);
  void define(const Sym &sym, const Expr &value);
  /// Returns the text of an i64 that a loop reads in each iteration: a name or a number. It belongs to the
  /// statement that has begun.
  std::string stable(const Expr &e, std::string_view like);

 private:
  /// The memory of all threads or teams for a temporary, and what one of them has of it.
  struct Workspace {
    std::string all, number;
    Expr bytes;
  };

  /// A selection, and the variable for the number of the iteration that it has selected.
  struct Numbered {
    Selection selection;
    std::string number;
  };

  bool is_of_team() const { return team_ && !in_iteration_; }
  void in_braces(const Stmt &body) { block(body), text_.close(); }
  void statement(const Stmt &s);
  void emit(const Stmt &s);
  void store(const Store &n);
  void copy_ahead(const Store &n);
  void assign(const Store &n);
  void accumulate(const Store &n);
  void allocate(const Alloc &n);
  void fill(const Buf &b, const std::string &size);
  void block_loop(const For &n);
  void loop(const For &n);
  void short_loop(const For &n, const std::string &lo, const std::string &hi);
  void pipelined_loop(const For &n);
  void repeat(const While &n, bool waits);
  void branch(const If &n);
  void select(const Numbered &chosen);
  void check(const Check &n);
  std::string bits_of(const Expr &e);

  const CudaSource &source_;
  CudaNames &names_;
  CudaText &text_;
  CudaExpressions &expressions_;
  std::unordered_set<Buf> atomics_;  ///< threads accumulate into their elements at the same time
  std::unordered_map<const BufNode *, Workspace> workspace_;
  std::unordered_map<const BufNode *, std::pair<std::string, std::string>> factors_;
  std::unordered_map<const If *, Numbered> selections_;
  const CudaTeam *team_ = nullptr;
  bool in_iteration_ = false;  ///< of a block loop
  bool copies_ahead_ = false;
  std::string number_, leave_ = "return;";
};

}  // namespace kw
