// One function for each kind of statement.
#include "codegen/cuda/statements.h"

#include "analysis/gpu/pipeline.h"
#include "analysis/nest/trip_counts.h"
#include "codegen/cuda/vectors.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"

namespace kw {

void CudaStatements::define(const Sym &sym, const std::string &text) {
  text_.line(cat("const ", cuda_type(sym->dtype), " ", names_.of(sym), " = ", text, ";"));
}
void CudaStatements::define(const Sym &sym, const Expr &value) {
  expressions_.begin({value});
  define(sym, expressions_.bare(value));
}

std::string CudaStatements::stable(const Expr &e, std::string_view like) {
  std::string text = expressions_.subscript(e);
  if (as<Ref>(e) || as<Const>(e)) return text;
  std::string name = names_.fresh(like);
  text_.line(cat("const i64 ", name, " = ", text, ";"));
  return name;
}

void CudaStatements::block(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) statement(*s);
}

void CudaStatements::iteration(const Stmt &body, bool can_end) {
  std::string leave = std::exchange(leave_, can_end ? "return false;" : leave_);
  in_iteration_ = true;
  block(body);
  in_iteration_ = false;
  factors_.clear();
  leave_ = std::move(leave);
}

void CudaStatements::statement(const Stmt &s) {
  std::string place = source_.places ? line_directive(s.loc(), *source_.places) : "";
  if (place.empty()) return emit(s);
  std::string around = text_.comes_from(std::move(place));
  emit(s);
  text_.comes_from(std::move(around));
}

void CudaStatements::emit(const Stmt &s) {
  if (is_of_team() && team_->waits.before.count(s.p.get())) text_.line(team_->wait());
  match(
      s, [&](const Store &n) { store(n); }, [&](const Let &n) { define(n.sym, n.value); },
      [&](const Alloc &n) { allocate(n); },
      [&](const For &n) {
        n.kind == ForKind::block    ? block_loop(n)
        : n.kind == ForKind::vector ? emit_vector_loop(n, *this)
                                    : loop(n);
      },
      [&](const While &n) { repeat(n, is_of_team() && team_->waits.turns.count(s.p.get())); },
      [&](const Jump &n) { text_.line(n.kind == JumpKind::break_loop ? "break;" : "continue;"); },
      [&](const If &n) { branch(n); }, [&](const Check &n) { check(n); },
      [&](const Seq &n) {
        for (size_t i = 0; i + 1 < n.items.size(); ++i) block(n.items[i]);
      });
}

void CudaStatements::store(const Store &n) {
  if (copies_ahead_) return copy_ahead(n);
  if (changes_nothing(n)) return;  // each thread of a team would store what another one accumulates
  // One thread of the team stores to memory; a variable is that of each thread.
  bool by_one = is_of_team() && !expressions_.is_variable(n.buf);
  if (by_one) text_.open(cat("if (", team_->thread, " == 0)"));
  atomics_.count(n.buf) ? accumulate(n) : assign(n);
  if (by_one) text_.close();
}

/// Begins to copy an element to memory that the team shares.
void CudaStatements::copy_ahead(const Store &n) {
  const Load &from = *as<Load>(n.value);
  std::vector<Expr> roots = n.index;
  roots.insert(roots.end(), from.index.begin(), from.index.end());
  expressions_.begin(roots);
  std::string to = expressions_.place(n.buf, n.index), source = expressions_.place(from.buf, from.index);
  text_.line(cat("kw_copy_async(&", to, ", &", source, ");"));
}

void CudaStatements::assign(const Store &n) {
  std::vector<Expr> roots = n.index;
  roots.push_back(n.value);
  auto kept = factors_.find(n.buf.get());
  const Call *fma = kept == factors_.end() ? nullptr : as<Call>(n.value);
  if (fma) roots.insert(roots.end(), {fma->args[0], fma->args[1]});
  expressions_.begin(roots);
  if (fma) {
    std::string left = expressions_.bare(fma->args[0]), right = expressions_.bare(fma->args[1]);
    text_.line(cat(kept->second.first, " = ", left, ", ", kept->second.second, " = ", right, ";"));
  }
  std::string value = expressions_.bare(n.value);
  text_.line(cat(expressions_.place(n.buf, n.index), " = ", value, ";"));
}

/// Emits an accumulation that other threads may make into the same element.
void CudaStatements::accumulate(const Store &n) {
  Accumulation a = accumulation_of(n);
  ensure(static_cast<bool>(a.term), "an atomic operation without a term");
  std::vector<Expr> roots = n.index;
  roots.push_back(a.term);
  expressions_.begin(roots);
  std::string term = expressions_.bare(a.term);
  text_.line(
      cat("kw_atomic_", cuda_atomic(a.op), "(&", expressions_.place(n.buf, n.index), ", ", term, ");"));
}

void CudaStatements::allocate(const Alloc &n) {
  const Buf &b = n.buf;
  if (b->space == Space::constant) return;
  std::string type(cuda_memory_type(b->dtype));
  if (b->space == Space::registers && b->rank() == 0)
    return text_.line(cat(cuda_type(b->dtype), " ", names_.of(b->sym), n.fill == Fill::none ? ";" : " = 0;"));
  Expr count = const_int(1);
  for (const Expr &e : b->extents) count = mul(count, e);
  expressions_.begin({count});
  std::string size = expressions_.subscript(count);
  if (auto own = workspace_.find(b.get()); own != workspace_.end()) {
    expressions_.begin({own->second.bytes});
    std::string bytes = expressions_.subscript(own->second.bytes);
    text_.line(cat(type, " *", names_.of(b->sym), " = ", own->second.all, " + ", own->second.number, " * (",
                   bytes, " / ", item_size(b->dtype), ");"));
  } else {
    ensure(as_int(count).has_value(), "an array of a thread without a constant size");
    text_.line(cat(type, " ", names_.of(b->sym), "[", size, "];"));
  }
  if (n.fill != Fill::none) fill(b, size);
}
void CudaStatements::fill(const Buf &b, const std::string &size) {
  std::string k = names_.fresh("k");
  std::string first = is_of_team() ? team_->thread : "0";
  std::string step = is_of_team() ? cat(k, " += ", team_->threads) : cat(k, "++");
  text_.line(cat("for (i64 ", k, " = ", first, "; ", k, " < ", size, "; ", step, ") ", names_.of(b->sym), "[",
                 k, "] = 0;"));
}

void CudaStatements::block_loop(const For &n) {
  atomics_.insert(n.atomics.begin(), n.atomics.end());
  emit_block_loop(n, *team_, *this);
  for (const Buf &b : n.atomics) atomics_.erase(b);  // the array of a team, which others only assign
}

/// Emits a loop whose copies are under way for the iterations after the present one. Each has a stage of the
/// arrays, which is free as soon as all threads have executed the iteration before.
void CudaStatements::pipelined_loop(const For &n) {
  auto pipeline = pipeline_of(n);
  ensure(pipeline.has_value(), "a pipelined loop does not begin with copies");
  std::string i = names_.of(n.iter), stages = cat(n.how.stages), ahead = cat(n.how.stages - 1);
  expressions_.begin({n.hi});
  std::string end = stable(n.hi, "end"), turn = names_.fresh("turn");
  std::vector<std::pair<Buf, std::string>> whole;
  for (const Buf &b : pipeline->parts) whole.emplace_back(b, names_.of(b->sym));
  auto take_stage = [&] {
    for (const auto &[buf, name] : whole) {
      std::string part = names_.fresh(cat(buf->sym->name, "_of_stage"));
      int64_t count = 1;
      for (const Expr &e : buf->extents) count *= *as_int(e);
      text_.line(cat(cuda_memory_type(buf->dtype), " *const ", part, " = ", name, " + (u32)", i, " % ",
                     stages, " * ", count, ";"));
      names_.set(buf->sym, part);
    }
  };
  text_.line("#pragma unroll 1");
  text_.open(cat("for (i64 ", turn, " = -", ahead, "; ", turn, " < ", end, "; ", turn, "++)"));
  text_.line(cat("kw_wait_groups<", n.how.stages - 2, ">();"));
  text_.line(team_->wait());
  text_.open(cat("if (", turn, " + ", ahead, " < ", end, ")"));
  text_.line(cat("const i64 ", i, " = ", turn, " + ", ahead, ";"));
  take_stage();
  for (const Let *name : pipeline->names) define(name->sym, name->value);
  copies_ahead_ = true;
  block_loop(*as<For>(pipeline->copies));
  copies_ahead_ = false;
  text_.close();
  text_.line("kw_end_group();");
  text_.line(cat("if (", turn, " < 0) continue;"));
  text_.line(cat("const i64 ", i, " = ", turn, ";"));
  take_stage();
  for_each_in_block(n.body, [&](const Stmt &s) {
    if (s.p != pipeline->copies.p) statement(s);
  });
  text_.close();
  for (const auto &[buf, name] : whole) names_.set(buf->sym, name);
}

void CudaStatements::loop(const For &n) {
  if (n.how.stages > 1) return pipelined_loop(n);
  expressions_.begin({n.lo, n.hi});
  // NVRTC unrolls by itself, which doubles its time.
  uint32_t copies = n.kind == ForKind::unroll ? n.how.unroll : 1;
  bool is_short = copies > 1 && n.step == 1 && most_trips(n) == copies;
  std::string lo = is_short ? stable(n.lo, "lo") : expressions_.subscript(n.lo), hi = stable(n.hi, "end");
  if (is_short) return short_loop(n, lo, hi);
  std::string i = names_.of(n.iter);
  if (n.step == 1 || n.step == -1) {
    text_.line(cat("#pragma unroll ", copies));
    text_.open(cat("for (i64 ", i, " = ", lo, "; ", i, n.step > 0 ? " < " : " > ", hi, "; ", i,
                   n.step > 0 ? "++)" : "--)"));
    return in_braces(n.body);
  }
  std::string left = names_.fresh("left");
  text_.line(cat("i64 ", i, " = ", lo, ";"));
  text_.line(cat("#pragma unroll ", copies));
  text_.open(cat("for (u64 ", left, " = kw_trips(", i, ", ", hi, ", ", n.step, "); ", left, "; ", left,
                 "--, ", i, " = (i64)((u64)", i, " + (u64)",
                 cuda_literal(DType::i64, static_cast<uint64_t>(n.step)), "))"));
  in_braces(n.body);
}

/// Emits a loop that has as many iterations as are written out, or fewer. NVRTC would write out loops of half
/// of them, a quarter and one besides.
void CudaStatements::short_loop(const For &n, const std::string &lo, const std::string &hi) {
  std::string i = names_.of(n.iter), u = names_.fresh("u");
  bool surely_all = equal(n.hi, add(n.lo, const_int(n.how.unroll)));
  if (!surely_all) text_.open(cat("if (", hi, " - ", lo, " == ", n.how.unroll, ")"));
  text_.line("#pragma unroll");
  text_.open(cat("for (i32 ", u, " = 0; ", u, " < ", n.how.unroll, "; ", u, "++)"));
  text_.line(cat("const i64 ", i, " = ", lo, " + ", u, ";"));
  in_braces(n.body);
  if (surely_all) return;
  text_.otherwise();
  text_.line("#pragma unroll 1");
  text_.open(cat("for (i64 ", i, " = ", lo, "; ", i, " < ", hi, "; ", i, "++)"));
  in_braces(n.body);
  text_.close();
}

/// Emits a loop that a condition ends. The threads of a team leave it together.
void CudaStatements::repeat(const While &n, bool waits) {
  std::string turns = names_.fresh("turns");
  text_.line(cat("u32 ", turns, " = 0;"));
  text_.open("while (true)");
  if (waits) text_.line(team_->wait());
  expressions_.begin({n.cond});
  std::string cond = expressions_.value(n.cond);
  text_.line(cat("if (!", cond, ") break;"));
  std::string cancelled = cat("kw_is_cancelled(call, ", turns, "++)");
  text_.line(cat("if (", is_of_team() ? team_->any(cancelled) : cancelled, ") ", leave_));
  in_braces(n.body);
}

/// Returns whether a selection that selects nothing may compute what it would keep.
static bool keeps_cheap_values(const Selection &selection) {
  bool cheap = true;
  walk(selection.at->yes, [&](const Store &s, const Stmt &) {
    bool is_best = s.buf == selection.form.best;
    cheap = cheap && (is_best || !has_load(s.value));
    walk(s.value, [&](const Call &, const Expr &) { cheap = cheap && is_best; });
  });
  return cheap;
}

void CudaStatements::branch(const If &n) {
  auto found = selections_.find(&n);
  bool selects = found != selections_.end();
  if (selects && keeps_cheap_values(found->second.selection)) return select(found->second);
  expressions_.begin({n.cond});
  std::string cond = expressions_.bare(n.cond);
  text_.open(cat("if (", cond, ")"));
  if (selects) text_.line(cat(found->second.number, " = ", number_, ";"));
  block(n.yes);
  if (n.no) text_.otherwise(), block(n.no);
  text_.close();
}

/// Emits a selection without a branch, behind which the loads of the next iteration would wait.
void CudaStatements::select(const Numbered &chosen) {
  const ArgReductionForm &form = chosen.selection.form;
  Sym value = make_sym(SymKind::local, form.value.dtype(), "value");
  Sym better = make_sym(SymKind::local, DType::b1, "better");
  names_.set(value, names_.fresh("value")), names_.set(better, names_.fresh("better"));
  Expr own = kw::ref(value), best = load(form.best, {});
  define(value, form.value);
  define(better, form.best_is_left ? binary(form.op, best, own) : binary(form.op, own, best));
  const std::string &number = chosen.number;
  text_.line(cat(number, " = ", names_.of(better), " ? ", number_, " : ", number, ";"));
  for_each_in_block(chosen.selection.at->yes, [&](const Stmt &s) {
    const Store &kept = *as<Store>(s);
    const Expr &taken = kept.buf == form.best ? own : kept.value;
    Stmt taking = kw::store(kept.buf, kept.index,
                            kw::select(kw::ref(better), taken, load(kept.buf, kept.index)), s.loc());
    assign(*as<Store>(taking));
  });
}

/// Emits a check. The first fault in source order is kept, whichever thread finds it first.
void CudaStatements::check(const Check &n) {
  const Binary *compared = as<Binary>(n.cond);
  std::vector<Expr> roots{n.cond};
  if (compared) roots = {n.cond, compared->a, compared->b};
  expressions_.begin(roots);
  std::string number = number_.empty() ? "" : cat(number_, " * ", source_.f.sites.size(), " + ");
  std::string value = "0", bound = "0";
  if (compared) value = bits_of(compared->a), bound = bits_of(compared->b);
  std::string cond = expressions_.value(n.cond);
  text_.open(cat("if (!", cond, ")"));
  text_.line(cat("kw_fault(call, ", number, n.site, ", ", value, ", ", bound,
                 team_ ? cat(", ", team_->number) : "", ");"));
  text_.line(leave_);
  text_.close();
}
/// Returns the bits of an operand of a failed comparison as an i64.
std::string CudaStatements::bits_of(const Expr &e) {
  DType t = e.dtype();
  std::string text = expressions_.value(e);
  if (is_float(t)) return cat("(i64)kw_bits(", text, ")");
  return is_signed_int(t) && bit_width(t) < 64 ? cat("(i64)(u", bit_width(t), ")", text) : cat("(i64)", text);
}

}  // namespace kw
