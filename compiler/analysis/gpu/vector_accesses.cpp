// Looks at all accesses to a buffer before it takes one.
#include "analysis/gpu/vector_accesses.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/certain_loads.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

namespace {

/// Bytes of the widest load and store (CUDA C++ Programming Guide, 5.3.2).
constexpr int64_t widest = 16;
/// Operations of a body that is written out for each element of a vector, and once more. Chosen.
constexpr uint32_t most_operations = 24;

class AccessFinder {
 public:
  explicit AccessFinder(const For &n) : n_(n) {
    walk(
        n.body, [&](const Let &l, const Stmt &) { own_.insert(l.sym.get()); },
        [&](const For &l, const Stmt &) { own_.insert(l.iter.get()); },
        [&](const Alloc &a, const Stmt &) { refused_.insert(a.buf.get()); });
  }

  std::vector<VectorAccess> run() {
    for_each_in_block(n_.body, [&](const Stmt &s) {
      for_each_expression(s, [&](const Expr &e) {
        for_each_certain_load(e, [&](const Load &l) { note(l.buf, l.index).is_loaded = true; });
      });
      if (const Store *store = as<Store>(s)) note(store->buf, store->index).is_stored = true;
    });
    // What is accessed elsewhere, under a condition or in a loop, is not among these.
    for_each_evaluated(n_.body, [&](const Expr &e) {
      walk(e, [&](const Load &l, const Expr &) { refuse_others(l.buf, l.index); });
    });
    walk(n_.body, [&](const Store &s, const Stmt &) {
      refuse_others(s.buf, s.index);
      if (!is_certain(s)) refused_.insert(s.buf.get());
    });
    std::vector<VectorAccess> out;
    for (VectorAccess &a : found_)
      if (!refused_.count(a.buf.get()) && fits(a)) out.push_back(std::move(a));
    return out;
  }

 private:
  VectorAccess *known(const Buf &b) {
    auto found =
        std::find_if(found_.begin(), found_.end(), [&](const VectorAccess &a) { return a.buf == b; });
    return found == found_.end() ? nullptr : &*found;
  }
  VectorAccess &note(const Buf &b, const std::vector<Expr> &index) {
    VectorAccess *a = known(b);
    return a ? *a : found_.emplace_back(VectorAccess{b, index});
  }
  void refuse_others(const Buf &b, const std::vector<Expr> &index) {
    if (VectorAccess *a = known(b); a && !equal(a->index, index)) refused_.insert(b.get());
  }
  bool is_certain(const Store &wanted) const {
    bool found = false;
    for_each_in_block(n_.body, [&](const Stmt &s) { found = found || as<Store>(s) == &wanted; });
    return found;
  }
  /// Returns whether the elements of iterations side by side lie side by side.
  bool fits(const VectorAccess &a) const {
    const Ref *last = a.index.empty() ? nullptr : as<Ref>(a.index.back());
    bool in_memory = a.buf->space == Space::param || a.buf->space == Space::heap;
    bool in_rows = a.buf->strides.empty() || as_int(a.buf->strides.back()) == 1;
    if (!last || last->sym != n_.iter || !in_memory || !in_rows || a.buf->dtype == DType::b1) return false;
    bool fixed = true;
    for (size_t d = 0; d + 1 < a.index.size(); ++d) {
      fixed = fixed && !has_load(a.index[d]) && !mentions(a.index[d], n_.iter);
      walk(a.index[d], [&](const Ref &r, const Expr &) { fixed = fixed && !own_.count(r.sym.get()); });
    }
    return fixed;
  }

  const For &n_;
  std::vector<VectorAccess> found_;
  std::unordered_set<const SymNode *> own_;      ///< what the body binds
  std::unordered_set<const BufNode *> refused_;  ///< with other accesses
};

bool is_plain(const For &n) {
  bool plain = !has_check(n.body);
  walk(
      n.body, [&](const For &, const Stmt &) { plain = false; },
      [&](const While &, const Stmt &) { plain = false; },
      [&](const Alloc &a, const Stmt &) { plain = plain && a.buf->rank() == 0; });
  walk(n.body, [&](const Call &c, const Expr &) { plain = plain && row_of(c.fn).cost != Cost::function; });
  uint32_t operations = 0;
  for_each_evaluated(n.body, [&](const Expr &root) {
    walk(
        root, [&](const Binary &, const Expr &) { ++operations; },
        [&](const Unary &, const Expr &) { ++operations; },
        [&](const Select &, const Expr &) { ++operations; },
        [&](const Call &, const Expr &) { ++operations; });
  });
  return plain && operations <= most_operations;
}

}  // namespace

std::vector<VectorAccess> vector_accesses(const For &n) { return AccessFinder(n).run(); }

int64_t vector_width_on_gpu(const For &n) {
  if (n.step != 1 || as_int(n.lo) != 0 || !is_plain(n)) return 1;
  int64_t size = 0;
  bool stores = false;
  for (const VectorAccess &a : vector_accesses(n)) {
    size = std::max(size, static_cast<int64_t>(item_size(a.buf->dtype)));
    stores = stores || a.is_stored;
  }
  return stores ? widest / size : 1;
}

}  // namespace kw
