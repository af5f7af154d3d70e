"""The faults of the mutation check: each one small and in one place, such as a slip of the pen would make.

A fault is a text that stands once in a file and what replaces it; test_faults.py sees to that. Runs nothing.
"""

from __future__ import annotations

from call_faults import CALLS
from fault import Fault
from gpu_faults import GPU

SCALAR_OPS = [
    Fault(
        "half_subnormal",
        "compiler/ir/scalar_ops.cpp",
        "if (exponent < 1 - bias) exponent = 1 - bias;",
        "if (exponent < 1 - bias) exponent = -bias;",
        "subnormal results of 16-bit floats",
    ),
    Fault(
        "quotient_zero_sign",
        "compiler/ir/scalar_ops.cpp",
        "quotient = std::copysign(T(0), a / b);",
        "quotient = T(0);",
        "the sign of a float quotient `//` that is zero",
    ),
    Fault(
        "shift_by_width",
        "compiler/ir/integers/integer_ops.cpp",
        "to_int(b) >= 0 && to_int(b) < width",
        "to_int(b) >= 0 && to_int(b) <= width",
        "shifts of int64 by exactly 64, when folded or interpreted",
    ),
    Fault(
        "round_once",
        "compiler/ir/scalar_ops.cpp",
        "magnitude < (uint64_t{1} << 53)",
        "magnitude < (uint64_t{1} << 62)",
        "large integers that become 16-bit floats are rounded twice",
    ),
]

INFERENCE = [
    Fault(
        "promote_int16_with_half",
        "compiler/ir/dtype.cpp",
        "if (int_bits <= 8) return f;",
        "if (int_bits <= 16) return f;",
        "the common type of a 16-bit integer and a 16-bit float",
    ),
    Fault(
        "u64_not_below_negative",
        "frontend/sema/infer.cpp",
        "(left && op != BinOp::eq)",
        "(left && op == BinOp::lt)",
        "`<=` of a negative number and a uint64",
    ),
    Fault(
        "root_of_minus_zero",
        "frontend/sema/infer.cpp",
        "return select(binary(BinOp::eq, x, const_float(t, 0, loc), loc), const_float(t, 0, loc), result,",
        "return select(binary(BinOp::eq, x, const_float(t, 0, loc), loc), result, result,",
        "`x ** 0.5` of -0.0",
    ),
    Fault(
        "negative_constant_fits",
        "frontend/sema/infer.cpp",
        "return negative == stays && convert(v.dtype, there) == v;",
        "return (negative || !stays) && convert(v.dtype, there) == v;",
        "a negative constant beside a uint64 is no longer an error",
    ),
    Fault(
        "int_merges_into_bool",
        "frontend/sema/infer.cpp",
        "(is_int(a.dtype) && b.dtype == DType::i64)",
        "b.dtype == DType::i64",
        "a bool on one path and a Python int on the other is no longer an error",
    ),
    Fault(
        "sum_written_twice",
        "compiler/analysis/nest/sum_order.cpp",
        "return several_meet(all.reads) || several_meet(all.writes);",
        "return several_meet(all.reads);",
        "a sum that is set anew inside its loop is split into lanes",
    ),
]

ANALYSIS = [
    Fault(
        "affine_weight",
        "compiler/analysis/affine.cpp",
        "return weight <= max_weight && a.constant",
        "return weight >= 0 && a.constant",
        "forms with many large coefficients are taken as free of overflow",
    ),
    Fault(
        "equality_opposite",
        "compiler/analysis/solve.cpp",
        "if (g == 0) return row[width_] != 0;",
        "if (g == 0) return true;",
        "an equality without variables is taken for a contradiction",
    ),
    Fault(
        "stepping_loop_is_exact",
        "compiler/analysis/interval.cpp",
        "if (loop.step != 1 && loop.step != -1) exact = false;",
        "if (loop.step < -1) exact = false;",
        "a loop of step 2 is believed to reach its bound, which makes correct kernels errors",
    ),
    Fault(
        "else_of_less",
        "compiler/analysis/interval.cpp",
        "if (n->op == BinOp::lt) holds ? push(b, a, 1) : push(a, b, 0);",
        "if (n->op == BinOp::lt) holds ? push(b, a, 1) : push(a, b, 1);",
        "where `a < b` fails, a > b is assumed",
    ),
    Fault(
        "remainder_range",
        "compiler/analysis/bounds_system.cpp",
        "between(rest, Affine{{}, divisor}, 1);",
        "between(rest, Affine{{}, divisor}, 2);",
        "the greatest remainder of `%` and `//` is forgotten in proofs by elimination",
    ),
    Fault(
        "continue_ends_certainty",
        "compiler/analysis/access.cpp",
        "bool early = jumps_of(n.body).any();",
        "bool early = jumps_of(n.body).breaks;",
        "an access behind `continue` is believed to run, which makes correct kernels errors",
    ),
    Fault(
        "other_side_of_select",
        "compiler/analysis/access.cpp",
        "lazily(operand, *guard.cond, guard.holds)",
        "lazily(operand, *guard.cond, true)",
        "the condition of a ternary is believed on its other side",
    ),
]

CHECKS = [
    Fault(
        "empty_temporary",
        "compiler/transform/guard_bounds.cpp",
        "check(binary(BinOp::le, const_int(0), extent)",
        "check(binary(BinOp::lt, const_int(0), extent)",
        "temporaries without elements are refused",
    ),
    Fault(
        "stores_of_the_last_item",
        "compiler/transform/hoist_checks.cpp",
        "Buffers stored = stored_in(n.body);",
        "Buffers stored = stored_in(body->items.back());",
        "a check steps out of a loop that changes what it reads",
    ),
    Fault(
        "first_of_a_group",
        "compiler/transform/hoist_checks.cpp",
        "    same->protects.insert(protects);",
        "    if (same->checks.size() > 1) same->protects.insert(protects);",
        "an early check reads what the first check of its own block protects",
    ),
    Fault(
        "no_guard_is_any_guard",
        "compiler/transform/hoist_checks.cpp",
        "return same_guard && c.loops == other.loops && equal(c.cond, other.cond);",
        "return (same_guard || c.only_if.empty()) && c.loops == other.loops && equal(c.cond, other.cond);",
        "a check is left out for an equal one that runs only when some loop does",
    ),
]

EMITTER = [
    Fault(
        "least_by_minus_one",
        "compiler/transform/lowering/guard_operations.cpp",
        "Expr safe = chosen(either(by_zero, by_minus_one), one, b);",
        "Expr safe = chosen(by_zero, one, b);",
        "the least int32 or int64 // -1 kills the process",
    ),
    Fault(
        "nan_is_true",
        "compiler/codegen/llvm/values/ops.cpp",
        "is_float(from) ? b_.CreateFCmpUNE(a, llvm::ConstantFP::get(a->getType(), 0.0))",
        "is_float(from) ? b_.CreateFCmpONE(a, llvm::ConstantFP::get(a->getType(), 0.0))",
        "the truth of NaN",
    ),
    Fault(
        "floor_without_instruction",
        "compiler/codegen/llvm/values/ops.cpp",
        "b_.CreateFCmpOGT(nearest, a)",
        "b_.CreateFCmpOGE(nearest, a)",
        "`//` of floats on machines without an instruction for floor",
    ),
    Fault(
        "fmod_subnormal",
        "compiler/codegen/llvm/values/fmod.cpp",
        "V room = b_.CreateSub(exponent, number(1));",
        "V room = exponent;",
        "remainders that are subnormal",
    ),
    Fault(
        "last_vector",
        "compiler/codegen/llvm/emit/reductions.cpp",
        "half >= to && half >= 1; half /= 2) {\n    auto [a, b] = halves(lanes, half);",
        "half > to; half /= 2) {\n    auto [a, b] = halves(lanes, half);",
        "what every second lane of a sum has gathered is left out",
    ),
    Fault(
        "second_stretch",
        "compiler/codegen/llvm/emit/loops.cpp",
        "start->addIncoming(limit, more);\n  poll(stretch);",
        "start->addIncoming(b_.CreateAdd(limit, b_.getInt64(1)), more);\n  poll(stretch);",
        "inner loops of more than 2^20 iterations leave one out",
    ),
]

TRANSFORM = [
    Fault(
        "half_ties",
        "compiler/transform/lowering/half_floats.cpp",
        "(magnitude - rebias + ((magnitude >> 13) & 1) + 0xFFF) >> 13",
        "(magnitude - rebias + 0x1000) >> 13",
        "ties of float16 on machines without an instruction for its conversion",
    ),
    Fault(
        "last_block",
        "compiler/transform/lowering/reduction_plan.cpp",
        "select(is_last, block, trailing_ones)",
        "select(is_last, trailing_ones, block)",
        "sums in lanes of more than 8,192 terms",
    ),
    Fault(
        "fill_behind_break",
        "compiler/analysis/init.cpp",
        "    if (jumps_of(n.body).breaks) return;  // later iterations may not come\n",
        "",
        "an output is not filled with zeros though a loop with `break` may leave it unwritten",
    ),
]

SCHEDULE = [
    Fault(
        "last_of_the_new_order",
        "compiler/schedule/directives/legal_order.cpp",
        "for (size_t i = 0; i < order.size(); ++i) {",
        "for (size_t i = 0; i + 1 < order.size(); ++i) {",
        "the innermost loop of a new order, and of a tile, may run against a dependence",
    ),
    Fault(
        "equal_and_earlier",
        "compiler/schedule/directives/legal_order.cpp",
        "in_new_order && before < i; ++before",
        "in_new_order && before <= i; ++before",
        "loops are exchanged whatever depends on their order",
    ),
    Fault(
        "text_within_a_block",
        "compiler/schedule/directives/legal_order.cpp",
        "if (m == d.common && d.source <= d.sink) break;",
        "if (m == d.common) break;",
        "unroll_and_jam puts a statement in front of one of an earlier iteration that it needs",
    ),
    Fault(
        "loops_within_a_block",
        "compiler/schedule/directives/legal_order.cpp",
        "if (m < d.common) system.restrict_to(m, Direction::earlier);",
        "if (m < d.common) system.restrict_to(m, Direction::later);",
        "unroll_and_jam merges loops against a dependence",
    ),
    Fault(
        "reach_of_a_block",
        "compiler/schedule/directives/legal_order.cpp",
        "__builtin_mul_overflow(step, jam.count - 1, &far)",
        "__builtin_mul_overflow(step, jam.count - 2, &far)",
        "unroll_and_jam forgets that the first and the last iteration of a block may meet",
    ),
    Fault(
        "rounded_sums_in_any_order",
        "compiler/schedule/directives/legal_order.cpp",
        "relaxable(x, y) && x.any_order && y.any_order",
        "relaxable(x, y)",
        "sums of floats change their order",
    ),
    Fault(
        "parts_the_other_way",
        "compiler/schedule/directives/legal_order.cpp",
        "is_in_part(d.source, second) && is_in_part(d.sink, first)",
        "is_in_part(d.source, first) && is_in_part(d.sink, second)",
        "a loop is distributed though its first part needs the second",
    ),
    Fault(
        "fused_too_early",
        "compiler/analysis/nest/dependence.cpp",
        "add_difference(from, to, from.loop->step < 0 ? 1 : -1, -1, false);",
        "add_difference(from, to, from.loop->step < 0 ? -1 : 1, -1, false);",
        "loops are fused though one reads what later iterations of the other write",
    ),
    Fault(
        "as_far_as_inner_loops",
        "compiler/analysis/nest/dependence.cpp",
        "return step > inner;",
        "return step >= inner;",
        "blocks that overlap by one element are believed to be apart",
    ),
    Fault(
        "almost_inverted",
        "compiler/analysis/nest/trip_counts.cpp",
        "LinearForm out{{}, -2};",
        "LinearForm out{{}, -3};",
        "a range whose end is one before its beginning is believed to be none",
    ),
    Fault(
        "triangle_of_one_more",
        "compiler/schedule/tree/perfect_nest.cpp",
        "if (p.factor == -1) new_inner.hi = binary(BinOp::min, new_inner.hi, sub(p.rest, at));",
        "if (p.factor == -1) new_inner.hi = binary(BinOp::min, new_inner.hi, add(sub(p.rest, at), one));",
        "an exchange of triangular loops visits iterations beyond the diagonal",
    ),
    Fault(
        "lanes_that_meet",
        "compiler/schedule/directives/legal_kinds.cpp",
        "return !(may_meet && stores_apart(n, view));",
        "return !may_meet || stores_apart(n, view);",
        "lanes that accumulate in one element of memory are vectorized",
    ),
    Fault(
        "read_behind_the_loop",
        "compiler/schedule/tree/array_contraction.cpp",
        "!(uses_of(region, buf) == uses_of(loop.body, buf))",
        "uses_of(region, buf).stores != uses_of(loop.body, buf).stores",
        "a temporary that is read behind a loop becomes a scalar of it",
    ),
]

LANES = [
    Fault(
        "later_of_equal_lanes",
        "compiler/codegen/llvm/emit/reductions.cpp",
        "? b_.CreateICmpULT(at_b, at_a)",
        "? b_.CreateICmpUGT(at_b, at_a)",
        "of equal bests in lanes another one is kept than in the serial loop",
    ),
    Fault(
        "middle_of_a_row",
        "compiler/transform/lowering/blocked_reduction.cpp",
        "Expr from = run.aligned ? const_int(0) : at_least(sub(run.lo, start), const_int(0));",
        "Expr from = run.aligned ? const_int(0) : at_least(sub(run.lo, start), const_int(1));",
        "a row of a sum that begins in its middle loses a term",
    ),
    Fault(
        "one_block_behind_a_guard",
        "compiler/transform/lowering/reduction_plan.cpp",
        "return make_stmt({}, While{binary(BinOp::lt, due, std::move(number)), end});",
        "return if_else(binary(BinOp::lt, due, std::move(number)), end, {});",
        "a condition that leaves out whole blocks of a sum loses one of them",
    ),
    Fault(
        "stream_beside_a_line",
        "compiler/codegen/llvm/emit/streams.cpp",
        "V within = b_.CreateAnd(b_.CreateFreeze(low), cache_line - 1);",
        "V within = b_.CreateAnd(b_.CreateFreeze(low), cache_line / 2 - 1);",
        "results that begin in the middle of a line are streamed",
    ),
]

BORDERS = [
    Fault(
        "remainder_of_its_divisor",
        "compiler/schedule/tree/simplify_under_bounds.cpp",
        "holds(BinOp::lt, n.a, n.b))",
        "holds(BinOp::le, n.a, n.b))",
        "a remainder by what the index may just reach is dropped",
    ),
    Fault(
        "ends_that_wrap",
        "compiler/analysis/interval.cpp",
        "return form && ranges.is_exact(*form, &small) ? form : std::nullopt;",
        "return form;",
        "proofs count with ends of loops and operands that wrap",
    ),
    Fault(
        "rest_of_a_chain",
        "compiler/transform/lowering/if_convert.cpp",
        "budget = to->buf->space == Space::registers && to->buf->rank() == 0 ? budget - 1 : -1;",
        "budget = budget - 1;",
        "a branch that stores to memory runs in all lanes without its mask",
    ),
    Fault(
        "rows_of_idle_lanes",
        "compiler/codegen/llvm/emit/transpose.cpp",
        "for (uint32_t lane = vec_.count; lane-- > 0;)",
        "for (uint32_t lane = 0; lane < vec_.count; ++lane)",
        "lanes that do not run write over the row of the first one",
    ),
    Fault(
        "largest_that_fits",
        "compiler/transform/lowering/guard_operations.cpp",
        "out = chosen(binary(BinOp::le, high, a), end(most), out);",
        "out = chosen(binary(BinOp::lt, high, a), end(most), out);",
        "lanes of the first number that is too large become 0",
    ),
    Fault(
        "rest_of_a_row",
        "compiler/transform/lowering/blocked_reduction.cpp",
        "Expr left = binary(BinOp::bit_and, run.hi, const_int(sum_lanes - 1));",
        "Expr left = binary(BinOp::bit_and, run.hi, const_int(sum_lanes / 2 - 1));",
        "elements at the end of a sum in lanes are left out",
    ),
]

BANDS = [
    Fault(
        "band_by_mentions",
        "compiler/analysis/nest/sum_order.cpp",
        "facts(*loop).invariance.holds(s.index)",
        "!mentions(s.index, (*loop)->iter)",
        "sums at elements that a loop chooses through a local, a scalar or memory",
    ),
    Fault(
        "local_is_not_followed",
        "compiler/ir/loops.cpp",
        "if (local != locals_.end() && seen.insert(sym).second) parts.push_back(local->second);",
        "seen.insert(sym), static_cast<void>(local);",
        "sums at an element that a local of the loop names",
    ),
    Fault(
        "written_memory_is_fixed",
        "compiler/ir/loops.cpp",
        "[&](const Store &n, const Stmt &) {\n        written_.insert(n.buf.get());",
        "[&](const Store &n, const Stmt &) {",
        "sums at an element that a cursor in memory or a counter names",
    ),
    Fault(
        "fresh_scalar_is_fixed",
        "compiler/ir/loops.cpp",
        "[&](const Alloc &n, const Stmt &) { written_.insert(n.buf.get()); });",
        "[](const Jump &, const Stmt &) {});",
        "sums at an element that a scalar names, which each iteration has for itself and no store changes",
    ),
    Fault(
        "band_keeps_old_names",
        "compiler/transform/copy.cpp",
        "out.push_back(renamed->sym);",
        "out.push_back(s);",
        "a copied or fused loop loses its sums in lanes",
    ),
    Fault(
        "place_inside_the_band",
        "compiler/transform/lowering/lower_reductions.cpp",
        "i = invariance.without_locals(i);",
        "i = Expr(i);",
        "a sum at an element that a local of the loop names, the same one in each iteration",
    ),
    Fault(
        "bound_read_again",
        "compiler/ir/loops.cpp",
        "found |= shared || read.count(n.buf.get()) > 0;",
        "found |= shared;",
        "loops that write what their bounds read",
    ),
    Fault(
        "local_written_in_all_iterations",
        "compiler/analysis/init.cpp",
        "forget_what_changes(once, n);",
        "",
        "elements at subscripts that a local holds are taken for written",
    ),
    Fault(
        "bound_of_another_time",
        "compiler/analysis/init.cpp",
        "if (has_load(first) || has_load(end)) return false;",
        "if (!first || !end) return false;",
        "loops up to a bound in memory that changes later are taken for all of it",
    ),
    Fault(
        "mark_of_any_loop",
        "compiler/ir/verify.cpp",
        "(n.order == Order::source || mark_ok(n));",
        "(n.order != Order::source || !n.order.band.empty() || mark_ok(n));",
        "the verifier: marks of sums that name no loops around them or chosen elements",
    ),
    Fault(
        "bounds_that_change",
        "compiler/ir/verify.cpp",
        "!may_change(n.lo, n.body, overlap_) && !may_change(n.hi, n.body, overlap_);",
        "!may_change(n.lo, n.body, overlap_);",
        "the verifier: loops that write what their upper bounds read",
    ),
    Fault(
        "sum_into_its_own_terms",
        "compiler/analysis/nest/sum_order.cpp",
        "facts(outermost).arguments > 1;",
        "facts(outermost).arguments > 64;",
        "sums into an argument that overlaps their terms",
    ),
    Fault(
        "stale_condition",
        "compiler/analysis/nest/nest.cpp",
        "forms_.assume_outside(item.expr",
        "forms_.assume(item.expr",
        "loops below a condition on memory that has changed since",
    ),
    Fault(
        "place_in_overlapping_memory",
        "compiler/ir/loops.cpp",
        "overlap == Overlap::possible && n.buf->space == Space::param;",
        "overlap == Overlap::possible && n.buf->space == Space::stack;",
        "places read from an argument that a store to another one changes",
    ),
    Fault(
        "guard_between_loops",
        "compiler/transform/lowering/lower_reductions.cpp",
        "!always_reached(band.back()->body",
        "!always_reached(band.front()->body",
        "sums in lanes with a guard between their loops, into an element that does not exist",
    ),
    Fault(
        "loads_not_counted",
        "compiler/schedule/tree/array_contraction.cpp",
        "out.loads += n.buf == buf;",
        "out.loads = n.buf == buf;",
        "temporaries that are read outside of the loop too",
    ),
    Fault(
        "out_over_what_is_read",
        "compiler/analysis/in_place.cpp",
        "return load.number < store.number;",
        "return load.number < store.number || !load.loops.empty();",
        "out= that is an input whose elements are read after they were written",
    ),
]

WRAPS = [
    Fault(
        "written_to_an_end_that_wraps",
        "compiler/analysis/init.cpp",
        "r.overclaims |= !whole && !(context_.is_exact(n.lo) && context_.is_exact(n.hi));",
        "static_cast<void>(whole);",
        "reads of what a loop did not write, because its end wraps",
    ),
    Fault(
        "guards_of_the_other_side",
        "compiler/analysis/value_ranges.cpp",
        "v.least = std::max(v.least, -wide_floor_div(most, k));",
        "v.most = std::min(v.most, wide_floor_div(most, k));",
        "ends of loops that wrap under a guard from the other side",
    ),
    Fault(
        "sums_counted_as_one",
        "compiler/transform/lowering/blocked_reduction.cpp",
        "any.at = {kw::ref(number)};",
        "static_cast<void>(number);",
        "loops of many sums in lanes of more than one block",
    ),
    Fault(
        "batch_of_cells",
        "compiler/transform/sink_declarations.cpp",
        "live.next = live.before(of(list->items[i]));",
        "live.next |= live.before(of(list->items[i]));",
        "locals that later statements set anew keep their cells outside of the loop",
    ),
]

FAULTS = [
    *SCALAR_OPS,
    *INFERENCE,
    *ANALYSIS,
    *CHECKS,
    *EMITTER,
    *TRANSFORM,
    *SCHEDULE,
    *LANES,
    *BORDERS,
    *BANDS,
    *WRAPS,
    *CALLS,
    *GPU,
]
