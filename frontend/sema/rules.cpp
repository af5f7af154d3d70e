// Implements the rules that need no types.
#include "frontend/sema/rules.h"

#include <algorithm>
#include <span>

#include "frontend/sema/infer.h"
#include "frontend/words.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/print.h"
#include "support/text.h"

namespace kw {

namespace {

/// Returns the advice that tells how a kernel gets access to a module.
std::string help_for_module(std::string_view id) {
  std::string_view module = id == "np" ? "numpy" : id;
  return cat("import it above the kernel; a kernel given as text imports it itself, or gets scope={'", id,
             "': ", module, "}");
}

/// Throws E104 for keyword arguments, and unless there are `low` to `high` positional ones.
void expect_arguments(const ast::CallExpr &n, std::string_view word, size_t low, size_t high, Loc loc) {
  if (!n.keywords.empty())
    type_error(Code::E104, n.keywords[0].loc, cat(word, " takes no keyword arguments in a kernel"),
               "pass it by position");
  if (n.args.size() >= low && n.args.size() <= high) return;
  std::string wanted = cat(low == high ? "" : cat(low, " to "), counted(high, "argument"));
  type_error(Code::E104, loc, cat(word, " takes ", wanted, ", ", n.args.size(), " given"));
}

/// Throws E101 for a builtin that the language lacks, with what to write instead.
void refuse_builtin(std::string_view word, Loc loc) {
  if (const RefusedWord *refused = refused_word(word))
    type_error(Code::E101, loc, cat(word, " is not part of the kernel language"), std::string(refused->help));
}

[[noreturn]] void refuse_target(Loc loc) {
  type_error(Code::E113, loc, "this cannot be assigned", "assign to a name or to an element");
}

void refuse_matmul(ast::Operator op, Loc loc) {
  if (op == ast::Operator::matmul)
    type_error(Code::E101, loc, "`@` is not part of the kernel language",
               "write the three loops of the product");
}

void refuse_comparison(ast::CompareOp op, Loc loc) {
  using ast::CompareOp;
  if (op == CompareOp::is || op == CompareOp::is_not)
    type_error(Code::E101, loc, "`is` is not part of the kernel language", "use ==");
  if (op == CompareOp::in || op == CompareOp::not_in)
    type_error(Code::E101, loc, "`in` is not part of the kernel language", "compare with each value");
}

}  // namespace

void refuse_slice(const std::string &tensor, Loc loc) {
  type_error(Code::E109, loc, cat("the tensor '", tensor, "' cannot be sliced"),
             "write a loop over the elements");
}

void refuse_result(std::string_view what, Loc loc) {
  type_error(Code::E115, loc,
             cat("the return value should be either a single tensor or a tuple of tensors, not ", what),
             what == "scalars"  ? "write it to `output_tensor((1,), ...)` and return that"
             : what == "a list" ? "return a tuple: `return a, b`"
                                : "");
}

void refuse_zero_step(Loc loc) {
  type_error(Code::E116, loc, "the step of a loop is 0", "use a step of 1 or -1");
}

void refuse_variable(std::string_view what, Code code, Loc loc, std::string_view help) {
  type_error(code, loc, cat(what, " is not a compile-time constant integer"), std::string(help));
}

namespace {

/// A parameter of a call that makes a buffer, in the order of positions.
struct BufferSlot {
  std::string_view name;
  const ast::ExprPtr *BufferArguments::*member;
};
using Slots = std::vector<BufferSlot>;

/// Returns the slots of a call, with NumPy's names: the first of empty_like is `prototype`, that of
/// zeros_like is `a`.
Slots slots_of(std::string_view word) {
  using Args = BufferArguments;
  if (word == "output_tensor") return {{"shape", &Args::shape}, {"dtype", &Args::dtype}};
  const Constructor *c = constructor_of(word);
  if (!c) return {{"shape", &Args::shape}, {"dtype", &Args::dtype}, {"scope", &Args::scope}};
  Slots out{
      {c->is_like ? (c->content == Constructor::Content::empty ? "prototype" : "a") : "shape", &Args::shape}};
  if (c->content == Constructor::Content::given) out.push_back({"fill_value", &Args::value});
  out.push_back({"dtype", &Args::dtype});
  out.push_back({"order", &Args::order});
  return out;
}

/// Returns the names of slots for a message: "shape, dtype and scope".
std::string names_of(const Slots &slots) {
  std::vector<std::string> names;
  for (const BufferSlot &s : slots) names.emplace_back(s.name);
  std::string last = names.back();
  names.pop_back();
  return cat(join_text(names, ", "), " and ", last);
}

}  // namespace

BufferArguments buffer_arguments(const ast::CallExpr &n, std::string_view word, Loc loc) {
  bool is_output = word == "output_tensor";
  Slots slots = slots_of(word);
  BufferArguments out;
  auto refuse_scope = [](Loc at) {
    type_error(Code::E110, at, "output_tensor takes no scope", "use allocate for temporaries");
  };
  if (is_output && n.args.size() > slots.size()) refuse_scope(n.args[slots.size()]->loc);
  for (size_t i = 0; i < std::min(n.args.size(), slots.size()); ++i) out.*slots[i].member = &n.args[i];
  for (const ast::Keyword &k : n.keywords) {
    if (is_output && k.name == "scope") refuse_scope(k.loc);
    auto slot =
        std::find_if(slots.begin(), slots.end(), [&](const BufferSlot &s) { return s.name == k.name; });
    if (slot == slots.end())
      type_error(Code::E104, k.loc, cat(word, " takes no argument '", k.name, "' in a kernel"),
                 cat("its arguments are ", names_of(slots)));
    // passed both by position and by keyword, or by keyword twice
    if (out.*slot->member)
      type_error(Code::E104, k.loc, cat(word, " gets its argument '", k.name, "' twice"), "remove one");
    out.*slot->member = &k.value;
  }
  bool needs_value = constructor_of(word) && constructor_of(word)->content == Constructor::Content::given;
  if (n.args.size() > slots.size() || !out.shape || (needs_value && !out.value))
    type_error(Code::E104, loc,
               cat(word, " takes ", needs_value ? 2 : 1, " to ", slots.size(), " arguments, ",
                   n.args.size() + n.keywords.size(), " given"),
               out.shape ? "" : "the first is the shape");
  // the layout of a buffer is fixed, so only the equivalent `order` is accepted
  const auto *order = out.order ? ast::as<ast::Text>(*out.order) : nullptr;
  if (out.order && (!order || order->value != "C"))
    type_error(Code::E104, (*out.order)->loc, cat(word, " makes row-major arrays only"),
               "leave `order` out, and swap the subscripts where columns are to lie together");
  return out;
}

/// Returns the number of captured arrays, also those of called functions. Each array counts once.
static size_t count_arrays(const Captures &captures) {
  size_t count = 0;
  for (const auto &[name, c] : captures) {
    if (c.kind == Captured::Kind::array) count = std::max(count, static_cast<size_t>(*c.integer) + 1);
    count = std::max(count, count_arrays(c.attributes));
  }
  return count;
}

void Rules::parameters(Sink &sink) const {
  if (f_.star.known())
    type_error(Code::E112, f_.star, "a kernel has no '*' parameters",
               "remove the '*': every parameter can be given by keyword");
  size_t arrays = count_arrays(captures_);
  // captured arrays become arguments too; the two counts have separate messages
  if (f_.params.size() <= max_args && f_.params.size() + arrays > max_args)
    sink.add({Code::E112,
              f_.loc,
              cat("a kernel has at most ", max_args, " parameters and captured arrays, this one has ",
                  f_.params.size(), " and ", arrays),
              {},
              {"put several arrays into one"}});
  if (f_.params.size() > max_args)
    sink.add({Code::E112,
              f_.params[max_args].loc,
              cat("a kernel has at most ", max_args, " parameters, this one has ", f_.params.size()),
              {},
              {"put several into one array, or capture what does not change"}});
}

void Rules::missing_return(Sink &sink) const {
  if (!return_seen_)
    sink.add({Code::E108,
              f_.loc,
              cat("kernel '", f_.name, "' returns nothing"),
              {},
              {"end it with `return c`, naming what was computed"}});
}

void Rules::refuse(const ast::Refused &s) {
  for (const Diagnostic &d : s.found) {
    auto same = [&](const Diagnostic &other) { return other.loc == d.loc; };  // a loop is lowered repeatedly
    if (std::none_of(refused_.all().begin(), refused_.all().end(), same)) refused_.add(d);
  }
  throw CompileError(s.found);
}

void Rules::statement(const ast::Stmt &s, bool top_level) {
  if (const auto *n = std::get_if<ast::Refused>(&s.v)) refuse(*n);
  if (returned_) type_error(Code::E108, s.loc, "a statement follows `return`", "move `return` to the end");
  std::visit(
      Overload{[&](const ast::Assign &n) { assign(n, s.loc, top_level); },
               [&](const ast::AugAssign &n) { augmented(n, s.loc); }, [&](const ast::ForStmt &n) { loop(n); },
               [](const ast::WhileStmt &) {}, [](const ast::IfStmt &) {},
               [&](const ast::WithStmt &n) { scope(n.context); },
               [&](const ast::ReturnStmt &n) { return_statement(n, s.loc, top_level); },
               [](const ast::AssertStmt &) {},
               [&](const ast::ExprStmt &n) { expression_statement(n, s.loc); }, [](const ast::PassStmt &) {},
               [](const ast::Refused &) {}, [](const ast::JumpStmt &) {}},
      s.v);
}

std::string Rules::buffer_word(const ast::CallExpr &n) const {
  std::string word;
  const auto *name = ast::as<ast::Name>(n.callee);
  const auto *attribute = ast::as<ast::Attribute>(n.callee);
  if (name && !is_bound(name->id)) {
    const Captured *c = find_captured(captures_, name->id);
    // an imported word is known under any name; a word that nothing hides needs no import
    word = !c ? name->id : c->kind == Captured::Kind::word ? c->text : "";
  } else if (const Captured *module = attribute ? module_of(*attribute) : nullptr) {
    for (const auto &[key, value] : module->attributes)
      if (key == attribute->name && value.kind == Captured::Kind::word) word = value.text;
  }
  return word == "output_tensor" || word == "allocate" || constructor_of(word) ? word : "";
}

std::string Rules::declaration(const ast::Assign &s) const {
  const auto *call = ast::as<ast::CallExpr>(s.value);
  return call && ast::as<ast::Name>(s.target) ? buffer_word(*call) : "";
}

bool Rules::is_output(const ast::Assign &s, std::string_view word) const {
  const auto *name = ast::as<ast::Name>(s.target);
  return word == "output_tensor" ||
         (constructor_of(word) && !helper_ && name && names_.returned.count(name->id) > 0);
}

void Rules::assign(const ast::Assign &s, Loc loc, bool top_level) {
  std::string word = declaration(s);
  if (word.empty()) return target(s.target);
  const ast::CallExpr &call = *ast::as<ast::CallExpr>(s.value);
  BufferArguments given = buffer_arguments(call, word, loc);
  bool makes_output = is_output(s, word);
  if (makes_output && helper_)
    type_error(Code::E110, loc, "output_tensor stands in a function that a kernel calls",
               "declare the output in the kernel and pass it");
  if (makes_output && !top_level)
    type_error(Code::E110, loc,
               cat(word, constructor_of(word) ? " of an output" : "", " stands inside a loop or branch"),
               "declare outputs at the top level of the kernel");
  if (makes_output) outputs_.insert(ast::as<ast::Name>(s.target)->id);
  if (outputs_.size() > max_outputs)
    type_error(Code::E110, loc, cat("a kernel has at most ", max_outputs, " outputs"),
               "join some of them into one");
  if (given.dtype && !constructor_of(word)) dtype_place(*given.dtype);
}

/// Throws E216 for Python's own int and float, which are not dtypes although their names are words of the
/// language.
void Rules::dtype_place(const ast::ExprPtr &e) const {
  const auto *n = ast::as<ast::Name>(e);
  const auto *text = ast::as<ast::Text>(e);
  if (n && (is_bound(n->id) || find_captured(captures_, n->id))) return;
  if (n && (n->id == "int" || n->id == "float"))
    type_error(Code::E216, e->loc, cat("`", n->id, "` is no dtype: it has no width"),
               cat("use ", n->id, "32 or ", n->id, "64"));
  if (auto dtype = n || text ? dtype_from_numpy(n ? n->id : text->value) : std::nullopt)
    require_available(*dtype, e->loc);
}

/// Throws E113 for a target that is not a name, an element, or a tuple of them.
void Rules::target(const ast::ExprPtr &e) const {
  if (const auto *n = ast::as<ast::Name>(e)) return order_of_use(n->id, e->loc);
  if (ast::as<ast::Subscript>(e)) return;
  const auto *tuple = ast::as<ast::Tuple>(e);
  if (!tuple) refuse_target(e->loc);
  for (const ast::ExprPtr &item : tuple->items) target(item);
}

/// Checks an augmented assignment. Python refuses `a, b += …` as well.
void Rules::augmented(const ast::AugAssign &s, Loc loc) const {
  if (ast::as<ast::Tuple>(s.target)) refuse_target(s.target->loc);
  target(s.target);
  refuse_matmul(s.op, loc);
}

/// Throws E111 unless the loop runs over a call of a loop word, and E113 for several variables outside of
/// grid.
void Rules::loop(const ast::ForStmt &s) const {
  const auto *call = ast::as<ast::CallExpr>(s.iterable);
  std::string word = call ? callee_word(call->callee) : "";
  if (!is_loop_word(word))
    type_error(Code::E111, s.iterable->loc, "a kernel loops over ranges",
               "write `for i in range(n):` and index with i");
  expect_arguments(*call, word, 1, word == "grid" ? 1 : 3, s.iterable->loc);
  if (word != "grid" && !ast::as<ast::Name>(s.target))
    type_error(Code::E113, s.target->loc, cat(with_article(word), " has one loop variable"),
               "use `grid` for several");
}

/// Accepts scheduling scopes of AKG kernels, which have no meaning here. One statement may have several.
void Rules::scope(const ast::ExprPtr &e) const {
  if (const auto *several = ast::as<ast::Tuple>(e)) {
    for (const ast::ExprPtr &item : several->items) scope(item);
    return;
  }
  const auto *call = ast::as<ast::CallExpr>(e);
  std::string word = call ? callee_word(call->callee) : "";
  if (!contains(scope_words(), word))
    type_error(Code::E101, e->loc, "this `with` scope is not part of the kernel language",
               "attr(key, value) and block_realize(tensor) are");
  expect_arguments(*call, word, word == "attr" ? 2 : 1, word == "attr" ? 2 : 1, e->loc);
}

/// Throws E108 for a return inside a loop or branch, and for a bare return of a kernel; a helper may return
/// nothing.
void Rules::return_statement(const ast::ReturnStmt &s, Loc loc, bool top_level) {
  // even a misplaced return counts, or `missing_return` would add an error
  return_seen_ = true;
  if (!top_level)
    type_error(Code::E108, loc, "`return` stands inside a loop or branch",
               helper_ ? "return once, at the end of the function: keep the result in a local until then"
                       : "return once, at the end of the kernel");
  returned_ = true;
  if (!s.value && !helper_)
    type_error(Code::E108, loc, "`return` names nothing", "name what was computed: `return c`");
  if (const auto *items = ast::as<ast::Tuple>(s.value); items && items->is_list)
    refuse_result("a list", s.value->loc);
}

/// Accepts docstrings and calls of Python functions, which may write tensors; throws E101 or E110 for others.
void Rules::expression_statement(const ast::ExprStmt &s, Loc loc) const {
  if (ast::as<ast::Text>(s.value)) return;  // a docstring
  if (const auto *call = ast::as<ast::CallExpr>(s.value)) {
    const auto *callee = ast::as<ast::Name>(call->callee);
    if (callee && callee->id == "print") refuse_builtin("print", loc);
    if (function_of(call->callee)) return;
    if (std::string word = buffer_word(*call); !word.empty())
      type_error(Code::E110, loc, cat("the buffer of ", word, " gets no name"),
                 cat("assign it: `c = ", word, "(...)`"));
  }
  type_error(Code::E101, loc, "an expression alone has no effect in a kernel", "assign it, or remove it");
}

bool Rules::is_parameter(const std::string &id) const {
  return std::any_of(f_.params.begin(), f_.params.end(), [&](const auto &p) { return p.name == id; });
}

bool Rules::is_bound(const std::string &id) const {
  auto found = names_.locals.find(id);
  return is_parameter(id) ||
         (found != names_.locals.end() && (found->second.assignments > 0 || found->second.loop_variable));
}

/// Returns the candidates of "did you mean": own names, captured ones, functions and frequent words of the
/// language.
std::vector<std::string> Rules::known_names() const {
  std::set<std::string> own;
  for (const ast::Parameter &p : f_.params) own.insert(p.name);
  for (const auto &[key, info] : names_.locals)
    if (is_bound(key)) own.insert(key);
  std::vector<std::string> out(own.begin(), own.end());
  for (const auto &[key, value] : captures_) out.push_back(key);
  for (const IntrinsicRow &row : intrinsics())
    if (row.in_language) out.emplace_back(row.name);
  for (const char *word : {"output_tensor", "allocate", "range", "grid", "select", "min", "max", "len",
                           "serial", "parallel", "vectorize", "unroll", "reduce"})
    out.emplace_back(word);
  return out;
}

/// Throws E106 or E107 for a misplaced use of a loop variable.
void Rules::order_of_use(const std::string &id, Loc loc) const {
  auto found = names_.misuses.find(loc.begin);
  if (found == names_.misuses.end() || excused_.count(id)) return;
  if (found->second == Misuse::assigned_in_loop)
    type_error(Code::E106, loc, cat("'", id, "' is the variable of a loop and cannot be overwritten in it"),
               "use another name");
  type_error(Code::E107, loc, cat("the loop variable '", id, "' is read after its loop"),
             cat("keep its value in another name: `last = ", id, "` in the loop"));
}

/// Throws E103; `lead` precedes the message.
void Rules::refuse_undefined(const std::string &id, Loc loc, std::string_view lead) const {
  bool is_module = id == "np" || id == "numpy" || id == "math";
  std::string help = is_module ? help_for_module(id) : help_for_numpy(id);
  // a shorter name would be close to every other name of its length
  std::string near = help.empty() && id.size() > 2 ? closest(id, known_names()) : "";
  type_error(Code::E103, loc, cat(lead, "name '", id, "' is not defined"),
             near.empty() ? help : cat("did you mean '", near, "'?"));
}

/// Looks a name up as Python does, first in the function and then in its globals. Words of the language come
/// last: they need no import.
void Rules::name(const std::string &id, Loc loc) const {
  if (is_bound(id)) return order_of_use(id, loc);
  if (const Captured *c = find_captured(captures_, id)) return captured(*c, id, loc);
  if (dtype_from_numpy(id)) return;
  if (is_language_word(id))
    type_error(Code::E104, loc, cat("'", id, "' is a function of the language and must be called"));
  refuse_undefined(id, loc, "undeclared variable: ");
}

void Rules::captured(const Captured &c, const std::string &id, Loc loc) const {
  using Kind = Captured::Kind;
  switch (c.kind) {
    case Kind::tuple:
      for (const Captured &item : c.items) captured(item, id, loc);
      return;
    case Kind::word:
      if (!dtype_from_numpy(c.text))
        type_error(Code::E104, loc, cat("'", id, "' is a function of the language and must be called"));
      return;
    case Kind::function:
      type_error(Code::E117, loc, cat("the function '", id, "' is used as a value"),
                 cat("call it: `", id, "(...)`"));
    case Kind::module: type_error(Code::E117, loc, cat("the module '", id, "' is used as a value"));
    case Kind::other:
      type_error(Code::E117, loc,
                 cat("the captured object '", id, "' (", c.text, ") is no constant that a kernel can use"),
                 c.text == "list"
                     ? "make it a tuple, or an array: np.array(...)"
                     : "capture a number, a str, a tuple of them or an array, or pass it as an argument");
    case Kind::integer:
    case Kind::real:
    case Kind::boolean:
    case Kind::scalar:
    case Kind::array:
    case Kind::text:
    case Kind::dtype: return;
  }
}

const Captured *Rules::module_of(const ast::Attribute &n) const {
  const auto *id = ast::as<ast::Name>(n.value);
  if (!id || is_bound(id->id)) return nullptr;
  const Captured *c = find_captured(captures_, id->id);
  return c && c->kind == Captured::Kind::module ? c : nullptr;
}

void Rules::expression(const ast::ExprPtr &e) const {
  if (const auto *n = ast::as<ast::Name>(e)) return name(n->id, e->loc);
  if (ast::as<ast::NoneLiteral>(e)) type_error(Code::E101, e->loc, "None is not part of the kernel language");
  if (ast::as<ast::Slice>(e)) type_error(Code::E109, e->loc, "a slice stands outside of an index");
  if (const auto *n = ast::as<ast::CallExpr>(e)) return call(*n, e->loc);
  if (const auto *n = ast::as<ast::BinaryExpr>(e)) return refuse_matmul(n->op, e->loc);
  if (const auto *n = ast::as<ast::CompareExpr>(e))
    for (ast::CompareOp op : n->ops) refuse_comparison(op, e->loc);
  if (const auto *n = ast::as<ast::Attribute>(e)) attribute(*n, e->loc);
}

/// Checks an attribute of a captured object; attributes of tensors depend on types.
void Rules::attribute(const ast::Attribute &n, Loc loc) const {
  const auto *base = ast::as<ast::Name>(n.value);
  const Captured *owner = base && !is_bound(base->id) ? find_captured(captures_, base->id) : nullptr;
  if (!owner) return;
  if (owner->kind == Captured::Kind::other)
    type_error(
        Code::E117, loc,
        cat("'", base->id, ".", n.name, "' is an attribute of ",
            owner->text == "type" ? "a class" : cat("an object (", owner->text, ")"), ", not of a module"),
        cat("name it outside of the kernel: `", n.name, " = ", base->id, ".", n.name, "`"));
  if (owner->kind != Captured::Kind::module) return;
  for (const auto &[key, value] : owner->attributes)
    if (key == n.name) return captured(value, cat(base->id, ".", key), loc);
  type_error(Code::E103, loc,
             cat("module '", base->id, "' has no constant or function '", n.name, "' that a kernel can use"),
             help_for_numpy(n.name));
}

/// Finds `f` in the globals, and `f` of `module.f`; a local of that name hides a global.
const Captured *Rules::function_of(const ast::ExprPtr &callee) const {
  const Captured *found = nullptr;
  if (const auto *n = ast::as<ast::Name>(callee); n && !is_bound(n->id))
    found = find_captured(captures_, n->id);
  if (const auto *n = ast::as<ast::Attribute>(callee))
    if (const Captured *module = module_of(*n)) found = find_captured(module->attributes, n->name);
  return found && found->kind == Captured::Kind::function && found->integer ? found : nullptr;
}

/// Throws the error for a callee that is an attribute of something other than a module: of an undefined name,
/// or a method.
void Rules::refuse_method(const ast::Attribute &n, Loc loc) const {
  // the spelling of a constructor is correct: only the module is missing
  std::string help = constructor_of(cat("np.", n.name)) ? "" : help_for_numpy(n.name);
  std::string by_name = cat("`", n.name, "` is a function of the language: call it by that name");
  // the leftmost part decides: np in np.linalg.norm
  const ast::ExprPtr *root = &n.value;
  while (const auto *outer = ast::as<ast::Attribute>(*root)) root = &outer->value;
  const auto *base = ast::as<ast::Name>(*root);
  if (base && !is_bound(base->id) && !find_captured(captures_, base->id) && !is_language_word(base->id)) {
    std::vector<std::string> helps;
    if (!help.empty()) helps.push_back(help);
    if (is_language_word(n.name)) helps.push_back(by_name);
    if (help.empty()) helps.push_back(help_for_module(base->id));
    throw CompileError(Diagnostic{
        Code::E103, (*root)->loc, cat("name '", base->id, "' is not defined"), {}, std::move(helps)});
  }
  if (find_intrinsic(n.name)) help = by_name;
  if (ast::as<ast::Text>(*root)) help = text_help;
  type_error(Code::E104, loc, cat("methods cannot be called in a kernel ('", n.name, "')"),
             help.empty() ? std::string(functions_help) : help);
}

/// Resolves `f`, `module.f` and names that an import gave them. A local hides a global. A global that hides a
/// word of the language is E117, because the author may have meant the word.
std::string Rules::callee_word(const ast::ExprPtr &callee) const {
  if (const auto *attr = ast::as<ast::Attribute>(callee)) {
    const Captured *c = module_of(*attr);
    if (!c) refuse_method(*attr, callee->loc);
    for (const auto &[key, value] : c->attributes)
      if (key == attr->name && value.kind == Captured::Kind::word)
        return value.text;
      else if (key == attr->name && value.kind == Captured::Kind::dtype)
        return std::string(numpy_name(value.dtype));
    std::string help = help_for_numpy(attr->name);
    type_error(Code::E103, callee->loc,
               cat("module '", ast::as<ast::Name>(attr->value)->id, "' has no function '", attr->name,
                   "' that a kernel can use"),
               help.empty() ? std::string(functions_help) : help);
  }
  const auto *n = ast::as<ast::Name>(callee);
  if (!n) type_error(Code::E104, callee->loc, "only functions of the language can be called in a kernel");
  if (is_bound(n->id))
    type_error(Code::E104, callee->loc, cat("'", n->id, "' is a variable, not a function"));
  const Captured *c = find_captured(captures_, n->id);
  if (!c) {
    bool is_akg = find_captured(captures_, std::string(akg_words));
    if (n->id == "round")
      return is_akg ? "round" : "builtins.round";  // the language has no word of that name
    if (!is_language_word(n->id) && !refused_word(n->id)) refuse_undefined(n->id, callee->loc, "");
    return n->id;
  }
  if (c->kind == Captured::Kind::word) return c->text;
  if (c->kind == Captured::Kind::dtype) return std::string(numpy_name(c->dtype));
  if (is_language_word(n->id))
    type_error(Code::E117, callee->loc,
               cat("the global '", n->id, "' shadows the word '", n->id, "' of the kernel language"),
               "rename or delete the global");
  if (std::string help = help_for_numpy(n->id); c->kind == Captured::Kind::other && !help.empty())
    type_error(Code::E117, callee->loc, cat("'", n->id, "' is no function that a kernel can call"), help);
  captured(*c, n->id, callee->loc);
  type_error(Code::E104, callee->loc, cat("'", n->id, "' is a captured constant, not a function"));
}

/// Checks a call inside an expression. Words of statements are refused first, each with the form in which it
/// is allowed. Then the number of arguments is checked.
void Rules::call(const ast::CallExpr &n, Loc loc) const {
  if (function_of(n.callee)) return;
  std::string word = callee_word(n.callee);
  if (word == "output_tensor" || word == "allocate" || constructor_of(word))
    type_error(Code::E110, loc, cat(word, " stands inside an expression"),
               cat("write `c = ", word, constructor_of(word) ? "(...)" : "(shape, dtype)",
                   "` as a statement of its own"));
  if (is_loop_word(word))
    type_error(Code::E111, loc, cat(word, " stands outside of a for loop"),
               cat("write `for i in ", word, "(...):`"));
  if (contains(scope_words(), word))
    type_error(Code::E101, loc, cat(word, " stands outside of a with statement"),
               cat("write `with ", word, "(...):`"));
  refuse_builtin(word, loc);
  auto to_int = rounding_to_int(word);
  if (!to_int && !is_language_word(word))
    type_error(Code::E104, loc, cat(word, " is no function of expressions"));
  if (n.args.size() == 2 && (word == "round" || to_int == Fn::round))
    type_error(Code::E101, loc, "round with a number of digits is not part of the kernel language",
               "scale: `round(x * 100.0) / 100.0`");
  bool many = word == "min" || word == "max";
  if (to_int) return expect_arguments(n, word.substr(word.find('.') + 1), 1, 1, loc);
  const IntrinsicRow *row = contains(other_words(), word) ? nullptr : find_intrinsic(word);
  size_t arity = word == "select" ? 3 : word == "sub_relu" ? 2 : row ? row->arity : 1;
  if (many && n.args.size() == 1 && n.keywords.empty())
    type_error(Code::E104, loc, cat(word, " compares two or more numbers, 1 is given"),
               "for the elements of a tensor write a loop");
  expect_arguments(n, word, many ? 2 : arity, many ? max_args : arity, loc);
  if (auto dtype = row ? std::nullopt : dtype_from_numpy(word)) require_available(*dtype, loc);
}

}  // namespace kw
