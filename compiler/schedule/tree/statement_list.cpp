// Turns blocks into lists and back.
#include "schedule/tree/statement_list.h"

#include "ir/build.h"
#include "ir/match.h"
#include "ir/rewrite.h"
#include "support/diagnostic.h"

namespace kw {

/// Flattens a block. Let and Alloc hold the rest of their block, so their heads become items.
///     seq(a, let t = x: seq(b, c))   →   [a, let t = x (opens), b, c]
/// A Let in front of the last item of a Seq has a scope that ends there: it stays one item.
StatementList statements_of(const Stmt &root) {
  StatementList out;
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    if (const Seq *n = as<Seq>(*s)) {
      for (size_t i = 0; i + 1 < n->items.size(); ++i) out.push_back({n->items[i]});
    } else {
      out.push_back({*s, as<Let>(*s) || as<Alloc>(*s)});
    }
  }
  return out;
}

Stmt statement_of(const StatementList &chain) {
  Stmt rest;
  std::vector<Stmt> items;  // of the sequence in front of `rest`, last first
  auto close = [&] {
    if (items.empty()) return;
    std::vector<Stmt> list(items.rbegin(), items.rend());
    if (rest) list.push_back(rest);
    rest = seq(std::move(list));
    items.clear();
  };
  // Backwards, since each head encloses all that follows.
  for (size_t i = chain.size(); i-- > 0;) {
    const Stmt &s = chain[i].s;
    if (!chain[i].opens) {
      items.push_back(s);
      continue;
    }
    close();
    if (!rest) continue;
    // Nodes whose scope is the same are reused.
    if (const Let *n = as<Let>(s))
      rest = n->body.p == rest.p ? s : let(n->sym, n->value, rest, s.loc());
    else if (const Alloc *a = as<Alloc>(s))
      rest = a->body.p == rest.p ? s : alloc(a->buf, a->fill, rest, s.loc());
  }
  close();
  return rest;
}

void append(StatementList &to, const StatementList &more) { to.insert(to.end(), more.begin(), more.end()); }

Stmt loop_like(const Stmt &original, For changed) { return for_loop(std::move(changed), original.loc()); }

namespace {

/// Applies `edit` to the blocks of a tree, until it changes one.
class Editor {
 public:
  explicit Editor(const std::function<bool(StatementList &)> &edit) : edit_(edit) {}

  /// Offers the chain of `root` to the edit, then the chains inside, until one is changed. Rebuilds only the
  /// nodes around the changed chain.
  bool run(Stmt &root) {
    if (!root) return false;
    StatementList chain = statements_of(root);
    bool found = edit_(chain);
    for (size_t i = 0; !found && i < chain.size(); ++i) found = inside(chain[i]);
    if (found) root = statement_of(chain);
    return found;
  }

 private:
  /// Edits the blocks of one item. Heads have none: their scope is in the same chain.
  bool inside(ListItem &link) {
    Stmt &s = link.s;
    if (link.opens) return false;
    if (const For *n = as<For>(s)) {
      For loop = *n;
      return run(loop.body) && (s = loop_like(s, std::move(loop)), true);
    }
    if (const While *n = as<While>(s)) {
      While loop = *n;
      return run(loop.body) && (s = make_stmt(s.loc(), std::move(loop)), true);
    }
    if (const If *n = as<If>(s)) {
      If branch = *n;
      return (run(branch.yes) || run(branch.no)) && (s = make_stmt(s.loc(), std::move(branch)), true);
    }
    return (as<Let>(s) || as<Alloc>(s)) && run(s);  // a scope of its own within a sequence
  }

  const std::function<bool(StatementList &)> &edit_;
};

}  // namespace

Stmt replace_loop(const Stmt &root, const For *loop, const std::function<StatementList(const Stmt &)> &by) {
  std::function<bool(StatementList &)> edit = [&](StatementList &chain) {
    for (size_t i = 0; i < chain.size(); ++i) {
      if (as<For>(chain[i].s) != loop) continue;
      StatementList out(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(i));
      append(out, by(chain[i].s));
      out.insert(out.end(), chain.begin() + static_cast<std::ptrdiff_t>(i) + 1, chain.end());
      if (statement_of(out)) chain = std::move(out);  // a block never becomes empty
      return true;
    }
    return false;
  };
  Stmt out = root;
  ensure(Editor(edit).run(out), "the loop of a directive is not in the tree");
  return out;
}

Stmt replace_pair(const Stmt &root, const For *first, const For *second,
                  const std::function<StatementList(const Stmt &, const Stmt &)> &by) {
  std::function<bool(StatementList &)> edit = [&](StatementList &chain) {
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      if (as<For>(chain[i].s) != first || as<For>(chain[i + 1].s) != second) continue;
      StatementList out(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(i));
      append(out, by(chain[i].s, chain[i + 1].s));
      out.insert(out.end(), chain.begin() + static_cast<std::ptrdiff_t>(i) + 2, chain.end());
      chain = std::move(out);
      return true;
    }
    return false;
  };
  Stmt out = root;
  ensure(Editor(edit).run(out), "the loops of a directive are not neighbours in the tree");
  return out;
}

Stmt replace_statement(const Stmt &root, const Stmt &old, const Stmt &by) {
  Stmt out;
  auto put = [&](const auto &, const Stmt &s, const Stmt &before) { return before.p == old.p ? by : s; };
  out = rewrite(
      root, [&](const Store &n, const Stmt &s, const Stmt &b) { return put(n, s, b); },
      [&](const Let &n, const Stmt &s, const Stmt &b) { return put(n, s, b); },
      [&](const Alloc &n, const Stmt &s, const Stmt &b) { return put(n, s, b); },
      [&](const For &n, const Stmt &s, const Stmt &b) { return put(n, s, b); },
      [&](const While &n, const Stmt &s, const Stmt &b) { return put(n, s, b); },
      [&](const If &n, const Stmt &s, const Stmt &b) { return put(n, s, b); },
      [&](const Seq &n, const Stmt &s, const Stmt &b) { return put(n, s, b); });
  // Without this check the function would silently keep the loops from before the directive.
  ensure(out.p != root.p, "the region of a schedule is not in its function");
  return out;
}

/// Uses an edit that changes nothing, which visits every chain.
bool are_neighbours(const Stmt &root, const For *first, const For *second) {
  bool found = false;
  std::function<bool(StatementList &)> edit = [&](StatementList &chain) {
    for (size_t i = 0; i + 1 < chain.size(); ++i)
      found = found || (as<For>(chain[i].s) == first && as<For>(chain[i + 1].s) == second);
    return false;
  };
  Stmt out = root;
  Editor(edit).run(out);
  return found;
}

}  // namespace kw
