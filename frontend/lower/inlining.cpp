// Lowers the arguments of a call, the callee in place of the call, and its result.
#include "frontend/lower/inlining.h"

#include <algorithm>
#include <unordered_set>

#include "frontend/lower/evaluation.h"
#include "frontend/lower/expansions.h"
#include "frontend/lower/expressions.h"
#include "frontend/lower/statements.h"
#include "frontend/parser.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

namespace {
// The most calls that are inlined in a kernel, and their deepest nesting. Chosen.
constexpr uint32_t max_inlined = 4096, max_calls = 64;

}  // namespace

/// Throws E118 if the callee is already being lowered, because inlining would not end. The message shows the
/// chain of calls:
///   kernel → f → g → f
void InlineLowering::refuse_recursion(const Captured &c, Loc loc) const {
  std::string chain = c.text;
  // from the innermost call outwards, so each caller is prepended to the chain
  for (const LowerContext *at = &cx_; at; at = at->caller) {
    chain = cat(at->f.name, " → ", chain);
    if (at->number != static_cast<uint32_t>(*c.integer)) continue;
    std::string help = "write a loop", instead = help_for_numpy(c.text);
    if (is_language_word(c.text))
      help = cat("the function's name hides the word '", c.text, "' of the language: rename the function");
    else if (!instead.empty())
      help = cat("the function's name hides every other '", c.text, "': ", instead);
    type_error(Code::E118, loc, cat("'", c.text, "' calls itself: ", chain), help);
  }
}

/// Returns one operand per parameter, from the call or the defaults. Sets `sources` to the expressions of the
/// given ones.
std::vector<Operand> InlineLowering::arguments_of(const Captured &c, const ast::Function &f,
                                                  const ast::CallExpr &n, Loc loc, const Captures &defaults,
                                                  std::vector<const ast::ExprPtr *> &sources) {
  // parameters after `*` take no positional argument
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
    // a default is a captured value, stored under "p=" with the captures of the callee
    if (value) cx_.rules.constant(*value, name, loc);
    Place place = here();
    Operand o = value ? expressions().captured(*value, name, loc) : expressions().scalar(*sources[i]);
    // earlier arguments keep the values that they had before this one was evaluated
    evaluation().evaluate_before(place, out);
    out.push_back(std::move(o));
  }
  return out;
}

/// Binds a parameter of the callee. A tensor is passed by reference: stores in the callee reach the caller's
/// buffer. Any other argument is assigned to a local of the callee.
void InlineLowering::bind_argument(const ast::Parameter &p, Operand arg) {
  if (arg.kind == Operand::Kind::tensor) {
    Binding b;
    b.kind = Binding::Kind::tensor;
    b.loc = p.loc;
    b.value = std::move(arg);
    bind(p.name, std::move(b));
    return;
  }
  LocalInfo &info = cx_.names.locals[p.name];
  // the call defines the parameter, so the whole body of the callee is its home
  info.home = &cx_.f.body;
  ++info.assignments;  // the call assigns it; more assignments make it a cell
  statements().assign_name(p.name, std::move(arg), p.loc, p.loc);
}

/// Records the result of a helper: a scalar, or the kind `none` for `return` and `return None`. The result is
/// poisoned if its expression is.
void InlineLowering::return_scalar(const ast::ReturnStmt &s) {
  cx_.result = Operand{};
  cx_.result.kind = Operand::Kind::none;
  cx_.result.loc = s.value ? s.value->loc : cx_.f.loc;
  if (!s.value || ast::as<ast::NoneLiteral>(s.value)) return;
  cx_.result = expressions().expression(s.value);
  if (cx_.result.kind != Operand::Kind::scalar && cx_.result.kind != Operand::Kind::poisoned)
    type_error(Code::E115, s.value->loc,
               cat("a function that a kernel calls returns a scalar or nothing, not ", describe(cx_.result)),
               cx_.result.kind == Operand::Kind::tensor ? "pass the tensor and write its elements" : "");
}

/// Returns the callee's value at the call. The value is evaluated there unless it is the same later.
Operand InlineLowering::inlined_result(LowerContext &callee, const std::string &name, Loc loc) {
  Operand result = std::move(callee.result);
  result.loc = loc;
  if (result.kind != Operand::Kind::scalar) return result;
  // the node is copied because the result has the location of the call, not of the return
  if (is_call_constant(result.expr, true)) {
    result.expr = make_expr(result.expr.dtype(), loc, result.expr->v);
    return result;
  }
  // the result may read elements or cells that are written later, so a Let keeps its value
  Sym sym = make_sym(SymKind::local, result.expr.dtype(), name, loc);
  cx_.builder->add_let(sym, result.expr, loc);
  result.expr = ref(sym, loc);
  return result;
}

/// Lowers a call in place, in a context of its own for the callee's names and cells:
///   y = f(a[i], b)    →    p = a[i]; (statements of f, with b for its parameter); y = result of f
Operand InlineLowering::inline_call(const Captured &c, const ast::CallExpr &n, Loc loc) {
  refuse_recursion(c, loc);
  // number of callers in the chain, the current function included
  uint32_t calls = 0;
  for (const LowerContext *at = &cx_; at; at = at->caller) ++calls;
  if (++cx_.wide.inlined > max_inlined || calls > max_calls)
    type_error(Code::E105, loc,
               calls > max_calls ? cat("calls nest deeper than ", max_calls)
                                 : cat("more than ", max_inlined, " calls are inlined"),
               "split the kernel");
  auto number = static_cast<uint32_t>(*c.integer);
  ensure(number >= 1 && number <= cx_.in.callees.size(), "a function without a text");
  // each call is its own source, so that an error in the callee also shows the call
  uint32_t source = cx_.in.sources.add_inlined(cx_.in.callees[number - 1], loc);
  // limits the time for helpers that call helpers, whose texts are parsed again at each call
  cx_.wide.inlined_text += cx_.in.sources.text(source).size();
  if (cx_.wide.inlined_text > 10 * max_text)
    type_error(Code::E122, loc,
               cat("the functions that are inlined have more than ", 10 * max_text,
                   " characters, each counted once for each call"),
               "split the kernel");
  Sink found;
  ast::Function f = parse_function(tokenize(cx_.in.sources, source), found);
  found.throw_if_errors();
  static const Captures nothing;
  auto known = cx_.wide.callees.find(*c.integer);
  const Captures &captures = known == cx_.wide.callees.end() ? nothing : *known->second;
  std::vector<const ast::ExprPtr *> sources;
  // arguments are lowered in the caller, before the callee's context exists
  std::vector<Operand> args = arguments_of(c, f, n, loc, captures, sources);

  FrontendInput input{cx_.in.sources, source,         cx_.in.signature, captures,
                      cx_.in.options, cx_.in.callees, cx_.in.locals};
  LowerContext callee{f, input, cx_.sink, cx_.wide};
  callee.root = cx_.root, callee.caller = &cx_, callee.number = number;
  callee.rules.set_helper();
  // the limit on const_range copies applies across calls
  callee.copies = cx_.copies;
  BlockBuilder inside;
  inside.owners.push_back(&f.body);
  callee.builder = &inside;
  callee.result.kind = Operand::Kind::none;
  for (size_t i = 0; i < args.size(); ++i) {
    if (sources[i] && expansions().mentions_expanded(*sources[i])) callee.expanded.insert(f.params[i].name);
    InlineLowering(callee).bind_argument(f.params[i], std::move(args[i]));
  }
  StatementLowering(callee).statements(f.body);
  // a helper that calls a writing helper also counts as writing: the tensor may belong to its own caller
  cx_.writes |= cx_.caller && callee.writes;
  if (callee.writes && !cx_.wide.unevaluated.empty())
    type_error(
        Code::E102, loc,
        cat("'", c.text, "' writes a tensor inside ", cx_.wide.unevaluated, ", which does not always run"),
        "call it in a statement of its own");
  cx_.wide.writing_calls += callee.writes;
  // cells of the callee are declared at the call, so they scope over its statements and its result
  for (const Buf &cell : InlineLowering(callee).cells_of(inside.owners))
    cx_.builder->add_alloc(cell, Fill::none, loc);
  cx_.builder->append(std::move(inside));
  return inlined_result(callee, c.text, loc);
}

}  // namespace kw
