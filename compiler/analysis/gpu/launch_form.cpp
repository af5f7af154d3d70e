// Walks down the statements that the host would run.
#include "analysis/gpu/launch_form.h"

#include "ir/loops.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/text.h"

namespace kw {

HostValues::HostValues(const Func &f) {
  for (const Sym &s : f.extents) add(s);
  if (f.misaligned) add(f.misaligned);
  for (const Param &p : f.params)
    if (p.sym && !is_float(p.sym->dtype)) add(p.sym);
}

bool HostValues::holds(const Expr &e) const {
  bool known = !is_float(e.dtype());
  walk(
      e, [&](const Ref &n, const Expr &) { known = known && known_.count(n.sym.get()); },
      [&](const Load &, const Expr &) { known = false; }, [&](const Call &, const Expr &) { known = false; },
      [&](const Const &, const Expr &x) { known = known && !is_float(x.dtype()); },
      [&](const Cast &, const Expr &x) { known = known && !is_float(x.dtype()); });
  return known;
}

bool holds_grid(const Stmt &s) {
  bool found = false;
  walk(s, [&](const For &n, const Stmt &) { found = found || n.kind == ForKind::grid; });
  return found;
}

namespace {

/// Visits the statements that the host runs or would run, each with the values that it knows there.
class HostWalk {
 public:
  explicit HostWalk(const Func &f) : host_(f) {}

  /// Finds the loops that may be launched below a statement.
  void find_loops(const Stmt &root, std::unordered_set<const For *> &out) {
    bool sized = true;
    for_each_in_block(root, [&](const Stmt &s) {
      if (const Let *n = as<Let>(s); n && host_.holds(n->value)) host_.add(n->sym);
      // The host allocates what several launches share, so it must know the size.
      if (const Alloc *n = as<Alloc>(s))
        for (const Expr &e : n->buf->extents) sized = sized && host_.holds(e);
      if (!sized) return;
      if (const For *n = as<For>(s)) {
        if (n->kind == ForKind::grid)
          find_inner(*n, 1, out);
        else if (n->kind == ForKind::serial && host_.holds(n->lo) && host_.holds(n->hi))
          out.insert(n), in_host_loop(*n, [&] { find_loops(n->body, out); });
      }
      if (const While *n = as<While>(s); n && !jumps_of(n->body).any()) find_loops(n->body, out);
      if (const If *n = as<If>(s)) {
        find_loops(n->yes, out);
        if (n->no) find_loops(n->no, out);
      }
    });
  }

  /// Returns why the host cannot run a statement that holds grid loops.
  std::string error_of(const Stmt &root) {
    std::string error;
    for_each_in_block(root, [&](const Stmt &s) {
      if (error.empty()) error = error_at(s);
    });
    return error;
  }

 private:
  /// Finds the loops that are all of a grid loop, up to three in all. Their bounds do not mention its
  /// iterator, for the host launches them as one.
  void find_inner(const For &n, int depth, std::unordered_set<const For *> &out) {
    const For *inner = depth < 3 ? only_loop(n.body) : nullptr;
    if (!inner || !host_.holds(inner->lo) || !host_.holds(inner->hi)) return;
    if (inner->kind == ForKind::serial) out.insert(inner);
    if (inner->kind == ForKind::grid) find_inner(*inner, depth + 1, out);
  }

  /// Calls visit() if no jump ends the loop or one of its iterations, with its iterator known.
  template <class F>
  void in_host_loop(const For &n, F &&visit) {
    if (jumps_of(n.body).any()) return;
    host_.add(n.iter);
    visit();
    host_.remove(n.iter);
  }

  std::string error_at(const Stmt &s) {
    // A Let holds the rest of its block, so its own value is judged by whether a grid loop follows.
    if (const Let *n = as<Let>(s)) {
      if (host_.holds(n->value)) host_.add(n->sym);
      return host_.holds(n->value) || !holds_grid(n->body)
                 ? std::string()
                 : cat("the value of '", n->sym->name, "' is computed on the device, before a launch");
    }
    if (as<Alloc>(s) || !holds_grid(s)) return {};
    if (const If *n = as<If>(s)) {
      if (!host_.holds(n->cond)) return "a condition around a launch is computed on the device";
      std::string error = error_of(n->yes);
      return error.empty() && n->no ? error_of(n->no) : error;
    }
    if (const While *n = as<While>(s))
      return jumps_of(n->body).any() ? "a jump leaves a loop around a launch" : error_of(n->body);
    const For &n = *as<For>(s);
    if (!host_.holds(n.lo) || !host_.holds(n.hi))
      return cat("a bound of loop '", n.iter->name, "' is computed on the device");
    if (n.kind == ForKind::grid) return grid_error(n);
    std::string error = "a jump leaves a loop around a launch";
    in_host_loop(n, [&] { error = error_of(n.body); });
    return error;
  }

  /// Checks the bounds of the grid loops in a grid loop. ir/verify checks that they stand directly in it.
  std::string grid_error(const For &n) const {
    std::string error;
    walk(n.body, [&](const For &inner, const Stmt &) {
      bool known = inner.kind != ForKind::grid || (host_.holds(inner.lo) && host_.holds(inner.hi));
      if (!known) error = cat("a bound of grid loop '", inner.iter->name, "' is computed on the device");
    });
    return error;
  }

  HostValues host_;
};

}  // namespace

std::unordered_set<const For *> launchable_loops(const Func &f) {
  std::unordered_set<const For *> out;
  HostWalk(f).find_loops(f.body, out);
  return out;
}

std::string launch_form_error(const Func &f) { return HostWalk(f).error_of(f.body); }

}  // namespace kw
