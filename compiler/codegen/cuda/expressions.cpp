// Shared values, lazy operators, memory and functions.
#include "codegen/cuda/expressions.h"

#include <algorithm>

#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "transform/math/expand.h"

namespace kw {

namespace {

/// Operations that are nested in one line. Chosen: lines stay readable, and compilers limit parentheses.
constexpr uint32_t most_nested = 12;

bool is_trivial(const Expr &e) { return as<Const>(e) || as<Ref>(e); }

}  // namespace

void CudaExpressions::begin(const std::vector<Expr> &roots) {
  kept_.clear(), uses_.clear(), needs_lines_.clear(), known_.assign(1, {});
  for (const Expr &e : roots) count(e);
}

void CudaExpressions::count(const Expr &e) {
  if (!e || is_trivial(e) || ++uses_[e.p.get()] > 1) return;
  for_each_operand(e, [&](const Expr &operand) { count(operand); });
}

bool CudaExpressions::needs_lines(const Expr &e) {
  if (!e || is_trivial(e) || known_name(e)) return false;
  if (uses_[e.p.get()] > 1 || e->depth > most_nested) return true;
  auto [found, is_new] = needs_lines_.try_emplace(e.p.get(), false);
  if (!is_new) return found->second;
  // The expansion of a function may share values.
  bool needs = as<Call>(e) && cuda_call(*as<Call>(e)) == CudaCall::inlined;
  for_each_operand(e, [&](const Expr &operand) { needs = needs || needs_lines(operand); });
  return needs_lines_[e.p.get()] = needs;
}

const std::string *CudaExpressions::known_name(const Expr &e) const {
  for (const auto &block : known_)
    if (auto found = block.find(e.p.get()); found != block.end()) return &found->second;
  return nullptr;
}

std::string CudaExpressions::value(const Expr &e) {
  if (const Const *n = as<Const>(e)) return cuda_literal(e.dtype(), n->bits);
  if (const Ref *n = as<Ref>(e)) return names_.of(n->sym);
  if (const std::string *name = known_name(e)) return *name;
  uint32_t outside = nested_;
  bool is_deep = nested_ >= most_nested, gets_name = is_deep || uses_[e.p.get()] > 1;
  nested_ = gets_name ? 0 : nested_ + 1;
  std::string text = evaluated(e);
  nested_ = outside;
  if (!gets_name || text.find_first_of("( [") == std::string::npos) return text;  // a name already
  std::string name = names_.fresh("v");
  text_.line(cat("const ", cuda_type(e.dtype()), " ", name, " = ", text, ";"));
  known_.back()[e.p.get()] = name;
  return name;
}

std::string CudaExpressions::bare(const Expr &e) {
  std::string text = value(e);
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (!depth) return text;
  }
  return text.substr(1, text.size() - 2);
}

std::string CudaExpressions::subscript(const Expr &e) {
  if (auto v = as_int(e)) return *v == INT64_MIN ? value(e) : *v < 0 ? cat("(", *v, ")") : cat(*v);
  const Binary *n = as<Binary>(e);
  auto is_size = [](const Expr &x) {
    const Ref *r = as<Ref>(x);
    return as<Const>(x) || (r && (r->sym->kind == SymKind::extent || r->sym->kind == SymKind::stride));
  };
  bool is_sum = n && (n->op == BinOp::add || n->op == BinOp::sub);
  bool is_product = n && n->op == BinOp::mul && (is_size(n->a) || is_size(n->b));
  if ((!is_sum && !is_product) || uses_[e.p.get()] > 1 || e->depth > most_nested) return value(e);
  std::string_view op = n->op == BinOp::add ? " + " : n->op == BinOp::sub ? " - " : " * ";
  return cat("(", subscript(n->a), op, subscript(n->b), ")");
}

/// Returns the first subscripts of rows that lie end to end as one: a[k // n, k % n] of rows of n elements is
/// element k. `taken` is how many subscripts it stands for.
static Expr joined_rows(const Buf &b, const std::vector<Expr> &index, size_t &taken) {
  Expr out = index[0];
  for (taken = 1; taken < index.size(); ++taken) {
    const Binary *row = as<Binary>(out), *at = as<Binary>(index[taken]);
    bool fits = row && at && row->op == BinOp::floor_div && at->op == BinOp::floor_mod &&
                equal(row->a, at->a) && equal(row->b, at->b) && equal(at->b, b->extents[taken]);
    if (!fits) break;
    out = row->a;
  }
  return out;
}

/// Returns the element's number: by strides, or row by row.
std::string CudaExpressions::offset(const Buf &b, const std::vector<Expr> &index) {
  std::string out;
  if (index.empty()) return "0";
  if (flat_ && mentions(index, flat_)) return names_.of(flat_);
  if (!b->strides.empty()) {
    for (size_t d = 0; d < index.size(); ++d) {
      bool is_unit = as_int(b->strides[d]) == 1;
      out += cat(d ? " + " : "", subscript(index[d]), is_unit ? "" : cat(" * ", subscript(b->strides[d])));
    }
    return out;
  }
  size_t d = 0;
  out = subscript(joined_rows(b, index, d));
  for (bool is_first = true; d < index.size(); ++d, is_first = false) {
    std::string at = subscript(index[d]);
    std::string rows =
        out == "0" ? "" : cat(is_first ? out : cat("(", out, ")"), " * ", subscript(b->extents[d]));
    out = rows.empty() ? at : at == "0" ? rows : cat(rows, " + ", at);
  }
  bool is_wrapped = index.size() == 1 && out.front() == '(' && out.back() == ')';
  return is_wrapped && std::count(out.begin(), out.end(), '(') == 1 ? out.substr(1, out.size() - 2) : out;
}

bool CudaExpressions::is_variable(const Buf &b) const {
  return b->space == Space::registers && b->rank() == 0 && !in_memory_.count(b.get());
}

const std::string *CudaExpressions::variable_of(const Buf &b, const std::vector<Expr> &index) const {
  auto found = redirected_.find(b.get());
  if (found == redirected_.end()) return nullptr;
  for (const auto &[place, variable] : found->second)
    if (equal(place, index)) return &variable;
  return nullptr;
}

std::string CudaExpressions::place(const Buf &b, const std::vector<Expr> &index) {
  if (const std::string *variable = variable_of(b, index)) return *variable;
  const std::string &name = names_.of(b->sym);
  return is_variable(b) ? name : cat(name, "[", offset(b, index), "]");
}

std::string CudaExpressions::load(const Load &n) {
  std::string at = place(n.buf, n.index);
  if (n.buf->dtype == DType::b1 && !is_variable(n.buf) && !variable_of(n.buf, n.index))
    return cat("(", at, " != 0)");
  bool is_word =
      n.buf->space == Space::constant && (n.buf->dtype == DType::f32 || n.buf->dtype == DType::f64);
  return is_word ? cat("kw_float(", at, ")") : at;
}

std::string CudaExpressions::lazy(const Expr &e, const Expr &cond, const Expr &yes, const Expr &no) {
  const Logic *logic = as<Logic>(e);
  std::string c = value(cond);
  auto side = [&](const Expr &x, std::string_view decided) { return x ? value(x) : std::string(decided); };
  if (!needs_lines(yes) && !needs_lines(no)) {
    // The sides count from 0: a part that gets a name because the text around is deep would no longer be
    // lazy.
    uint32_t outside = std::exchange(nested_, 0);
    std::string text = logic ? cat("(", c, logic->is_and ? " && " : " || ", value(logic->b), ")")
                             : cat("(", c, " ? ", value(yes), " : ", value(no), ")");
    nested_ = outside;
    return text;
  }
  std::string name = names_.fresh("v");
  text_.line(cat(cuda_type(e.dtype()), " ", name, ";"));
  auto assign = [&](const Expr &x, std::string_view decided) {
    known_.emplace_back();
    uint32_t outside = std::exchange(nested_, 0);
    std::string text = side(x, decided);
    text_.line(cat(name, " = ", text, ";"));
    nested_ = outside;
    known_.pop_back();
  };
  text_.open(cat("if (", c, ")"));
  assign(yes, "true");
  text_.otherwise();
  assign(no, "false");
  text_.close();
  known_.back()[e.p.get()] = name;
  return name;
}

std::string CudaExpressions::evaluated(const Expr &e) {
  return match(
      e, [&](const Const &n) { return cuda_literal(e.dtype(), n.bits); },
      [&](const Ref &n) { return names_.of(n.sym); }, [&](const Load &n) { return load(n); },
      [&](const Unary &n) { return cuda_unary(n.op, e.dtype(), value(n.a)); },
      [&](const Binary &n) {
        std::string a = value(n.a), b = value(n.b);
        return cuda_binary(n, a, b);
      },
      [&](const Logic &n) { return n.is_and ? lazy(e, n.a, n.b, {}) : lazy(e, n.a, {}, n.b); },
      [&](const Select &n) { return lazy(e, n.cond, n.yes, n.no); },
      [&](const Cast &n) { return cuda_cast(e.dtype(), n, value(n.a)); },
      [&](const Call &n) { return call(n, e); });
}

std::string CudaExpressions::call(const Call &n, const Expr &e) {
  CudaCall how = cuda_call(n);
  if (how == CudaCall::inlined) {
    Expr expanded = expand_call(n.fn, n.args, e.loc(), target_);
    const Call *same = as<Call>(expanded);
    ensure(!same || same->fn != n.fn, cat("the device has no function ", row_of(n.fn).name));
    kept_.push_back(expanded);
    count(expanded);
    return value(expanded);
  }
  DType from = n.args[0].dtype();
  if (how == CudaCall::bits && bit_width(from) == 16)
    return value(n.args[0]);  // a float of 16 bits is its word
  std::string args;
  for (const Expr &a : n.args) args += cat(args.empty() ? "" : ", ", value(a));
  std::string name(how == CudaCall::word   ? cuda_word(n.fn)
                   : how == CudaCall::bits ? n.fn == Fn::to_bits ? "kw_bits" : "kw_float"
                                           : std::string_view());
  return cat(name.empty() ? function(n.fn, from, e.dtype(), n.args.size()) : name, "(", args, ")");
}

/// Returns the name of a device function, whose text is made at its first call.
std::string CudaExpressions::function(Fn fn, DType from, DType to, size_t arity) {
  std::string name = cat("kw_", row_of(fn).name, "_", short_name(from));
  const std::vector<std::string> &made = shared_.function_names;
  if (std::find(made.begin(), made.end(), name) != made.end()) return name;
  CudaNames names;
  CudaText text;
  std::vector<Expr> args;
  std::string head;
  for (size_t i = 0; i < arity; ++i) {
    args.push_back(kw::ref(make_sym(SymKind::local, from, i ? "y" : "x")));
    head += cat(i ? ", " : "", cuda_type(from), " ", names.of(as<Ref>(args[i])->sym));
  }
  Expr body = expand_call(fn, args, {}, target_);
  text.open(cat("KW_FUNCTION ", cuda_type(to), " ", name, "(", head, ")"));
  CudaExpressions expressions(target_, names, text, shared_);
  expressions.begin({body});
  std::string result = expressions.bare(body);
  text.line(cat("return ", result, ";"));
  text.close();
  shared_.function_names.push_back(name);
  shared_.text += text.take();
  return name;
}

}  // namespace kw
