// Outlines parallel loops, and computes the number of their chunks.
#include "codegen/llvm/emit/regions.h"

#include <algorithm>

#include "analysis/captures.h"
#include "analysis/cost.h"
#include "codegen/llvm/emit/line_info.h"
#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/streams.h"
#include "ir/build.h"
#include "ir/limits.h"
#include "ir/loops.h"
#include "ir/match.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

using llvm::BasicBlock;
using llvm::Function;
using llvm::FunctionType;
using V = llvm::Value *;

/// The frame of a region: the status of its chunks, the sizes of chunks, then values of the enclosing
/// function.
class RegionEmitter::Frame {
 public:
  /// `status`: the status of a chunk that failed, or 0. `per_chunk`: the iterations of a chunk. `pieces`: the
  /// chunks for each iteration of a cut loop. `piece`: the iterations of the inner loop in each of these
  /// chunks.
  enum Field : unsigned { status, per_chunk, pieces, piece, first_value };

  /// Adds a value that chunks need. Constants need no place in the frame.
  void hold(V v) {
    if (!v || llvm::isa<llvm::Constant>(v)) return;
    if (places_.try_emplace(v, first_value + static_cast<unsigned>(values_.size())).second)
      values_.push_back(v);
  }

  /// Makes and fills the frame, in the function around the region.
  V make(llvm::IRBuilder<> &b, BasicBlock *entry) {
    std::vector<llvm::Type *> types{b.getInt32Ty(), b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()};
    for (V v : values_) types.push_back(v->getType());
    type_ = llvm::StructType::get(b.getContext(), types);
    V frame = llvm::IRBuilder<>(entry, entry->begin()).CreateAlloca(type_, nullptr, "frame");
    b.CreateStore(b.getInt32(0), field(b, frame, status));
    for (V v : values_) b.CreateStore(v, field(b, frame, places_.at(v)));
    return frame;
  }

  /// Returns the address of a field.
  V field(llvm::IRBuilder<> &b, V frame, unsigned number) const {
    return b.CreateStructGEP(type_, frame, number);
  }
  V load(llvm::IRBuilder<> &b, V frame, unsigned number) const {
    return b.CreateLoad(type_->getElementType(number), field(b, frame, number));
  }
  /// Returns, in a chunk, the value that `v` has outside.
  V inside(llvm::IRBuilder<> &b, V frame, V v) const {
    return !v || llvm::isa<llvm::Constant>(v) ? v : load(b, frame, places_.at(v));
  }

 private:
  llvm::StructType *type_ = nullptr;
  std::vector<V> values_;
  std::unordered_map<V, unsigned> places_;
};

/// One parallel loop, seen from the enclosing function.
struct RegionEmitter::Region {
  const For &loop;
  V lo, trips;
  const For *cut;  ///< the inner loop whose iterations threads share too, or null
  LoopCaptures uses;
  Frame frame{};
  std::unordered_map<const BufNode *, V> cells{};  ///< the values of cells, which the region does not change
  std::vector<std::pair<const BufNode *, V>> offsets{};  ///< of temporaries in the memory of a thread
  V bytes = nullptr;                                     ///< the bytes of that memory

  bool can_fail() const { return uses.checks || !offsets.empty(); }
};

/// Returns the number of chunks of a loop without a chunk size: as many as threads that its work is worth, or
/// a multiple.
llvm::Value *RegionEmitter::wanted_chunks(const For &n, V threads) {
  V wanted = threads;
  if (n.most_threads)
    wanted = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, threads, scalars().expr(n.most_threads));
  cx_.memo.clear();
  if (n.how.chunks_per_thread < 2) return wanted;
  V parts = b_.CreateMul(wanted, b_.getInt64(n.how.chunks_per_thread));
  return b_.CreateSelect(b_.CreateICmpUGT(wanted, b_.getInt64(1)), parts, wanted);
}

/// Returns the number of chunks of a cut loop. If the loop has fewer iterations than chunks are wanted, cuts
/// each iteration into pieces of the inner loop. If that runs in blocks, the iterations of a piece are
/// rounded up to a multiple of 64.
llvm::Value *RegionEmitter::cut_inner(const Region &r, V frame, V wanted) {
  // Bytes, but used to round a number of iterations. With elements of a byte or more, a piece then covers at
  // least a cache line, so that two threads seldom write the same one.
  constexpr uint64_t line = cache_line;
  V one = b_.getInt64(1);
  const For *lanes = loop_in_blocks(*r.cut);
  V inner = loops().trip_count(r.cut->lo, r.cut->hi, lanes ? lanes->step : r.cut->step);
  auto ceiling = [&](V a, V b) { return b_.CreateUDiv(b_.CreateAdd(a, b_.CreateSub(b, one)), b); };
  V few = b_.CreateICmpULT(r.trips, wanted);
  V pieces = b_.CreateSelect(few, ceiling(wanted, r.trips), one);
  V piece = ceiling(inner, pieces);
  if (lanes) piece = b_.CreateAnd(b_.CreateAdd(piece, b_.getInt64(line - 1)), ~(line - 1));
  b_.CreateStore(pieces, r.frame.field(b_, frame, Frame::pieces));
  b_.CreateStore(b_.CreateSelect(few, piece, inner), r.frame.field(b_, frame, Frame::piece));
  cx_.memo.clear();
  return b_.CreateSelect(few, b_.CreateMul(r.trips, pieces), wanted);
}

/// Emits chunks of `how.chunk` iterations, or, without a chunk size, chunks of equal size. One thread alone
/// runs all iterations as one chunk.
void RegionEmitter::emit(const For &n, V lo, V trips) {
  // One call for one thread, or one call for the pool:
  //     alone:      body(frame, 0, 0) over all iterations
  //     together:   env->parallel(env, chunks, body, frame)
  llvm::Type *wide = b_.getInt64Ty();
  V zero = b_.getInt64(0), one = b_.getInt64(1), width = b_.getInt64(n.how.chunk);
  Region region{n, lo, trips, n.how.collapse ? loop_to_collapse(n) : nullptr, captures_of(n)};
  capture(region);
  V frame = region.frame.make(b_, cx_.entry);
  Function *body = chunk_function(region);
  V threads = b_.CreateZExt(load_env(b_.getInt32Ty(), 4), wide, "threads");
  V chunks = n.how.chunk
                 ? b_.CreateAdd(b_.CreateUDiv(trips, width),
                                b_.CreateZExt(b_.CreateICmpNE(b_.CreateURem(trips, width), zero), wide))
                 : wanted_chunks(n, threads);
  if (!n.how.chunk && !region.cut) chunks = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, chunks, trips);
  BasicBlock *alone = block("alone"), *together = block("together"), *joined = block("joined");
  // The loop is not worth the pool if there is one thread, or work for only one.
  V several = b_.CreateAnd(b_.CreateICmpUGT(threads, one), b_.CreateICmpSGT(chunks, one));
  if (region.cut) several = b_.CreateAnd(several, b_.CreateICmpNE(trips, zero));
  b_.CreateCondBr(several, together, alone);
  b_.SetInsertPoint(alone);
  V per_chunk = region.frame.field(b_, frame, Frame::per_chunk);
  b_.CreateStore(trips, per_chunk);
  if (region.cut) {
    b_.CreateStore(one, region.frame.field(b_, frame, Frame::pieces));
    b_.CreateStore(b_.getInt64(INT64_MAX), region.frame.field(b_, frame, Frame::piece));
  }
  b_.CreateCall(body, {frame, zero, b_.getInt32(0)});
  b_.CreateBr(joined);
  b_.SetInsertPoint(together);
  per_chunk = region.frame.field(b_, frame, Frame::per_chunk);
  if (region.cut) chunks = cut_inner(region, frame, chunks);
  V even = n.how.chunk ? width : b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(trips, one), chunks), one);
  b_.CreateStore(even, per_chunk);
  llvm::Type *p = b_.getPtrTy();
  b_.CreateCall(FunctionType::get(b_.getVoidTy(), {p, wide, p, p}, false), load_env(p, 8),
                {cx_.env, chunks, body, frame});
  b_.CreateBr(joined);
  b_.SetInsertPoint(joined);
  leave(region, frame);
}

/// Ends the kernel after a region if a chunk failed, or if the pool left out chunks of a cancelled run.
void RegionEmitter::leave(const Region &r, V frame) {
  BasicBlock *on = block("on");
  if (!r.can_fail()) {
    loops().poll(on);
    b_.SetInsertPoint(on);
    return;
  }
  // The pool leaves chunks out when the run is cancelled, so success of all others does not mean success.
  V status = r.frame.load(b_, frame, Frame::status), zero = b_.getInt32(0);
  V cancelled = b_.CreateICmpNE(b_.CreateLoad(b_.getInt32Ty(), cx_.cancel, true), zero);
  V failed = b_.CreateICmpNE(status, zero);
  BasicBlock *ended = block("ended");
  b_.CreateCondBr(b_.CreateOr(failed, cancelled), ended, on);
  b_.SetInsertPoint(ended);
  b_.CreateRet(b_.CreateSelect(failed, status, b_.getInt32(2)));
  b_.SetInsertPoint(on);
}

/// Loads a field of KwEnv. Offsets in bytes: threads 4, parallel 8, scratch 16, cancel 24.
llvm::Value *RegionEmitter::load_env(llvm::Type *t, uint64_t offset) {
  return b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cx_.env, offset));
}

/// Adds all values of this function that a chunk uses to the frame.
void RegionEmitter::capture(Region &r) {
  for (V v : {r.lo, r.trips, cx_.cancel}) r.frame.hold(v);
  if (r.uses.checks) r.frame.hold(cx_.fault);
  r.frame.hold(cx_.streams);
  for (const Sym &s : r.uses.symbols) {
    ensure(cx_.values.count(s.get()),
           cat("'", s->name, "' has no value before a parallel loop that uses it"));
    r.frame.hold(entry_of(cx_.values, s.get()));
  }
  for (const Buf &b : r.uses.buffers) {
    // A scalar goes by value: no iteration of a parallel loop changes it.
    if (auto cell = cx_.cells.find(b.get()); cell != cx_.cells.end()) {
      r.frame.hold(r.cells[b.get()] = b_.CreateLoad(ops().type(b->dtype), cell->second));
      continue;
    }
    ensure(cx_.buffers.count(b.get()),
           cat("'", b->sym->name, "' is not there before a parallel loop that uses it"));
    const Memory &m = entry_of(cx_.buffers, b.get());
    r.frame.hold(m.base);
    for (V stride : m.strides) r.frame.hold(stride);
  }
  // Temporaries of the body follow one another in the memory of each thread.
  r.bytes = b_.getInt64(0);
  for (const WorkspaceSlot &slot : plan_workspace(cx_.shared.func)) {
    if (!r.uses.made.count(slot.buf->sym.get())) continue;
    r.offsets.emplace_back(slot.buf.get(), r.bytes);
    r.frame.hold(r.bytes);
    r.bytes = b_.CreateAdd(r.bytes, value_of_size(slot.bytes), "", true, true);
  }
  if (!r.offsets.empty()) r.frame.hold(cx_.env);
  r.frame.hold(r.bytes);
  cx_.memo.clear();
}

/// Emits void chunk(frame, chunk, worker). The new context keeps all state of this function out.
Function *RegionEmitter::chunk_function(const Region &r) {
  EmitContext inner{cx_.shared};
  RegionEmitter(inner).emit_chunk(r, cx_);
  return inner.fn;
}

/// Emits the chunk function: it leaves if a chunk has failed, unpacks the frame, and runs the iterations of
/// its chunk.
void RegionEmitter::emit_chunk(const Region &r, const EmitContext &outside) {
  llvm::Type *p = b_.getPtrTy();
  cx_.fn = Function::Create(FunctionType::get(b_.getVoidTy(), {p, b_.getInt64Ty(), b_.getInt32Ty()}, false),
                            Function::InternalLinkage, "chunk", cx_.shared.module);
  set_attributes(*cx_.fn, target());
  if (cx_.shared.lines) cx_.shared.lines->add(*cx_.fn, b_);
  V frame = cx_.fn->getArg(0), chunk = cx_.fn->getArg(1);
  cx_.entry = block("entry");
  cx_.cancelled = block("left");
  b_.SetInsertPoint(cx_.entry);
  cx_.status = r.frame.field(b_, frame, Frame::status);
  if (r.can_fail()) {  // once a chunk has failed, the others need not run
    auto *status = b_.CreateAlignedLoad(b_.getInt32Ty(), cx_.status, llvm::Align(4));
    status->setAtomic(llvm::AtomicOrdering::Monotonic);
    BasicBlock *begin = block("begin");
    b_.CreateCondBr(b_.CreateICmpNE(status, b_.getInt32(0)), cx_.cancelled, begin);
    b_.SetInsertPoint(begin);
  }
  receive(r, frame, outside);
  V per_chunk = r.frame.load(b_, frame, Frame::per_chunk);
  V trips = r.frame.inside(b_, frame, r.trips), lo = r.frame.inside(b_, frame, r.lo);
  auto smaller = [&](V a, V b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); };
  if (r.cut) {
    V pieces = r.frame.load(b_, frame, Frame::pieces);
    cx_.sub_range.loop = r.cut, cx_.sub_range.count = r.frame.load(b_, frame, Frame::piece);
    cx_.sub_range.first = b_.CreateMul(b_.CreateURem(chunk, pieces), cx_.sub_range.count);
    cx_.sub_range.is_whole = b_.CreateICmpEQ(pieces, b_.getInt64(1));
    chunk = b_.CreateUDiv(chunk, pieces);
  }
  V first = smaller(b_.CreateMul(chunk, per_chunk), trips);  // chunks after the last iteration are empty
  V count = smaller(per_chunk, b_.CreateSub(trips, first));
  loops().iterations(r.loop, loops().iteration(r.loop, lo, first), count);
  streams().end();
  b_.CreateRetVoid();
  b_.SetInsertPoint(cx_.cancelled);
  b_.CreateRetVoid();
}

/// Emits a parallel loop inside a chunk: as one loop even if it is written in blocks, or as the chunk's
/// sub-range.
void RegionEmitter::loop_in_chunk(const For &n, V lo) {
  const For *lanes = loop_in_blocks(n);
  const For &whole = lanes ? *lanes : n;
  bool may_join = &whole == cx_.collapsed_row;
  V trips = may_join ? cx_.collapsed_length : loops().trip_count(n.lo, n.hi, whole.step);
  if (cx_.sub_range.loop == &n) {
    auto smaller = [&](V a, V b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); };
    V from = smaller(cx_.sub_range.first, trips),
      part = smaller(cx_.sub_range.count, b_.CreateSub(trips, from));
    lo = loops().iteration(whole, lo, from);  // the first one, if the sub-range is the whole loop
    trips = may_join ? b_.CreateSelect(cx_.sub_range.is_whole, trips, part) : part;
  }
  Scoped block(cx_.whole_block, lanes);
  loops().iterations(whole, lo, trips);
}

/// Loads, in a chunk, the values of the frame under their outer names, and gives memory to temporaries.
void RegionEmitter::receive(const Region &r, V frame, const EmitContext &outside) {
  auto inside = [&](V v) { return r.frame.inside(b_, frame, v); };
  cx_.cancel = inside(outside.cancel);
  cx_.streams = inside(outside.streams), cx_.only_written = outside.only_written;
  if (r.uses.checks) cx_.fault = inside(outside.fault);
  for (const Sym &s : r.uses.symbols) cx_.values[s.get()] = inside(entry_of(outside.values, s.get()));
  for (const Buf &b : r.uses.buffers) {
    if (auto value = r.cells.find(b.get()); value != r.cells.end()) {
      V cell = llvm::IRBuilder<>(cx_.entry, cx_.entry->begin())
                   .CreateAlloca(ops().type(b->dtype), nullptr, b->sym->name);
      b_.CreateStore(inside(value->second), cell);
      cx_.cells[b.get()] = cell;
      continue;
    }
    Memory m = entry_of(outside.buffers, b.get());
    m.base = inside(m.base);
    for (V &stride : m.strides) stride = inside(stride);
    cx_.buffers[b.get()] = std::move(m);
  }
  if (r.offsets.empty()) return;
  cx_.env = inside(outside.env);
  llvm::Type *p = b_.getPtrTy();
  // 16: the offset of `scratch` in KwEnv
  V base = b_.CreateCall(FunctionType::get(p, {p, b_.getInt64Ty()}, false), load_env(p, 16),
                         {cx_.env, inside(r.bytes)}, "scratch");
  BasicBlock *none = block("no_memory"), *some = block("memory");
  b_.CreateCondBr(b_.CreateIsNull(base), none, some);
  b_.SetInsertPoint(none);
  statements().end_with(3);
  b_.SetInsertPoint(some);
  for (auto [buf, offset] : r.offsets)
    cx_.slots[buf] = b_.CreateInBoundsGEP(b_.getInt8Ty(), base, inside(offset));
}

}  // namespace kw
