// Builds linear forms of the i64 expressions of a nest. Every form means the same in 64 bits as in the
// integers; other expressions become opaque variables or have no form. Only analysis/nest/nest uses it.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "analysis/nest/nest.h"

namespace kw {

class NestForms {
 public:
  NestForms(Nest &nest, const Stmt &root);

  /// Sets the loops around the expressions that follow.
  void set_loops(const std::vector<uint32_t> &loops) { loops_ = loops; }
  /// Adds a loop around the nest, whose iterator is a symbol. Returns whether its range is known exactly.
  bool enter_outside(const For &loop);
  /// Adds loop `id` of the nest, which set_loops already knows: its iterator and its range.
  void enter(uint32_t id, const For &loop);
  void define(const Sym &sym, const Expr &value);
  /// Adds a definition around the nest, whose value is the same in all of the nest.
  void define_outside(const Sym &sym, const Expr &value);

  /// Returns the form of a subscript. An access that happens is in bounds, so one term may be of any size.
  LinearForm subscript(const Expr &e);
  /// Returns whether the nest stores to a buffer.
  bool is_written(const Buf &buf) const { return written_.count(buf.get()) > 0; }
  /// Returns the forms of the extents of a buffer; nothing for those without a form.
  const std::vector<std::optional<LinearForm>> &extents_of(const Buf &buf);
  /// Returns a linear form that cannot wrap in 64 bits.
  std::optional<LinearForm> exact_form(const Expr &e);
  /// Adds the constraints that hold if `cond` has this value; clears `exact` if the condition says more.
  void assume(const Expr &cond, bool holds, std::vector<Constraint> &out, bool &exact);
  /// Likewise for a condition around the nest. Memory that it read may have changed since then, so parts with
  /// loads add nothing.
  void assume_outside(const Expr &cond, bool holds, std::vector<Constraint> &out, bool &exact);

 private:
  struct Definition {
    Expr value;                        ///< with definitions substituted; null if too large or not stable
    std::optional<LinearForm> form{};  ///< i64 only
  };
  struct Dependencies {
    std::vector<uint32_t> loops;
    bool stable = true, reads_data = false;
  };

  std::optional<LinearForm> linear(const Expr &e);
  LinearForm atom(const Expr &e);
  std::optional<LinearForm> division(const Binary &n);
  LinearForm opaque(const Expr &e);
  uint32_t symbol(const Expr &e);
  uint32_t add_variable(NestVariable v);
  std::optional<int64_t> most(const LinearForm &form) const;
  std::optional<int64_t> most_of(const Expr &e);
  void iterate(uint32_t variable, const For &loop, std::vector<Constraint> &range, bool &exact);
  /// One side of a range: bound + gap <= iterator, or iterator + gap <= bound. A max from below or a min from
  /// above gives two constraints.
  struct Side {
    bool from_below;
    int64_t gap;
    bool loose;
  };
  void limit(const Expr &bound, const LinearForm &iterator, Side side, std::vector<Constraint> &range,
             bool &exact);
  /// Returns a linear form that cannot wrap except by one term, of coefficient 1 or -1, near the limits of 64
  /// bits.
  std::optional<LinearForm> loose_form(const Expr &e);
  void compare(const Binary &n, bool holds, std::vector<Constraint> &out, bool &exact);
  using Assume = void (NestForms::*)(const Expr &, bool, std::vector<Constraint> &, bool &);
  bool assume_parts(const Expr &cond, bool holds, Assume assume, std::vector<Constraint> &out, bool &exact);
  Expr resolved(const Expr &e);
  void forget_forms();
  Dependencies dependencies_of(const Expr &e) const;

  Nest &nest_;
  std::vector<uint32_t> loops_;
  std::unordered_map<const SymNode *, uint32_t> iterators_;  ///< variables of the iterators of the nest
  std::unordered_map<const SymNode *, uint32_t> loop_ids_;
  std::unordered_map<const SymNode *, Definition> definitions_;
  std::unordered_set<const SymNode *> outside_;
  std::unordered_set<const BufNode *> written_;                  ///< buffers that the nest stores to
  std::unordered_map<const ExprNode *, LinearForm> subscripts_;  ///< by node of the nest
  std::unordered_map<const BufNode *, std::vector<std::optional<LinearForm>>> extents_;
};

}  // namespace kw
