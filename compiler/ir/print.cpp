// The printer. It assigns names at first use: i, then i_1 for another symbol called i.
#include "ir/print.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/text.h"

namespace kw {

std::string_view op_text(BinOp op) {
  static constexpr std::string_view names[] = {"+", "-", "*",  "/",  "//", "%",  "min", "max", "&",
                                               "|", "^", "<<", ">>", "<",  "<=", "==",  "!="};
  return names[static_cast<size_t>(op)];
}
std::string_view kind_text(ForKind kind) {
  static constexpr std::string_view names[] = {"serial", "parallel", "vector", "unroll", "grid", "block"};
  return names[static_cast<size_t>(kind)];
}
std::string_view value_text(SiteMessage::Value value) {
  static constexpr std::string_view names[] = {"none", "i64", "u64", "f64"};
  return names[static_cast<size_t>(value)];
}
std::string_view hint_text(Hint hint) {
  static constexpr std::string_view names[] = {"none", "serial", "parallel", "vectorize", "unroll", "reduce"};
  return names[static_cast<size_t>(hint)];
}
std::string_view space_text(Space space) {
  static constexpr std::string_view names[] = {"param", "heap", "stack", "registers", "shared", "constant"};
  return names[static_cast<size_t>(space)];
}
std::string_view fill_text(Fill fill) {
  static constexpr std::string_view texts[] = {"none", "zero", "meant", "empty"};
  return texts[static_cast<size_t>(fill)];
}

std::string_view order_text(Order order) {
  static constexpr std::string_view names[] = {"source", "lanes", "any"};
  return names[static_cast<size_t>(order)];
}
std::string_view tail_text(Tail tail) {
  static constexpr std::string_view names[] = {"scalar", "masked", "overlapped", "overlapped_or_masked"};
  return names[static_cast<size_t>(tail)];
}

namespace {

/// Builds the text of one function or expression. With `rename` every symbol gets a unique name, else it
/// prints under its own.
class Printer {
 public:
  explicit Printer(bool rename) : rename_(rename) {}

  std::string function(const Func &f);
  std::string expr(const Expr &e);

 private:
  std::string name(const Sym &s);
  std::string list(const std::vector<Expr> &items);
  std::string index(const std::vector<Expr> &items);
  std::string tuple(const std::vector<Expr> &items);
  std::string literal(DType t, uint64_t bits);
  std::string operand(const Expr &e);
  std::string buffer_type(const BufNode &b);
  std::string param(const Param &p);
  std::string site(const Site &s);
  void block(const Stmt &s, bool last);
  void statement(const Stmt &s);
  std::string allocation(const Alloc &n);
  void line(const std::string &text) { out_ += std::string(indent_ * 2, ' ') + text + "\n"; }
  void nested(const Stmt &s);
  const Expr &prepared(const Expr &e);

  bool rename_;
  size_t indent_ = 0;  ///< levels of two spaces
  std::string out_;
  std::unordered_map<const SymNode *, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> suffixes_;  ///< last number tried for a name
  std::unordered_map<const ExprNode *, std::string>
      shared_;  ///< parts of this statement with a line of their own
  int share_count_ = 0;
};

/// Returns a string literal of one line.
static std::string quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    bool plain = c != '\'' && c != '\\' && static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
    out += plain ? std::string(1, c) : cat("\\x", hex_digits(static_cast<uint8_t>(c)));
  }
  return out + "'";
}

std::string Printer::name(const Sym &s) {
  if (!rename_) return s->name;
  if (auto found = names_.find(s.get()); found != names_.end()) return found->second;
  // names depend only on the order of first use, never on addresses: equal functions print equal text
  std::string chosen = s->name;
  for (int &n = suffixes_[s->name]; !taken_.insert(chosen).second;) chosen = cat(s->name, "_", ++n);
  names_.emplace(s.get(), chosen);
  return chosen;
}

std::string Printer::list(const std::vector<Expr> &items) {
  std::string out;
  for (const Expr &e : items) out += (out.empty() ? "" : ", ") + expr(e);
  return out;
}
/// Indexes a buffer of rank 0 by the empty tuple, as in NumPy: `x[()]`.
std::string Printer::index(const std::vector<Expr> &items) {
  return items.empty() ? "[()]" : "[" + list(items) + "]";
}
/// Keeps the comma of a tuple of one element: `(n,)`.
std::string Printer::tuple(const std::vector<Expr> &items) {
  return "(" + list(items) + (items.size() == 1 ? ",)" : ")");
}

/// Prints a constant such that its dtype and bits can be read back: True is b1, 3 is i64, 0.5 is f64. Other
/// types are named, as in u8(3) or f32(0.5). Infinities and NaNs print as bits, so that payloads survive.
std::string Printer::literal(DType t, uint64_t bits) {
  if (t == DType::b1) return bits ? "True" : "False";
  if (t == DType::i64) return std::to_string(static_cast<int64_t>(bits));
  Value v{t, bits};
  if (!is_float(t))
    return cat(short_name(t), "(", t == DType::u64 ? std::to_string(bits) : std::to_string(to_int(v)), ")");
  double d = to_double(v);
  if (!std::isfinite(d)) return cat(short_name(t), ".bits(", hex_text(bits), ")");
  std::string text = t == DType::f32 ? float_text(to_float(v)) : float_text(d);
  return t == DType::f64 ? text : cat(short_name(t), "(", text, ")");
}

namespace {

/// Lists the parts of an expression, children first, and counts the uses of each.
class Parts {
 public:
  explicit Parts(const Expr &root) { visit(root); }
  /// Nodes of the whole expression as a tree; saturates.
  double tree_size = 0;
  std::vector<Expr> in_order;
  std::unordered_map<const ExprNode *, int> uses;

 private:
  void visit(const Expr &e) {
    if (uses[e.p.get()]++) return tree_size += sizes_[e.p.get()], void();
    // a node that is visited again adds the size measured at its first visit
    double before = tree_size++;
    match(
        e, [](const Const &) {}, [](const Ref &) {}, [&](const Load &n) { visit_all(n.index); },
        [&](const Unary &n) { visit(n.a); }, [&](const Binary &n) { visit(n.a), visit(n.b); },
        [&](const Logic &n) { visit(n.a), visit(n.b); },
        [&](const Select &n) { visit(n.yes), visit(n.cond), visit(n.no); },
        [&](const Cast &n) { visit(n.a); }, [&](const Call &n) { visit_all(n.args); });
    sizes_[e.p.get()] = tree_size - before;
    in_order.push_back(e);
  }
  void visit_all(const std::vector<Expr> &list) {
    for (const Expr &e : list) visit(e);
  }
  std::unordered_map<const ExprNode *, double> sizes_;
};

// Most nodes of an expression that is printed as a tree. Chosen: a line of text that people can still read.
constexpr double longest_tree = 400;
// Deepest nesting of printed expressions. Chosen so that the parser needs little stack.
constexpr int deepest_text = 40;

}  // namespace

/// Prints lines `share(3, …)` before the statement of an expression that would be too long as a tree. They
/// define the parts that occur again or nest deeply; these parts then print as `shared(3)`.
const Expr &Printer::prepared(const Expr &e) {
  shared_.clear();
  Parts parts(e);
  if (parts.tree_size <= longest_tree) return e;
  std::unordered_map<const ExprNode *, int> depth;  // of the text
  for (const Expr &part : parts.in_order) {
    if (as<Const>(part) || as<Ref>(part)) continue;
    int deepest = 0;
    auto below = [&](const Expr &child) { deepest = std::max(deepest, depth[child.p.get()]); };
    match(
        part, [](const Const &) {}, [](const Ref &) {},
        [&](const Load &n) { std::for_each(n.index.begin(), n.index.end(), below); },
        [&](const Unary &n) { below(n.a); }, [&](const Binary &n) { below(n.a), below(n.b); },
        [&](const Logic &n) { below(n.a), below(n.b); },
        [&](const Select &n) { below(n.yes), below(n.cond), below(n.no); },
        [&](const Cast &n) { below(n.a); },
        [&](const Call &n) { std::for_each(n.args.begin(), n.args.end(), below); });
    depth[part.p.get()] = deepest + 1;
    if (part.p == e.p || (parts.uses[part.p.get()] < 2 && deepest < deepest_text)) continue;
    // operands come first in this order, so that the line may use the lines before it
    int number = ++share_count_;
    std::string text = expr(part);
    line(cat("share(", number, ", ", text, ")"));
    shared_[part.p.get()] = cat("shared(", number, ")");
    // from here on the part prints as one word
    depth[part.p.get()] = 0;
  }
  return e;
}

/// Prints an operand of an infix operator: in parentheses unless it is atomic. Negative constants get
/// parentheses, too.
std::string Printer::operand(const Expr &e) {
  if (auto found = shared_.find(e.p.get()); found != shared_.end()) return found->second;
  bool atom = as<Ref>(e) || as<Load>(e) || as<Call>(e) || as<Cast>(e);
  if (const Const *c = as<Const>(e)) {
    std::string text = literal(e.dtype(), c->bits);
    return text[0] == '-' ? "(" + text + ")" : text;
  }
  return atom ? expr(e) : "(" + expr(e) + ")";
}

std::string Printer::expr(const Expr &e) {
  if (auto found = shared_.find(e.p.get()); found != shared_.end()) return found->second;
  return match(
      e, [&](const Const &n) { return literal(e.dtype(), n.bits); },
      [&](const Ref &n) { return name(n.sym); },
      [&](const Load &n) { return name(n.buf->sym) + index(n.index); },
      [&](const Unary &n) {
        if (n.op == UnOp::neg) return "neg(" + expr(n.a) + ")";
        return (n.op == UnOp::bit_not ? "~" : "not ") + operand(n.a);
      },
      [&](const Binary &n) {
        if (n.op == BinOp::min || n.op == BinOp::max)
          return cat(op_text(n.op), "(", expr(n.a), ", ", expr(n.b), ")");
        return cat(operand(n.a), " ", op_text(n.op), " ", operand(n.b));
      },
      [&](const Logic &n) { return operand(n.a) + (n.is_and ? " and " : " or ") + operand(n.b); },
      [&](const Select &n) {
        auto side = [&](const Expr &x, bool eager) { return eager ? expr(x) : cat("lazy(", expr(x), ")"); };
        if (n.eager_yes || n.eager_no)
          return cat("select(", expr(n.cond), ", ", side(n.yes, n.eager_yes), ", ", side(n.no, n.eager_no),
                     ")");
        return operand(n.yes) + " if " + operand(n.cond) + " else " + operand(n.no);
      },
      [&](const Cast &n) {
        return cat(n.in_range ? "cast_in_range(" : "cast(", short_name(e.dtype()), ", ", expr(n.a), ")");
      },
      [&](const Call &n) { return cat(row_of(n.fn).name, "(", list(n.args), ")"); });
}

std::string Printer::buffer_type(const BufNode &b) {
  std::string out = cat(short_name(b.dtype), ", ", tuple(b.extents));
  if (!b.strides.empty()) out += ", strides=" + tuple(b.strides);
  return out;
}

/// Returns a parameter as `x: buf(f32, (n, m))`, `y: out(f32, (n,), fill='zero')` or `k: scalar(i64)`.
std::string Printer::param(const Param &p) {
  if (!p.buf) return cat(name(p.sym), ": ", p.weak ? "weak(" : "scalar(", short_name(p.sym->dtype), ")");
  std::string_view mode = p.mode == ParamMode::in ? "buf" : p.mode == ParamMode::out ? "out" : "inout";
  return cat(name(p.buf->sym), ": ", mode, "(", buffer_type(*p.buf),
             p.fill == Fill::none ? ")" : cat(", fill='", fill_text(p.fill), "')"));
}

std::string Printer::site(const Site &s) {
  std::string out = cat("site('", row_of(s.code).name, "', ");
  if (s.buf && s.code == Code::E310) return cat(out, name(s.buf->sym), ", rank=", s.rank, ")");
  if (s.buf)
    return cat(out, name(s.buf->sym), ", ", s.dim, s.from_end ? ", from_end=True" : "",
               s.is_unsigned ? ", is_unsigned=True" : "", ")");
  out += quoted(s.message.before);
  if (s.message.value != SiteMessage::Value::none)
    out += cat(", ", quoted(s.message.after), ", value='", value_text(s.message.value), "'");
  return cat(out, s.message.note.empty() ? "" : cat(", note=", quoted(s.message.note)), ")");
}

std::string Printer::function(const Func &f) {
  std::string extents, params;
  // extents and parameters get their names first, so that later symbols of equal names take the suffixes
  for (const Sym &s : f.extents) extents += (extents.empty() ? "" : ", ") + name(s);
  std::string misaligned = f.misaligned ? name(f.misaligned) : "";
  for (const Param &p : f.params) params += (params.empty() ? "" : ", ") + param(p);
  out_ = "# kw-ir 2\n";
  line(cat("def ", f.name, "(", params, "):"));
  indent_ = 1;
  line(cat("fp('", fp_name(f.fp), "')"));
  if (f.overlap == Overlap::possible) line("overlap()");
  line(cat("dims(", extents, ")"));
  if (f.misaligned) line(cat("misaligned(", misaligned, ")"));
  for (const Expr &fact : f.facts) line("fact(" + expr(fact) + ")");
  for (const Site &s : f.sites) line(site(s));
  block(f.body, true);
  std::string results;
  for (const Buf &b : f.results) results += (results.empty() ? "" : ", ") + name(b->sym);
  line(cat("return ", results, f.tuple_of_one ? "," : ""));
  return out_;
}

void Printer::nested(const Stmt &s) {
  ++indent_;
  block(s, true);
  --indent_;
}

/// Prints a block. `last` tells that the enclosing block ends here, so that a Let or Alloc may run to its end
/// without an indented body. Follows chains without recursion.
void Printer::block(const Stmt &root, bool last) {
  Stmt s = root;
  while (true) {
    if (!s) return line("pass");
    if (const Let *n = as<Let>(s); n && last) {
      std::string value = expr(prepared(n->value));
      line(cat(name(n->sym), ": ", short_name(n->sym->dtype), " = ", value));
      s = n->body;
      continue;
    }
    if (const Alloc *n = as<Alloc>(s); n && last) {
      line(cat(name(n->buf->sym), " = alloc(", allocation(*n)));
      s = n->body;
      continue;
    }
    const Seq *list = as<Seq>(s);
    if (!list) return statement(s);
    if (list->items.empty()) return line("pass");
    for (size_t i = 0; i + 1 < list->items.size(); ++i) block(list->items[i], false);
    s = list->items.back();
  }
}

std::string Printer::allocation(const Alloc &n) {
  std::string out = cat(buffer_type(*n.buf), ", '", space_text(n.buf->space), "'");
  if (n.fill != Fill::none) out += cat(", fill='", fill_text(n.fill), "'");
  if (n.buf->space == Space::constant) {
    out += ", data='";
    for (uint8_t byte : n.buf->data) out += hex_digits(byte);
    out += "'";
  }
  if (n.in_vector) out += ", in_vector=1";
  return out + ")";
}

void Printer::statement(const Stmt &root) {
  match(
      root,
      [&](const Store &n) {
        prepared(n.value);
        std::string target = name(n.buf->sym) + index(n.index) + " = ";
        if (n.order == Order::source) return line(target + expr(n.value));
        // y[()] = (y[()] + x[i]) @ lanes(i)
        std::vector<std::string> band;
        for (const Sym &loop : n.order.band) band.push_back(name(loop));
        line(
            cat(target, operand(n.value), " @ ", order_text(n.order.order), "(", join_text(band, ", "), ")"));
      },
      // the block continues after the Let, so its body needs an indented block of its own
      [&](const Let &n) {
        std::string value = expr(prepared(n.value));
        line(cat("with let(", name(n.sym), ", ", short_name(n.sym->dtype), ", ", value, "):"));
        nested(n.body);
      },
      [&](const Alloc &n) {
        std::string rest = allocation(n);
        line(cat("with alloc(", name(n.buf->sym), ", ", rest, ":"));
        nested(n.body);
      },
      [&](const For &n) {
        std::string bounds = cat(expr(n.lo), ", ", expr(n.hi), ", ", n.step);
        for_each_field(n.how, [&](std::string_view field, auto value) {
          if constexpr (std::is_same_v<decltype(value), Tail>) {
            if (value != Tail::scalar) bounds += cat(", ", field, "='", tail_text(value), "'");
          } else if (value) {
            bounds += cat(", ", field, "=", value);
          }
        });
        if (n.most_threads) bounds += ", most_threads=" + expr(n.most_threads);
        std::string rows;
        for (const RowLength &row : n.row_lengths) rows += cat(name(row.buf->sym), ", ", row.length, ", ");
        if (!rows.empty()) bounds += cat(", row_lengths=(", rows, ")");
        std::string atomics;
        for (const Buf &b : n.atomics) atomics += cat(name(b->sym), ", ");
        if (!atomics.empty()) bounds += cat(", atomics=(", atomics, ")");
        if (n.hint != Hint::none) bounds += cat(", hint='", hint_text(n.hint), "'");
        line(cat("for ", name(n.iter), " in ", kind_text(n.kind), "(", bounds, "):"));
        nested(n.body);
      },
      [&](const While &n) { line("while " + expr(prepared(n.cond)) + ":"), nested(n.body); },
      [&](const Jump &n) { line(n.kind == JumpKind::break_loop ? "break" : "continue"); },
      [&](const If &n) {
        std::string cond = expr(prepared(n.cond));
        line(n.predicated ? cat("if predicated(", cond, "):") : cat("if ", cond, ":"));
        nested(n.yes);
        if (n.no) line("else:"), nested(n.no);
      },
      [&](const Check &n) { line(cat("check(", expr(prepared(n.cond)), ", site=", n.site, ")")); },
      [&](const Seq &) { block(root, false); });
}

}  // namespace

std::string print(const Func &f) { return Printer(true).function(f); }
std::string print(const Expr &e) { return Printer(false).expr(e); }

}  // namespace kw
