// Renames everything that a tree binds, then rewrites the tree once.
#include "transform/copy.h"

#include "ir/build.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Replaces symbols and buffers in one rewrite. With `anew`, every statement becomes a new node even if
/// nothing in it changes.
class Substituter {
 public:
  Substituter(const Substitution &with, bool anew) : with_(with), anew_(anew) {}

  template <class H>
  H run(const H &root) {
    return rewrite(
        root, [&](const Ref &n, const Expr &e) { return value(n, e); },
        [&](const Load &n, const Expr &e) {
          Buf buf = buffer(n.buf);
          return buf == n.buf ? e : load(buf, n.index, e.loc());
        },
        [&](const Binary &n, const Expr &e, const Expr &before) {
          return e.p == before.p ? e : binary(n.op, n.a, n.b, e.loc());  // binary() folds
        },
        [&](const Store &n, const Stmt &s) {
          Buf buf = buffer(n.buf);
          std::vector<Sym> loops = band(n.order.band);
          if (buf == n.buf && loops == n.order.band && !anew_) return s;
          return store(buf, n.index, n.value, s.loc(), {n.order.order, std::move(loops)});
        },
        [&](const If &n, const Stmt &s) { return anew(n, s); },
        [&](const While &n, const Stmt &s) { return anew(n, s); },
        [&](const Check &n, const Stmt &s, const Stmt &before) {
          // A fault reports the operands of the condition, so a comparison stays one although constants
          // decide it.
          const Binary *compared = as<Binary>(as<Check>(before)->cond);
          if (!compared || !as<Const>(n.cond)) return anew(n, s);
          return check(condition(*compared, n.cond), n.site, s.loc());
        },
        [&](const Jump &n, const Stmt &s) { return anew(n, s); },
        [&](const Let &n, const Stmt &s) {
          Sym sym = symbol(n.sym);
          return sym == n.sym ? s : let(sym, n.value, n.body, s.loc());
        },
        [&](const Alloc &n, const Stmt &s) {
          Buf buf = buffer(n.buf);
          return buf == n.buf ? s : alloc(buf, n.fill, n.body, s.loc());
        },
        [&](const For &n, const Stmt &s) {
          Sym iter = symbol(n.iter);
          if (iter == n.iter) return s;
          For loop = n;
          loop.iter = iter;
          return for_loop(std::move(loop), s.loc());
        });
  }

 private:
  /// Returns the comparison with its operands substituted and not folded.
  Expr condition(const Binary &compared, const Expr &folded) const {
    return unfolded(compared.op, substituted(compared.a, with_), substituted(compared.b, with_),
                    folded.loc());
  }

  Expr value(const Ref &n, const Expr &e) const {
    auto found = with_.values.find(n.sym.get());
    return found == with_.values.end() ? e : found->second;
  }
  /// Returns the loops of a mark after the copy. Loops are renamed, or replaced by the loops that execute
  /// them now. Loops of which the copy runs one iteration are dropped.
  std::vector<Sym> band(const std::vector<Sym> &before) const {
    std::vector<Sym> out;
    for (const Sym &s : before) {
      auto several = with_.loops.find(s.get());
      auto found = with_.values.find(s.get());
      const Ref *renamed = found == with_.values.end() ? nullptr : as<Ref>(found->second);
      if (several != with_.loops.end())
        out.insert(out.end(), several->second.begin(), several->second.end());
      else if (found == with_.values.end())
        out.push_back(s);
      else if (renamed && renamed->sym->kind == SymKind::iter)
        out.push_back(renamed->sym);
    }
    return out;
  }
  Buf buffer(const Buf &b) const {
    auto found = with_.buffers.find(b.get());
    return found == with_.buffers.end() ? b : found->second;
  }
  /// Returns the symbol that the new references to a binding name.
  Sym symbol(const Sym &s) const {
    auto found = with_.values.find(s.get());
    const Ref *renamed = found == with_.values.end() ? nullptr : as<Ref>(found->second);
    return renamed ? renamed->sym : s;
  }

  /// Gives a copy a node of its own: analyses tell statements apart by identity, so a copy must share none.
  template <class K>
  Stmt anew(const K &kind, const Stmt &s) const {
    return anew_ ? make_stmt(s.loc(), kind) : s;
  }

  const Substitution &with_;
  bool anew_;
};

}  // namespace

Expr substituted(const Expr &e, const Substitution &with) { return Substituter(with, false).run(e); }
Stmt substituted(const Stmt &root, const Substitution &with) { return Substituter(with, false).run(root); }

Stmt copy_of(const Stmt &root, Substitution with) {
  auto renew = [&](const Sym &s) {
    with.values[s.get()] = ref(make_sym(s->kind, s->dtype, s->name, s->loc), s->loc);
  };
  walk(
      root, [&](const Let &n, const Stmt &) { renew(n.sym); },
      [&](const For &n, const Stmt &) { renew(n.iter); });
  // Extents may read symbols that the copy renames, so buffers come after all symbols.
  walk(root, [&](const Alloc &n, const Stmt &) {
    BufNode node = *n.buf;
    node.sym = make_sym(node.sym->kind, node.sym->dtype, node.sym->name, node.sym->loc);
    for (auto *list : {&node.extents, &node.strides})
      for (Expr &e : *list) e = substituted(e, with);
    with.buffers[n.buf.get()] = std::make_shared<const BufNode>(std::move(node));
  });
  return Substituter(with, true).run(root);
}

Stmt with_cell(const Let &n, const Loc &loc, const std::function<Stmt(const Stmt &)> &rest) {
  Buf cell = make_buf(make_sym(SymKind::buffer, n.sym->dtype, n.sym->name, n.sym->loc), {}, Space::registers);
  Substitution with;
  with.values[n.sym.get()] = load(cell, {}, n.sym->loc);
  Stmt body = rest(substituted(n.body, with));
  return alloc(cell, Fill::none, seq({store(cell, {}, n.value, loc), std::move(body)}), loc);
}

}  // namespace kw
