// An access joins a block if it happens in each iteration of the inner loop. It must be able to move to the
// begin or the end of the block's iterations: no other access to its buffer may prevent that.
#include "analysis/vector/register_transpose.h"

#include <algorithm>
#include <functional>

#include "analysis/affine.h"
#include "analysis/certain_loads.h"
#include "ir/build.h"
#include "ir/equal.h"
#include "ir/walk.h"

namespace kw {

namespace {

constexpr size_t most_blocks = 3;       // each takes half of the registers, or all if there are few
constexpr size_t most_statements = 12;  // the code of a block repeats them for each iteration

}  // namespace

TransposedBlocks::TransposedBlocks(const For &inner, VectorizationAnalysis &view, uint32_t bits)
    : inner_(inner), view_(view), bits_(bits) {
  if (inner.kind != ForKind::serial || inner.step != 1 || !is_plain(inner.body)) return;
  statements(inner.body);
  if (blocks_.size() > most_blocks) blocks_.clear(), found_.clear(), loads_ = strided_ = 0;
}

std::optional<uint32_t> TransposedBlocks::find(const void *access) const {
  auto found = found_.find(access);
  return found == found_.end() ? std::nullopt : std::optional(found->second);
}

/// Returns whether the body is short straight-line code, with conditions at most.
bool TransposedBlocks::is_plain(const Stmt &body) {
  size_t count = 0;
  bool plain = true;
  walk(
      body, [&](const For &, const Stmt &) { plain = false; },
      [&](const While &, const Stmt &) { plain = false; }, [&](const Jump &, const Stmt &) { plain = false; },
      [&](const Check &, const Stmt &) { plain = false; }, [&](const Store &, const Stmt &) { ++count; },
      [&](const Let &n, const Stmt &) { defined_.insert(n.sym.get()), ++count; });
  return plain && count <= most_statements;
}

/// Visits the statements that run in each iteration; skips conditionals.
void TransposedBlocks::statements(const Stmt &root) {
  for_each_in_block(root, [&](const Stmt &s) {
    if (const Let *n = as<Let>(s)) read(n->value);
    if (const Store *n = as<Store>(s)) {
      read(n->value);
      note(n, n->buf, n->index, true);
    }
  });
}

void TransposedBlocks::read(const Expr &e) {
  for_each_certain_load(e, [&](const Load &n) { note(&n, n.buf, n.index, false); });
}

void TransposedBlocks::note(const void *access, const Buf &b, const std::vector<Expr> &index, bool is_store) {
  if (found_.count(access) || !is_block(b, index) || !may_move(b, index)) return;
  auto known = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block &other) {
    return other.buf == b && other.is_store == is_store && equal(other.index, index);
  });
  found_[access] = static_cast<uint32_t>(known - blocks_.begin());
  loads_ += is_store ? 0 : 1;
  strided_ += !is_store && is_short_stride(view_.element_stride(b, index)) ? 1 : 0;
  if (known == blocks_.end()) blocks_.push_back({b, index, is_store});
}

/// Returns whether the access has a constant stride along the vector loop and is contiguous along the inner
/// loop.
bool TransposedBlocks::is_block(const Buf &b, const std::vector<Expr> &index) const {
  if (b->space == Space::registers || index.empty() || bit_width(b->dtype) != bits_) return false;
  if (!b->strides.empty() && as_int(b->strides.back()) != 1) return false;
  bool apart = false;
  for (size_t d = 0; d < index.size(); ++d) {
    bool last = d + 1 == index.size();
    auto step = view_.lane_stride(index[d]);
    if (!step || (last && *step != 0) || growth(index[d]) != (last ? 1 : 0)) return false;
    apart = apart || *step != 0;
  }
  return apart;
}

/// Returns by how much an index grows per iteration of the inner loop; nothing if other values in there
/// change it.
std::optional<int64_t> TransposedBlocks::growth(const Expr &index) const {
  auto form = affine_of(index);
  if (!form) return std::nullopt;
  int64_t out = 0;
  for (const AffineTerm &t : form->terms) {
    const Ref *r = as<Ref>(t.atom);
    if (r && r->sym == inner_.iter)
      out = t.coefficient;
    else if (!r || defined_.count(r->sym.get()))
      return std::nullopt;
  }
  return out;
}

/// Returns whether the loop never writes the buffer, or writes it in one statement that always runs. That
/// statement must follow all reads and write the element that they read.
bool TransposedBlocks::may_move(const Buf &b, const std::vector<Expr> &index) const {
  size_t stores = 0;
  bool same = true;
  walk(inner_.body, [&](const Store &n, const Stmt &) {
    if (n.buf == b) ++stores, same = same && equal(n.index, index);
  });
  if (stores == 0) return true;
  walk(inner_.body, [&](const Load &n, const Expr &) {
    if (n.buf == b) same = same && equal(n.index, index);
  });
  return stores == 1 && same && is_written_last(b, inner_.body);
}

/// Returns whether this block stores to the buffer and does not read it afterwards.
bool TransposedBlocks::is_written_last(const Buf &b, const Stmt &root) {
  bool written = false, fine = true;
  for_each_in_block(root, [&](const Stmt &s) {
    if (written) walk(s, [&](const Load &n, const Expr &) { fine = fine && n.buf != b; });
    const Store *store = as<Store>(s);
    written = written || (store && store->buf == b);
  });
  return written && fine;
}

VectorizationAnalysis::Work work_with_transposes(const For &lanes, VectorizationAnalysis &view) {
  VectorizationAnalysis::Work out = view.work();
  walk(lanes.body, [&](const For &n, const Stmt &) {
    TransposedBlocks inside(n, view, view.widest_element());
    out.gathers -= std::min(out.gathers, inside.loads() - inside.strided());
    out.strided -= std::min(out.strided, inside.strided());
    out.scatters -= std::min(out.scatters, inside.stores());
    out.rows += inside.loads() + inside.stores();
  });
  return out;
}

}  // namespace kw
