// Keeps the masks of the active lanes in stack variables, since statements in other blocks change them too.
#include "codegen/llvm/emit/vector_while.h"

#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;
using V = llvm::Value *;

/// Returns the type of the loop's masks: one bit per lane if there are mask registers, else words as wide as
/// the widest element, all ones or all zeros. Without words, LLVM would pack masks to bytes before each
/// operation and at the end of each block.
llvm::Type *VectorWhileEmitter::words_type() {
  uint32_t bits = target().has_mask_registers() ? 1 : std::clamp(vec_.view->widest_element(), 32u, 64u);
  return llvm::FixedVectorType::get(b_.getIntNTy(bits), vec_.count);
}

llvm::Value *VectorWhileEmitter::words_of(V mask) { return b_.CreateSExt(mask, words_type()); }

llvm::Value *VectorWhileEmitter::mask_of(V words) {
  llvm::Type *t = words->getType();
  return t->getScalarSizeInBits() == 1 ? words : b_.CreateICmpSLT(words, llvm::Constant::getNullValue(t));
}

/// Updates the mask after a statement by which lanes may have left the iteration of the enclosing `while`.
void VectorWhileEmitter::mask_out_exited_lanes() {
  vec_.mask = vectors().and_mask(vec_.mask, mask_of(b_.CreateLoad(words_type(), vec_.turns.back().running)));
}

/// Emits the loop over all lanes. In its plain form:
///     head: alive &= cond; if no lane is alive: goto done
///     body: running = alive; body under running; poll; goto head
/// `continue` clears a lane of `running`, `break` also of `alive`.
void VectorWhileEmitter::emit(const While &n) {
  const std::vector<UniformInduction> &counters = vec_.view->uniform_inductions(n);
  BasicBlock *head = block("while"), *body = block("loop"), *done = block("done");
  llvm::Type *word = words_type()->getScalarType();
  VectorState::Turns turns{vector_variable(word, vec_.count, "alive"),
                           vector_variable(word, vec_.count, "running")};
  // Both masks are variables in memory: blocks inside the body change them too.
  V outer = vec_.mask, first = words_of(outer ? outer : vectors().splat(b_.getInt1(true)));
  b_.CreateStore(first, turns.alive);
  for (const UniformInduction &c : counters) open_count(c);
  if (outer && !counters.empty())  // count_on needs an active lane
    b_.CreateCondBr(vectors().any_lane(first), head, done);
  else
    b_.CreateBr(head);
  b_.SetInsertPoint(head);
  cx_.memo.clear(), vec_.memo.clear();
  V alive = b_.CreateLoad(words_type(), turns.alive);
  if (counters.empty()) {
    vec_.mask = mask_of(alive);
    V going = b_.CreateAnd(alive, words_of(vectors().widen(n.cond)));
    b_.CreateStore(going, turns.alive);
    b_.CreateCondBr(vectors().any_lane(going), body, done);
  } else {
    count_on(n, alive, turns.alive, body, done);
  }
  b_.SetInsertPoint(body);
  cx_.memo.clear(), vec_.memo.clear();
  V going = b_.CreateLoad(words_type(), turns.alive);
  b_.CreateStore(going, turns.running);
  vec_.mask = mask_of(going);
  vec_.turns.push_back(turns);
  statements().emit(n.body);
  vec_.turns.pop_back();
  loops().poll(head);
  b_.SetInsertPoint(done);
  for (const UniformInduction &c : counters) vec_.counts.erase(c.cell.get());
  vec_.mask = outer;
  cx_.memo.clear(), vec_.memo.clear();
}

/// Gives a uniform counter a scalar variable for the duration of the loop.
void VectorWhileEmitter::open_count(const UniformInduction &c) {
  llvm::IRBuilder<> at_entry(cx_.entry, cx_.entry->begin());
  V count = at_entry.CreateAlloca(ops().type(c.cell->dtype), nullptr, c.cell->sym->name);
  b_.CreateStore(scalars().expr(c.first), count);
  vec_.counts[c.cell.get()] = count;
}

/// Returns the mask of the active lanes in which `cond` is true. Branches to `none` if a uniform operand of
/// an `and` is false.
llvm::Value *VectorWhileEmitter::active_lanes(const Expr &cond, V lanes, BasicBlock *none) {
  if (const Logic *n = as<Logic>(cond); n && n->is_and)
    return active_lanes(n->b, active_lanes(n->a, lanes, none), none);
  vec_.mask = mask_of(lanes);
  V holds = vectors().widen(cond), same = llvm::getSplatValue(holds);
  if (!same) return b_.CreateAnd(lanes, words_of(holds));
  BasicBlock *some = block("while");
  b_.CreateCondBr(same, some, none);
  b_.SetInsertPoint(some);
  return lanes;
}

/// Branches to the body with the lanes in which the condition holds, or to `done`. Lanes that leave store the
/// counters, in a branch that most iterations do not take.
void VectorWhileEmitter::count_on(const While &n, V alive, V cell, BasicBlock *body, BasicBlock *done) {
  auto take_along = [&](V lanes) {
    for (const UniformInduction &c : vec_.view->uniform_inductions(n)) {
      V kept = entry_of(vec_.cells, c.cell.get());
      V count =
          vectors().splat(b_.CreateLoad(ops().type(c.cell->dtype), entry_of(vec_.counts, c.cell.get())));
      b_.CreateStore(b_.CreateSelect(mask_of(lanes), count, b_.CreateLoad(count->getType(), kept)), kept);
    }
  };
  BasicBlock *none = block("all_end"), *some = block("some_end");
  V going = active_lanes(n.cond, alive, none);
  V ended = b_.CreateAnd(alive, b_.CreateNot(going));
  b_.CreateStore(going, cell);
  b_.CreateCondBr(vectors().any_lane(ended), some, body);
  b_.SetInsertPoint(some);
  take_along(ended);
  b_.CreateCondBr(vectors().any_lane(going), body, done);
  b_.SetInsertPoint(none);
  take_along(alive);
  b_.CreateBr(done);
}

/// Removes the active lanes from the loop or the iteration. The statements after the jump in its block run in
/// no lane.
void VectorWhileEmitter::jump(const Jump &n) {
  const VectorState::Turns &turns = vec_.turns.back();
  V stay = b_.CreateNot(words_of(vec_.mask));
  auto leave = [&](V cell) { b_.CreateStore(b_.CreateAnd(b_.CreateLoad(words_type(), cell), stay), cell); };
  leave(turns.running);
  if (n.kind == JumpKind::break_loop) leave(turns.alive);
  vec_.mask = llvm::Constant::getNullValue(vec_.mask->getType());
}

}  // namespace kw
