// Static bounds errors and their texts.
#include "analysis/bounds.h"

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

/// An expression with the extents of arguments in the words of the source.
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

/// "range(1, a.shape[0])": what the loop of an iterator runs over.
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
    out += size == 1 ? atom : cat(size, " * ", atom);
  }
  if (out.empty()) return cat(a.constant);
  if (a.constant) out += a.constant < 0 ? cat(" - ", -a.constant) : cat(" + ", a.constant);
  return out;
}

std::string bound_text(const Func &f, const Expr &e) {
  auto form = affine_of(e);
  return form ? affine_text(f, *form) : expr_text(f, e);
}

std::vector<Diagnostic> find_bounds_errors(const Func &f, const SourceMap &sources) {
  std::vector<Diagnostic> out;
  for_each_access(f, true, [&](const Access &a, const BoundsContext &context) {
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
      std::string extent_text = bound_text(f, extent);
      Loc at = index.loc().known() ? index.loc() : a.loc;
      Diagnostic diagnostic{Code::E301, at, {}, {}, {}};
      std::string shape = cat(a.buf->sym->name, ".shape[", d, "]");
      diagnostic.message = cat("index ", d, " of '", a.buf->sym->name, "' reaches ", affine_text(f, reached));
      if (extent_text != shape) diagnostic.message += cat(", but ", shape, " is ", extent_text);
      auto last = affine_of(extent);
      if (last) last->constant -= 1;
      diagnostic.message += cat(" (valid 0..", last ? affine_text(f, *last) : cat(extent_text, " - 1"), ")");
      if (auto form = affine_of(index))
        for (const AffineTerm &t : form->terms)
          if (const Ref *r = as<Ref>(t.atom); r && r->sym->kind == SymKind::iter)
            diagnostic.notes.push_back(cat("'", r->sym->name, "' runs over ", range_of(f, r->sym),
                                           " at line ", line_mark(sources, r->sym->loc)));
      diagnostic.help.push_back("shorten the loop, or guard the access with `if`");
      out.push_back(std::move(diagnostic));
    }
  });
  return out;
}

}  // namespace kw
