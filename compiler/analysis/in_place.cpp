// Assume that each common loop is, alone, one dimension of both subscripts. A read and a write of one element
// then happen in the same iteration of all these loops, and source order decides.
#include "analysis/in_place.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// An access with its place: the enclosing loops, outermost first (null for a while), and its number in
/// execution order within one iteration of these.
struct Placed {
  const Buf *buf;
  const std::vector<Expr> *index;
  std::vector<const For *> loops;
  size_t number;
};

class Accesses {
 public:
  explicit Accesses(const Func &f) { statements(f.body); }
  std::vector<Placed> loads, stores;

 private:
  void reads(const Expr &e) {
    ++number_;
    walk(e, [&](const Load &n, const Expr &) { loads.push_back({&n.buf, &n.index, loops_, number_}); });
  }
  void inside(const For *loop, const Stmt &body) {
    loops_.push_back(loop);
    statements(body);
    loops_.pop_back();
  }
  void statements(const Stmt &root) {
    for_each_in_block(root, [&](const Stmt &s) {
      const While *repeat = as<While>(s);
      if (repeat) loops_.push_back(nullptr);  // the loop evaluates its condition, too
      for_each_expression(s, [&](const Expr &e) { reads(e); });
      if (const Store *n = as<Store>(s)) stores.push_back({&n->buf, &n->index, loops_, ++number_});
      const For *loop = as<For>(s);
      for_each_block(s, [&](const Stmt &block) { loop ? inside(loop, block) : statements(block); });
      if (repeat) loops_.pop_back();
    });
  }

  std::vector<const For *> loops_;
  size_t number_ = 0;
};

/// Returns whether equal elements imply equal iterations of the loop.
bool stands_alone(const For *loop, const std::vector<Expr> &a, const std::vector<Expr> &b) {
  auto is_iterator = [&](const Expr &e) { return as<Ref>(e) && as<Ref>(e)->sym == loop->iter; };
  for (size_t d = 0; d < a.size(); ++d)
    if (is_iterator(a[d]) && is_iterator(b[d])) return true;
  return false;
}

/// Returns whether no element is read after it was written. Both accesses have one rank and layout: they are
/// the same view.
bool read_comes_first(const Placed &load, const Placed &store) {
  for (size_t d = 0; d < std::min(load.loops.size(), store.loops.size()); ++d) {
    if (load.loops[d] != store.loops[d]) break;
    if (!load.loops[d] || !stands_alone(load.loops[d], *load.index, *store.index)) return false;
  }
  return load.number < store.number;
}

}  // namespace

std::vector<Buf> inputs_to_overwrite(const Func &f, const Buf &out) {
  Accesses all(f);
  auto is_written = [&](const Buf &b) {
    return std::any_of(all.stores.begin(), all.stores.end(), [&](const Placed &s) { return *s.buf == b; });
  };
  std::vector<Buf> found;
  for (const Param &p : f.params) {
    bool fits =
        p.buf && p.mode == ParamMode::in && p.buf->rank() == out->rank() && p.buf->dtype == out->dtype;
    if (!fits || is_written(p.buf)) continue;
    bool fine = true;
    for (const Placed &load : all.loads)
      for (const Placed &store : all.stores)
        if (*load.buf == p.buf && *store.buf == out) fine = fine && read_comes_first(load, store);
    if (fine) found.push_back(p.buf);
  }
  return found;
}

}  // namespace kw
