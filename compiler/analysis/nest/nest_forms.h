// Linear forms of the i64 expressions of a nest. Every form here means the same in 64 bits as in the
// integers; what does not is an opaque variable or no form at all. Part of extraction, for analysis/nest/nest
// only.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "analysis/nest/nest.h"

namespace kw {

class NestForms {
 public:
  NestForms(Nest &nest, const Stmt &root);

  /// The loops around what follows.
  void set_loops(const std::vector<uint32_t> &loops) { loops_ = loops; }
  /// A loop around the nest: its iterator is a symbol. True when its range is known exactly.
  bool enter_outside(const For &loop);
  /// Loop `id` of the nest, which set_loops already knows: its iterator and its range.
  void enter(uint32_t id, const For &loop);
  void define(const Sym &sym, const Expr &value);
  /// A definition around the nest: the same value in all of it.
  void define_outside(const Sym &sym, const Expr &value);

  /// The form of a subscript. An access that happens is in bounds, so one term may be of any size.
  LinearForm subscript(const Expr &e);
  /// Whether the nest stores to a buffer.
  bool is_written(const Buf &buf) const { return written_.count(buf.get()) > 0; }
  /// Of a buffer, where they have one.
  const std::vector<std::optional<LinearForm>> &extents_of(const Buf &buf);
  /// A linear form that cannot wrap in 64 bits.
  std::optional<LinearForm> exact_form(const Expr &e);
  /// Adds what the condition says when it has this value; `exact` becomes false when it says more.
  void assume(const Expr &cond, bool holds, std::vector<Constraint> &out, bool &exact);
  /// Likewise for a condition around the nest. What it read from memory may have changed since then: such
  /// parts say nothing about the nest.
  void assume_outside(const Expr &cond, bool holds, std::vector<Constraint> &out, bool &exact);

 private:
  struct Definition {
    Expr value;                        ///< without definitions in it; null when that is too large
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
  /// bound + gap <= iterator, or iterator + gap <= bound. A max from below and a min from above are two.
  struct Side {
    bool from_below;
    int64_t gap;
    bool loose;
  };
  void limit(const Expr &bound, const LinearForm &iterator, Side side, std::vector<Constraint> &range,
             bool &exact);
  /// A linear form that cannot wrap but by one term, of coefficient 1 or -1, that is near the end of 64 bits.
  std::optional<LinearForm> loose_form(const Expr &e);
  void compare(const Binary &n, bool holds, std::vector<Constraint> &out, bool &exact);
  using Assume = void (NestForms::*)(const Expr &, bool, std::vector<Constraint> &, bool &);
  bool assume_parts(const Expr &cond, bool holds, Assume assume, std::vector<Constraint> &out, bool &exact);
  Expr resolved(const Expr &e);
  void forget_forms();
  Dependencies dependencies_of(const Expr &e) const;

  Nest &nest_;
  std::vector<uint32_t> loops_;
  std::unordered_map<const SymNode *, uint32_t> iterators_;  ///< variable by iterator of the nest
  std::unordered_map<const SymNode *, uint32_t> loop_ids_;
  std::unordered_map<const SymNode *, Definition> definitions_;
  std::unordered_set<const SymNode *> outside_;
  std::unordered_set<const BufNode *> written_;                  ///< in the nest
  std::unordered_map<const ExprNode *, LinearForm> subscripts_;  ///< by node of the nest
  std::unordered_map<const BufNode *, std::vector<std::optional<LinearForm>>> extents_;
};

}  // namespace kw
