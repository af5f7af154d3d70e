// Function frame, statements and loops.
#include "codegen/llvm/emit.h"

#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <unordered_set>

#include "ir/build.h"
#include "ir/equal.h"
#include "ir/match.h"
#include "ir/walk.h"
#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

using llvm::BasicBlock;
using llvm::ConstantInt;
using llvm::Function;
using llvm::FunctionType;

bool FunctionEmitter::contains_loop(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) {
    if (as<While>(*s)) return true;
    if (const For *n = as<For>(*s); n && (!(is_row(*n) || fits_one_chunk(*n)) || contains_loop(n->body)))
      return true;
    if (const If *n = as<If>(*s); n && (contains_loop(n->yes) || contains_loop(n->no))) return true;
    if (const Seq *n = as<Seq>(*s))
      for (size_t i = 0; i + 1 < n->items.size(); ++i)
        if (contains_loop(n->items[i])) return true;
    if (const Alloc *n = as<Alloc>(*s); n && n->fill != Fill::none) return true;
  }
  return false;
}

FunctionEmitter::FunctionEmitter(llvm::Module &module, const Func &f, const Target &target)
    : module_(module), context_(module.getContext()), f_(f), target_(target), b_(context_) {}

BasicBlock *FunctionEmitter::block(const char *name) { return BasicBlock::Create(context_, name, fn_); }

void FunctionEmitter::signature() {
  llvm::Type *p = b_.getPtrTy();
  fn_ = Function::Create(FunctionType::get(b_.getInt32Ty(), {p, p, p, p, p, p}, false),
                         Function::ExternalLinkage, "kw_entry", module_);
  const char *names[] = {"env", "data", "dims", "scalars", "workspace", "fault"};
  V *slots[] = {&env_, &data_, &dims_, &scalars_, &workspace_, &fault_};
  for (unsigned i = 0; i < 6; ++i) {
    fn_->getArg(i)->setName(names[i]);
    *slots[i] = fn_->getArg(i);
  }
  set_attributes();
  entry_ = block("entry");
  b_.SetInsertPoint(entry_);
  cancelled_ = block("cancelled");
}

void FunctionEmitter::set_attributes() {
  fn_->setDoesNotThrow();
  fn_->addFnAttr("no-builtins");
  fn_->addFnAttr("frame-pointer", "all");
  fn_->addFnAttr("target-features", target_.feature_text());
}

void FunctionEmitter::parameters() {
  // KwEnv: {u32 abi, u32 threads, ptr parallel, ptr scratch, ptr cancel}
  cancel_ = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), env_, 24), "cancel");
  for (size_t i = 0; i < f_.extents.size(); ++i)
    values_[f_.extents[i].get()] = b_.CreateLoad(
        b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), dims_, i), f_.extents[i]->name);
  uint64_t tensors = 0, scalars = 0;
  for (const Param &p : f_.params) {
    if (!p.sym) continue;
    DType t = p.sym->dtype;
    V word =
        b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), scalars_, scalars++));
    V bits = b_.CreateTrunc(word, b_.getIntNTy(bit_width(t)));
    values_[p.sym.get()] = is_float(t) ? b_.CreateBitCast(bits, type(t), p.sym->name) : bits;
  }
  for (const Param &p : f_.params)
    if (p.buf)
      declare(p.buf,
              b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), data_, tensors++),
                            p.buf->sym->name));
}

/// Every heap temporary outside parallel loops gets a fixed place in the workspace, computed once.
void FunctionEmitter::workspace() {
  V offset = b_.getInt64(0);
  for (const WorkspaceSlot &slot : plan_workspace(f_)) {
    if (slot.per_thread) continue;
    slots_[slot.buf.get()] = b_.CreateInBoundsGEP(b_.getInt8Ty(), workspace_, offset, slot.buf->sym->name);
    offset = b_.CreateAdd(offset, expr(slot.bytes), "", true, true);
  }
  memo_.clear();
}

void FunctionEmitter::declare(const Buf &b, V base) {
  Memory m{base, std::vector<V>(b->rank(), nullptr)};
  if (!b->strides.empty()) {
    for (size_t d = 0; d < b->rank(); ++d)
      m.strides[d] = as_int(b->strides[d]) == 1 ? nullptr : expr(b->strides[d]);
  } else {
    V size = nullptr;
    for (size_t d = b->rank(); d-- > 1;) {
      V extent = expr(b->extents[d]);
      size = size ? b_.CreateMul(size, extent, "", true, true) : extent;
      m.strides[d - 1] = size;
    }
  }
  buffers_[b.get()] = std::move(m);
}

void FunctionEmitter::run() {
  signature();
  parameters();
  workspace();
  find_streams();
  statements(f_.body);
  end_streams();
  b_.CreateRet(b_.getInt32(0));
  b_.SetInsertPoint(cancelled_);
  b_.CreateRet(b_.getInt32(2));
}

void FunctionEmitter::statements(const Stmt &root) {
  for (const Stmt *s = &root; s && *s; s = next_in_block(*s->p)) statement(*s);
}

void FunctionEmitter::statement(const Stmt &s) {
  memo_.clear();
  if (lanes_ && wide_statement(s)) return;
  match(
      s, [&](const Store &n) { store(n); }, [&](const Let &n) { let_value(n); },
      [&](const Alloc &n) { allocate(n); }, [&](const For &n) { loop(n); },
      [&](const While &n) { while_loop(n); }, [&](const Jump &n) { jump(n); },
      [&](const If &n) { branch(n); }, [&](const Check &n) { check(n); },
      [&](const Seq &n) {
        for (size_t i = 0; i + 1 < n.items.size(); ++i) statements(n.items[i]);
      });
}

void FunctionEmitter::store(const Store &n) {
  if (is_left_out(n)) return;
  if (chained_.count(n.buf.get())) {
    b_.CreateStore(chained(n.value), entry_of(cells_, n.buf.get()));
    return;
  }
  V value = expr(n.value);
  if (auto cell = cells_.find(n.buf.get()); cell != cells_.end()) {
    b_.CreateStore(value, cell->second);
    return;
  }
  if (auto cell = lane_cells_.find(n.buf.get()); cell != lane_cells_.end()) {
    auto *lanes = llvm::cast<llvm::AllocaInst>(cell->second)->getAllocatedType();
    V one = b_.CreateInsertElement(b_.CreateLoad(lanes, cell->second), value, expr(n.index[0]));
    b_.CreateStore(one, cell->second);
    return;
  }
  b_.CreateStore(to_memory(value, n.buf->dtype), address(n.buf, n.index));
}

void FunctionEmitter::allocate(const Alloc &n) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  if (n.buf->space == Space::registers && n.buf->rank() == 1) {
    auto count = static_cast<unsigned>(as_int(n.buf->extents[0]).value_or(1));
    lane_cells_[n.buf.get()] = at_entry.CreateAlloca(llvm::FixedVectorType::get(type(n.buf->dtype), count),
                                                     nullptr, n.buf->sym->name);
    return;
  }
  if (n.buf->space == Space::registers) {
    llvm::Type *t = type(n.buf->dtype);
    if (!lanes_ && is_chained(n)) chained_.insert(n.buf.get()), t = llvm::FixedVectorType::get(t, 4);
    V cell = cells_[n.buf.get()] = at_entry.CreateAlloca(t, nullptr, n.buf->sym->name);
    if (n.fill != Fill::none) b_.CreateStore(llvm::Constant::getNullValue(t), cell);
    return;
  }
  V base = nullptr;
  if (n.buf->space == Space::stack) {
    uint64_t count = 1;
    for (const Expr &e : n.buf->extents) count *= static_cast<uint64_t>(as_int(e).value_or(1));
    auto *array =
        at_entry.CreateAlloca(llvm::ArrayType::get(memory_type(n.buf->dtype), std::max<uint64_t>(count, 1)),
                              nullptr, n.buf->sym->name);
    array->setAlignment(llvm::Align(64));
    base = array;
  } else {
    base = entry_of(slots_, n.buf.get());
  }
  declare(n.buf, base);
  if (n.fill != Fill::none) zero_fill(n.buf);
}

/// A plain loop over the elements: a call to memset would be an undefined symbol.
void FunctionEmitter::zero_fill(const Buf &b) {
  V count = b_.getInt64(1);
  for (const Expr &e : b->extents)
    count = b_.CreateMul(count, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, expr(e), b_.getInt64(0)));
  BasicBlock *before = b_.GetInsertBlock(), *body = block("fill"), *done = block("filled");
  b_.CreateCondBr(b_.CreateICmpEQ(count, b_.getInt64(0)), done, body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(b_.getInt64(0), before);
  llvm::Type *t = memory_type(b->dtype);
  b_.CreateStore(llvm::Constant::getNullValue(t),
                 b_.CreateInBoundsGEP(t, entry_of(buffers_, b.get()).base, k));
  V next = b_.CreateAdd(k, b_.getInt64(1), "", true, true);
  k->addIncoming(next, body);
  b_.CreateCondBr(b_.CreateICmpEQ(next, count), done, body);
  b_.SetInsertPoint(done);
}

/// `if cond: cell = value`, where the value costs less than a branch that is guessed wrong; else null.
const Store *FunctionEmitter::chosen_store(const If &n) const {
  const Store *store = n.no ? nullptr : as<Store>(n.yes);
  bool is_cell = store && store->buf->space == Space::registers && !chained_.count(store->buf.get());
  bool cheap = is_cell && cost_within_budget(store->value, 2) >= 0;
  return cheap ? store : nullptr;
}

/// Of a branch whose first way is taken nearly always.
llvm::MDNode *FunctionEmitter::mostly() {
  return llvm::MDNode::get(context_, {llvm::MDString::get(context_, "branch_weights"),
                                      llvm::ConstantAsMetadata::get(b_.getInt32(1 << 20)),
                                      llvm::ConstantAsMetadata::get(b_.getInt32(1))});
}

void FunctionEmitter::branch(const If &n) {
  if (is_left_out(n)) return;
  V cond = expr(n.cond);
  if (const Store *chosen = lanes_ ? nullptr : chosen_store(n)) {
    V value = expr(chosen->value), cell = entry_of(cells_, chosen->buf.get());
    b_.CreateStore(without_branch(cond, value, b_.CreateLoad(value->getType(), cell)), cell);
    return;
  }
  BasicBlock *yes = block("then"), *done = block("endif"), *no = n.no ? block("else") : done;
  b_.CreateCondBr(cond, yes, no);
  b_.SetInsertPoint(yes);
  statements(n.yes);
  b_.CreateBr(done);
  if (n.no) {
    b_.SetInsertPoint(no);
    statements(n.no);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// void raise(fault, site, value, bound): the first claimer fills the fault. Kept out of line, since it is
/// cold.
Function *FunctionEmitter::fault_function() {
  if (raise_) return raise_;
  llvm::Type *p = b_.getPtrTy(), *word = b_.getInt32Ty(), *wide = b_.getInt64Ty();
  raise_ = Function::Create(FunctionType::get(b_.getVoidTy(), {p, word, wide, wide}, false),
                            Function::InternalLinkage, "raise", module_);
  raise_->addFnAttr(llvm::Attribute::NoInline);
  raise_->addFnAttr(llvm::Attribute::Cold);
  raise_->setDoesNotThrow();
  raise_->addFnAttr("frame-pointer", "all");
  llvm::IRBuilder<> b(BasicBlock::Create(context_, "entry", raise_));
  BasicBlock *fill = BasicBlock::Create(context_, "fill", raise_),
             *done = BasicBlock::Create(context_, "done", raise_);
  V fault = raise_->getArg(0);
  auto field = [&](uint64_t offset) { return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), fault, offset); };
  auto *claim = b.CreateAtomicCmpXchg(fault, b.getInt32(0), b.getInt32(1), llvm::MaybeAlign(4),
                                      llvm::AtomicOrdering::AcquireRelease, llvm::AtomicOrdering::Acquire);
  b.CreateCondBr(b.CreateExtractValue(claim, 1), fill, done);
  b.SetInsertPoint(fill);
  b.CreateStore(raise_->getArg(1), field(4));
  b.CreateStore(raise_->getArg(2), field(8));
  b.CreateStore(raise_->getArg(3), field(16));
  auto *set = b.CreateStore(b.getInt32(2), fault);
  set->setAtomic(llvm::AtomicOrdering::Release);
  set->setAlignment(llvm::Align(4));
  b.CreateBr(done);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  return raise_;
}

void FunctionEmitter::check(const Check &n) {
  V cond = expr(n.cond);
  BasicBlock *bad = block("fault"), *good = block("checked");
  b_.CreateCondBr(cond, good, bad, mostly());
  V value = b_.getInt64(0), bound = b_.getInt64(0);
  b_.SetInsertPoint(bad);
  if (const Binary *c = as<Binary>(n.cond); c && bit_width(c->a.dtype()) == 64 && !is_float(c->a.dtype()))
    value = expr(c->a), bound = expr(c->b);
  else if (c && c->a.dtype() == DType::f64)
    value = b_.CreateBitCast(expr(c->a), b_.getInt64Ty());
  b_.CreateCall(fault_function(), {fault_, b_.getInt32(n.site), value, bound});
  end_with(1);
  b_.SetInsertPoint(good);
}

/// Number of iterations, computed without overflow for any bounds.
FunctionEmitter::V FunctionEmitter::trip_count(const For &n, V lo, V hi) {
  const Ref *extent = as<Ref>(n.hi);
  if (n.step == 1 && as_int(n.lo) == 0 && extent && extent->sym->kind == SymKind::extent) return hi;  // >= 0
  bool up = n.step > 0;
  V runs = up ? b_.CreateICmpSLT(lo, hi) : b_.CreateICmpSGT(lo, hi);
  V span = up ? b_.CreateSub(hi, lo) : b_.CreateSub(lo, hi);
  uint64_t size = up ? static_cast<uint64_t>(n.step) : -static_cast<uint64_t>(n.step);
  if (size != 1)
    span = b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(span, b_.getInt64(1)), b_.getInt64(size)), b_.getInt64(1));
  return b_.CreateSelect(runs, span, b_.getInt64(0), "trips");
}

FunctionEmitter::V FunctionEmitter::iteration(const For &n, V lo, V k) {
  V offset = n.step == 1 ? k : b_.CreateMul(k, ConstantInt::getSigned(b_.getInt64Ty(), n.step));
  V value = sum_of(lo, offset);
  if (!llvm::isa<llvm::Constant>(value) && !value->hasName()) value->setName(n.iter->name);
  return value;
}

/// Goes on at `on` unless the run is cancelled.
void FunctionEmitter::poll(BasicBlock *on) {
  V flag = b_.CreateLoad(b_.getInt32Ty(), cancel_, true);
  b_.CreateCondBr(b_.CreateICmpNE(flag, b_.getInt32(0)), cancelled_, on);
}

void FunctionEmitter::loop(const For &n) {
  V lo = expr(n.lo), hi = expr(n.hi);
  if (&n == collapsed_row_)
    iterations(n, lo, collapsed_length_);
  else if (n.kind != ForKind::parallel)
    iterations(n, lo, trip_count(n, lo, hi));
  else if (status_ || lanes_)
    loop_in_chunk(n, lo, hi);
  else
    parallel_loop(n, lo, trip_count(n, lo, hi));
  memo_.clear();
}

/// `trips` iterations in this function, the first with the value `lo`.
void FunctionEmitter::iterations(const For &n, V lo, V trips) {
  BasicBlock *last = &fn_->back(), *before = b_.GetInsertBlock();
  std::optional<VectorizationAnalysis> view;
  if (runs_in_vectors(n)) {
    view.emplace(n), strided_.emplace(n, *view);
    ensure(view->is_vectorizable(), cat("the vector loop over '", n.iter->name, "' has no vector form"));
  }
  if (view)
    lanes(n, *view, lo, trips);
  else if (n.kind == ForKind::unroll)
    unrolled_loop(n, lo, trips);
  else if (RowToCollapse joint = row_to_collapse(n); !joint.buffers.empty())
    rows_loop(n, joint, lo, trips);
  else if (contains_loop(n.body))
    plain_loop(n, lo, trips, true);
  else if (auto blocks = blocks_in(n))
    block_loop(n, *blocks, lo, trips);
  else if (is_short(n, trips) && llvm::isa<ConstantInt>(trips))
    plain_loop(n, lo, trips, false);
  else if (is_short(n, trips))
    short_loop(n, lo, trips);
  else
    inner_loop(n, lo, trips);
  hoist_behind(last, before);
}

/// Moves what is computed of whole numbers, and places in memory, that do not change in a loop to the block
/// in front of it: the row of an access, the trips of a loop. The blocks of the loop are those behind `last`.
void FunctionEmitter::hoist_behind(BasicBlock *last, BasicBlock *before) {
  llvm::Instruction *end = before->getTerminator();
  if (!end) return;
  std::unordered_set<const llvm::Value *> inside;
  for (auto at = std::next(last->getIterator()); at != fn_->end(); ++at)
    for (llvm::Instruction &i : *at) inside.insert(&i);
  auto is_plain = [](const llvm::Instruction &i) {
    using Op = llvm::Instruction;
    switch (i.getOpcode()) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::And:
      case Op::Or:
      case Op::Xor:
      case Op::LShr:
      case Op::AShr:
      case Op::ICmp:
      case Op::Select: return i.getType()->isIntegerTy() && i.getOperand(0)->getType()->isIntegerTy();
      case Op::GetElementPtr: return !i.getType()->isVectorTy();
      case Op::Call: return llvm::isa<llvm::MinMaxIntrinsic>(i) && i.getType()->isIntegerTy();
      default: return false;
    }
  };
  for (auto at = std::next(last->getIterator()); at != fn_->end(); ++at)
    for (llvm::Instruction &i : llvm::make_early_inc_range(*at)) {
      bool changes = std::any_of(i.op_begin(), i.op_end(), [&](V v) { return inside.count(v) > 0; });
      if (changes || !is_plain(i)) continue;
      i.moveBefore(end->getIterator());
      inside.erase(&i);
    }
}

/// Emits the body and goes on where the next iteration begins.
void FunctionEmitter::body_with_targets(const Stmt &body, BasicBlock *done) {
  targets_.push_back({nullptr, done});
  statements(body);
  BasicBlock *next = targets_.back().next;
  targets_.pop_back();
  if (!next) return;
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

/// What follows a jump in its block is dead, and goes into a block that nothing leads to.
void FunctionEmitter::jump(const Jump &n) {
  JumpTargets &to = targets_.back();
  if (n.kind == JumpKind::continue_loop && !to.next) to.next = block("next");
  b_.CreateBr(n.kind == JumpKind::break_loop ? to.done : to.next);
  b_.SetInsertPoint(block("dead"));
}

void FunctionEmitter::while_loop(const While &n) {
  BasicBlock *head = block("while"), *body = block("loop"), *done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  b_.CreateCondBr(expr(n.cond), body, done);
  b_.SetInsertPoint(body);
  body_with_targets(n.body, done);
  poll(head);
  b_.SetInsertPoint(done);
  memo_.clear();
}

/// Looks at the cancel flag after each iteration, or never.
void FunctionEmitter::plain_loop(const For &n, V lo, V trips, bool polls) {
  BasicBlock *before = b_.GetInsertBlock(), *body = block("loop"), *done = block("done");
  auto *count = llvm::dyn_cast<ConstantInt>(trips);
  if (count && !count->isZero())
    b_.CreateBr(body);
  else
    b_.CreateCondBr(b_.CreateICmpEQ(trips, b_.getInt64(0)), done, body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(b_.getInt64(0), before);
  values_[n.iter.get()] = iteration(n, lo, k);
  body_with_targets(n.body, done);
  if (polls) {
    BasicBlock *on = block("on");
    poll(on);
    b_.SetInsertPoint(on);
  }
  V next = b_.CreateAdd(k, b_.getInt64(1), "", true, true);
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, trips), done, body);
  b_.SetInsertPoint(done);
}

/// Writes `how.unroll` copies of the body one after the other, then a loop over the remaining iterations.
void FunctionEmitter::unrolled_loop(const For &n, V lo, V trips) {
  auto copies = [&](auto place) {
    for (uint32_t c = 0; c < n.how.unroll; ++c) {
      values_[n.iter.get()] = iteration(n, lo, place(c));
      memo_.clear();
      statements(n.body);
    }
  };
  auto *known = llvm::dyn_cast<ConstantInt>(trips);
  if (known && known->getZExtValue() == n.how.unroll) {
    copies([&](uint32_t c) { return b_.getInt64(c); });
    memo_.clear();
    return;
  }
  V whole = b_.CreateSub(trips, b_.CreateURem(trips, b_.getInt64(n.how.unroll)));
  bool polls = contains_loop(n.body);
  in_chunks(b_.getInt64(0), whole, n.how.unroll, polls, [&](V k) {
    copies([&](uint32_t c) { return b_.CreateAdd(k, b_.getInt64(c), "", true, true); });
  });
  plain_loop(n, iteration(n, lo, whole), b_.CreateSub(trips, whole), polls);
}

/// Returns whether a loop runs a few iterations at most. It does not look at the cancel flag; the loops
/// around it do.
bool FunctionEmitter::is_short(const For &n, V trips) const {
  // Iterations without a look at the cancel flag: some 4 us, far below the 50 ms that Ctrl-C may take.
  constexpr int64_t few = 4096;
  if (auto *count = llvm::dyn_cast<ConstantInt>(trips)) return count->getZExtValue() <= few;
  return !exceeds_plan(n) && n.how.max_trips > 0 && n.how.max_trips <= few;
}

/// How many iterations of a loop become one of the machine's: several where each has only a few instructions,
/// and does not wait for what the one before it hands on.
uint32_t FunctionEmitter::copies_of(const Stmt &body) const {
  // Operations of a body that is unrolled. Chosen: the branch of the loop costs one or two operations.
  constexpr int most_operations = 20;
  int left = most_operations;
  std::unordered_set<const BufNode *> own;
  auto pay = [&](const Expr &e) {
    walk(
        e, [&](const Load &n, const Expr &) { left -= n.index.empty() ? 0 : 1; },
        [&](const Binary &n, const Expr &) { left -= as<Const>(n.b) ? 0 : 1; },
        [&](const Call &, const Expr &) { left -= 4; }, [&](const Select &, const Expr &) { left = -1; },
        [&](const Logic &, const Expr &) { left = -1; });
  };
  for (const Stmt *s = &body; s && *s && left >= 0; s = next_in_block(*s->p)) {
    auto statement = [&](const Stmt &one) {
      const If *branch = as<If>(one);
      const Store *store = branch ? chosen_store(*branch) : as<Store>(one);
      if (branch) pay(branch->cond);
      if (store) pay(store->value);
      if (store && store->buf->space == Space::registers && !own.count(store->buf.get())) left = -1;
      if (const Alloc *alloc = as<Alloc>(one)) own.insert(alloc->buf.get());
      bool plain = store || as<Let>(one) || as<Seq>(one) || as<Alloc>(one);
      if (const Let *let = as<Let>(one)) pay(let->value);
      if (!plain) left = -1;
    };
    if (const Seq *n = as<Seq>(*s))
      for (size_t i = 0; i + 1 < n->items.size(); ++i) statement(n->items[i]);
    statement(*s);
  }
  return left >= 0 ? 4 : 1;
}

/// Iterations from, from + 1, … below to, `copies` at a time; from < to, and their difference is a multiple.
void FunctionEmitter::run_of_iterations(const For &n, V lo, V from, V to, uint32_t copies, BasicBlock *done) {
  BasicBlock *before = b_.GetInsertBlock(), *body = block("loop"), *end = block("end");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode *k = b_.CreatePHI(b_.getInt64Ty(), 2);
  k->addIncoming(from, before);
  V next = k;
  for (uint32_t c = 0; c < copies; ++c) {
    values_[n.iter.get()] = iteration(n, lo, next);
    body_with_targets(n.body, done);
    next = b_.CreateAdd(k, b_.getInt64(c + 1), "", true, true);
  }
  k->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpEQ(next, to), end, body);
  b_.SetInsertPoint(end);
  memo_.clear();
}

/// Iterations from, from + 1, … below to, several at a time as long as that goes; from < to.
void FunctionEmitter::copied_iterations(const For &n, V lo, V from, V to, BasicBlock *done) {
  uint32_t copies = copies_of(n.body);
  if (copies == 1) return run_of_iterations(n, lo, from, to, 1, done);
  BasicBlock *several = block("several"), *rest = block("rest"), *one = block("one"), *ran = block("ran");
  V span = b_.CreateSub(to, from);
  V whole = b_.CreateAdd(from, b_.CreateAnd(span, ~uint64_t{copies - 1}));
  b_.CreateCondBr(b_.CreateICmpEQ(from, whole), rest, several);
  b_.SetInsertPoint(several);
  run_of_iterations(n, lo, from, whole, copies, done);
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
  b_.CreateCondBr(b_.CreateICmpEQ(whole, to), ran, one);
  b_.SetInsertPoint(one);
  run_of_iterations(n, lo, whole, to, 1, done);
  b_.CreateBr(ran);
  b_.SetInsertPoint(ran);
}

/// A loop that ends before a poll is due.
void FunctionEmitter::short_loop(const For &n, V lo, V trips) {
  BasicBlock *some = block("some"), *done = block("done");
  V zero = b_.getInt64(0);
  b_.CreateCondBr(b_.CreateICmpEQ(trips, zero), done, some);
  b_.SetInsertPoint(some);
  copied_iterations(n, lo, zero, trips, done);
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

/// Runs in stretches of poll_interval iterations, so that the loop itself has no poll.
void FunctionEmitter::inner_loop(const For &n, V lo, V trips) {
  BasicBlock *before = b_.GetInsertBlock(), *stretch = block("stretch"), *more = block("more"),
             *done = block("done");
  V zero = b_.getInt64(0);
  b_.CreateCondBr(b_.CreateICmpEQ(trips, zero), done, stretch);
  b_.SetInsertPoint(stretch);
  llvm::PHINode *start = b_.CreatePHI(b_.getInt64Ty(), 2);
  start->addIncoming(zero, before);
  V limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, trips,
                                     b_.CreateAdd(start, b_.getInt64(poll_interval), "", true, true));
  copied_iterations(n, lo, start, limit, done);
  b_.CreateCondBr(b_.CreateICmpEQ(limit, trips), done, more);
  b_.SetInsertPoint(more);
  start->addIncoming(limit, more);
  poll(stretch);
  b_.SetInsertPoint(done);
}

}  // namespace kw
