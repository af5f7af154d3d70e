// Walks a nest and builds the forms of its expressions.
#include "analysis/nest/nest.h"

#include <unordered_map>
#include <unordered_set>

#include "analysis/nest/nest_forms.h"
#include "ir/loops.h"
#include "ir/walk.h"
#include "support/diagnostic.h"

namespace kw {

namespace {

/// Walks the statements once. Tracks the loops, definitions and conditions of the current place, so that each
/// access is recorded with its context.
class NestBuilder {
 public:
  NestBuilder(Nest &nest, const Stmt &root, Reads reads = Reads::all)
      : nest_(nest), reads_(reads), forms_(nest, root) {
    walk(root, [&](const Ref &n, const Expr &) { asked_for_.insert(n.sym.get()); });
  }

  void run(const Stmt &root, const NestScope &scope, bool is_region) {
    is_region_ = is_region;
    // outermost first: an item may use the names of those before it
    for (const ScopeItem &item : scope) {
      if (item.sym)
        forms_.define_outside(item.sym, item.expr);
      else if (item.expr)
        forms_.assume_outside(item.expr, item.holds, nest_.context, nest_.exact);
      else
        around_.push_back(item.loop);
      if (item.loop) nest_.exact &= forms_.enter_outside(*item.loop);
      nest_.exact &= item.loop || item.sym || item.expr;  // a while
    }
    statements(root);
  }

 private:
  void statements(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) { statement(s); });
  }

  void statement(const Stmt &s) {
    nest_.complete = nest_.complete && accesses_ <= max_accesses;
    if (!nest_.complete) return;
    if (const Store *n = as<Store>(s)) return store(s, *n);
    if (const Let *n = as<Let>(s)) return definition(s, *n);
    if (const For *n = as<For>(s)) return loop(s, *n);
    if (const While *n = as<While>(s)) return while_loop(s, *n);
    if (const If *n = as<If>(s)) return conditional(s, *n);
    if (const Alloc *n = as<Alloc>(s)) homes_[n->buf.get()] = loops_.size();
    // the statements that follow run only if the jump does not; `body` restores the count at the end of the
    // loop
    if (as<Jump>(s)) ++guard_.may;
    for_each_expression(s, [&](const Expr &e) { reads_of(s, {e}); });
  }

  void definition(const Stmt &s, const Let &n) {
    const Load *element = as<Load>(n.value);
    if (element && !asked_for_.count(n.sym.get()))
      reads_of(s, element->index);  // only the subscripts matter: nothing uses the value
    else
      reads_of(s, {n.value});
    forms_.define(n.sym, n.value);
  }

  void store(const Stmt &s, const Store &n) {
    // the read of the accumulator and the write carry one mark: only such a pair may be reordered
    AccumulatingStore sum = reduction_of(n, around_);
    begin(s);
    for (const Expr &e : n.index) expression(e);
    mark_of_read_ = sum.read;
    mark_ = sum.mark;
    expression(n.value);
    mark_of_read_ = nullptr;
    add_access(s.loc(), n.buf, n.index, true, sum.read ? sum.mark : selection_mark_);
    finish();
  }

  void loop(const Stmt &s, const For &n) {
    if (is_region_ || !loops_.empty()) reads_of(s, {n.lo, n.hi});  // a root's bounds are read before it
    uint32_t id = enter(s, &n);
    forms_.enter(id, n);
    body(n.body, jumps_of(n.body).breaks);
  }

  void while_loop(const Stmt &s, const While &n) {
    enter(s, nullptr);
    reads_of(s, {n.cond});
    ++guard_.may;  // whether it runs again depends on what it computes
    body(n.body, true);
    --guard_.may;
  }

  /// Adds a loop and makes it the innermost one; null stands for a while.
  uint32_t enter(const Stmt &s, const For *loop) {
    uint32_t id = static_cast<uint32_t>(nest_.loops.size());
    nest_.loops.push_back({loop, s.loc()});
    if (!loops_.empty()) nest_.loops.back().parent = loops_.back();
    loops_.push_back(id);
    around_.push_back(loop);
    forms_.set_loops(loops_);
    return id;
  }

  /// Visits the body of the loop that was entered, then leaves the loop. A jump makes uncertain what follows
  /// it in the body.
  void body(const Stmt &s, bool ends_early) {
    int before = guard_.may;
    guard_.may += ends_early;
    statements(s);
    guard_.may = before;
    loops_.pop_back();
    around_.pop_back();
    forms_.set_loops(loops_);
  }

  void conditional(const Stmt &s, const If &n) {
    // the comparison with the best value and the stores of the branch form one arg-reduction
    ArgReductionForm selection = match_arg_reduction(n);
    mark_of_read_ = selection.read;
    mark_ = {};
    if (selection.read) mark_.kind = ReductionKind::arg_reduction, mark_.group = s.p.get();
    ReductionMark selected = mark_;
    reads_of(s, {n.cond});
    mark_of_read_ = nullptr;
    for (bool holds : {true, false}) {
      const Stmt &side = holds ? n.yes : n.no;
      if (!side) continue;
      size_t before = guard_.known.size();
      bool exact = true;
      forms_.assume(n.cond, holds, guard_.known, exact);
      // accesses of the branch may happen less often than the constraints say
      guard_.may += !exact;
      ReductionMark outer = std::exchange(selection_mark_, holds ? selected : ReductionMark{});
      statements(side);
      selection_mark_ = outer;
      guard_.may -= !exact;
      guard_.known.resize(before);
    }
  }

  /// Starts a statement of the nest: a store, or the evaluation of a condition, bound or value.
  void begin(const Stmt &s) {
    current_ = {s, loops_, guard_.known, guard_.may > 0, {}};
    seen_.clear();
    path_.known.clear();
    path_.may = 0;
  }
  void finish() {
    if (!current_.accesses.empty()) nest_.statements.push_back(std::move(current_));
  }
  void reads_of(const Stmt &s, const std::vector<Expr> &list) {
    begin(s);
    for (const Expr &e : list) expression(e);
    finish();
  }

  /// Visits an operand that is evaluated only if `cond` has the value `holds`.
  void lazily(const Expr &e, const Expr &cond, bool holds) {
    size_t before = path_.known.size();
    bool exact = true;
    forms_.assume(cond, holds, path_.known, exact);
    path_.may += !exact;
    // a shared node met here is not yet known where it is evaluated in any case
    auto seen = seen_;
    expression(e);
    seen_ = std::move(seen);
    path_.may -= !exact;
    path_.known.resize(before);
  }

  void expression(const Expr &e) {
    if (e.p.use_count() > 1 && !seen_.insert(e.p.get()).second) return;
    for_each_guarded_operand(e, [&](const Expr &operand, const OperandGuard &guard) {
      if (guard.cond)
        lazily(operand, *guard.cond, guard.holds);
      else
        expression(operand);
    });
    if (const Load *n = as<Load>(e))
      add_access(e.loc(), n->buf, n->index, false, e.p.get() == mark_of_read_ ? mark_ : ReductionMark{});
  }

  void add_access(Loc loc, const Buf &buf, const std::vector<Expr> &index, bool is_write,
                  const ReductionMark &mark) {
    if (!is_write && reads_ == Reads::of_written && !forms_.is_written(buf)) return;
    NestAccess a{buf, loc, is_write, index, {}, {}, path_.known, path_.may > 0, 0, mark};
    a.subscripts.reserve(index.size());
    for (const Expr &e : index) a.subscripts.push_back(forms_.subscript(e));
    a.extents = forms_.extents_of(buf);
    if (auto home = homes_.find(buf.get()); home != homes_.end()) a.home = home->second;
    current_.accesses.push_back(std::move(a));
    ++accesses_;
  }

  // Most accesses of a nest, because dependences are searched for all pairs. Chosen: some 4 million pairs are
  // the most that a compile can afford.
  static constexpr size_t max_accesses = 2000;

  Nest &nest_;
  Reads reads_;
  bool is_region_ = false;
  size_t accesses_ = 0;
  NestForms forms_;
  std::vector<uint32_t> loops_;
  std::vector<const For *> around_;
  std::unordered_map<const BufNode *, size_t> homes_;  ///< loops of the nest around each Alloc
  std::unordered_set<const SymNode *> asked_for_;      ///< symbols that the nest reads
  /// The conditions that hold at the current place of the walk.
  struct Conditions {
    std::vector<Constraint> known{};
    int may = 0;  ///< number of enclosing conditions that are not known exactly
  };
  Conditions guard_, path_;  ///< for the statement, and for the expression within it
  NestStatement current_;
  std::unordered_set<const ExprNode *> seen_;
  const ExprNode *mark_of_read_ = nullptr;
  ReductionMark mark_, selection_mark_;
};

}  // namespace

bool NestVariable::is_guess() const {
  const Cast *cast = as<Cast>(expr);
  bool named = as<Ref>(expr) || (cast && as<Ref>(cast->a));
  return kind == Kind::opaque || reads_data || (kind == Kind::symbol && !named);
}

Nest extract_nest(const Stmt &root, const NestScope &scope, Reads reads) {
  ensure(as<For>(root) != nullptr, "a nest begins at a loop");
  Nest nest;
  NestBuilder(nest, root, reads).run(root, scope, false);
  return nest;
}

Nest extract_region(const Stmt &region, const NestScope &scope) {
  Nest nest;
  NestBuilder(nest, region).run(region, scope, true);
  return nest;
}

namespace {

/// Tracks the Lets, loops and conditions around the current place; a Let stays to the end of its block.
class LoopWalk {
 public:
  explicit LoopWalk(const std::function<void(const Stmt &, const For &, const NestScope &)> &visit)
      : visit_(visit) {}

  void statements(const Stmt &root) {
    size_t before = scope_.size();
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
      if (const Let *n = as<Let>(*s)) scope_.push_back({nullptr, n->sym, n->value});
      if (const For *n = as<For>(*s)) {
        visit_(*s, *n, scope_);
        inside({n, {}, {}}, n->body);
      }
      if (const While *n = as<While>(*s)) inside({}, n->body);
      if (const If *n = as<If>(*s))
        inside({nullptr, {}, n->cond, true}, n->yes), inside({nullptr, {}, n->cond, false}, n->no);
      if (const Seq *n = as<Seq>(*s))
        for (size_t i = 0; i + 1 < n->items.size(); ++i) statements(n->items[i]);
    }
    scope_.resize(before);
  }

 private:
  void inside(ScopeItem item, const Stmt &body) {
    scope_.push_back(std::move(item));
    statements(body);
    scope_.pop_back();
  }

  const std::function<void(const Stmt &, const For &, const NestScope &)> &visit_;
  NestScope scope_;
};

}  // namespace

void for_each_loop(const Stmt &root,
                   const std::function<void(const Stmt &, const For &, const NestScope &)> &visit) {
  LoopWalk(visit).statements(root);
}

}  // namespace kw
