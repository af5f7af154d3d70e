// Checks the invariants listed in verify.h in one walk.
#include "ir/verify.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/accumulation.h"
#include "ir/arg_reduction.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

namespace {

/// Walks a function once and keeps the first error. Members return false as soon as something is wrong, which
/// ends the walk.
class Verifier {
 public:
  std::string run(const Func &f);

 private:
  bool fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }
  bool need(bool ok, std::string_view what) { return ok || fail(std::string(what)); }

  bool bind(const Sym &s);
  /// Ends the scope of a symbol; forgets the checked expressions, which may name it.
  void hide(const SymNode *s) {
    visible_.erase(s);
    sound_.clear();
  }
  bool declare(const Buf &b);
  bool index_ok(const Buf &b, const std::vector<Expr> &index);
  bool all(const std::vector<Expr> &list);
  bool expr(const Expr &e);
  bool binary_ok(const Expr &e, const Binary &n);
  bool stmt(const Stmt &s);
  bool head(const Stmt &s);
  bool loop(const For &n);
  bool nested_ok(const For &n);
  bool cell_ok(const Store &n);
  bool shared_ok(const Alloc &n);
  void take_selected(const If &n, size_t from);
  bool plan_ok(const For &n);
  bool mark_ok(const Store &n);
  const LoopInvariance &invariance(const For *loop) {
    return invariance_.try_emplace(loop, *loop, overlap_).first->second;
  }

  std::string error_;  ///< the first error; empty while none is found
  Overlap overlap_ = Overlap::none;
  std::vector<const For *> loops_;  ///< the enclosing loops, outermost first
  std::unordered_map<const For *, LoopInvariance> invariance_;
  size_t site_count_ = 0;
  int jump_targets_ = 0;  ///< serial and while loops that a jump at this place may refer to
  std::unordered_map<const SymNode *, size_t> cells_;  ///< number of loops around the Alloc
  std::vector<Buf> unselected_;  ///< cells that a block loop stores to, unless a conditional selects them
  std::unordered_set<const SymNode *> bound_, visible_;
  std::unordered_set<const ExprNode *> sound_;  ///< shared expressions that were checked in this scope
};

bool Verifier::bind(const Sym &s) {
  if (!bound_.insert(s.get()).second) return fail(cat("symbol '", s->name, "' is bound twice"));
  visible_.insert(s.get());
  return true;
}

bool Verifier::declare(const Buf &b) {
  // sizes are checked before the buffer becomes visible: they must not refer to it
  for (const Expr &e : b->extents)
    if (!expr(e) || !need(e.dtype() == DType::i64, "an extent is not i64")) return false;
  for (const Expr &e : b->strides)
    if (!expr(e) || !need(e.dtype() == DType::i64, "a stride is not i64")) return false;
  return need(b->dtype == b->sym->dtype, "a buffer and its symbol have different dtypes") &&
         need(b->strides.empty() || b->strides.size() == b->rank(), "as many strides as extents") &&
         bind(b->sym);
}

bool Verifier::index_ok(const Buf &b, const std::vector<Expr> &index) {
  if (!visible_.count(b->sym.get())) return fail(cat("buffer '", b->sym->name, "' is not visible"));
  if (index.size() != b->rank()) return fail(cat("buffer '", b->sym->name, "' is indexed with another rank"));
  for (const Expr &e : index)
    if (!expr(e) || !need(e.dtype() == DType::i64, "an index is not i64")) return false;
  return true;
}

bool Verifier::all(const std::vector<Expr> &list) {
  return std::all_of(list.begin(), list.end(), [&](const Expr &e) { return expr(e); });
}

bool Verifier::binary_ok(const Expr &e, const Binary &n) {
  DType t = n.a.dtype();
  if (!need(t == n.b.dtype(), "binary operands have different dtypes")) return false;
  bool comparison = n.op >= BinOp::lt;
  bool bitwise = n.op >= BinOp::bit_and && n.op <= BinOp::shr;
  return need(e.dtype() == (comparison ? DType::b1 : t), "a binary node has the wrong dtype") &&
         need(n.op != BinOp::true_div || is_float(t), "true division of integers") &&
         need(!bitwise || !is_float(t), "bitwise operation on floats");
}

bool Verifier::expr(const Expr &e) {
  if (!need(bool(e), "an expression is missing")) return false;
  // a shared expression is checked once per scope: `hide` empties the set whenever a scope ends
  if (e.p.use_count() > 1 && sound_.count(e.p.get())) return true;
  if (!need(e->depth <= max_depth, "depth exceeds its limit")) return false;
  if (!need(e->depth == expected_depth(*e.p), "an expression has the wrong depth")) return false;
  bool ok = match(
      e, [&](const Const &) { return true; },
      [&](const Ref &n) {
        if (!visible_.count(n.sym.get()))
          return fail(cat("symbol '", n.sym->name, "' is used outside its scope"));
        return need(n.sym->dtype == e.dtype(), "a reference has another dtype than its symbol");
      },
      [&](const Load &n) {
        return index_ok(n.buf, n.index) && need(n.buf->dtype == e.dtype(), "a load has the wrong dtype");
      },
      [&](const Unary &n) {
        return expr(n.a) && need(n.a.dtype() == e.dtype(), "a unary node has the wrong dtype");
      },
      [&](const Binary &n) { return expr(n.a) && expr(n.b) && binary_ok(e, n); },
      [&](const Logic &n) {
        return expr(n.a) && expr(n.b) &&
               need(n.a.dtype() == DType::b1 && n.b.dtype() == DType::b1,
                    "logic on something that is no bool");
      },
      [&](const Select &n) {
        return expr(n.cond) && expr(n.yes) && expr(n.no) &&
               need(n.cond.dtype() == DType::b1, "a condition is no bool") &&
               need(n.yes.dtype() == n.no.dtype() && n.yes.dtype() == e.dtype(),
                    "a select has different dtypes");
      },
      [&](const Cast &n) { return expr(n.a); },
      [&](const Call &n) {
        return all(n.args) &&
               need(n.args.size() == row_of(n.fn).arity, "a call has the wrong number of arguments") &&
               need(result_dtype(n.fn, n.args[0].dtype()) == e.dtype(), "a call has the wrong dtype");
      });
  if (ok && e.p.use_count() > 1) sound_.insert(e.p.get());
  return ok;
}

/// Returns whether the store adds to its element or multiplies it, also by an fma.
static bool accumulates(const Store &n) {
  return accumulation_of(n).is_sum_or_product() || fused_accumulator_of(n);
}

/// Checks that the loops of a band enclose the store and that the store accumulates one element in all their
/// iterations. A sum in the order `lanes` counts the iterations of its band, so their bounds must be fixed.
bool Verifier::mark_ok(const Store &n) {
  bool lanes = n.order == Order::lanes;
  if (!need(!lanes || !n.order.band.empty(), "a sum in lanes names no loops") ||
      !need(!lanes || accumulates(n), "a store in lanes adds nothing to its element"))
    return false;
  size_t at = 0;  // index of the loop of the last name
  for (const Sym &name : n.order.band) {
    while (at < loops_.size() && loops_[at]->iter != name) ++at;
    if (at == loops_.size())
      return fail(cat("the order of a sum names loop '", name->name, "', which is not around it"));
    const For *loop = loops_[at];
    bool fixed = lanes ? invariance(loop).holds(n.index) : invariance(loop).holds_at_one_place(n.index);
    if (!fixed)
      return fail(cat("a sum over loop '", name->name, "' accumulates elements that the loop chooses"));
    for (size_t i = at + 1; lanes && i < loops_.size(); ++i)
      if (n.order.names(loops_[i]->iter) && !invariance(loop).holds({loops_[i]->lo, loops_[i]->hi}))
        return fail(cat("a sum over loop '", loops_[i]->iter->name, "' has a bound that the band changes"));
  }
  return true;
}

/// Returns whether every set field of the plan applies to loops of this kind.
static bool fits_kind(const LoopPlan &how, ForKind kind) {
  bool parallel = kind == ForKind::parallel, vector = kind == ForKind::vector;
  bool serial = kind == ForKind::serial;
  return (!how.vector_width || vector || parallel || kind == ForKind::block || kind == ForKind::grid) &&
         (!how.unroll || kind == ForKind::unroll || serial || parallel || kind == ForKind::block ||
          kind == ForKind::grid) &&
         (!how.chunk || parallel) && (!how.block_of || parallel) && (how.tail == Tail::scalar || vector) &&
         (!how.collapse || parallel) && (!how.flatten || serial || parallel || kind == ForKind::grid) &&
         (!how.prefetch || vector) && (!how.stream || vector || (serial && how.transpose)) &&
         (!how.transpose || serial) && (!how.chunks_per_thread || (parallel && !how.chunk)) &&
         (!how.per_block || kind == ForKind::grid) && (!how.threads || kind == ForKind::block) &&
         (!how.stages || serial);
}

/// Returns whether iterations of a loop run at the same time, on threads.
static bool runs_on_threads(ForKind kind) {
  return kind == ForKind::parallel || kind == ForKind::grid || kind == ForKind::block;
}

/// Returns whether a loop over blocks holds exactly the loop over one of them.
static bool holds_its_block(const For &blocks) {
  const For *n = loop_in_blocks(blocks);
  const Ref *first = n ? as<Ref>(n->lo) : nullptr;
  const Binary *end = n ? as<Binary>(n->hi) : nullptr;
  int64_t size;
  bool fits = first && first->sym == blocks.iter && end &&
              end->op == (n->step > 0 ? BinOp::min : BinOp::max) &&
              !__builtin_mul_overflow(blocks.how.block_of, n->step, &size) && size == blocks.step &&
              equal(end->a, blocks.hi) && equal(end->b, add(n->lo, const_int(size)));
  if (!fits) return false;
  bool only_there = true;
  walk(n->body, [&](const Ref &r, const Expr &) { only_there = only_there && r.sym != blocks.iter; });
  return only_there;
}

/// Returns whether a loop with constant bounds stays within the trip count of its plan. Back ends omit code
/// for further iterations.
static bool keeps_max_trips(const For &n) {
  auto trips = n.how.max_trips ? as_int(trips_of(n)) : std::nullopt;
  return n.how.max_trips >= 0 && (!trips || *trips <= n.how.max_trips);
}

/// Checks that the plan of a loop fits its kind and its body, and names visible buffers.
bool Verifier::plan_ok(const For &n) {
  if (!need(fits_kind(n.how, n.kind), "the plan of a loop has a field of another kind of loop")) return false;
  if (!need(n.kind != ForKind::unroll || n.how.unroll >= 2, "an unroll loop has fewer than 2 copies"))
    return false;
  if (!need(!n.how.block_of || holds_its_block(n), "a loop over blocks does not hold the loop of one block"))
    return false;
  if (!need(keeps_max_trips(n), "a loop runs more often than its plan tells")) return false;
  if (!need(!n.how.collapse || loop_to_collapse(n), "a collapsed loop holds more than a parallel loop"))
    return false;
  bool counts = !n.most_threads || (n.kind == ForKind::parallel && n.most_threads.dtype() == DType::i64);
  if (!need(counts, "a count of threads is not i64, or that of a loop which is not parallel")) return false;
  bool rows_fit = std::all_of(n.row_lengths.begin(), n.row_lengths.end(), [&](const RowLength &row) {
    return n.kind == ForKind::vector && row.buf->rank() >= 2 && visible_.count(row.buf->sym.get());
  });
  if (!need(rows_fit, "a length of rows names no visible buffer of rank 2 or more")) return false;
  bool atomics_fit = std::all_of(n.atomics.begin(), n.atomics.end(), [&](const Buf &b) {
    bool has_threads = n.kind == ForKind::grid || n.kind == ForKind::block;
    return has_threads && visible_.count(b->sym.get()) && can_be_atomic(n.body, b);
  });
  return need(atomics_fit, "a store to a buffer of atomic operations does not accumulate");
}

/// Checks the loops around grid and block loops, and those in them.
bool Verifier::nested_ok(const For &n) {
  auto count = [&](ForKind kind) {
    return std::count_if(loops_.begin(), loops_.end(), [&](const For *l) { return l->kind == kind; });
  };
  auto grids = count(ForKind::grid), serial = count(ForKind::serial);
  if (n.kind == ForKind::grid)
    return need(grids + serial == static_cast<std::ptrdiff_t>(loops_.size()),
                "a grid loop stands in a loop of another kind") &&
           need(grids < 3, "more than three grid loops stand in one another") &&
           need(!grids || (loops_.back()->kind == ForKind::grid && only_loop(loops_.back()->body) == &n),
                "a grid loop holds another one beside other statements");
  if (n.kind == ForKind::block)
    return need(grids + serial == static_cast<std::ptrdiff_t>(loops_.size()),
                "a block loop stands in a loop that is neither a grid loop nor serial");
  return need(!grids || n.kind != ForKind::parallel, "a parallel loop stands in a grid loop");
}

/// Checks an array that the threads of a team share: the launch gives it a fixed place.
bool Verifier::shared_ok(const Alloc &n) {
  const BufNode &b = *n.buf;
  bool has_team = false;
  walk(n.body, [&](const For &l, const Stmt &) { has_team = has_team || l.kind == ForKind::block; });
  bool in_block =
      std::any_of(loops_.begin(), loops_.end(), [](const For *l) { return l->kind == ForKind::block; });
  bool is_fixed = std::all_of(b.extents.begin(), b.extents.end(), [](const Expr &e) { return as_int(e); });
  return need(!in_block, "an array that a team shares stands in a block loop") &&
         need(has_team, "an array that a team shares stands around no block loop") &&
         need(b.rank() && is_fixed, "an array that a team shares has no constant size");
}

/// Checks that no thread of a loop stores to a cell that all of them share, except in sums that the loop may
/// divide, and by atomic operations.
bool Verifier::cell_ok(const Store &n) {
  if (n.buf->space != Space::registers || changes_nothing(n)) return true;
  auto home = cells_.find(n.buf->sym.get());
  for (size_t l = home == cells_.end() ? 0 : home->second; l < loops_.size(); ++l) {
    ForKind kind = loops_[l]->kind;
    bool sums = kind == ForKind::parallel ? n.order == Order::lanes
                                          : n.order != Order::source && n.order.names(loops_[l]->iter);
    bool is_block = kind == ForKind::block;
    if (is_block && !sums) {
      Accumulation a = accumulation_of(n);
      sums = a.term && is_exact(a.op, n.buf->dtype);
    }
    bool is_atomic = accumulates_by_atomics(*loops_[l], n.buf);
    if (is_block && !sums)
      unselected_.push_back(n.buf);
    else if (runs_on_threads(kind) && !sums && !is_atomic)
      return fail(cat("a ", kind_text(kind), " loop stores to a cell made outside it"));
  }
  return true;
}

/// Drops the cells, from one on, that a conditional selects: threads combine their selections.
void Verifier::take_selected(const If &n, size_t from) {
  std::vector<Buf> kept = match_arg_reduction(n).kept;
  auto is_kept = [&](const Buf &b) { return std::find(kept.begin(), kept.end(), b) != kept.end(); };
  unselected_.erase(
      std::remove_if(unselected_.begin() + static_cast<std::ptrdiff_t>(from), unselected_.end(), is_kept),
      unselected_.end());
}

bool Verifier::loop(const For &n) {
  if (!expr(n.lo) || !expr(n.hi) || (n.most_threads && !expr(n.most_threads))) return false;
  if (!need(n.lo.dtype() == DType::i64 && n.hi.dtype() == DType::i64, "a loop bound is not i64"))
    return false;
  if (!need(n.step != 0, "a loop has step 0") || !need(n.iter->dtype == DType::i64, "an iterator is not i64"))
    return false;
  if (!plan_ok(n) || !nested_ok(n)) return false;
  // passes may evaluate bounds again in the body
  bool fixed = !may_change(n.lo, n.body, overlap_) && !may_change(n.hi, n.body, overlap_);
  if (!need(fixed, "a loop writes memory that its bounds read") || !bind(n.iter)) return false;
  // only serial loops can be left by a jump: the iterations of others have no such order
  int outer_targets = jump_targets_;
  jump_targets_ = n.kind == ForKind::serial ? jump_targets_ + 1 : 0;
  loops_.push_back(&n);
  bool ok = stmt(n.body);
  loops_.pop_back();
  jump_targets_ = outer_targets;
  ok = ok &&
       need(n.kind != ForKind::block || unselected_.empty(), "a block loop stores to a cell made outside it");
  hide(n.iter.get());
  return ok;
}

bool Verifier::head(const Stmt &s) {
  return match(
      s,
      [&](const Store &n) {
        return index_ok(n.buf, n.index) && expr(n.value) && cell_ok(n) &&
               need(n.value.dtype() == n.buf->dtype, "a stored value has another dtype than its buffer") &&
               (n.order == Order::source || mark_ok(n));
      },
      [&](const Let &n) {
        return expr(n.value) &&
               need(n.value.dtype() == n.sym->dtype, "a let has another dtype than its symbol") &&
               bind(n.sym);
      },
      [&](const Alloc &n) {
        if (n.buf->space == Space::registers) cells_[n.buf->sym.get()] = loops_.size();
        if (n.buf->space == Space::shared && !shared_ok(n)) return false;
        return declare(n.buf);
      },
      [&](const For &n) { return loop(n); },
      [&](const While &n) {
        ++jump_targets_;
        bool ok = expr(n.cond) && need(n.cond.dtype() == DType::b1, "a condition is no bool") && stmt(n.body);
        --jump_targets_;
        return ok;
      },
      [&](const Jump &) { return need(jump_targets_ > 0, "a jump stands outside a serial loop"); },
      [&](const If &n) {
        if (!expr(n.cond) || !need(n.cond.dtype() == DType::b1, "a condition is no bool")) return false;
        size_t before = unselected_.size();
        if (!stmt(n.yes)) return false;
        if (unselected_.size() > before) take_selected(n, before);
        return !n.no || stmt(n.no);
      },
      [&](const Check &n) {
        return expr(n.cond) && need(n.cond.dtype() == DType::b1, "a condition is no bool") &&
               need(n.site < site_count_, "a check names a site that does not exist");
      },
      [&](const Seq &n) {
        for (const Stmt &item : n.items)
          if (!need(item && !as<Seq>(item), "a sequence holds a sequence")) return false;
        for (size_t i = 0; i + 1 < n.items.size(); ++i)
          if (!stmt(n.items[i])) return false;
        return true;
      });
}

bool Verifier::stmt(const Stmt &root) {
  if (!root) return true;
  // the scope of a Let or Alloc reaches to the end of its chain
  std::vector<const SymNode *> scoped;
  bool ok = true;
  for (const Stmt *s = &root; ok && s && *s; s = next_in_block(*s->p)) {
    ok = need((*s)->depth == expected_depth(*s->p), "a statement has the wrong depth") && head(*s);
    if (const Let *n = as<Let>(*s)) scoped.push_back(n->sym.get());
    if (const Alloc *n = as<Alloc>(*s)) scoped.push_back(n->buf->sym.get());
  }
  for (const SymNode *sym : scoped) hide(sym);
  return ok;
}

std::string Verifier::run(const Func &f) {
  site_count_ = f.sites.size();
  overlap_ = f.overlap;
  for (const Sym &s : f.extents)
    if (!need(s->dtype == DType::i64, "an extent symbol is not i64") || !bind(s)) return error_;
  if (f.misaligned &&
      (!need(f.misaligned->dtype == DType::i64, "a symbol of the call is not i64") || !bind(f.misaligned)))
    return error_;
  // scalars come before buffers, whose sizes may use them
  for (const Param &p : f.params)
    if (p.sym && !bind(p.sym)) return error_;
  for (const Param &p : f.params)
    if (p.buf && !declare(p.buf)) return error_;
  for (const Expr &fact : f.facts)
    if (!expr(fact) || !need(fact.dtype() == DType::b1, "a fact is no bool")) return error_;
  for (const Buf &r : f.results) {
    bool found = std::any_of(f.params.begin(), f.params.end(), [&](const Param &p) { return p.buf == r; });
    if (!need(found, "a result is no parameter")) return error_;
  }
  stmt(f.body);
  return error_;
}

}  // namespace

std::string verify(const Func &f) { return Verifier().run(f); }

}  // namespace kw
