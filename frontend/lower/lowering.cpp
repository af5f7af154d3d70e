// Defines the handles, for which all lowerings must be complete types, and the helpers that lowerings share.
#include "frontend/lower/lowering.h"

#include <algorithm>

#include "frontend/lower/branches.h"
#include "frontend/lower/calls.h"
#include "frontend/lower/debug_checks.h"
#include "frontend/lower/declarations.h"
#include "frontend/lower/evaluation.h"
#include "frontend/lower/expansions.h"
#include "frontend/lower/expressions.h"
#include "frontend/lower/inlining.h"
#include "frontend/lower/loops.h"
#include "frontend/lower/merges.h"
#include "frontend/lower/statements.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

StatementLowering Lowering::statements() const { return StatementLowering(cx_); }
ExpressionLowering Lowering::expressions() const { return ExpressionLowering(cx_); }
EvaluationOrder Lowering::evaluation() const { return EvaluationOrder(cx_); }
CallLowering Lowering::calls() const { return CallLowering(cx_); }
InlineLowering Lowering::inlining() const { return InlineLowering(cx_); }
DebugChecks Lowering::debug_checks() const { return DebugChecks(cx_); }
DeclarationLowering Lowering::declarations() const { return DeclarationLowering(cx_); }
BranchLowering Lowering::branches() const { return BranchLowering(cx_); }
MergeLowering Lowering::merges() const { return MergeLowering(cx_); }
LoopLowering Lowering::loops() const { return LoopLowering(cx_); }
ExpansionLowering Lowering::expansions() const { return ExpansionLowering(cx_); }

bool is_call_constant(const Expr &e, bool iterators) {
  // a load, call or other symbol anywhere below makes the expression vary
  bool constant = true;
  walk(
      e, [&](const Load &, const Expr &) { constant = false; },
      [&](const Call &, const Expr &) { constant = false; },
      [&](const Ref &n, const Expr &) {
        constant = constant && (n.sym->kind == SymKind::extent || n.sym->kind == SymKind::param ||
                                (iterators && n.sym->kind == SymKind::iter));
      });
  return constant && (is_int(e.dtype()) || as<Const>(e) || as<Ref>(e));
}

Buf Lowering::argument_buffer(size_t number) const {
  // the parameters come first, then the captured arrays, which a call does not pass
  size_t shown = cx_.f.params.size();
  return number < shown ? cx_.env.at(cx_.f.params[number].name).value.buf : cx_.arrays.at(number - shown);
}

void Lowering::report(const Diagnostic &d) {
  // the location is not compared: each read of the name has another one
  auto same = [&](const Diagnostic &other) {
    return other.code == d.code && other.message == d.message && other.notes == d.notes;
  };
  // a note gives the origin of the two types, and distinguishes this clash from others of the same name
  bool clash = (d.code == Code::E210 || d.code == Code::E211) && !d.notes.empty();
  if (!clash || std::none_of(cx_.sink->all().begin(), cx_.sink->all().end(), same)) cx_.sink->add(d);
}

/// Finds or creates the cell. Paths that assign the name in one type share one cell.
Buf Lowering::cell_for(const std::string &name, ScalarType type) {
  for (const Cell &c : cx_.cells)
    if (c.name == name && c.type == type) return c.buf;
  std::string local = name.substr(0, name.find('[')), symbol;  // for an item, the name of the tuple
  // "t[0][1]" → "t_0_1": brackets cannot stand in a symbol
  for (char c : name)
    if (c != ']') symbol += c == '[' ? '_' : c;
  Buf buf = make_buf(make_sym(SymKind::buffer, type.dtype, symbol), {}, Space::registers);
  // the block that is the name's home declares the cell when the block is finished (cells_of)
  cx_.cells.push_back({name, type, cx_.names.locals[local].home, buf});
  return buf;
}

std::vector<Buf> Lowering::cells_of(const std::vector<const ast::Block *> &owners) const {
  std::vector<Buf> out;
  for (const Cell &c : cx_.cells)
    if (std::find(owners.begin(), owners.end(), c.home) != owners.end()) out.push_back(c.buf);
  return out;
}

}  // namespace kw
