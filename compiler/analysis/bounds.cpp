// Finds static bounds errors and composes their texts.
#include "analysis/bounds.h"

#include <algorithm>
#include <map>

#include "analysis/access.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/print.h"
#include "ir/rewrite.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

namespace {

std::string symbol_text(const Func &f, const Sym &sym) {
  for (const Param &p : f.params)
    for (size_t d = 0; p.buf && d < p.buf->rank(); ++d) {
      const Ref *r = as<Ref>(p.buf->extents[d]);
      if (r && r->sym == sym) return cat(p.buf->sym->name, ".shape[", d, "]");
    }
  return sym->name;
}

/// Returns the text of an expression, with extents of arguments as the source names them.
std::string expr_text(const Func &f, const Expr &e) {
  std::map<Sym, Sym> named;
  return print(rewrite(e, [&](const Ref &n, const Expr &same) {
    std::string text = symbol_text(f, n.sym);
    if (text == n.sym->name) return same;
    Sym &sym = named[n.sym];
    if (!sym) sym = make_sym(n.sym->kind, n.sym->dtype, text);
    return kw::ref(sym);
  }));
}

/// Returns the range of the loop of an iterator: "range(1, a.shape[0])".
std::string range_of(const Func &f, const Sym &iter) {
  std::string out;
  walk(f.body, [&](const For &n, const Stmt &) {
    if (n.iter != iter) return;
    bool from_zero = as_int(n.lo) == 0 && n.step == 1;
    out = cat("range(", from_zero ? "" : cat(bound_text(f, n.lo), ", "), bound_text(f, n.hi),
              n.step == 1 ? "" : cat(", ", n.step), ")");
  });
  return out;
}

}  // namespace

std::string affine_text(const Func &f, const Affine &a) {
  std::string out;
  for (const AffineTerm &t : a.terms) {
    std::string atom = expr_text(f, t.atom);
    int64_t size = t.coefficient < 0 ? -t.coefficient : t.coefficient;
    out += out.empty() ? (t.coefficient < 0 ? "-" : "") : (t.coefficient < 0 ? " - " : " + ");
    bool is_name = atom.find(' ') == std::string::npos;
    out += size == 1 ? atom : cat(size, " * ", is_name ? "" : "(", atom, is_name ? "" : ")");
  }
  if (out.empty()) return cat(a.constant);
  if (a.constant) out += a.constant < 0 ? cat(" - ", -a.constant) : cat(" + ", a.constant);
  return out;
}

std::string bound_text(const Func &f, const Expr &e) {
  auto form = affine_of(e);
  return form ? affine_text(f, *form) : expr_text(f, e);
}

/// Returns whether the outermost operator of a condition, or of its negation, is `or`.
static bool is_either(const Expr &e, bool holds) {
  if (const Unary *n = as<Unary>(e); n && n->op == UnOp::logical_not) return is_either(n->a, !holds);
  const Logic *n = as<Logic>(e);
  return n && n->is_and != holds;
}

std::string condition_text(const Func &f, const Expr &e, bool holds) {
  if (const Unary *n = as<Unary>(e); n && n->op == UnOp::logical_not) return condition_text(f, n->a, !holds);
  if (const Logic *n = as<Logic>(e)) {
    bool joins = n->is_and == holds;
    auto part = [&](const Expr &x) {
      std::string text = condition_text(f, x, holds);
      return joins && is_either(x, holds) ? cat("(", text, ")") : text;
    };
    return cat(part(n->a), joins ? " and " : " or ", part(n->b));
  }
  const Binary *n = as<Binary>(e);
  const Ref *name = n && n->op == BinOp::eq ? as<Ref>(n->a) : nullptr;
  if (name && name->sym == f.misaligned && as_int(n->b) == 0)
    return holds ? "all arrays are aligned to 16 bytes" : "an array is not aligned to 16 bytes";
  if (n && (n->op == BinOp::eq || n->op == BinOp::ne))
    return cat(bound_text(f, n->a), (n->op == BinOp::eq) == holds ? " == " : " != ", bound_text(f, n->b));
  if (!n || (n->op != BinOp::lt && n->op != BinOp::le)) return cat(holds ? "" : "not ", expr_text(f, e));
  // A trip count that may be 0 is compared with a number above 0 as the length of its range is.
  auto size = [&](const Expr &x, const Expr &other) {
    const Select *trips = as<Select>(x);
    bool is_length = trips && as_int(trips->no) == 0 && as_int(other).value_or(0) > 0;
    std::string text = bound_text(f, is_length ? trips->yes : x);
    return text.find(" if ") == std::string::npos ? text : cat("(", text, ")");
  };
  // The negation of a < b is b <= a; a constant stands on the right.
  Expr less = holds ? n->a : n->b, more = holds ? n->b : n->a;
  std::string_view equals = (n->op == BinOp::le) == holds ? "=" : "";
  if (as_int(less)) return cat(size(more, less), " >", equals, " ", size(less, more));
  return cat(size(less, more), " <", equals, " ", size(more, less));
}

namespace {

/// Returns the source text at a location.
std::string text_at(const SourceMap &sources, Loc loc) {
  std::string_view text = sources.text(loc.source);
  if (loc.begin >= text.size() || loc.end > text.size()) return {};
  return std::string(text.substr(loc.begin, loc.end - loc.begin));
}

/// Returns the source text at a location, without spaces.
std::string words_at(const SourceMap &sources, Loc loc) {
  std::string out = text_at(sources, loc);
  std::erase(out, ' ');
  return out;
}

/// Returns whether the text is an integer literal: "-5", but neither "K" nor "2+3".
bool is_literal(std::string_view words) {
  return words.find_first_not_of("0123456789", words.starts_with('-') ? 1 : 0) == std::string_view::npos;
}

/// Returns "index 1 of 'a' reaches n, but a.shape[1] is m (valid 0..m - 1)". A literal index appears as
/// written.
std::string reach_text(const Func &f, const Access &a, size_t d, const Affine &reached,
                       const std::string &literal) {
  const Expr &extent = a.buf->extents[d];
  std::string extent_text = bound_text(f, extent);
  std::string shape = cat(a.buf->sym->name, ".shape[", d, "]");
  std::string out = cat("index ", d, " of '", a.buf->sym->name, "' ",
                        literal.empty() ? cat("reaches ", affine_text(f, reached)) : cat("is ", literal));
  if (extent_text != shape) out += cat(", but ", shape, " is ", extent_text);
  auto last = affine_of(extent);
  if (last) last->constant -= 1;
  std::string first = literal.starts_with('-') ? cat("-", extent_text) : "0";
  return cat(out, " (valid ", first, "..", last ? affine_text(f, *last) : cat(extent_text, " - 1"), ")");
}

/// Adds help for an access in a loop. A negative index may be meant to count from the end.
void advise_loop(Diagnostic &d, const Access &a, size_t dimension, bool low, const std::string &index) {
  std::string help = "shorten the loop, or guard the access with `if`";
  if (low) {
    d.notes.emplace_back("a negative index counts from the end only where it is a constant");
    bool is_name = index.find_first_of(" +-*/%<>&|^") == std::string::npos;
    if (!index.empty() && index.find('\n') == std::string::npos)
      help = cat("shorten the loop, guard the access with `if`, or count from the end: `", is_name ? "" : "(",
                 index, is_name ? "" : ")", " % ", a.buf->sym->name, ".shape[", dimension, "]`");
  }
  d.help.push_back(std::move(help));
}

}  // namespace

std::vector<Diagnostic> find_bounds_errors(const Func &f, const SourceMap &sources) {
  std::vector<Diagnostic> out;
  for_each_access(f, true, [&](const Access &a, const BoundsContext &context) {
    // an error is certain only if the access happens in every run
    if (a.guarded || !context.surely_runs()) return;
    for (size_t d = 0; d < a.index->size(); ++d) {
      IndexProof proof = prove_index(a, d, context);
      bool low = proof.low.kind == Proof::Kind::refuted, high = proof.high.kind == Proof::Kind::refuted;
      if (!low && !high) continue;
      const Expr &index = (*a.index)[d], &extent = a.buf->extents[d];
      Affine reached = proof.low.worst;
      if (high) {  // worst = extent - 1 - index
        auto form = affine_of(extent);
        form->constant -= 1;
        reached = *add_scaled(*form, proof.high.worst, -1);
      }
      Loc at = index.loc().known() ? index.loc() : a.loc;
      std::string words = as<Const>(index) ? words_at(sources, at) : "";
      Diagnostic diagnostic{Code::E301, at, {}, {}, {}};
      diagnostic.message = reach_text(f, a, d, reached, is_literal(words) ? words : "");
      if (auto form = affine_of(index))
        for (const AffineTerm &t : form->terms)
          if (const Ref *r = as<Ref>(t.atom); r && r->sym->kind == SymKind::iter)
            diagnostic.notes.push_back(cat("'", r->sym->name, "' runs over ", range_of(f, r->sym),
                                           " at line ", line_mark(sources, r->sym->loc)));
      // 0x20 is the bit that makes a letter lowercase
      auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
      if (!diagnostic.notes.empty())
        advise_loop(diagnostic, a, d, low, text_at(sources, at));
      else if (std::any_of(words.begin(), words.end(), is_letter))
        diagnostic.help.push_back("guard the access with `if`");
      out.push_back(std::move(diagnostic));
    }
  });
  return out;
}

}  // namespace kw
