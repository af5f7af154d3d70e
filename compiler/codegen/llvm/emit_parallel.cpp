// Loops of the kind parallel: the body becomes a function over one chunk of the iterations, which the
// caller's pool runs on its threads. What the body uses of the function around it goes through a frame on the
// stack. Parallel loops inside another one run as serial ones; where the outer one has fewer iterations than
// there are threads, the one directly in it is cut too, and chunks run a piece of one outer iteration.
#include <algorithm>
#include <unordered_set>

#include "analysis/vectorization.h"
#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

using llvm::BasicBlock;
using llvm::ConstantInt;
using llvm::Function;
using llvm::FunctionType;

namespace {

/// Symbols and buffers that a loop's body uses, and those that it makes, each once, in order of the program.
struct Uses {
  std::vector<Sym> symbols;
  std::vector<Buf> buffers;
  std::unordered_set<const SymNode *> made, seen;
  bool checks = false;

  explicit Uses(const For &loop) {
    made.insert(loop.iter.get());
    std::vector<Expr> sizes;
    walk(
        loop.body, [&](const Let &n, const Stmt &) { made.insert(n.sym.get()); },
        [&](const For &n, const Stmt &) { made.insert(n.iter.get()); },
        [&](const Alloc &n, const Stmt &) {
          made.insert(n.buf->sym.get());
          sizes.insert(sizes.end(), n.buf->extents.begin(), n.buf->extents.end());
          sizes.insert(sizes.end(), n.buf->strides.begin(), n.buf->strides.end());
        },
        [&](const Check &, const Stmt &) { checks = true; }, [&](const Ref &n, const Expr &) { use(n.sym); },
        [&](const Load &n, const Expr &) { use(n.buf); },
        [&](const Store &n, const Stmt &) {
          bool cell = n.buf->space == Space::registers;
          ensure(!cell || made.count(n.buf->sym.get()),
                 cat("the parallel loop stores to '", n.buf->sym->name, "', a cell made outside it"));
          use(n.buf);
        });
    for (const Expr &size : sizes) walk(size, [&](const Ref &n, const Expr &) { use(n.sym); });
    std::erase_if(symbols, [&](const Sym &s) { return made.count(s.get()) != 0; });
    std::erase_if(buffers, [&](const Buf &b) { return made.count(b->sym.get()) != 0; });
  }
  void use(const Sym &s) {
    if (seen.insert(s.get()).second) symbols.push_back(s);
  }
  void use(const Buf &b) {
    if (seen.insert(b->sym.get()).second) buffers.push_back(b);
  }
};

}  // namespace

/// The frame of a region: how its chunks ended and how they are cut, then values of the function around it.
class FunctionEmitter::Frame {
 public:
  enum Field : unsigned { status, per_chunk, pieces, piece, first_value };

  /// A value that chunks need; constants they have anyway.
  void hold(V v) {
    if (!v || llvm::isa<llvm::Constant>(v)) return;
    if (places_.try_emplace(v, first_value + static_cast<unsigned>(values_.size())).second)
      values_.push_back(v);
  }

  /// In the function around the region, which it fills the frame for.
  V make(llvm::IRBuilder<> &b, BasicBlock *entry) {
    std::vector<llvm::Type *> types{b.getInt32Ty(), b.getInt64Ty(), b.getInt64Ty(), b.getInt64Ty()};
    for (V v : values_) types.push_back(v->getType());
    type_ = llvm::StructType::get(b.getContext(), types);
    V frame = llvm::IRBuilder<>(entry, entry->begin()).CreateAlloca(type_, nullptr, "frame");
    b.CreateStore(b.getInt32(0), field(b, frame, status));
    for (V v : values_) b.CreateStore(v, field(b, frame, places_.at(v)));
    return frame;
  }

  V field(llvm::IRBuilder<> &b, V frame, unsigned number) const {
    return b.CreateStructGEP(type_, frame, number);
  }
  V load(llvm::IRBuilder<> &b, V frame, unsigned number) const {
    return b.CreateLoad(type_->getElementType(number), field(b, frame, number));
  }
  /// In a chunk: the value that `v` is outside.
  V inside(llvm::IRBuilder<> &b, V frame, V v) const {
    return !v || llvm::isa<llvm::Constant>(v) ? v : load(b, frame, places_.at(v));
  }

 private:
  llvm::StructType *type_ = nullptr;
  std::vector<V> values_;
  std::unordered_map<V, unsigned> places_;
};

/// One parallel loop, seen from the function around it.
struct FunctionEmitter::Region {
  const For &loop;
  V lo, trips;
  const For *cut;  ///< the loop whose iterations are shared out too, or null
  Uses uses;
  Frame frame{};
  std::unordered_map<const BufNode *, V> cells{};        ///< their values, which do not change meanwhile
  std::vector<std::pair<const BufNode *, V>> offsets{};  ///< of temporaries in the memory of a thread
  V bytes = nullptr;                                     ///< of that memory

  bool can_fail() const { return uses.checks || !offsets.empty(); }
};

/// The parallel loops that stand directly in the body of another one.
static std::vector<const For *> parallel_loops_in(const Stmt &body) {
  std::vector<const For *> out;
  auto visit = [&](const auto &self, const Stmt &root) -> void {
    for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
      if (const Seq *items = as<Seq>(*s))
        for (size_t i = 0; i + 1 < items->items.size(); ++i) self(self, items->items[i]);
      if (const For *loop = as<For>(*s); loop && loop->kind == ForKind::parallel && !loop->how.chunk)
        out.push_back(loop);
    }
  };
  visit(visit, body);
  return out;
}

void FunctionEmitter::find_phases() {
  if (std::exchange(knows_phases_, true)) return;
  walk(f_.body, [&](const For &around, const Stmt &) {
    if (around.kind != ForKind::serial) return;
    auto phases = std::make_shared<const std::vector<const For *>>(parallel_loops_in(around.body));
    for (const For *phase : *phases) phases_[phase] = phases;
  });
}

/// How many threads a loop is worth. Loops that a serial loop runs in turn over and over count together: were
/// only the longer ones shared out, all that they write would move between the caches each time. A quarter of
/// a thread's work is what each of them needs all the same. Where they are many, all count like this one.
FunctionEmitter::V FunctionEmitter::worth_of(const For &n, const WorkEstimate &work) {
  uint32_t grain = target_.log2_work_per_thread;
  V own = expr(work.operations);
  V worth = b_.CreateAShr(own, grain);
  constexpr size_t many = 16;  // chosen: the code for the sum is repeated in each of them
  find_phases();
  auto found = phases_.find(&n);
  size_t count = found == phases_.end() ? 1 : found->second->size();
  if (count > 1) {
    V all = count > many ? b_.CreateMul(own, b_.getInt64(count)) : own;
    for (const For *phase : *found->second)
      if (phase != &n && count <= many) all = b_.CreateAdd(all, expr(estimate_work(*phase).operations));
    worth = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAShr(all, grain),
                                     b_.CreateAShr(own, grain - std::min(grain, 2u)));
  }
  memo_.clear();
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, worth, b_.getInt64(1));
}

/// Of a loop without a width: as many chunks as threads that its work is worth. Where data decide how long an
/// iteration takes there are more of them, since they end at different times.
FunctionEmitter::V FunctionEmitter::wanted_chunks(const For &n, V threads) {
  // Chosen: an uneven iteration then delays the end by 1/16 of a thread's work at most.
  constexpr uint64_t chunks_per_thread = 16;
  auto least = [&](V a, V b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); };
  WorkEstimate work = estimate_work(n);
  V wanted = least(threads, worth_of(n, work));
  if (work.bounded) return wanted;
  V parts = b_.CreateMul(wanted, b_.getInt64(chunks_per_thread));
  return b_.CreateSelect(b_.CreateICmpUGT(wanted, b_.getInt64(1)), parts, wanted);
}

/// The parallel loop that is all another one does, when both have their ranges whatever the other one does;
/// or null.
static const For *loop_to_cut(const For &n) {
  std::unordered_set<const SymNode *> made{n.iter.get()};
  const Stmt *s = &n.body;
  for (; as<Let>(*s); s = &as<Let>(*s)->body) made.insert(as<Let>(*s)->sym.get());
  const For *inner = as<For>(*s);
  if (n.how.chunk || !inner || inner->kind != ForKind::parallel || inner->how.chunk) return nullptr;
  bool apart = true;
  for (const Expr &end : {inner->lo, inner->hi})
    walk(
        end, [&](const Ref &r, const Expr &) { apart = apart && !made.count(r.sym.get()); },
        [&](const Load &, const Expr &) { apart = false; });
  return apart ? inner : nullptr;
}

/// Where the loop has fewer iterations than chunks are wanted: into how many pieces each of them is cut, and
/// how long these are, in whole lines of memory. Returns the number of chunks.
FunctionEmitter::V FunctionEmitter::cut_inner(const Region &r, V frame, V wanted) {
  // Bytes of a cache line: two threads should not write the same one.
  constexpr uint64_t line = 64;
  V one = b_.getInt64(1);
  const For *lanes = loop_in_blocks(*r.cut);
  V inner = trip_count(lanes ? *lanes : *r.cut, expr(r.cut->lo), expr(r.cut->hi));
  auto ceiling = [&](V a, V b) { return b_.CreateUDiv(b_.CreateAdd(a, b_.CreateSub(b, one)), b); };
  V few = b_.CreateICmpULT(r.trips, wanted);
  V pieces = b_.CreateSelect(few, ceiling(wanted, r.trips), one);
  V piece = ceiling(inner, pieces);
  if (lanes) piece = b_.CreateAnd(b_.CreateAdd(piece, b_.getInt64(line - 1)), ~(line - 1));
  b_.CreateStore(pieces, r.frame.field(b_, frame, Frame::pieces));
  b_.CreateStore(b_.CreateSelect(few, piece, inner), r.frame.field(b_, frame, Frame::piece));
  memo_.clear();
  return b_.CreateSelect(few, b_.CreateMul(r.trips, pieces), wanted);
}

/// Threads run chunks of `width` iterations, or without a width one chunk each; one thread alone runs them
/// all as one chunk.
void FunctionEmitter::parallel_loop(const For &n, V lo, V trips) {
  llvm::Type *wide = b_.getInt64Ty();
  V zero = b_.getInt64(0), one = b_.getInt64(1), width = b_.getInt64(n.how.chunk);
  Region region{n, lo, trips, loop_to_cut(n), Uses(n)};
  capture(region);
  V frame = region.frame.make(b_, entry_);
  Function *body = chunk_function(region);
  V threads = b_.CreateZExt(load_env(b_.getInt32Ty(), 4), wide, "threads");
  V chunks = n.how.chunk
                 ? b_.CreateAdd(b_.CreateUDiv(trips, width),
                                b_.CreateZExt(b_.CreateICmpNE(b_.CreateURem(trips, width), zero), wide))
                 : wanted_chunks(n, threads);
  if (!n.how.chunk && !region.cut) chunks = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, chunks, trips);
  BasicBlock *alone = block("alone"), *together = block("together"), *joined = block("joined");
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
                {env_, chunks, body, frame});
  b_.CreateBr(joined);
  b_.SetInsertPoint(joined);
  leave_region(region, frame);
}

/// Behind a region: ends the kernel where a chunk failed or chunks were left out because it is cancelled.
void FunctionEmitter::leave_region(const Region &r, V frame) {
  BasicBlock *on = block("on");
  if (!r.can_fail()) {
    poll(on);
    b_.SetInsertPoint(on);
    return;
  }
  V status = r.frame.load(b_, frame, Frame::status), zero = b_.getInt32(0);
  V cancelled = b_.CreateICmpNE(b_.CreateLoad(b_.getInt32Ty(), cancel_, true), zero);
  V failed = b_.CreateICmpNE(status, zero);
  BasicBlock *ended = block("ended");
  b_.CreateCondBr(b_.CreateOr(failed, cancelled), ended, on);
  b_.SetInsertPoint(ended);
  b_.CreateRet(b_.CreateSelect(failed, status, b_.getInt32(2)));
  b_.SetInsertPoint(on);
}

FunctionEmitter::V FunctionEmitter::load_env(llvm::Type *t, uint64_t offset) {
  return b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), env_, offset));
}

/// Lets the frame hold all that a chunk uses of this function.
void FunctionEmitter::capture(Region &r) {
  for (V v : {r.lo, r.trips, cancel_}) r.frame.hold(v);
  if (r.uses.checks) r.frame.hold(fault_);
  r.frame.hold(streams_);
  for (const Sym &s : r.uses.symbols) {
    ensure(values_.count(s.get()), cat("'", s->name, "' has no value before a parallel loop that uses it"));
    r.frame.hold(entry_of(values_, s.get()));
  }
  for (const Buf &b : r.uses.buffers) {
    if (auto cell = cells_.find(b.get()); cell != cells_.end()) {
      r.frame.hold(r.cells[b.get()] = b_.CreateLoad(type(b->dtype), cell->second));
      continue;
    }
    ensure(buffers_.count(b.get()),
           cat("'", b->sym->name, "' is not there before a parallel loop that uses it"));
    const Memory &m = entry_of(buffers_, b.get());
    r.frame.hold(m.base);
    for (V stride : m.strides) r.frame.hold(stride);
  }
  r.bytes = b_.getInt64(0);
  for (const WorkspaceSlot &slot : plan_workspace(f_)) {
    if (!r.uses.made.count(slot.buf->sym.get())) continue;
    r.offsets.emplace_back(slot.buf.get(), r.bytes);
    r.frame.hold(r.bytes);
    r.bytes = b_.CreateAdd(r.bytes, expr(slot.bytes), "", true, true);
  }
  if (!r.offsets.empty()) r.frame.hold(env_);
  r.frame.hold(r.bytes);
  memo_.clear();
}

/// void chunk(frame, chunk, worker), emitted by an emitter of its own: nothing of this function's state can
/// slip in.
Function *FunctionEmitter::chunk_function(const Region &r) {
  FunctionEmitter inner(module_, f_, target_);
  inner.raise_ = raise_;
  inner.fmods_ = fmods_;
  inner.emit_chunk(r, *this);
  raise_ = inner.raise_;
  fmods_ = std::move(inner.fmods_);
  return inner.fn_;
}

void FunctionEmitter::emit_chunk(const Region &r, const FunctionEmitter &outside) {
  llvm::Type *p = b_.getPtrTy();
  fn_ = Function::Create(FunctionType::get(b_.getVoidTy(), {p, b_.getInt64Ty(), b_.getInt32Ty()}, false),
                         Function::InternalLinkage, "chunk", module_);
  set_attributes();
  V frame = fn_->getArg(0), chunk = fn_->getArg(1);
  entry_ = block("entry");
  cancelled_ = block("left");
  b_.SetInsertPoint(entry_);
  status_ = r.frame.field(b_, frame, Frame::status);
  if (r.can_fail()) {  // what is left is not worth running once a chunk has failed
    auto *status = b_.CreateAlignedLoad(b_.getInt32Ty(), status_, llvm::Align(4));
    status->setAtomic(llvm::AtomicOrdering::Monotonic);
    BasicBlock *begin = block("begin");
    b_.CreateCondBr(b_.CreateICmpNE(status, b_.getInt32(0)), cancelled_, begin);
    b_.SetInsertPoint(begin);
  }
  receive(r, frame, outside);
  V per_chunk = r.frame.load(b_, frame, Frame::per_chunk);
  V trips = r.frame.inside(b_, frame, r.trips), lo = r.frame.inside(b_, frame, r.lo);
  auto least = [&](V a, V b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); };
  if (r.cut) {
    V pieces = r.frame.load(b_, frame, Frame::pieces);
    cut_ = r.cut, piece_ = r.frame.load(b_, frame, Frame::piece);
    piece_from_ = b_.CreateMul(b_.CreateURem(chunk, pieces), piece_);
    whole_rows_ = b_.CreateICmpEQ(pieces, b_.getInt64(1));
    chunk = b_.CreateUDiv(chunk, pieces);
  }
  V first = least(b_.CreateMul(chunk, per_chunk), trips);  // chunks behind the last iteration are empty
  V count = least(per_chunk, b_.CreateSub(trips, first));
  iterations(r.loop, iteration(r.loop, lo, first), count);
  end_streams();
  b_.CreateRetVoid();
  b_.SetInsertPoint(cancelled_);
  b_.CreateRetVoid();
}

/// A parallel loop inside a chunk: one loop, also where it stands as blocks, or its piece of one.
void FunctionEmitter::loop_in_chunk(const For &n, V lo, V hi) {
  const For *lanes = loop_in_blocks(n);
  const For &whole = lanes ? *lanes : n;
  bool may_join = &whole == collapsed_row_;
  V trips = may_join ? collapsed_length_ : trip_count(whole, lo, hi);
  if (cut_ == &n) {
    auto least = [&](V a, V b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); };
    V from = least(piece_from_, trips), part = least(piece_, b_.CreateSub(trips, from));
    lo = iteration(whole, lo, from);  // the first, where the piece is all
    trips = may_join ? b_.CreateSelect(whole_rows_, trips, part) : part;
  }
  whole_block_ = lanes;
  iterations(whole, lo, trips);
  whole_block_ = nullptr;
}

/// In a chunk: everything that the frame holds becomes what it was outside, and temporaries get memory.
void FunctionEmitter::receive(const Region &r, V frame, const FunctionEmitter &outside) {
  auto inside = [&](V v) { return r.frame.inside(b_, frame, v); };
  cancel_ = inside(outside.cancel_);
  streams_ = inside(outside.streams_), only_written_ = outside.only_written_;
  if (r.uses.checks) fault_ = inside(outside.fault_);
  for (const Sym &s : r.uses.symbols) values_[s.get()] = inside(entry_of(outside.values_, s.get()));
  for (const Buf &b : r.uses.buffers) {
    if (auto value = r.cells.find(b.get()); value != r.cells.end()) {
      V cell = llvm::IRBuilder<>(entry_, entry_->begin()).CreateAlloca(type(b->dtype), nullptr, b->sym->name);
      b_.CreateStore(inside(value->second), cell);
      cells_[b.get()] = cell;
      continue;
    }
    Memory m = entry_of(outside.buffers_, b.get());
    m.base = inside(m.base);
    for (V &stride : m.strides) stride = inside(stride);
    buffers_[b.get()] = std::move(m);
  }
  if (r.offsets.empty()) return;
  env_ = inside(outside.env_);
  llvm::Type *p = b_.getPtrTy();
  V base = b_.CreateCall(FunctionType::get(p, {p, b_.getInt64Ty()}, false), load_env(p, 16),
                         {env_, inside(r.bytes)}, "scratch");
  BasicBlock *none = block("no_memory"), *some = block("memory");
  b_.CreateCondBr(b_.CreateIsNull(base), none, some);
  b_.SetInsertPoint(none);
  end_with(3);
  b_.SetInsertPoint(some);
  for (auto [buf, offset] : r.offsets)
    slots_[buf] = b_.CreateInBoundsGEP(b_.getInt8Ty(), base, inside(offset));
}

/// Ends the kernel with a status, or inside a region the chunk: the kernel ends behind the region.
void FunctionEmitter::end_with(uint32_t status) {
  if (!status_) {
    b_.CreateRet(b_.getInt32(status));
    return;
  }
  auto *store = b_.CreateAlignedStore(b_.getInt32(status), status_, llvm::Align(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateRetVoid();
}

}  // namespace kw
