// Looks at all accesses to a buffer before it takes one.
#include "analysis/gpu/vector_accesses.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/certain_loads.h"
#include "analysis/gpu/side_by_side.h"
#include "ir/accumulation.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/pointer_map.h"

namespace kw {

namespace {

/// Operations of a body that is written out for each element of a vector, and once more. Chosen.
constexpr uint32_t most_operations = 24;

/// Returns whether a buffer that a loop of a team, or of a thread in one, accesses is an array that its team
/// shares.
bool is_of_team(const For &n, const BufNode &b) {
  bool has_size = std::all_of(b.extents.begin(), b.extents.end(), [](const Expr &e) { return as_int(e); });
  if (n.kind == ForKind::vector) return b.space == Space::shared && has_size;
  return n.kind == ForKind::block && is_team_array(b) && has_size;
}

class AccessFinder {
 public:
  AccessFinder(const For &n, int64_t width)
      : n_(n), width_(width), parts_(vector_body(n)), values_(n, width, parts_.names) {
    walk(
        parts_.inner, [&](const Let &l, const Stmt &) { own_.insert(l.sym.get()); },
        [&](const For &l, const Stmt &) { own_.insert(l.iter.get()); },
        [&](const Alloc &a, const Stmt &) { refused_.insert(a.buf.get()); });
  }

  VectorLoop run() {
    if (!values_.is_decided_by_last(parts_.guard)) return {std::move(parts_), {}};
    for_each_in_block(parts_.inner, [&](const Stmt &s) {
      for_each_expression(s, [&](const Expr &e) {
        for_each_certain_load(e, [&](const Load &l) { note(l.buf, l.index).is_loaded = true; });
      });
      if (const Store *store = as<Store>(s)) note(store->buf, store->index).is_stored = true;
    });
    // An element that is surely stored exists: what may be loaded before comes with the others.
    for (VectorAccess &a : found_)
      if (a.is_stored) a.is_loaded = may_load_before_store(a);
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
    return {std::move(parts_), std::move(out)};
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
  /// Returns whether a statement up to the one that surely stores an element may load it.
  bool may_load_before_store(const VectorAccess &a) const {
    bool found = false, stored = false;
    for_each_in_block(parts_.inner, [&](const Stmt &s) {
      if (stored) return;
      for_each_evaluated(s, [&](const Expr &e) {
        walk(e, [&](const Load &l, const Expr &) {
          found = found || (l.buf == a.buf && equal(l.index, a.index));
        });
      });
      const Store *store = as<Store>(s);
      stored = store && store->buf == a.buf && equal(store->index, a.index);
    });
    return found;
  }
  bool is_certain(const Store &wanted) const {
    bool found = false;
    for_each_in_block(parts_.inner, [&](const Stmt &s) { found = found || as<Store>(s) == &wanted; });
    return found;
  }
  /// Returns whether the elements of iterations side by side lie side by side.
  bool fits(VectorAccess &a) const {
    if (n_.how.flatten) return values_.moves(a.index) && a.buf->dtype != DType::b1;
    bool in_rows = a.buf->strides.empty() || as_int(a.buf->strides.back()) == 1;
    if (a.index.empty() || !in_rows || a.buf->dtype == DType::b1 || !is_in_memory(*a.buf)) return false;
    auto base = values_.base_of(a.index.back());
    // Where a grid loop asks whether memory is aligned, nothing has a value that the host does not give.
    if (!base || as_int(*base).value_or(n_.kind == ForKind::grid ? 1 : 0) % width_) return false;
    a.base = *base;
    bool fixed = true;
    for (size_t d = 0; d + 1 < a.index.size(); ++d) fixed = fixed && values_.is_fixed(a.index[d]);
    for (const Expr &e : a.index)
      walk(e, [&](const Ref &r, const Expr &) { fixed = fixed && !own_.count(r.sym.get()); });
    return fixed;
  }
  /// Returns whether rows of a buffer may begin with a vector: of an array of a team they surely do.
  bool is_in_memory(const BufNode &b) const {
    if (b.space == Space::param || b.space == Space::heap) return true;
    if (!is_of_team(n_, b)) return false;
    int64_t bytes = static_cast<int64_t>(item_size(b.dtype));
    for (const Expr &e : b.extents) bytes *= *as_int(e);
    return bytes % widest_access == 0 && *as_int(b.extents.back()) % width_ == 0;
  }

  const For &n_;
  int64_t width_;
  GuardedBody parts_;
  SideBySide values_;
  std::vector<VectorAccess> found_;
  std::unordered_set<const SymNode *> own_;  ///< what the body binds
  std::unordered_set<const BufNode *> stored_;
  std::unordered_set<const BufNode *> refused_;  ///< stored to, and with other accesses
};

/// Returns the iterations whose widest elements fill 16 bytes; 1 if they would do harm.
int64_t widest_of(const For &n, bool stores_only) {
  for (int64_t width = widest_access; width > 1; width /= 2) {
    VectorLoop vectors = vector_loop(n, width);
    int64_t size = 0;
    bool is_worth_it = false;
    for (const VectorAccess &a : vectors.accesses) {
      size = std::max(size, static_cast<int64_t>(item_size(a.buf->dtype)));
      is_worth_it = is_worth_it || a.is_stored || !stores_only;
    }
    if (width * size == widest_access && is_worth_it && !moves_otherwise(n, vectors)) return width;
  }
  return 1;
}

/// Returns the operations of a value that are not in `seen`, without conversions and those of subscripts;
/// with those of the names that it mentions.
uint32_t count_operations(const Expr &e, const std::vector<Stmt> &names, PointerSet &seen) {
  if (!seen.insert(e.p.get()) || as<Load>(e)) return 0;
  if (const Ref *r = as<Ref>(e)) {
    for (const Stmt &s : names)
      if (as<Let>(s)->sym == r->sym) return count_operations(as<Let>(s)->value, names, seen);
    return 0;
  }
  const Call *call = as<Call>(e);
  uint32_t out = as<Binary>(e) || as<Unary>(e) || as<Select>(e) || call ? 1 : 0;
  if (call && row_of(call->fn).cost == Cost::function) out = operations_of_function;
  for_each_operand(e,
                   [&](const Expr &operand) { out += operand ? count_operations(operand, names, seen) : 0; });
  return out;
}

bool sums_in_lanes(const For &n) {
  bool found = false;
  walk(n.body, [&](const Store &s, const Stmt &) { found = found || s.order == Order::lanes; });
  return found;
}

}  // namespace

uint32_t operations_on_gpu(const For &n) {
  uint32_t out = 0;
  PointerSet seen;
  // Threads compute the guard and the places once for a vector.
  GuardedBody parts = vector_body(n);
  walk(parts.inner, [&](const Store &s, const Stmt &) {
    for (const Expr &e : s.index) seen.insert(e.p.get());
  });
  for_each_evaluated(parts.inner, [&](const Expr &e) { out += count_operations(e, parts.names, seen); });
  return out;
}

bool is_short_on_gpu(const For &n) {
  bool plain = !has_check(n.body);
  walk(
      n.body, [&](const For &, const Stmt &) { plain = false; },
      [&](const While &, const Stmt &) { plain = false; },
      [&](const Alloc &a, const Stmt &) { plain = plain && a.buf->rank() == 0; });
  return plain && operations_on_gpu(n) <= most_operations;
}

uint32_t team_unroll(const For &n) {
  // Chosen: with the loads of 2,048 threads, 32 KB are under way for each multiprocessor, and latency times
  // bandwidth of an H100 is 11 KB. More than two copies of a function take more than 64 registers.
  constexpr uint32_t loads_at_once = 4, functions_at_once = 2;
  uint32_t loads = 0;
  for_each_evaluated(n.body, [&](const Expr &e) {
    walk(e, [&](const Load &l, const Expr &) { loads += l.buf->rank() > 0; });
  });
  if (!is_short_on_gpu(n) || loads > loads_at_once) return 0;
  return operations_on_gpu(n) < operations_of_function ? loads_at_once : functions_at_once;
}

VectorLoop vector_loop(const For &n, int64_t width) { return AccessFinder(n, width).run(); }

std::vector<Expr> multiples_in_rows(const VectorAccess &a) {
  std::vector<Expr> out;
  if (a.base && !as_int(a.base)) out.push_back(a.base);
  if (is_team_array(*a.buf)) return out;  // its rows begin with a vector
  // each row begins a multiple of the vectors behind the first one
  if (a.buf->rank() > 1 && a.buf->strides.empty()) out.push_back(a.buf->extents.back());
  for (size_t d = 0; d + 1 < a.buf->strides.size(); ++d) out.push_back(a.buf->strides[d]);
  return out;
}

bool moves_otherwise(const For &n, const VectorLoop &vectors) {
  std::vector<Stmt> names = vectors.parts.names;
  walk(vectors.parts.inner, [&](const Let &, const Stmt &s) { names.push_back(s); });
  SideBySide values(n, 1, names);
  bool found = false;
  auto look = [&](const Buf &b, const std::vector<Expr> &index) {
    if (n.kind == ForKind::vector && b->space == Space::stack) return;  // registers of the thread
    for (const VectorAccess &a : vectors.accesses)
      if (a.buf == b && equal(a.index, index)) return;
    bool is_tile = is_of_team(n, *b) && b->rank() > 1;
    found = found || (!is_tile && values.moves(index));
  };
  for_each_evaluated(n.body, [&](const Expr &root) {
    walk(root, [&](const Load &l, const Expr &) { look(l.buf, l.index); });
  });
  walk(n.body, [&](const Store &s, const Stmt &) { look(s.buf, s.index); });
  return found;
}

int64_t vector_width_on_gpu(const For &n) {
  bool fits = n.step == 1 && as_int(n.lo) == 0 && is_short_on_gpu(n);
  return fits ? widest_of(n, true) : 1;
}

int64_t team_vector_width(const For &n) {
  // Functions take the registers that vectors would, and more time than their loads.
  bool fits =
      n.step == 1 && is_short_on_gpu(n) && !sums_in_lanes(n) && operations_on_gpu(n) < operations_of_function;
  return fits ? widest_of(n, false) : 1;
}

}  // namespace kw
