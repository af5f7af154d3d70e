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
#include "support/pointer_map.h"

namespace kw {

namespace {

/// Bytes of the widest load and store (CUDA C++ Programming Guide, 5.3.2).
constexpr int64_t widest = 16;
/// Operations of a body that is written out for each element of a vector, and once more. Chosen.
constexpr uint32_t most_operations = 24;
/// What exp and the like count for. Chosen: two in a body are too many.
constexpr uint32_t operations_of_function = 12;

/// Returns whether an expression depends on an iterator other than by what it loads.
bool moves_with(const Expr &e, const Sym &iter) {
  if (const Ref *r = as<Ref>(e)) return r->sym == iter;
  if (as<Load>(e)) return false;
  bool found = false;
  for_each_operand(e, [&](const Expr &operand) { found = found || moves_with(operand, iter); });
  return found;
}
bool moves_with(const std::vector<Expr> &index, const Sym &iter) {
  return std::any_of(index.begin(), index.end(), [&](const Expr &e) { return moves_with(e, iter); });
}

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
    walk(n_.body, [&](const Store &s, const Stmt &) {
      stored_.insert(s.buf.get());
      refuse_others(s.buf, s.index);
      if (!is_certain(s)) refused_.insert(s.buf.get());
    });
    for_each_evaluated(n_.body, [&](const Expr &e) {
      walk(e, [&](const Load &l, const Expr &) { refuse_others(l.buf, l.index); });
    });
    std::vector<VectorAccess> out;
    for (VectorAccess &a : found_)
      if (!refused_.count(a.buf.get()) && fits(a)) out.push_back(std::move(a));
    return out;
  }

 private:
  VectorAccess &note(const Buf &b, const std::vector<Expr> &index) {
    for (VectorAccess &a : found_)
      if (a.buf == b && equal(a.index, index)) return a;
    return found_.emplace_back(VectorAccess{b, index});
  }
  /// Refuses a buffer that is stored to if it is accessed at this place and at another one.
  void refuse_others(const Buf &b, const std::vector<Expr> &index) {
    if (!stored_.count(b.get())) return;
    for (const VectorAccess &a : found_)
      if (a.buf == b && !equal(a.index, index)) refused_.insert(b.get());
  }
  bool is_certain(const Store &wanted) const {
    bool found = false;
    for_each_in_block(n_.body, [&](const Stmt &s) { found = found || as<Store>(s) == &wanted; });
    return found;
  }
  /// Returns whether the elements of iterations side by side lie side by side.
  bool fits(const VectorAccess &a) const {
    if (n_.how.flatten) return moves_with(a.index, n_.iter) && a.buf->dtype != DType::b1;
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
  std::unordered_set<const SymNode *> own_;  ///< what the body binds
  std::unordered_set<const BufNode *> stored_;
  std::unordered_set<const BufNode *> refused_;  ///< stored to, and with other accesses
};

/// Returns whether an access that is not among `vectors` moves with the iterator.
bool moves_otherwise(const For &n, const std::vector<VectorAccess> &vectors) {
  bool found = false;
  auto look = [&](const Buf &b, const std::vector<Expr> &index) {
    for (const VectorAccess &a : vectors)
      if (a.buf == b && equal(a.index, index)) return;
    found = found || moves_with(index, n.iter);
  };
  for_each_evaluated(n.body, [&](const Expr &root) {
    walk(root, [&](const Load &l, const Expr &) { look(l.buf, l.index); });
  });
  walk(n.body, [&](const Store &s, const Stmt &) { look(s.buf, s.index); });
  return found;
}

/// Returns the operations of a value that are not in `seen`, without conversions and those of subscripts.
uint32_t count_operations(const Expr &e, PointerSet &seen) {
  if (!seen.insert(e.p.get()) || as<Load>(e)) return 0;
  const Call *call = as<Call>(e);
  uint32_t out = as<Binary>(e) || as<Unary>(e) || as<Select>(e) || call ? 1 : 0;
  if (call && row_of(call->fn).cost == Cost::function) out = operations_of_function;
  for_each_operand(e, [&](const Expr &operand) { out += operand ? count_operations(operand, seen) : 0; });
  return out;
}

}  // namespace

bool is_short_on_gpu(const For &n) {
  bool plain = !has_check(n.body);
  walk(
      n.body, [&](const For &, const Stmt &) { plain = false; },
      [&](const While &, const Stmt &) { plain = false; },
      [&](const Alloc &a, const Stmt &) { plain = plain && a.buf->rank() == 0; });
  uint32_t operations = 0;
  PointerSet seen;
  walk(n.body, [&](const Store &s, const Stmt &) {
    for (const Expr &e : s.index) seen.insert(e.p.get());
  });
  for_each_evaluated(n.body, [&](const Expr &e) { operations += count_operations(e, seen); });
  return plain && operations <= most_operations;
}

uint32_t team_unroll(const For &n) {
  // Chosen: with the loads of 2,048 threads, 32 KB are under way for each multiprocessor, and latency times
  // bandwidth of an H100 is 11 KB.
  constexpr uint32_t loads_at_once = 4;
  uint32_t loads = 0;
  for_each_evaluated(n.body, [&](const Expr &e) {
    walk(e, [&](const Load &l, const Expr &) { loads += l.buf->rank() > 0; });
  });
  return is_short_on_gpu(n) && loads <= loads_at_once ? loads_at_once : 0;
}

std::vector<VectorAccess> vector_accesses(const For &n) { return AccessFinder(n).run(); }

int64_t vector_width_on_gpu(const For &n) {
  if (n.step != 1 || as_int(n.lo) != 0 || !is_short_on_gpu(n)) return 1;
  int64_t size = 0;
  bool stores = false;
  std::vector<VectorAccess> vectors = vector_accesses(n);
  if (moves_otherwise(n, vectors)) return 1;
  for (const VectorAccess &a : vectors) {
    size = std::max(size, static_cast<int64_t>(item_size(a.buf->dtype)));
    stores = stores || a.is_stored;
  }
  return stores ? widest / size : 1;
}

}  // namespace kw
