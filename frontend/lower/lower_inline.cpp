// Lowering of calls of Python functions: the callee is parsed and lowered in place, its scalars by value, its
// tensors by reference. An operand that takes such statements must not come before the operands on its left:
// these remain expressions, so that sums and products keep their form, but their elements are read ahead.
// Knows nothing of Python objects: texts and captured values come with the request.
#include <algorithm>
#include <unordered_set>

#include "frontend/lower/lowering.h"
#include "frontend/parser.h"
#include "ir/accumulation.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

namespace {
// Calls that are inlined in a kernel, and how deeply they nest. Chosen.
constexpr uint32_t max_inlined = 4096, max_calls = 64;

/// The parts of an operand that read elements of tensors, as large as they are always evaluated as a whole.
class ElementReads {
 public:
  explicit ElementReads(const Expr &e) { visit(e); }
  std::vector<Expr> found;

 private:
  void keep(const Expr &e) {
    if (reads_elements(e)) found.push_back(e);
  }
  void visit(const Expr &e) {
    if (!seen_.insert(e.p.get()).second) return;
    match(
        e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &) { keep(e); },
        [&](const Unary &n) { visit(n.a); }, [&](const Binary &n) { visit(n.a), visit(n.b); },
        [&](const Logic &) { keep(e); }, [&](const Select &) { keep(e); }, [&](const Cast &n) { visit(n.a); },
        [&](const Call &n) {
          for (const Expr &a : n.args) visit(a);
        });
  }
  std::unordered_set<const ExprNode *> seen_;
};

bool uses_elements(const Stmt &s) {
  bool found = false;
  walk(
      s, [&](const Load &n, const Expr &) { found |= !n.index.empty(); },
      [&](const Store &n, const Stmt &) { found |= !n.index.empty(); });
  return found;
}

}  // namespace

/// Finds what each function captures: it stands with the first mention of its number.
void Lowering::note_callees(const Captures &captures) {
  for (const auto &[name, value] : captures) {
    if (value.kind == Captured::Kind::function && value.integer && !value.attributes.empty())
      callees_.try_emplace(*value.integer, &value.attributes);
    note_callees(value.attributes);
  }
}

void Lowering::refuse_recursion(const Captured &c, Loc loc) const {
  std::string chain = c.text;
  for (const Lowering *at = this; at; at = at->caller_) {
    chain = cat(at->f_.name, " → ", chain);
    if (at->number_ != static_cast<uint32_t>(*c.integer)) continue;
    std::string help = "write a loop", instead = help_for_numpy(c.text);
    if (is_language_word(c.text))
      help = cat("the function's name hides the word '", c.text, "' of the language: rename the function");
    else if (!instead.empty())
      help = cat("the function's name hides every other '", c.text, "': ", instead);
    type_error(Code::E118, loc, cat("'", c.text, "' calls itself: ", chain), help);
  }
}

/// One operand per parameter, from the call or the defaults. `sources` are the expressions of those given.
std::vector<Operand> Lowering::arguments_of(const Captured &c, const ast::Function &f, const ast::CallExpr &n,
                                            Loc loc, const Captures &defaults,
                                            std::vector<const ast::ExprPtr *> &sources) {
  auto positions = static_cast<size_t>(
      std::count_if(f.params.begin(), f.params.end(), [](const ast::Parameter &p) { return !p.by_keyword; }));
  if (n.args.size() > positions)
    type_error(Code::E104, loc,
               cat("'", c.text, "' takes ", counted(positions, "argument"),
                   positions < f.params.size() ? " by position, " : ", ", n.args.size(), " given"));
  sources.resize(f.params.size());
  for (size_t i = 0; i < n.args.size(); ++i) sources[i] = &n.args[i];
  for (const ast::Keyword &k : n.keywords) {
    auto same = [&](const ast::Parameter &p) { return p.name == k.name; };
    auto p = std::find_if(f.params.begin(), f.params.end(), same);
    if (p == f.params.end())
      type_error(Code::E104, k.loc, cat("'", c.text, "' has no parameter '", k.name, "'"));
    const ast::ExprPtr *&slot = sources[static_cast<size_t>(p - f.params.begin())];
    if (slot) type_error(Code::E104, k.loc, cat("'", c.text, "' gets '", k.name, "' twice"));
    slot = &k.value;
  }
  std::vector<Operand> out;
  for (size_t i = 0; i < f.params.size(); ++i) {
    const std::string &name = f.params[i].name;
    const Captured *value = sources[i] ? nullptr : find_captured(defaults, cat(name, "="));
    if (!sources[i] && !value)
      type_error(Code::E104, loc, cat("'", c.text, "' needs the argument '", name, "'"));
    if (value) rules_.constant(*value, name, loc);
    Place place = here();
    Operand o = value ? captured(*value, name, loc) : scalar(*sources[i]);
    evaluate_before(place, out);
    out.push_back(std::move(o));
  }
  return out;
}

void Lowering::bind_argument(const ast::Parameter &p, Operand arg) {
  if (arg.kind == Operand::Kind::tensor) {
    Binding b;
    b.kind = Binding::Kind::tensor;
    b.loc = p.loc;
    b.value = std::move(arg);
    bind(p.name, std::move(b));
    return;
  }
  LocalInfo &info = names_.locals[p.name];
  info.home = &f_.body;
  ++info.assignments;  // the call assigns it; more assignments make it a cell
  assign_name(p.name, std::move(arg), p.loc, p.loc);
}

void Lowering::return_scalar(const ast::ReturnStmt &s) {
  result_ = Operand{};
  result_.kind = Operand::Kind::none;
  result_.loc = s.value ? s.value->loc : f_.loc;
  if (!s.value || ast::as<ast::NoneLiteral>(s.value)) return;
  result_ = expression(s.value);
  if (result_.kind != Operand::Kind::scalar && result_.kind != Operand::Kind::poisoned)
    type_error(Code::E115, s.value->loc,
               cat("a function that a kernel calls returns a scalar or nothing, not ", describe(result_)),
               result_.kind == Operand::Kind::tensor ? "pass the tensor and write its elements" : "");
}

/// The callee's value where the call stands, evaluated there and then unless it is the same later.
Operand Lowering::inlined_result(Lowering &callee, const std::string &name, Loc loc) {
  Operand result = std::move(callee.result_);
  result.loc = loc;
  if (result.kind != Operand::Kind::scalar) return result;
  if (is_call_constant(result.expr, true)) {
    result.expr = make_expr(result.expr.dtype(), loc, result.expr->v);
    return result;
  }
  Sym sym = make_sym(SymKind::local, result.expr.dtype(), name, loc);
  builder_->add_let(sym, result.expr, loc);
  result.expr = ref(sym, loc);
  return result;
}

Operand Lowering::inline_call(const Captured &c, const ast::CallExpr &n, Loc loc) {
  refuse_recursion(c, loc);
  uint32_t calls = 0;
  for (const Lowering *at = this; at; at = at->caller_) ++calls;
  if (++root_->inlined_ > max_inlined || calls > max_calls)
    type_error(Code::E105, loc,
               calls > max_calls ? cat("calls nest deeper than ", max_calls)
                                 : cat("more than ", max_inlined, " calls are inlined"),
               "split the kernel");
  auto number = static_cast<uint32_t>(*c.integer);
  ensure(number >= 1 && number <= in_.callees.size(), "a function without a text");
  uint32_t source = in_.sources.add_inlined(in_.callees[number - 1], loc);
  root_->inlined_text_ += in_.sources.text(source).size();
  if (root_->inlined_text_ > 10 * max_text)
    type_error(Code::E122, loc,
               cat("the functions that are inlined have more than ", 10 * max_text,
                   " characters, each counted once for each call"),
               "split the kernel");
  Sink found;
  ast::Function f = parse_function(tokenize(in_.sources, source), found);
  found.throw_if_errors();
  static const Captures nothing;
  auto known = root_->callees_.find(*c.integer);
  const Captures &captures = known == root_->callees_.end() ? nothing : *known->second;
  std::vector<const ast::ExprPtr *> sources;
  std::vector<Operand> args = arguments_of(c, f, n, loc, captures, sources);

  FrontendInput input{in_.sources, source, in_.signature, captures, in_.options, in_.callees, in_.locals};
  Lowering callee(f, input, *sink_);
  callee.root_ = root_, callee.caller_ = this, callee.number_ = number;
  callee.rules_.set_helper();
  callee.copies_ = copies_;
  BlockBuilder inside;
  inside.owners.push_back(&f.body);
  callee.builder_ = &inside;
  callee.result_.kind = Operand::Kind::none;
  for (size_t i = 0; i < args.size(); ++i) {
    if (sources[i] && mentions_expanded(*sources[i])) callee.expanded_.insert(f.params[i].name);
    callee.bind_argument(f.params[i], std::move(args[i]));
  }
  callee.statements(f.body);
  writes_ |= caller_ && callee.writes_;
  if (callee.writes_ && !root_->unevaluated_.empty())
    type_error(
        Code::E102, loc,
        cat("'", c.text, "' writes a tensor inside ", root_->unevaluated_, ", which does not always run"),
        "call it in a statement of its own");
  root_->writing_calls_ += callee.writes_;
  for (const Buf &cell : callee.cells_of(inside.owners)) builder_->add_alloc(cell, Fill::none, loc);
  builder_->append(std::move(inside));
  return inlined_result(callee, c.text, loc);
}

/// An operand that is evaluated on some paths only; what that takes besides an expression goes into
/// `builder`.
Operand Lowering::apart(const ast::ExprPtr &e, BlockBuilder &builder) {
  builder.owners = builder_->owners;
  Building inside(builder_, builder);
  return scalar(e);
}

/// `so_far and value` (or `or`) where evaluating the value takes statements.
Expr Lowering::decide_lazily(bool is_and, const Expr &so_far, BlockBuilder &&more, const Expr &value,
                             Loc loc) {
  Buf decided = make_buf(make_sym(SymKind::buffer, DType::b1, "decided"), {}, Space::registers);
  builder_->add_alloc(decided, Fill::none, loc);
  builder_->add(store(decided, {}, so_far, loc));
  more.add(store(decided, {}, value, loc));
  Expr open = load(decided, {}, loc);
  builder_->add(if_else(is_and ? open : unary(UnOp::logical_not, open, loc), more.finish({}), {}, loc));
  return load(decided, {}, loc);
}

bool BlockBuilder::uses_elements_from(size_t place) const {
  return std::any_of(items_.begin() + static_cast<std::ptrdiff_t>(place), items_.end(), [](const Item &item) {
    return !item.is_check && (item.stmt ? uses_elements(item.stmt) : item.sym && reads_elements(item.value));
  });
}

/// What was lowered before `place` is evaluated there, if statements that use tensors have come since: its
/// elements are read there for their subscripts and, when tensors were written since, for their values.
void Lowering::evaluate_before(const Place &place, Expr &earlier) {
  bool written = root_->writing_calls_ != place.writes;
  if (!written && !builder_->uses_elements_from(place.item)) return;
  std::vector<Expr> reads = ElementReads(earlier).found;
  auto by_place = [](const Expr &a, const Expr &b) { return a.loc().begin < b.loc().begin; };
  std::stable_sort(reads.begin(), reads.end(), by_place);
  size_t at = place.item;
  std::unordered_map<const ExprNode *, Expr> values;
  for (const Expr &e : reads) {
    bool known = !evaluated_.emplace(e.p.get(), e).second;
    if (known && !written) continue;
    Sym sym = make_sym(SymKind::local, e.dtype(), written ? "earlier" : "unread", e.loc());
    builder_->insert_let(at++, sym, e, e.loc());
    values.emplace(e.p.get(), ref(sym, e.loc()));
  }
  if (!written) return;
  auto replaced = [&](const auto &, const Expr &now, const Expr &before) {
    auto value = values.find(before.p.get());
    return value == values.end() ? now : value->second;
  };
  earlier = rewrite(
      earlier, [&](const Load &n, const Expr &e, const Expr &o) { return replaced(n, e, o); },
      [&](const Logic &n, const Expr &e, const Expr &o) { return replaced(n, e, o); },
      [&](const Select &n, const Expr &e, const Expr &o) { return replaced(n, e, o); });
}

void Lowering::evaluate_before(const Place &place, std::vector<Operand> &earlier) {
  // each goes to the front of what was put there before
  for (auto o = earlier.rbegin(); o != earlier.rend(); ++o) evaluate_before(place, *o);
}

void Lowering::evaluate_before(const Place &place, Operand &earlier) {
  if (earlier.kind == Operand::Kind::scalar) evaluate_before(place, earlier.expr);
  evaluate_before(place, earlier.items);
}

/// Operands from left to right; `numbers` refuses faulty ones.
std::vector<Operand> Lowering::operands(const std::vector<ast::ExprPtr> &list, bool numbers) {
  std::vector<Operand> out;
  for (const ast::ExprPtr &e : list) {
    Place place = here();
    Operand o = numbers ? scalar(e) : expression(e);
    evaluate_before(place, out);
    out.push_back(std::move(o));
  }
  return out;
}

}  // namespace kw
