// Each kind of statement has one function. Buffers become known where they are allocated.
#include "codegen/llvm/emit/statements.h"

#include <algorithm>

#include "analysis/access.h"
#include "codegen/llvm/emit/line_info.h"
#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/recurrences.h"
#include "codegen/llvm/emit/reductions.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/vector.h"
#include "ir/build.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;
using llvm::Function;
using llvm::FunctionType;
using V = llvm::Value *;

/// Records a buffer. A stride of 1 becomes null, which the address of an access leaves out.
void StatementEmitter::declare(const Buf &b, V base) {
  Memory m{base, {}};
  for (const Expr &stride : strides_of(*b))
    m.strides.push_back(as_int(stride) == 1 ? nullptr : value_of_size(stride));
  cx_.buffers[b.get()] = std::move(m);
}

void StatementEmitter::emit(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) statement(*s);
}

/// Emits one statement. Values of shared expressions are forgotten before it: a store may change what they
/// read.
void StatementEmitter::statement(const Stmt &s) {
  cx_.memo.clear();
  if (!cx_.shared.lines) return kind(s);
  llvm::DebugLoc outer = b_.getCurrentDebugLocation();
  if (llvm::DebugLoc here = cx_.shared.lines->at(s.loc(), *cx_.fn)) b_.SetCurrentDebugLocation(here);
  kind(s);
  b_.SetCurrentDebugLocation(outer);
}

void StatementEmitter::kind(const Stmt &s) {
  if (cx_.vector && vectors().statement(s)) return;
  match(
      s, [&](const Store &n) { store(n); }, [&](const Let &n) { recurrences().let(n); },
      [&](const Alloc &n) { allocate(n); }, [&](const For &n) { loops().emit(n); },
      [&](const While &n) { while_loop(n); }, [&](const Jump &n) { jump(n); },
      [&](const If &n) { branch(n); }, [&](const Check &n) { check(n); },
      [&](const Seq &n) {
        for (size_t i = 0; i + 1 < n.items.size(); ++i) emit(n.items[i]);
      });
}

/// Returns whether the store is `cell = select(cond, value, cell)`, often on the critical path of a loop.
static bool keeps_its_cell(const Store &n) {
  const Select *chosen = as<Select>(n.value);
  const Load *before = chosen && chosen->eager_yes && chosen->eager_no ? as<Load>(chosen->no) : nullptr;
  return before && before->buf == n.buf;
}

/// Stores a scalar: to a recurrence's register, a cell, one lane of a vector cell, or memory.
void StatementEmitter::store(const Store &n) {
  if (reductions().is_left_out(n)) return;
  if (cx_.recurrences.count(n.buf.get())) {
    b_.CreateStore(recurrences().value(n.value), entry_of(cx_.cells, n.buf.get()));
    return;
  }
  auto cell = cx_.cells.find(n.buf.get());
  if (cell != cx_.cells.end() && keeps_its_cell(n)) {
    const Select &chosen = *as<Select>(n.value);
    V cond = scalars().expr(chosen.cond), value = scalars().expr(chosen.yes);
    b_.CreateStore(ops().select_without_branch(cond, value, b_.CreateLoad(value->getType(), cell->second)),
                   cell->second);
    return;
  }
  V value = scalars().expr(n.value);
  if (cell != cx_.cells.end()) {
    b_.CreateStore(value, cell->second);
    return;
  }
  if (auto all = cx_.vector_cells.find(n.buf.get()); all != cx_.vector_cells.end()) {
    auto *lanes = llvm::cast<llvm::AllocaInst>(all->second)->getAllocatedType();
    V one = b_.CreateInsertElement(b_.CreateLoad(lanes, all->second), value, scalars().expr(n.index[0]));
    b_.CreateStore(one, all->second);
    return;
  }
  b_.CreateStore(ops().to_memory(value, n.buf->dtype), scalars().address(n.buf, n.index));
}

/// Declares a buffer. Variables are in the entry block, where mem2reg turns them into registers and where a
/// loop does not allocate them again.
void StatementEmitter::allocate(const Alloc &n) {
  llvm::IRBuilder<> at_entry(cx_.entry, cx_.entry->begin());
  if (n.buf->space == Space::registers && n.buf->rank() == 1) {
    auto count = static_cast<unsigned>(as_int(n.buf->extents[0]).value_or(1));
    cx_.vector_cells[n.buf.get()] = at_entry.CreateAlloca(
        llvm::FixedVectorType::get(ops().type(n.buf->dtype), count), nullptr, n.buf->sym->name);
    return;
  }
  if (n.buf->space == Space::registers) {
    llvm::Type *t = ops().type(n.buf->dtype);
    if (n.in_vector) cx_.recurrences.insert(n.buf.get()), t = llvm::FixedVectorType::get(t, 4);
    V cell = cx_.cells[n.buf.get()] = at_entry.CreateAlloca(t, nullptr, n.buf->sym->name);
    if (n.fill != Fill::none) b_.CreateStore(llvm::Constant::getNullValue(t), cell);
    return;
  }
  V base = nullptr;
  if (n.buf->space == Space::stack) {
    // The extents of a stack buffer are constants.
    uint64_t count = 1;
    for (const Expr &e : n.buf->extents) count *= static_cast<uint64_t>(as_int(e).value_or(1));
    auto *array = at_entry.CreateAlloca(
        llvm::ArrayType::get(ops().memory_type(n.buf->dtype), std::max<uint64_t>(count, 1)), nullptr,
        n.buf->sym->name);
    // 64 bytes: a cache line, and the widest vector register.
    array->setAlignment(llvm::Align(64));
    base = array;
  } else {
    base = entry_of(cx_.slots, n.buf.get());
  }
  declare(n.buf, base);
  if (n.fill != Fill::none) zero_fill(n.buf);
}

/// Emits a plain loop over the elements: a call to memset would be an undefined symbol.
void StatementEmitter::zero_fill(const Buf &b) {
  V count = b_.getInt64(1);
  for (const Expr &e : b->extents)
    count = b_.CreateMul(count,
                         b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value_of_size(e), b_.getInt64(0)));
  BasicBlock *before = b_.GetInsertBlock(), *body = block("fill"), *done = block("filled");
  b_.CreateCondBr(b_.CreateICmpEQ(count, b_.getInt64(0)), done, body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(b_.getInt64(0), before);
  llvm::Type *t = ops().memory_type(b->dtype);
  b_.CreateStore(llvm::Constant::getNullValue(t),
                 b_.CreateInBoundsGEP(t, entry_of(cx_.buffers, b.get()).base, k));
  V next = b_.CreateAdd(k, b_.getInt64(1), "", true, true);
  k->addIncoming(next, body);
  b_.CreateCondBr(b_.CreateICmpEQ(next, count), done, body);
  b_.SetInsertPoint(done);
}

/// Returns the weights of a branch whose first target is taken nearly always.
llvm::MDNode *StatementEmitter::mostly() {
  constexpr uint32_t times = 1 << 20;  // as LLVM's own `likely`: the other target moves out of line
  return llvm::MDNode::get(b_.getContext(), {llvm::MDString::get(b_.getContext(), "branch_weights"),
                                             llvm::ConstantAsMetadata::get(b_.getInt32(times)),
                                             llvm::ConstantAsMetadata::get(b_.getInt32(1))});
}

/// Emits an If as a branch. Values of one side are not visible after it.
void StatementEmitter::branch(const If &n) {
  if (reductions().is_left_out(n)) return;
  V cond = scalars().expr(n.cond);
  BasicBlock *yes = block("then"), *done = block("endif"), *no = n.no ? block("else") : done;
  b_.CreateCondBr(cond, yes, no);
  b_.SetInsertPoint(yes);
  emit(n.yes);
  b_.CreateBr(done);
  if (n.no) {
    b_.SetInsertPoint(no);
    emit(n.no);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Returns void raise(fault, site, value, bound), in which the first claimer fills the fault. It is kept out
/// of line, since it is cold.
Function *StatementEmitter::fault_function() {
  if (cx_.shared.raise) return cx_.shared.raise;
  llvm::Type *p = b_.getPtrTy(), *word = b_.getInt32Ty(), *wide = b_.getInt64Ty();
  cx_.shared.raise = Function::Create(FunctionType::get(b_.getVoidTy(), {p, word, wide, wide}, false),
                                      Function::InternalLinkage, "raise", cx_.shared.module);
  cx_.shared.raise->addFnAttr(llvm::Attribute::NoInline);
  cx_.shared.raise->addFnAttr(llvm::Attribute::Cold);
  cx_.shared.raise->setDoesNotThrow();
  cx_.shared.raise->addFnAttr("frame-pointer", "all");
  llvm::IRBuilder<> b(BasicBlock::Create(b_.getContext(), "entry", cx_.shared.raise));
  BasicBlock *fill = BasicBlock::Create(b_.getContext(), "fill", cx_.shared.raise),
             *done = BasicBlock::Create(b_.getContext(), "done", cx_.shared.raise);
  V fault = cx_.shared.raise->getArg(0);
  auto field = [&](uint64_t offset) { return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), fault, offset); };
  // The state of a fault goes 0 → 1 (claimed) → 2 (filled in). Threads that come later find it claimed. The
  // release store makes the fields visible to whoever reads 2.
  auto *claim = b.CreateAtomicCmpXchg(fault, b.getInt32(0), b.getInt32(1), llvm::MaybeAlign(4),
                                      llvm::AtomicOrdering::AcquireRelease, llvm::AtomicOrdering::Acquire);
  b.CreateCondBr(b.CreateExtractValue(claim, 1), fill, done);
  b.SetInsertPoint(fill);
  b.CreateStore(cx_.shared.raise->getArg(1), field(4));
  b.CreateStore(cx_.shared.raise->getArg(2), field(8));
  // 16: the offset of `bound` in KwFault
  b.CreateStore(cx_.shared.raise->getArg(3), field(16));
  auto *set = b.CreateStore(b.getInt32(2), fault);
  set->setAtomic(llvm::AtomicOrdering::Release);
  set->setAlignment(llvm::Align(4));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return cx_.shared.raise;
}

/// Tests a condition and ends the kernel if it fails. The operands of a 64-bit integer comparison become the
/// value and the bound of the fault; a float64 is reported by its bits.
void StatementEmitter::check(const Check &n) {
  V cond = scalars().expr(n.cond);
  BasicBlock *bad = block("fault"), *good = block("checked");
  b_.CreateCondBr(cond, good, bad, mostly());
  V value = b_.getInt64(0), bound = b_.getInt64(0);
  b_.SetInsertPoint(bad);
  if (const Binary *c = as<Binary>(n.cond); c && bit_width(c->a.dtype()) == 64 && !is_float(c->a.dtype()))
    value = scalars().expr(c->a), bound = scalars().expr(c->b);
  else if (c && c->a.dtype() == DType::f64)
    value = b_.CreateBitCast(scalars().expr(c->a), b_.getInt64Ty());
  b_.CreateCall(fault_function(), {cx_.fault, b_.getInt32(n.site), value, bound});
  end_with(1);
  b_.SetInsertPoint(good);
}

/// Emits the body of a loop. Emission continues where the next iteration begins.
void StatementEmitter::body_with_targets(const Stmt &body, BasicBlock *done) {
  cx_.targets.push_back({nullptr, done});
  emit(body);
  BasicBlock *next = cx_.targets.back().next;
  cx_.targets.pop_back();
  if (!next) return;
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

/// Emits a jump. The statements after it in its block are dead, and go into a block without predecessors.
void StatementEmitter::jump(const Jump &n) {
  JumpTargets &to = cx_.targets.back();
  if (n.kind == JumpKind::continue_loop && !to.next) to.next = block("next");
  b_.CreateBr(n.kind == JumpKind::break_loop ? to.done : to.next);
  b_.SetInsertPoint(block("dead"));
}

/// Polls after each iteration, since nothing bounds their number.
void StatementEmitter::while_loop(const While &n) {
  BasicBlock *head = block("while"), *body = block("loop"), *done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  b_.CreateCondBr(scalars().expr(n.cond), body, done);
  b_.SetInsertPoint(body);
  body_with_targets(n.body, done);
  loops().poll(head);
  b_.SetInsertPoint(done);
  cx_.memo.clear();
}

/// Ends the kernel with a status. In a region, ends the chunk; the kernel then ends after the region.
void StatementEmitter::end_with(uint32_t status) {
  if (!cx_.status) {
    b_.CreateRet(b_.getInt32(status));
    return;
  }
  auto *store = b_.CreateAlignedStore(b_.getInt32(status), cx_.status, llvm::Align(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
  b_.CreateRetVoid();
}

}  // namespace kw
