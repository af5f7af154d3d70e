// Merges the environments of paths name by name. Cells are converted at the end of the path from which they
// come.
#include "frontend/lower/merges.h"

#include <algorithm>

#include "frontend/lower/debug_checks.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

namespace {
using NamesOfBlocks = std::map<const ast::Block *, std::set<std::string>>;
/// Returns the names of a block; the empty set if the block has none.
const std::set<std::string> &names_in(const NamesOfBlocks &all, const ast::Block &b) {
  static const std::set<std::string> none;
  auto found = all.find(&b);
  return found == all.end() ? none : found->second;
}

/// Returns the binding of a name, or null if it is unassigned.
const Binding *find(const Env &env, const std::string &name) {
  auto found = env.find(name);
  return found == env.end() ? nullptr : &found->second;
}

/// Returns whether two operands have the same value; such a binding needs no merging.
bool same_operand(const Operand &a, const Operand &b) {
  if (a.kind != b.kind || a.weak != b.weak || a.text != b.text || a.buf != b.buf) return false;
  if (a.kind == Operand::Kind::scalar && !equal(a.expr, b.expr)) return false;
  if (a.kind == Operand::Kind::dtype && a.dtype != b.dtype) return false;
  return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_operand);
}

/// Returns whether a binding comes from an assignment of a number, a tuple, a dtype or a text.
bool is_local_value(const Binding &b) {
  using Kind = Binding::Kind;
  if (b.kind != Kind::value) return b.is_variable();
  return b.value.kind == Operand::Kind::dtype || b.value.kind == Operand::Kind::text ||
         b.value.kind == Operand::Kind::tuple;
}

/// Returns whether two bindings would be merged differently.
bool differ(const Binding &a, const Binding &b) {
  return a.kind != b.kind || a.type != b.type ||
         !std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(),
                     [](const Binding &x, const Binding &y) { return !differ(x, y); });
}

/// Returns whether the operand's value is usable outside the current block, as the call's own values are.
bool outlives_blocks(const Operand &o) {
  bool scalar = o.kind == Operand::Kind::scalar;
  return o.kind != Operand::Kind::tensor && (!scalar || is_call_constant(o.expr, false)) &&
         std::all_of(o.items.begin(), o.items.end(), outlives_blocks);
}
}  // namespace

/// Returns the names that a block assigns or loops over, at any depth.
std::set<std::string> MergeLowering::changed_in(const ast::Block &b) const {
  std::set<std::string> names = names_in(cx_.names.assigned, b);
  const std::set<std::string> &looped = looped_in(b);
  names.insert(looped.begin(), looped.end());
  return names;
}

const std::set<std::string> &MergeLowering::looped_in(const ast::Block &b) const {
  return names_in(cx_.names.looped, b);
}

/// Reports E203 for a weak constant that its merged type cannot hold.
void MergeLowering::report_range(const Expr &value, DType to, Loc loc) {
  try {
    require_range(value, to, loc);
  } catch (const CompileError &error) {
    for (const Diagnostic &d : error.found()) cx_.sink->add(d);
  }
}

/// Converts a cell, or the cells of a tuple, from its type in `a` to its type in `b`.
void MergeLowering::convert_cell(const Binding &a, const Binding &b) {
  if (a.kind != b.kind) return;
  for (size_t k = 0; k < std::min(a.items.size(), b.items.size()); ++k) convert_cell(a.items[k], b.items[k]);
  if (a.kind != Binding::Kind::cell || a.type == b.type) return;
  // a known value is checked and cast as a constant, which may give an error at compile time
  Expr value = a.known ? *a.known : load(a.cell, {}, a.loc);
  if (a.type.weak && !b.type.weak) {
    report_range(value, b.type.dtype, a.loc);
    debug_checks().check_operand(scalar_operand(value, true, a.loc), b.type.dtype);
  }
  cx_.builder->add(store(b.cell, {}, cast(b.type.dtype, value), a.loc));
}

/// Converts each cell of `names` from its type in `from` to its type in `to`, at the end of the current
/// block.
void MergeLowering::convert_cells(const Env &from, const Env &to, const std::set<std::string> &names) {
  for (const std::string &name : names) {
    const Binding *a = find(from, name), *b = find(to, name);
    if (a && b) convert_cell(*a, *b);
  }
}

/// Returns whether a path from `from` to `to` has to convert a cell of these names.
bool MergeLowering::cells_differ(const Env &from, const Env &to, const std::set<std::string> &names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string &name) {
    const Binding *a = find(from, name), *b = find(to, name);
    return a && b && a->kind == b->kind && differ(*a, *b);
  });
}

/// Returns the error for a name to which two paths assign values that cannot be merged.
Merge MergeLowering::clash_of(const std::string &name, const Binding &a, const Binding &b) const {
  auto text = [](const Binding &side) {
    if (side.kind == Binding::Kind::cell) return type_text(side.type);
    if (side.kind == Binding::Kind::tuple) return cat("a tuple of ", side.items.size());
    bool dtype = side.value.kind == Operand::Kind::dtype;
    return dtype ? cat("the dtype ", numpy_name(side.value.dtype)) : describe(side.value);
  };
  std::string one = text(a), other = text(b);
  // "a …" on both sides → "a …" and "another …"
  if (one == other) other = cat("another", one.substr(1));
  bool tuples = a.kind == Binding::Kind::tuple || b.kind == Binding::Kind::tuple;
  bool dtypes = a.value.kind == Operand::Kind::dtype || b.value.kind == Operand::Kind::dtype;
  Merge out{std::nullopt,
            tuples   ? Code::E206
            : dtypes ? Code::E216
                     : Code::E202,
            cat("'", name, "' is ", one, " on one path and ", other, " on the other"),
            "only numbers can change between paths: write out what each path does with its own",
            {}};
  if (a.loc.known() && b.loc.known())
    out.note = cat("'", name, "' is ", one, " from line ", line_mark(cx_.in.sources, a.loc), ", and ", other,
                   " from line ", line_mark(cx_.in.sources, b.loc));
  return out;
}

/// Returns the binding of a name where two paths meet; null stands for unassigned.
Binding MergeLowering::merge(const std::string &name, const Binding *a, const Binding *b) {
  using Kind = Binding::Kind;
  // a conflict remains a conflict, whatever the other side is
  for (const Binding *side : {b, a})
    if (side && side->kind == Kind::conflict) return *side;
  // a name whose error was already reported stays silent
  for (const Binding *side : {a, b})
    if (side && side->kind == Kind::poisoned) return *side;
  if (a && b && a->kind == b->kind && !a->is_variable() && same_operand(a->value, b->value)) return *a;
  Binding out;
  out.loc = a ? a->loc : b->loc;
  out.kind = Kind::partial;
  // assigned on one side only, or not by an assignment: a later read is E302
  if (!a || !b || !is_local_value(*a) || !is_local_value(*b)) return out;
  // tuples of equal length are merged item by item
  if (a->kind == Kind::tuple && b->kind == Kind::tuple && a->items.size() == b->items.size()) {
    out.kind = Kind::tuple;
    out.value = a->value;
    for (size_t k = 0; k < a->items.size(); ++k)
      out.items.push_back(merge(item_name(name, k), &a->items[k], &b->items[k]));
    return out;
  }
  if (a->kind != Kind::cell || b->kind != Kind::cell) {
    out.kind = Kind::conflict;
    out.clash = clash_of(name, *a, *b);
    return out;
  }
  Merge types = merge_types(name, a->type, b->type);
  out.kind = types.type ? Kind::cell : Kind::conflict;
  if (types.type) {
    out.type = *types.type;
    out.cell = cell_for(name, out.type);
  } else {
    out.clash = std::move(types);
    auto from = [&](const Binding &side) {
      return cat(type_text(side.type), " from line ", line_mark(cx_.in.sources, side.loc));
    };
    if (a->loc.known() && b->loc.known())
      out.clash.note = cat("'", name, "' is ", from(*a), ", and ", from(*b));
  }
  return out;
}

/// Makes bindings of a block unassigned when control leaves it, except cells and constants.
void MergeLowering::leave_block(const Env &outside, const std::set<std::string> &names) {
  using Kind = Binding::Kind;
  for (const std::string &name : names) {
    auto found = cx_.env.find(name);
    if (found == cx_.env.end()) continue;
    Binding &b = found->second;
    if (b.kind != Kind::value && b.kind != Kind::iter && b.kind != Kind::tensor) continue;
    const Binding *before = find(outside, name);
    bool unchanged = before && before->kind == b.kind && same_operand(before->value, b.value);
    // its Let or Alloc scopes over the block only, so a later use would be out of scope
    if (!unchanged && !outlives_blocks(b.value)) b.kind = Kind::partial;
  }
}

/// Merges the current environment into a point that other paths reach too.
void MergeLowering::arrive(Join &join, const std::set<std::string> &names) {
  // the first path defines the types; later paths convert to them, or widen them for the next attempt
  if (!join.arrived) {
    join.env = cx_.env;
    join.arrived = true;
    return;
  }
  for (const std::string &name : names) {
    const Binding *here = find(cx_.env, name);
    auto there = join.env.find(name);
    if (there == join.env.end()) continue;  // unassigned on another path
    // A fault of one path must not reach the next attempt, which may not have it: the fault would hide later
    // errors.
    using Kind = Binding::Kind;
    if (here && here->kind == Kind::poisoned) continue;
    if (here && there->second.kind == Kind::poisoned) there->second = *here, join.grew = true;
    Binding both = merge(name, &there->second, here);
    if (both.kind == Binding::Kind::conflict && here) both.loc = here->loc;
    join.grew |= differ(both, there->second);
    there->second = std::move(both);
    // two paths may bring two values
    there->second.for_each([](Binding &b) { b.known.reset(); });
  }
  convert_cells(cx_.env, join.env, names);
}

/// Merges both sides of a branch. The current environment is that of `no`.
void MergeLowering::meet(const Env &before, const Env &after_yes, BlockBuilder &yes, BlockBuilder &no,
                         const std::set<std::string> &names) {
  // a name that neither side assigns is as before the branch
  Env after_no = std::exchange(cx_.env, before);
  for (const std::string &name : names) {
    const Binding *a = find(after_yes, name), *b = find(after_no, name);
    if (!a && !b) continue;
    bool faulty_loops = a && b && a->kind == Binding::Kind::iter && b->kind == Binding::Kind::iter;
    if (!faulty_loops) bind(name, merge(name, a, b));
  }
  auto convert = [&](BlockBuilder &at_end_of, const Env &from) {
    Building inside(cx_.builder, at_end_of);
    convert_cells(from, cx_.env, names);
  };
  convert(yes, after_yes);
  convert(no, after_no);
}

}  // namespace kw
