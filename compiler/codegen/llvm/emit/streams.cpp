// Decides once, before all loops, whether a call is large enough.
#include "codegen/llvm/emit/streams.h"

#include <unordered_set>

#include "analysis/vector/streams.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/vector.h"
#include "codegen/llvm/values/x86.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

/// Prefetches `bytes` that are read `distance` bytes later.
void StreamEmitter::read_ahead(V at, uint64_t distance, uint64_t bytes) {
  for (uint64_t offset = 0; offset < bytes; offset += cache_line) {
    V ahead = b_.CreateConstGEP1_64(b_.getInt8Ty(), at, distance + offset);
    V kind[] = {ahead, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)};  // a read, into all caches, of data
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {at->getType()}, kind);
  }
}

/// Prefetches the next page for loops whose plan asks for it. Hardware prefetchers do not look beyond a page,
/// and begin anew at each one.
void StreamEmitter::read_page_ahead(V at, uint64_t bytes) {
  if (cx_.vector->prefetches && !cx_.vector->blocks) read_ahead(at, target().machine().page_bytes, bytes);
}

/// Compares the bytes of all tensors of the call with the target's limit. Without a loop that streams, the
/// code has no second version.
void StreamEmitter::find() {
  bool streams = false;
  walk(cx_.shared.func.body, [&](const For &n, const Stmt &) { streams |= n.how.stream > 0; });
  if (!streams || !target().stream_bytes()) return;
  cx_.only_written = write_only_outputs(cx_.shared.func);
  V bytes = b_.getInt64(0);
  for (const Param &p : cx_.shared.func.params) {
    if (!p.buf) continue;
    V size = b_.getInt64(item_size(p.buf->dtype));
    for (const Expr &e : p.buf->extents) size = b_.CreateMul(size, value_of_size(e));
    bytes = b_.CreateAdd(bytes, size);
  }
  cx_.streams = b_.CreateICmpUGT(bytes, b_.getInt64(target().stream_bytes()), "streams");
  cx_.memo.clear();
}

/// Returns whether every row that the loop stores to write-only outputs begins at a cache line. Asked in
/// large calls only.
llvm::Value *StreamEmitter::begins_at_lines(const For &n, V lo) {
  cx_.values[n.iter.get()] = lo;
  V low = b_.getInt64(0);
  // One bit set in the low part of any address shows in the OR of all of them.
  walk(n.body, [&](const Store &s, const Stmt &) {
    if (!cx_.only_written.count(s.buf.get())) return;
    low = b_.CreateOr(low, b_.CreatePtrToInt(scalars().address(s.buf, s.index), b_.getInt64Ty()));
  });
  cx_.memo.clear();
  // Without an iteration the address may be poison.
  V within = b_.CreateAnd(b_.CreateFreeze(low), cache_line - 1);
  return b_.CreateICmpEQ(within, b_.getInt64(0));
}

/// Emits a non-temporal store. `at` is a multiple of `alignment` bytes, which the instruction requires.
void StreamEmitter::store(V value, V at, uint64_t alignment) {
  auto *store = b_.CreateAlignedStore(value, at, llvm::Align(alignment));
  llvm::Metadata *one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), {one}));
}

/// Fences the non-temporal stores: until here, other threads see them in no order.
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
