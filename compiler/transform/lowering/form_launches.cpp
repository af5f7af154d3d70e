// Rewrites the statements around grid loops from the outside in.
#include "transform/lowering/passes.h"

#include <utility>

#include "analysis/gpu/launch_form.h"
#include "analysis/interval.h"
#include "ir/build.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "support/diagnostic.h"
#include "transform/copy.h"

namespace kw {

namespace {

/// Returns the launches and host statements of `s`, each executed only if the cell is true. No statement of
/// the host has an effect of its own, so only launches test it.
Stmt guarded(const Stmt &s, const Expr &runs) {
  if (!holds_grid(s)) return if_else(runs, s, {}, s.loc());
  if (const Let *n = as<Let>(s)) return let(n->sym, n->value, guarded(n->body, runs), s.loc());
  if (const Alloc *n = as<Alloc>(s)) return alloc(n->buf, n->fill, guarded(n->body, runs), s.loc());
  if (const If *n = as<If>(s))
    return if_else(n->cond, guarded(n->yes, runs), n->no ? guarded(n->no, runs) : Stmt{}, s.loc());
  if (const While *n = as<While>(s))
    return make_stmt(s.loc(), While{logic(true, runs, n->cond, n->cond.loc()), n->body});
  if (const Seq *n = as<Seq>(s)) {
    std::vector<Stmt> items;
    for (const Stmt &item : n->items) items.push_back(guarded(item, runs));
    return seq(std::move(items), s.loc());
  }
  For loop = *as<For>(s);
  bool is_innermost = loop.kind == ForKind::grid && !holds_grid(loop.body);
  loop.body = is_innermost ? if_else(runs, loop.body, {}, loop.body.loc()) : guarded(loop.body, runs);
  if (is_innermost && loop.how.vector_width)  // no access is certain any more
    loop.how.per_block /= std::exchange(loop.how.vector_width, 0);
  return for_loop(std::move(loop), s.loc());
}

class LaunchFormer {
 public:
  explicit LaunchFormer(const Func &f) : host_(f) {}

  Stmt form(const Stmt &s) {
    if (!s || !holds_grid(s)) return s;
    if (const Let *n = as<Let>(s)) return named_value(*n, s);
    if (const Alloc *n = as<Alloc>(s)) return alloc(n->buf, n->fill, form(n->body), s.loc());
    if (const If *n = as<If>(s)) return branch(*n, s);
    if (const While *n = as<While>(s)) return make_stmt(s.loc(), While{n->cond, form(n->body)});
    if (const Seq *n = as<Seq>(s)) {
      std::vector<Stmt> items;
      for (const Stmt &item : n->items) items.push_back(form(item));
      return seq(std::move(items), s.loc());
    }
    For loop = *as<For>(s);
    if (loop.kind == ForKind::grid) return s;
    host_.add(loop.iter);
    loop.body = form(loop.body);
    host_.remove(loop.iter);
    return for_loop(std::move(loop), s.loc());
  }

 private:
  Stmt named_value(const Let &n, const Stmt &s) {
    if (host_.holds(n.value)) {
      host_.add(n.sym);
      return let(n.sym, n.value, form(n.body), s.loc());
    }
    return with_cell(n, s.loc(), [&](const Stmt &body) { return form(body); });
  }

  Stmt branch(const If &n, const Stmt &s) {
    if (host_.holds(n.cond)) return host_branch(n, s);
    Buf cell = make_buf(make_sym(SymKind::buffer, DType::b1, "runs", s.loc()), {}, Space::registers);
    Expr runs = load(cell, {}, n.cond.loc());
    std::vector<Stmt> items{store(cell, {}, n.cond, s.loc()), guarded(form(n.yes), runs)};
    if (n.no) items.push_back(guarded(form(n.no), unary(UnOp::logical_not, runs)));
    return alloc(cell, Fill::none, seq(std::move(items)), s.loc());
  }

  /// Leaves out the side that the conditions around it exclude: its launches would be compiled for nobody.
  Stmt host_branch(const If &n, const Stmt &s) {
    if (auto holds = bounds_.truth(n.cond)) return form(*holds ? n.yes : n.no);
    auto side = [&](const Stmt &body, bool holds) {
      size_t added = bounds_.assume(n.cond, holds);
      Stmt out = form(body);
      bounds_.drop(added);
      return out;
    };
    Stmt yes = side(n.yes, true);
    return if_else(n.cond, yes, side(n.no, false), s.loc());
  }

  HostValues host_;
  BoundsContext bounds_{true};  // a call with an extent of 0 runs on the host
};

}  // namespace

Func form_launches(const Func &f, const Target &) {
  if (!holds_grid(f.body)) return f;
  Func out = f;
  out.body = LaunchFormer(f).form(f.body);
  std::string error = launch_form_error(out);
  ensure(error.empty(), error);
  return out;
}

}  // namespace kw
