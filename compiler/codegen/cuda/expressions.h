// Emits expressions as C++. What a statement uses twice gets a name in a line before it; a lazy operand that
// needs such lines becomes a branch.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/cuda/emit.h"
#include "codegen/cuda/operators.h"
#include "codegen/cuda/text.h"
#include "ir/func.h"
#include "ir/intrinsics.h"
#include "support/target.h"

namespace kw {

class CudaExpressions {
 public:
  CudaExpressions(const Target &target, CudaNames &names, CudaText &text, CudaShared &shared)
      : target_(target), names_(names), text_(text), shared_(shared) {}

  /// Begins a statement that evaluates these expressions: counts the uses of what they share.
  void begin(const std::vector<Expr> &roots);
  /// Returns the text of a value: an atom, a call, a cast or an operation in parentheses.
  std::string value(const Expr &e);
  /// Returns the text of a value without parentheses around the whole.
  std::string bare(const Expr &e);
  /// Returns the text of a subscript, a bound or an extent, all i64. Sums of products with extents do not
  /// wrap (core.md 2), so they are spelled plainly.
  std::string subscript(const Expr &e);
  /// Returns an element, or a cell, as an lvalue.
  std::string place(const Buf &b, const std::vector<Expr> &index);
  /// Lets an element stand in a variable, until `restore`. The index has the same value wherever it stands.
  void redirect(const Buf &b, std::vector<Expr> index, std::string variable) {
    redirected_[b.get()].emplace_back(std::move(index), std::move(variable));
  }
  void restore(const BufNode *b) { redirected_.erase(b); }
  /// Says that the iterator of a flat loop is the number of each element whose subscripts mention it.
  void set_flat(const Sym &iter) { flat_ = iter; }
  /// Returns whether a buffer is a cell that one thread keeps in a variable.
  bool is_variable(const Buf &b) const;
  /// A cell that lies in memory, because several launches use it.
  void put_in_memory(const Buf &cell) { in_memory_.insert(cell.get()); }

 private:
  void count(const Expr &e);
  bool needs_lines(const Expr &e);
  const std::string *known_name(const Expr &e) const;
  std::string evaluated(const Expr &e);
  std::string load(const Load &n);
  std::string offset(const Buf &b, const std::vector<Expr> &index);
  /// Emits `cond ? yes : no`; a null side is the constant that decides a Logic.
  std::string lazy(const Expr &e, const Expr &cond, const Expr &yes, const Expr &no);
  std::string call(const Call &n, const Expr &e);
  std::string function(Fn fn, DType from, DType to, size_t arity);

  const Target &target_;
  CudaNames &names_;
  CudaText &text_;
  CudaShared &shared_;
  const std::string *variable_of(const Buf &b, const std::vector<Expr> &index) const;

  Sym flat_{};
  std::unordered_set<const BufNode *> in_memory_;
  std::unordered_map<const BufNode *, std::vector<std::pair<std::vector<Expr>, std::string>>> redirected_;
  // of one statement
  std::vector<Expr> kept_;  ///< expansions, whose nodes the maps below name
  std::unordered_map<const ExprNode *, uint32_t> uses_;
  std::unordered_map<const ExprNode *, bool> needs_lines_;
  std::vector<std::unordered_map<const ExprNode *, std::string>> known_{1};  ///< names, by open blocks
  uint32_t nested_ = 0;  ///< operations around the present one in the text
};

}  // namespace kw
