// Which loops stream, versions of them at run time, and prefetches.
#include "codegen/llvm/emit/streams.h"

#include <unordered_set>

#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/vector.h"
#include "codegen/llvm/values/x86.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

namespace {

/// True when the place is the same in each run of a loop's body but for the loop's iterator.
bool is_plain(const std::vector<Expr> &index, const For &n,
              const std::unordered_map<const SymNode *, llvm::Value *> &known) {
  bool plain = true;
  std::unordered_set<const SymNode *> bound_inside;
  walk(n.body, [&](const Let &l, const Stmt &) { bound_inside.insert(l.sym.get()); });
  for (const Expr &i : index)
    walk(
        i, [&](const Load &, const Expr &) { plain = false; },
        [&](const Ref &r, const Expr &) {
          bool outside = known.count(r.sym.get()) > 0 && !bound_inside.count(r.sym.get());
          plain = plain && (r.sym == n.iter || outside);
        });
  return plain;
}

}  // namespace

/// Asks for `bytes` that are read `distance` later.
void StreamEmitter::read_ahead(V at, uint64_t distance, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += line_bytes) {
    V ahead = b_.CreateConstGEP1_64(b_.getInt8Ty(), at, distance + offset);
    V kind[] = {ahead, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)};  // a read, into all caches, of data
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {at->getType()}, kind);
  }
}

/// Loops that gather a scalar, such as a maximum or a position, look ahead over a part of a page only, and at
/// each page the machine's own search for rows begins anew.
void StreamEmitter::read_page_ahead(V at, uint64_t bytes) {
  // Bytes of a page of memory, beyond which hardware prefetchers do not look.
  constexpr uint64_t page = 4096;
  bool gathers = !cx_.vector->outer->sums.empty() || !cx_.vector->outer->bests.empty();
  if (gathers && !cx_.vector->blocks) read_ahead(at, page, bytes);
}

/// Finds results that vector loops store to and nothing reads, and whether all arrays together are large.
void StreamEmitter::find() {
  if (target().stream_bytes() == 0) return;
  walk(cx_.shared.func.body, [&](const For &n, const Stmt &) {
    if (n.kind != ForKind::vector) return;
    walk(n.body, [&](const Store &s, const Stmt &) {
      bool row = s.buf->strides.empty() || as_int(s.buf->strides.back()) == 1;
      if (s.buf->space == Space::param && row && !s.index.empty()) cx_.only_written.insert(s.buf.get());
    });
  });
  if (cx_.only_written.empty()) return;
  walk(cx_.shared.func.body, [&](const Load &l, const Expr &) { cx_.only_written.erase(l.buf.get()); });
  if (cx_.only_written.empty()) return;
  V bytes = b_.getInt64(0);
  for (const Param &p : cx_.shared.func.params) {
    if (!p.buf) continue;
    V size = b_.getInt64(item_size(p.buf->dtype));
    for (const Expr &e : p.buf->extents) size = b_.CreateMul(size, scalars().expr(e));
    bytes = b_.CreateAdd(bytes, size);
  }
  cx_.streams = b_.CreateICmpUGT(bytes, b_.getInt64(target().stream_bytes()), "streams");
  cx_.memo.clear();
}

/// Loops that mostly move memory, in chunks of whole lines; the code of others would only grow.
bool StreamEmitter::may_stream(const For &n, const VectorizationAnalysis &view) const {
  // Operations per iteration. Chosen: a loop with more is not limited by memory.
  constexpr uint32_t few = 16;
  if (!cx_.streams || n.step != 1 || view.work().operations > few || view.work().scatters > 0) return false;
  bool some = false, plain = true;
  walk(
      n.body,
      [&](const Store &s, const Stmt &) {
        if (!cx_.only_written.count(s.buf.get())) return;
        some = true;
        plain = plain && is_plain(s.index, n, cx_.values) &&
                n.how.vector_width * item_size(s.buf->dtype) % line_bytes == 0;
      },
      [&](const For &, const Stmt &) { plain = false; },
      [&](const If &, const Stmt &branch) {
        walk(branch,
             [&](const Store &s, const Stmt &) { plain = plain && !cx_.only_written.count(s.buf.get()); });
      });
  return some && plain;
}

/// Whether every row that the loop stores begins at a line; of large calls.
llvm::Value *StreamEmitter::begins_at_lines(const For &n, V lo) {
  cx_.values[n.iter.get()] = lo;
  V low = b_.getInt64(0);
  walk(n.body, [&](const Store &s, const Stmt &) {
    if (!cx_.only_written.count(s.buf.get())) return;
    low = b_.CreateOr(low, b_.CreatePtrToInt(scalars().address(s.buf, s.index), b_.getInt64Ty()));
  });
  cx_.memo.clear();
  V within = b_.CreateAnd(b_.CreateFreeze(low), line_bytes - 1);  // of no iteration the place may be none
  return b_.CreateICmpEQ(within, b_.getInt64(0));
}

void StreamEmitter::store(V value, V at, uint64_t alignment) {
  auto *store = b_.CreateAlignedStore(value, at, llvm::Align(alignment));
  llvm::Metadata *one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), {one}));
}

/// Such stores are seen by other threads in no order until here.
void StreamEmitter::end() {
  if (!cx_.streams) return;
  BasicBlock *fence = block("fence"), *done = block("done");
  b_.CreateCondBr(cx_.streams, fence, done);
  b_.SetInsertPoint(fence);
  store_fence(b_);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace kw
