// A block loop: what it accumulates gets a variable of each thread, which are combined at its end. Sums in
// the order `lanes` (language.md 3) run in rows of 64 iterations: a thread has lanes t and t + 32. In
// other loops a thread may execute iterations side by side (vectors.h).
#include "codegen/cuda/team.h"

#include <algorithm>
#include <vector>

#include "analysis/gpu/combined_values.h"
#include "codegen/cuda/statements.h"
#include "codegen/cuda/vectors.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

std::string literal(DType t, double x) { return cuda_literal(t, as<Const>(const_float(t, x))->bits); }

/// Returns the value that changes no sum or product.
std::string identity_of(const Accumulator &a) {
  DType t = a.cell->dtype;
  if (is_float(t)) return literal(t, a.op == BinOp::mul ? 1.0 : -0.0);
  return cuda_literal(t, a.op == BinOp::mul ? 1 : 0);
}
/// Returns a function that combines two values.
std::string function_of(BinOp op, DType t) {
  std::string type(cuda_type(t));
  Expr a = kw::ref(make_sym(SymKind::local, t, "a")), b = kw::ref(make_sym(SymKind::local, t, "b"));
  std::string both = cuda_binary(*as<Binary>(binary(op, a, b)), "a", "b");
  return cat("[](", type, " a, ", type, " b) { return ", both, "; }");
}

/// Returns whether an iteration may end before its last statement.
bool can_end(const Stmt &body) {
  bool found = has_check(body);
  walk(body, [&](const While &, const Stmt &) { found = true; });
  return found;
}

/// Returns the condition that is all of a loop, if it only bounds the iterator, `if k < n`; else null.
const If *bound_of_iterations(const For &loop) {
  const If *n = as<If>(loop.body);
  const Binary *less = n && !n->no && loop.step == 1 ? as<Binary>(n->cond) : nullptr;
  const Ref *iterator = less ? as<Ref>(less->a) : nullptr;
  bool fits = less && less->op == BinOp::lt && iterator && iterator->sym == loop.iter && !has_load(less->b) &&
              !mentions(less->b, loop.iter);
  return fits ? n : nullptr;
}

class BlockLoop {
 public:
  BlockLoop(const For &n, const CudaTeam &team, CudaStatements &out)
      : n_(n),
        team_(team),
        out_(out),
        names_(out.names()),
        text_(out.text()),
        combined_(n),
        can_end_(can_end(n.body)) {}

  void run() {
    text_.open("");
    Expr trips = trips_of(n_);
    out_.expressions().begin({n_.lo, trips});
    trips_ = out_.stable(trips, "trips");
    counts_itself_ = n_.step == 1 && as_int(n_.lo) == 0;
    lo_ = counts_itself_ ? "" : out_.stable(n_.lo, "lo");
    k_ = counts_itself_ && !can_end_ ? names_.of(n_.iter) : names_.fresh("k");
    for (const Accumulator &a : combined_.accumulators) begin(a);
    for (const Selection &s : combined_.selections) begin(s);
    has_lanes() ? rows() : iterations();
    if (can_end_) text_.line(cat("if (", team_.any(failed_), ") return;"));
    for (const Accumulator &a : combined_.accumulators) end(a);
    for (const Selection &s : combined_.selections) end(s);
    text_.close();
  }

 private:
  /// The names of what a thread keeps for one buffer: its part, and for sums in lanes what kw_add_block
  /// needs.
  struct Variables {
    std::string own, target, combine, blocks, level, left, right;
  };
  const Variables &of(const Buf &b) const { return variables_.at(b.get()); }
  bool has_lanes() const {
    return std::any_of(combined_.accumulators.begin(), combined_.accumulators.end(),
                       [](const Accumulator &a) { return a.in_lanes(); });
  }
  std::string named(const Buf &b, std::string_view what) {
    return names_.fresh(cat(b->sym->name, "_", what));
  }

  void begin(const Accumulator &a) {
    std::string type(cuda_type(a.cell->dtype)), identity = identity_of(a);
    Variables &v = variables_[a.cell.get()];
    out_.expressions().begin(a.index);
    v.target = out_.expressions().place(a.cell, a.index);
    v.own = named(a.cell, "own"), v.combine = named(a.cell, "combine");
    text_.line(cat("auto ", v.combine, " = ", function_of(a.op, a.cell->dtype), ";"));
    if (!a.in_lanes())
      return text_.line(cat(type, " ", v.own, " = ", a.is_idempotent() ? v.target : identity, ";"));
    v.blocks = named(a.cell, "blocks"), v.level = named(a.cell, "level");
    text_.line(
        cat(type, " ", v.own, "[2], ", v.blocks, " = ", identity, ", ", v.level, " = ", identity, ";"));
    if (!a.is_fused) return;
    // The product of these leaves a sum as it is.
    v.left = named(a.cell, "left"), v.right = named(a.cell, "right");
    std::string zero = literal(a.cell->dtype, -0.0), one = literal(a.cell->dtype, 1.0);
    text_.line(
        cat(type, " ", v.left, "[2] = {", zero, ", ", zero, "}, ", v.right, "[2] = {", one, ", ", one, "};"));
  }
  /// A thread that selects nothing keeps what was there, with the number -1.
  void begin(const Selection &s) {
    for (const Buf &b : s.form.kept) {
      Variables &v = variables_[b.get()];
      v.target = out_.expressions().place(b, {}), v.own = named(b, "own");
      text_.line(cat(cuda_type(b->dtype), " ", v.own, " = ", v.target, ";"));
    }
    std::string number = numbers_[s.at] = named(s.form.best, "number");
    text_.line(cat("i64 ", number, " = -1;"));
    out_.number_selection(s, number);
  }

  /// Emits one iteration, whose number is in k. `lane` says which lane of its thread it has, as a subscript.
  void iteration(std::string_view lane) { iteration(lane, n_.body); }
  void iteration(std::string_view lane, const Stmt &body) {
    for (const Accumulator &a : combined_.accumulators) {
      const Variables &v = of(a.cell);
      std::string_view subscript = a.in_lanes() ? lane : "";
      out_.expressions().redirect(a.cell, a.place, cat(v.own, subscript));
      if (a.in_lanes() && a.is_fused)
        out_.keep_factors(a.cell, cat(v.left, subscript), cat(v.right, subscript));
    }
    for (const Selection &s : combined_.selections)
      for (const Buf &b : s.form.kept) out_.expressions().redirect(b, {}, of(b).own);
    if (k_ != names_.of(n_.iter))
      out_.define(n_.iter, counts_itself_ ? k_
                           : n_.step == 1 ? cat(lo_, " + ", k_)
                                          : cat(lo_, " + ", k_, " * ", n_.step));
    std::string outer = out_.number_iterations(k_);
    out_.iteration(body, can_end_);
    out_.number_iterations(outer);
    for (const auto &[buf, v] : variables_) out_.expressions().restore(buf);
  }

  /// Emits an iteration as a function that returns false if a check fails, because a jump out of several
  /// loops cannot skip definitions.
  void function(std::string_view parameters, std::string_view lane) {
    failed_ = names_.fresh("failed"), function_ = names_.fresh("iteration");
    text_.line(cat("bool ", failed_, " = false;"));
    text_.open(cat("auto ", function_, " = [&](i64 ", k_, parameters, ")"));
    iteration(lane);
    text_.line("return true;");
    text_.close(";");
  }
  void call(std::string_view arguments) {
    text_.open(cat("if (!", function_, "(", k_, arguments, "))"));
    text_.line(cat(failed_, " = true;"));
    text_.line("break;");
    text_.close();
  }

  void iterations() {
    if (can_end_) function("", "");
    if (n_.how.vector_width > 1 && !can_end_) return vectors();
    text_.line(cat("#pragma unroll ", std::max<uint32_t>(n_.how.unroll, 1)));
    text_.open(cat("for (i64 ", k_, " = ", first_of_thread(), "; ", k_, " < ", trips_, "; ", k_,
                   " += ", team_.threads, ")"));
    can_end_ ? call("") : iteration("");
    text_.close();
  }

  /// Emits the iterations before the first place that is aligned, or all; those that each thread executes
  /// side by side; and those behind the last vector. So the numbers of a thread's iterations go up: a
  /// selection takes the first of equal values.
  void vectors() {
    VectorLoop loop = vector_loop(n_, n_.how.vector_width);
    // a vector that is loaded, added to and stored would lose what threads of other blocks add meanwhile
    std::erase_if(loop.accesses, [&](const VectorAccess &a) { return out_.is_atomic(a.buf); });
    int64_t width = n_.how.vector_width, apart = width * team_.threads,
            groups = out_.copies_ahead() ? std::max<int64_t>(n_.how.unroll, 1) : groups_at_once(n_, loop);
    std::string head, whole = names_.fresh("whole"), behind_head;
    std::string last = cat("(", lo_, lo_.empty() ? "" : " + ", trips_, " - 1)");
    std::string fits = cat(guard_holds(n_, loop.parts, lo_.empty() ? "0" : lo_, last, out_),
                           vectors_are_aligned(n_, loop, out_));
    if (counts_itself_) {
      text_.line(cat("const i64 ", whole, " = ", fits, " ? ", trips_, " & -", width, " : 0;"));
    } else {
      head = names_.fresh("head"), behind_head = cat(head, " + ");
      text_.line(cat("const i64 ", head, " = ", fits, " ? kw_min<i64>(", trips_, ", -", lo_, " & ", width - 1,
                     ") : ", trips_, ";"));
      text_.line(cat("const i64 ", whole, " = (", trips_, " - ", head, ") & -", width, ";"));
      one_by_one(groups, "", head);
    }
    // Where every thread has as many groups as are written out, none lies behind the end.
    auto trips = as_int(trips_of(n_));
    bool is_whole = groups == 1 || (counts_itself_ && trips && *trips % (apart * groups) == 0);
    std::string begin = names_.fresh("begin"), end = cat(behind_head, whole);
    text_.line("#pragma unroll 1");
    text_.open(cat("for (i64 ", begin, " = ", behind_head, width, " * ", team_.thread, "; ", begin, " < ",
                   end, "; ", begin, " += ", apart * groups, ")"));
    Groups mine{begin, groups, apart, lo_, is_whole ? "" : end};
    if (out_.copies_ahead())
      emit_copies(n_, loop, mine, out_);
    else
      emit_groups(n_, loop, mine, out_, [&](const std::string &number, const Stmt &body) {
        text_.line(cat("const i64 ", k_, " = ", number, ";"));
        iteration("", body);
      });
    text_.close();
    one_by_one(counts_itself_ ? groups : 1, cat(behind_head, whole, " + "), trips_);
  }
  void one_by_one(int64_t copies, const std::string &begin, const std::string &end) {
    text_.line(cat("#pragma unroll ", copies));
    text_.open(cat("for (i64 ", k_, " = ", begin, team_.thread, "; ", k_, " < ", end, "; ", k_,
                   " += ", team_.threads, ")"));
    iteration("");
    text_.close();
  }

  /// Returns the number of the first iteration of a thread. Threads that access rows from their second
  /// element on have places that begin with a sector, as those that access all of it do.
  std::string first_of_thread() const {
    auto lo = n_.step == 1 ? as_int(n_.lo) : std::nullopt;
    int64_t offset = lo ? *lo % team_.threads : 0;
    if (offset <= 0) return team_.thread;
    return cat("(", team_.thread, " + ", team_.threads - offset, ") % ", team_.threads);
  }

  /// Emits blocks of 4,096 iterations in rows of 64. Each warp of a block has one of eight such blocks.
  void rows() {
    std::string first = names_.fresh("first"), end = names_.fresh("end"), row = names_.fresh("row"),
                half = names_.fresh("half");
    if (can_end_) function(cat(", i32 ", half), cat("[", half, "]"));
    int64_t several = can_end_ ? 1 : n_.how.unroll / 2;
    const If *guard = several > 1 ? bound_of_iterations(n_) : nullptr;
    std::string bound;
    if (guard) {
      const Expr &most = as<Binary>(guard->cond)->b;
      out_.expressions().begin({most});
      bound = out_.stable(most, "bound");
    }
    text_.line("#pragma unroll 1");
    std::string round = team_.is_block() ? names_.fresh("round") : first;
    text_.open(cat("for (i64 ", round, " = 0; ", round, " < ", trips_, "; ", round,
                   " += ", sum_block * team_.threads / warp_threads, ")"));
    if (team_.is_block())
      text_.line(cat("const i64 ", first, " = ", round, " + ", sum_block, " * (kw_thread / 32);"));
    text_.line(cat("const i64 ", end, " = kw_min<i64>(", trips_, ", ", first, " + ", sum_block, ");"));
    for (const Accumulator &a : combined_.accumulators)
      if (a.in_lanes())
        text_.line(cat(of(a.cell).own, "[0] = ", of(a.cell).own, "[1] = ", identity_of(a), ";"));
    text_.line(
        cat("i64 ", row, " = ", first, " + ", team_.is_block() ? "kw_thread % 32" : team_.thread, ";"));
    // Several rows at once have no condition, behind which each load would wait for the one before.
    if (several > 1) {
      std::string whole = end;
      if (guard) {
        whole = names_.fresh("whole");
        // the difference may wrap where the bound is an integer of the user's
        std::string room = lo_.empty() ? bound : cat("(i64)((u64)", bound, " - (u64)", lo_, ")");
        text_.line(cat("const i64 ", whole, " = ", bound, " > ", lo_.empty() ? "0" : lo_, " ? kw_min<i64>(",
                       end, ", ", room, ") : 0;"));
      }
      lanes_of_rows(row, half, several, whole, guard ? guard->yes : n_.body);
    }
    lanes_of_rows(row, half, 1, end, n_.body);
    for (const Accumulator &a : combined_.accumulators)
      if (a.in_lanes()) add_block(of(a.cell), round, end);
    text_.close();
  }
  /// Emits the thread's lanes of so many rows, as long as there are as many.
  void lanes_of_rows(const std::string &row, const std::string &half, int64_t rows, const std::string &end,
                     const Stmt &body) {
    text_.line("#pragma unroll 1");
    std::string last = rows > 1 ? cat(" + ", sum_lanes * rows - warp_threads) : "";
    text_.open(cat("for (; ", row, last, " < ", end, "; ", row, " += ", sum_lanes * rows, ")"));
    text_.line("#pragma unroll");
    text_.open(cat("for (i32 ", half, " = 0; ", half, " < ", 2 * rows, "; ", half, "++)"));
    text_.line(cat("const i64 ", k_, " = ", row, " + 32 * ", half, ";"));
    if (rows == 1) text_.line(cat("if (", k_, " >= ", end, ") break;"));
    std::string lane = rows > 1 ? cat(half, " & 1") : half;
    can_end_ ? call(cat(", ", lane)) : iteration(cat("[", lane, "]"), body);
    text_.close();
    text_.close();
  }
  void add_block(const Variables &v, const std::string &first, const std::string &end) {
    std::string call = team_.is_block() ? cat("kw_add_blocks(", v.blocks, ", ", v.level, ", ", v.own, ", ",
                                              first, ", ", trips_)
                                        : cat("kw_add_block(", v.blocks, ", ", v.level, ", ", v.own, ", ",
                                              first, " >> ", sum_block_bits, ", ", end, " == ", trips_);
    text_.line(cat("if (", trips_, " >= ", sum_lanes, ") ", call, ", ", v.combine, slots(), ");"));
  }
  /// Returns the last argument of functions that warps of a block call.
  std::string_view slots() const { return team_.is_block() ? ", kw_slots" : ""; }

  void end(const Accumulator &a) { assign(a.cell, total(a)); }
  /// Sets a target to the value that all threads have. One thread stores to memory; before, all may read it.
  void assign(const Buf &b, const std::string &value) {
    const std::string &target = of(b).target;
    if (out_.expressions().is_variable(b)) return text_.line(cat(target, " = ", value, ";"));
    std::string all = named(b, "all");
    text_.line(cat("const ", cuda_type(b->dtype), " ", all, " = ", value, ";"));
    text_.line(team_.wait());
    text_.line(cat("if (", team_.thread, " == 0) ", target, " = ", all, ";"));
  }
  /// Returns the value of the target after the loop.
  std::string total(const Accumulator &a) const {
    const Variables &v = of(a.cell);
    if (!a.in_lanes()) {
      std::string_view fold = team_.is_block() ? "kw_fold_block(" : "kw_fold(";
      std::string all = cat(fold, v.own, ", ", v.combine, slots(), ")");
      return a.is_idempotent() ? all : cat(v.combine, "(", v.target, ", ", all, ")");
    }
    std::string terms = a.is_fused ? cat(v.left, ", ", v.right) : v.own;
    std::string in_order = cat(a.is_fused ? "kw_add_products_in_order(" : "kw_add_in_order(", v.target, ", ",
                               terms, ", ", trips_, a.is_fused ? "" : cat(", ", v.combine), ")");
    if (team_.is_block()) in_order = cat("kw_take(", in_order, ", 0, kw_slots)");  // of the first warp
    return cat(trips_, " < ", sum_lanes, " ? ", in_order, " : ", v.combine, "(", v.target, ", ", v.blocks,
               ")");
  }
  /// Takes what the thread with the best value has kept.
  void end(const Selection &s) {
    const ArgReductionForm &form = s.form;
    std::string lane = names_.fresh("lane"), type(cuda_type(form.best->dtype));
    text_.line(cat("const i32 ", lane, " = kw_select", team_.is_block() ? "_block(" : "(", of(form.best).own,
                   ", ", numbers_.at(s.at), ", [](", type, " a, ", type, " b) { return ",
                   form.best_is_left ? "b < a" : "a < b", "; }, ", form.op == BinOp::le ? "true" : "false",
                   slots(), ");"));
    std::string_view take = team_.is_block() ? "kw_take(" : "kw_shfl(";
    for (const Buf &b : form.kept) assign(b, cat(take, of(b).own, ", ", lane, slots(), ")"));
  }

  const For &n_;
  const CudaTeam &team_;
  CudaStatements &out_;
  CudaNames &names_;
  CudaText &text_;
  CombinedValues combined_;
  bool can_end_, counts_itself_ = false;
  std::string trips_, lo_, k_;     ///< the trip count, the first value and the number of an iteration
  std::string failed_, function_;  ///< of iterations that may end early
  std::unordered_map<const BufNode *, Variables> variables_;
  std::unordered_map<const If *, std::string> numbers_;  ///< of the iterations that were selected
};

}  // namespace

std::string CudaTeam::any(std::string_view condition) const {
  return cat(is_block() ? "kw_any(" : "kw_any_warp(", condition, ")");
}

std::string_view cuda_slots() { return "KW_SHARED(u64, kw_slots, 8);"; }

void emit_block_loop(const For &n, const CudaTeam &team, CudaStatements &out) {
  BlockLoop(n, team, out).run();
}

}  // namespace kw
