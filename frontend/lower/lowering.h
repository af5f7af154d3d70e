// The base of all lowerings: the context, handles to the other lowerings, and helpers that most of them need.
// A lowering is created where it is used and holds no state of its own.
#pragma once

#include "frontend/lower/context.h"

namespace kw {

class BranchLowering;
class CallLowering;
class DebugChecks;
class DeclarationLowering;
class EvaluationOrder;
class ExpansionLowering;
class ExpressionLowering;
class InlineLowering;
class LoopLowering;
class MergeLowering;
class StatementLowering;

/// Directs statements to another builder during its lifetime. The destructor restores the outer builder, also
/// when an error is thrown. Guards nest.
class Building {
 public:
  Building(BlockBuilder *&slot, BlockBuilder &to) : slot_(slot), outer_(slot) { slot = &to; }
  ~Building() { slot_ = outer_; }
  Building(const Building &) = delete;

 private:
  BlockBuilder *&slot_;
  BlockBuilder *outer_;
};

/// Sets a word during its lifetime; the destructor restores the outer word.
class Within {
 public:
  Within(std::string_view &slot, std::string_view word) : slot_(slot), outer_(slot) { slot = word; }
  ~Within() { slot_ = outer_; }
  Within(const Within &) = delete;

 private:
  std::string_view &slot_;
  std::string_view outer_;
};

/// A position in the block under construction.
struct Place {
  size_t item;
  uint32_t writes;  ///< earlier calls of helpers that write tensors
};

/// Returns whether an expression depends only on extents and scalar arguments, and on iterators if
/// `iterators`. Such values stay expressions, so that extents can use them.
bool is_call_constant(const Expr &e, bool iterators);

/// Common part of all lowerings. Each lowering is a view of the context, because lowerings call each other
/// recursively.
class Lowering {
 public:
  explicit Lowering(LowerContext &cx) : cx_(cx) {}

 protected:
  /// Handles to the other lowerings of the same context. They are cheap: each holds one reference.
  StatementLowering statements() const;
  ExpressionLowering expressions() const;
  EvaluationOrder evaluation() const;
  CallLowering calls() const;
  InlineLowering inlining() const;
  DebugChecks debug_checks() const;
  DeclarationLowering declarations() const;
  BranchLowering branches() const;
  MergeLowering merges() const;
  LoopLowering loops() const;
  ExpansionLowering expansions() const;

  /// Returns the place after the last statement, to be passed to EvaluationOrder later.
  Place here() const { return {cx_.builder->size(), cx_.wide.writing_calls}; }
  /// Binds a name to a new meaning, which replaces any earlier one.
  Binding &bind(const std::string &name, Binding b) { return cx_.env[name] = std::move(b); }
  /// Returns the cell of a variable in one of its types; creates it if there is none.
  Buf cell_for(const std::string &name, ScalarType type);
  /// Returns the cells whose home is one of these blocks.
  std::vector<Buf> cells_of(const std::vector<const ast::Block *> &owners) const;
  /// Returns the buffer through which an argument is read: that of the first argument with the same view.
  Buf argument_buffer(size_t number) const;
  /// Records an error. Types that clash where paths meet are reported only at the first read of the name.
  void report(const Diagnostic &d);
  /// Notes that a statement was not lowered; an error says why.
  void leave_out() { cx_.wide.left_out = true; }

  LowerContext &cx_;
};

}  // namespace kw
