// Builds linear forms, and variables for nonlinear expressions.
#include "analysis/nest/nest_forms.h"

#include <algorithm>

#include "analysis/affine.h"
#include "analysis/solve.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

// A loop that counts further than this does not end in the lifetime of the process.
constexpr int64_t max_trips = int64_t{1} << 46;
// A linear form whose terms sum up to less than this cannot wrap in 64 bits.
constexpr int64_t safe_sum = int64_t{1} << 62;
// Nodes of a definition that is substituted into subscripts. Chosen: larger trees become opaque variables.
constexpr int max_tree = 64;

/// Returns the form 1 · v.
LinearForm of_variable(uint32_t v) { return {{{v, 1}}, 0}; }

/// Computes a += factor · b; returns false on overflow.
bool add_to(LinearForm &a, const LinearForm &b, int64_t factor) {
  int64_t part;
  if (__builtin_mul_overflow(b.constant, factor, &part) ||
      __builtin_add_overflow(a.constant, part, &a.constant))
    return false;
  for (auto [v, c] : b.terms) {
    if (__builtin_mul_overflow(c, factor, &part)) return false;
    auto at = std::find_if(a.terms.begin(), a.terms.end(), [v = v](const auto &t) { return t.first == v; });
    if (at == a.terms.end()) {
      a.terms.emplace_back(v, part);
    } else {
      if (__builtin_add_overflow(at->second, part, &at->second)) return false;
      if (at->second == 0) a.terms.erase(at);
    }
  }
  return true;
}

/// Adds low + gap <= high; returns false if 64 bits cannot hold the constraint.
bool between(const LinearForm &low, const LinearForm &high, int64_t gap, std::vector<Constraint> &out) {
  LinearForm room = high;
  if (!add_to(room, low, -1) || __builtin_sub_overflow(room.constant, gap, &room.constant)) return false;
  out.push_back({std::move(room), false});
  return true;
}

/// Returns the number of nodes of the expression as a tree, counted up to `limit`.
int tree_size(const Expr &e, int limit) {
  int size = 1;
  for_each_operand(e, [&](const Expr &operand) {
    if (size < limit) size += tree_size(operand, limit - size);
  });
  return size;
}

}  // namespace

NestForms::NestForms(Nest &nest, const Stmt &root) : nest_(nest) {
  walk(root, [&](const Store &n, const Stmt &) { written_.insert(n.buf.get()); });
}

uint32_t NestForms::add_variable(NestVariable v) {
  nest_.variables.push_back(std::move(v));
  return static_cast<uint32_t>(nest_.variables.size() - 1);
}

void NestForms::define(const Sym &sym, const Expr &value) {
  Definition d;
  Expr whole = resolved(value);
  bool small = tree_size(whole, max_tree) < max_tree;
  Dependencies on = dependencies_of(whole);
  // a small value that is the same in equal iterations replaces its name from here on
  if (small && on.stable) d.value = whole;
  if (value.dtype() == DType::i64) {
    if (d.value) {
      d.form = exact_form(value);
    } else {  // each execution of the definition may give another value
      NestVariable v{NestVariable::Kind::opaque, ref(sym, value.loc()), loops_, false, on.reads_data, {}, {}};
      d.form = of_variable(add_variable(std::move(v)));
    }
  }
  if (!definitions_.insert_or_assign(sym.get(), std::move(d)).second) forget_forms();
}

void NestForms::define_outside(const Sym &sym, const Expr &value) {
  outside_.insert(sym.get());
  // the nest may have changed the memory that the value was read from: the name stays a symbol
  if (has_load(value) || tree_size(value, max_tree) == max_tree) return;
  Definition d{resolved(value), {}};
  if (tree_size(d.value, max_tree) == max_tree) return;
  if (value.dtype() == DType::i64) d.form = exact_form(value);
  if (value.dtype() != DType::i64 || d.form) definitions_[sym.get()] = std::move(d);
}

bool NestForms::enter_outside(const For &loop) {
  outside_.insert(loop.iter.get());
  uint32_t v = symbol(ref(loop.iter));
  nest_.around.push_back(v);
  std::vector<Constraint> range;
  bool exact = true;
  iterate(v, loop, range, exact);
  nest_.variables[v].known = std::move(range);
  return exact;
}

void NestForms::enter(uint32_t id, const For &loop) {
  NestVariable v{NestVariable::Kind::iterator, ref(loop.iter), {id}, true, false, {}, {}};
  uint32_t variable = add_variable(std::move(v));
  if (!iterators_.insert_or_assign(loop.iter.get(), variable).second) forget_forms();
  loop_ids_[loop.iter.get()] = id;
  nest_.loops[id].variable = variable;
  std::vector<Constraint> range;
  bool exact = true;
  iterate(variable, loop, range, exact);
  nest_.loops[id].range = std::move(range);
  nest_.loops[id].exact = exact;
}

/// Adds the range of an iterator: its bounds and, if the step is not 1 or -1, its steps from the first value.
void NestForms::iterate(uint32_t variable, const For &loop, std::vector<Constraint> &range, bool &exact) {
  LinearForm iterator = of_variable(variable);
  bool up = loop.step > 0;
  auto first = exact_form(loop.lo), last = exact_form(loop.hi);
  int64_t from = first ? most(*first).value_or(-1) : -1, to = last ? most(*last).value_or(-1) : -1;
  if (from >= 0 && to >= 0)
    nest_.variables[variable].most = std::max(from, to);
  else if (int64_t far; from >= 0 && !__builtin_mul_overflow(step_size(loop), max_trips, &far) &&
                        !__builtin_add_overflow(far, from, &far))
    nest_.variables[variable].most = far;
  // if one bound is far from the limits of i64 and the other wraps, the loop has no iteration or never ends
  limit(loop.lo, iterator, {up, 0, to >= 0}, range, exact);
  limit(loop.hi, iterator, {!up, 1, from >= 0}, range, exact);
  // range(lo, hi, 4) adds a variable: i = lo + 4 · number
  if (step_size(loop) == 1) return;
  NestVariable count{NestVariable::Kind::quotient, {}, loops_, true, false, {}, {}};
  LinearForm number = of_variable(add_variable(std::move(count)));
  LinearForm rest = iterator;
  bool negates = loop.step != INT64_MIN;
  if (negates && first && add_to(rest, *first, -1) && add_to(rest, number, -loop.step))
    range.push_back({std::move(rest), true});
  else
    exact = false;
}

void NestForms::limit(const Expr &bound, const LinearForm &iterator, Side side,
                      std::vector<Constraint> &range, bool &exact) {
  const Binary *n = as<Binary>(bound);
  if (n && n->op == (side.from_below ? BinOp::max : BinOp::min)) {
    side.loose = false;  // a min or max with a bound that wrapped may be its other operand
    limit(n->a, iterator, side, range, exact);
    limit(n->b, iterator, side, range, exact);
    return;
  }
  auto form = side.loose ? loose_form(bound) : exact_form(bound);
  exact &= form && (side.from_below ? between(*form, iterator, side.gap, range)
                                    : between(iterator, *form, side.gap, range));
}

/// Caches forms: copies of a statement share most of their subscripts.
LinearForm NestForms::subscript(const Expr &e) {
  if (auto known = subscripts_.find(e.p.get()); known != subscripts_.end()) return known->second;
  auto form = loose_form(e);
  LinearForm out = form ? std::move(*form) : opaque(e);
  bool stable = std::all_of(out.terms.begin(), out.terms.end(),
                            [&](const auto &t) { return nest_.variables[t.first].stable; });
  // an unstable form gets new variables at each use, so that it must not be found again
  if (stable) subscripts_.emplace(e.p.get(), out);
  return out;
}

const std::vector<std::optional<LinearForm>> &NestForms::extents_of(const Buf &buf) {
  auto [at, is_new] = extents_.try_emplace(buf.get());
  if (is_new)
    for (const Expr &e : buf->extents) at->second.push_back(exact_form(e));
  return at->second;
}

/// Clears the caches if a name stands for something else from here on.
void NestForms::forget_forms() {
  subscripts_.clear();
  extents_.clear();
}

std::optional<LinearForm> NestForms::loose_form(const Expr &e) {
  auto form = linear(e);
  if (!form) return std::nullopt;
  int unbounded = 0;
  LinearForm bounded = *form;
  std::erase_if(bounded.terms, [&](const auto &t) {
    if (nest_.variables[t.first].most) return false;
    unbounded += t.second == 1 || t.second == -1 ? 1 : 2;
    return true;
  });
  return unbounded <= 1 && most(bounded) ? form : std::nullopt;
}

std::optional<LinearForm> NestForms::linear(const Expr &e) {
  auto form = affine_of(e);
  if (!form) return std::nullopt;
  LinearForm out{{}, form->constant};
  for (const AffineTerm &t : form->terms)
    if (!add_to(out, atom(t.atom), t.coefficient)) return std::nullopt;
  return out;
}

std::optional<LinearForm> NestForms::exact_form(const Expr &e) {
  auto form = linear(e);
  // a single variable is one 64-bit value, which is exact whatever its size
  bool alone = form && form->constant == 0 && form->terms.size() == 1 && form->terms[0].second == 1;
  return alone || (form && most(*form)) ? form : std::nullopt;
}

/// Returns a bound on the magnitude of a form and of its partial sums, if 62 bits hold it.
std::optional<int64_t> NestForms::most(const LinearForm &form) const {
  if (form.constant == INT64_MIN) return std::nullopt;
  int64_t sum = form.constant < 0 ? -form.constant : form.constant;
  for (auto [v, c] : form.terms) {
    const auto &bound = nest_.variables[v].most;
    int64_t part;
    if (!bound || c == INT64_MIN || __builtin_mul_overflow(*bound, c < 0 ? -c : c, &part) ||
        __builtin_add_overflow(sum, part, &sum))
      return std::nullopt;
  }
  return sum < safe_sum ? std::optional(sum) : std::nullopt;
}

LinearForm NestForms::atom(const Expr &e) {
  if (const Ref *r = as<Ref>(e)) {
    const SymNode *sym = r->sym.get();
    if (auto found = iterators_.find(sym); found != iterators_.end()) return of_variable(found->second);
    if (auto found = definitions_.find(sym); found != definitions_.end() && found->second.form)
      return *found->second.form;
    bool call_wide = sym->kind != SymKind::local && sym->kind != SymKind::iter;
    if (call_wide || outside_.count(sym)) return of_variable(symbol(e));
  }
  if (const Binary *n = as<Binary>(e))
    if (auto form = division(*n)) return *form;
  return opaque(e);
}

/// Returns the form of a // d, the q with 0 <= a - d·q < d, or of a % d, which is a - d·q.
std::optional<LinearForm> NestForms::division(const Binary &n) {
  auto divisor = as_int(n.b);
  if ((n.op != BinOp::floor_div && n.op != BinOp::floor_mod) || !divisor || *divisor <= 0 ||
      *divisor > max_divisor)
    return std::nullopt;
  auto a = exact_form(n.a);
  auto size = a ? most(*a) : std::nullopt;
  if (!size) return std::nullopt;
  bool stable = true, reads = false;
  for (auto [v, c] : a->terms) {
    stable = stable && nest_.variables[v].stable;
    reads = reads || nest_.variables[v].reads_data;
  }
  // the quotient may change along every loop that its dividend changes along
  NestVariable q{NestVariable::Kind::quotient, {}, {}, stable, reads, *size + 1, {}};
  for (auto [v, c] : a->terms)
    for (uint32_t loop : nest_.variables[v].loops)
      if (std::find(q.loops.begin(), q.loops.end(), loop) == q.loops.end()) q.loops.push_back(loop);
  auto value = [&](uint32_t v, const LinearForm &rest) {
    return n.op == BinOp::floor_div ? of_variable(v) : rest;
  };
  for (uint32_t v = 0; v < nest_.variables.size(); ++v) {
    LinearForm rest = *a;
    // equal quotients share one variable, so that a // 4 and a % 4 stay related
    const auto &same = nest_.variables[v];
    if (same.kind != NestVariable::Kind::quotient || same.known.empty() ||
        !add_to(rest, of_variable(v), -*divisor) || same.known[0].form != rest)
      continue;
    return value(v, rest);
  }
  uint32_t v = add_variable(std::move(q));
  LinearForm rest = *a;
  if (!add_to(rest, of_variable(v), -*divisor)) return std::nullopt;
  auto &known = nest_.variables[v].known;
  known.push_back({rest, false});
  between(rest, LinearForm{{}, *divisor}, 1, known);
  return value(v, rest);
}

uint32_t NestForms::symbol(const Expr &e) {
  for (uint32_t v = 0; v < nest_.variables.size(); ++v)
    if (nest_.variables[v].kind == NestVariable::Kind::symbol && equal(nest_.variables[v].expr, e)) return v;
  bool extent = is_extent(e);
  NestVariable v{NestVariable::Kind::symbol, e, {}, true, false, {}, {}};
  if (extent) v.most = max_extent;
  uint32_t id = add_variable(std::move(v));
  // extents of 0 do not matter: for these the body runs unscheduled
  if (extent) between(LinearForm{{}, 1}, of_variable(id), 0, nest_.variables[id].known);
  return id;
}

/// Returns a bound on the magnitude that follows from the type or the operation.
std::optional<int64_t> NestForms::most_of(const Expr &e) {
  const Cast *c = as<Cast>(e);
  if (c && !is_float(c->a.dtype()) && bit_width(c->a.dtype()) <= 32)
    return int64_t{1} << bit_width(c->a.dtype());
  const Binary *n = as<Binary>(e);
  if (!n || (n->op != BinOp::min && n->op != BinOp::max)) return std::nullopt;
  auto a = exact_form(n->a), b = exact_form(n->b);
  auto x = a ? most(*a) : std::nullopt, y = b ? most(*b) : std::nullopt;
  return x && y ? std::optional(std::max(*x, *y)) : std::nullopt;
}

LinearForm NestForms::opaque(const Expr &e) {
  Expr whole = resolved(e);
  Dependencies on{loops_, false, true};
  bool small = tree_size(whole, max_tree) < max_tree;
  if (small) on = dependencies_of(whole);
  // equal stable expressions have equal values, so that they share one variable
  if (on.stable)
    for (uint32_t v = 0; v < nest_.variables.size(); ++v)
      if (nest_.variables[v].stable && nest_.variables[v].expr && equal(nest_.variables[v].expr, whole))
        return of_variable(v);
  bool fixed = on.stable && on.loops.empty();
  NestVariable v{fixed ? NestVariable::Kind::symbol : NestVariable::Kind::opaque,
                 whole,
                 std::move(on.loops),
                 on.stable,
                 on.reads_data,
                 {},
                 {}};
  if (small) v.most = most_of(whole);
  uint32_t id = add_variable(std::move(v));
  const Binary *n = small ? as<Binary>(whole) : nullptr;
  if (!n || (n->op != BinOp::min && n->op != BinOp::max)) return of_variable(id);
  // a minimum is at most each operand, a maximum at least each; only linear operands are stated
  bool is_min = n->op == BinOp::min;
  std::vector<Constraint> known;
  for (const Expr &side : {n->a, n->b})
    if (auto form = exact_form(side))
      between(is_min ? of_variable(id) : *form, is_min ? *form : of_variable(id), 0, known);
  nest_.variables[id].known = std::move(known);
  return of_variable(id);
}

/// Returns the expression with definitions replaced by their values, if those are known and small.
Expr NestForms::resolved(const Expr &e) {
  return rewrite(e, [&](const Ref &n, const Expr &x) {
    auto found = definitions_.find(n.sym.get());
    return found != definitions_.end() && found->second.value ? found->second.value : x;
  });
}

NestForms::Dependencies NestForms::dependencies_of(const Expr &e) const {
  Dependencies out;
  walk(
      e,
      [&](const Ref &n, const Expr &) {
        if (auto loop = loop_ids_.find(n.sym.get()); loop != loop_ids_.end())
          out.loops.push_back(loop->second);
        else if (n.sym->kind == SymKind::local || n.sym->kind == SymKind::iter)
          out.stable = out.stable && outside_.count(n.sym.get());
      },
      [&](const Load &n, const Expr &) {
        out.reads_data = true;
        out.stable = out.stable && !written_.count(n.buf.get());
      });
  // an unstable value may change along all loops around it
  if (!out.stable) out.loops = loops_;
  return out;
}

/// Assumes the parts of a conjunction, a false disjunction or a negation; returns false for other conditions.
bool NestForms::assume_parts(const Expr &cond, bool holds, Assume assume, std::vector<Constraint> &out,
                             bool &exact) {
  if (const Logic *n = as<Logic>(cond); n && n->is_and == holds) {
    (this->*assume)(n->a, holds, out, exact);
    (this->*assume)(n->b, holds, out, exact);
    return true;
  }
  const Unary *n = as<Unary>(cond);
  bool negates = n && n->op == UnOp::logical_not;
  if (negates) (this->*assume)(n->a, !holds, out, exact);
  return negates;
}

void NestForms::assume_outside(const Expr &cond, bool holds, std::vector<Constraint> &out, bool &exact) {
  if (assume_parts(cond, holds, &NestForms::assume_outside, out, exact)) return;
  if (has_load(cond))
    exact = false;
  else
    assume(cond, holds, out, exact);
}

void NestForms::assume(const Expr &cond, bool holds, std::vector<Constraint> &out, bool &exact) {
  if (assume_parts(cond, holds, &NestForms::assume, out, exact)) return;
  const Binary *n = as<Binary>(cond);
  if (n && n->a.dtype() == DType::i64)
    compare(*n, holds, out, exact);
  else
    exact = false;
}

void NestForms::compare(const Binary &n, bool holds, std::vector<Constraint> &out, bool &exact) {
  auto a = exact_form(n.a), b = exact_form(n.b);
  // an inequality `!=` is no conjunction of linear constraints, so that it says nothing here
  bool equality = (n.op == BinOp::eq && holds) || (n.op == BinOp::ne && !holds);
  if (!a || !b || (n.op != BinOp::lt && n.op != BinOp::le && !equality)) {
    exact = false;
  } else if (equality) {
    if (add_to(*a, *b, -1))
      out.push_back({std::move(*a), true});
    else
      exact = false;
  } else {
    bool strict = (n.op == BinOp::lt) == holds;  // not a <= b is b < a
    exact &= holds ? between(*a, *b, strict, out) : between(*b, *a, strict, out);
  }
}

}  // namespace kw
