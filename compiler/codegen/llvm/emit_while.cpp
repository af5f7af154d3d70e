// `while` in lanes: it runs until no lane goes on, and those that have ended keep what they have. What counts
// its iterations is the same in all lanes that go on, and stays a single value. Says nothing on which loops
// may run so (analysis/vectorization).
#include <llvm/Analysis/VectorUtils.h>

#include "codegen/llvm/emit.h"
#include "ir/loops.h"
#include "ir/match.h"

namespace kw {

using llvm::BasicBlock;

/// Masks of the loop where there are no mask registers: words as wide as the widest element, all ones or all
/// zeros. LLVM would pack masks to bytes before each operation and at the end of each block.
llvm::Type *FunctionEmitter::words_type() {
  uint32_t bits = target_.has("avx512f") ? 1 : std::clamp(lanes_->view->widest_element(), 32u, 64u);
  return llvm::FixedVectorType::get(b_.getIntNTy(bits), lanes_->count);
}

FunctionEmitter::V FunctionEmitter::words_of(V mask) { return b_.CreateSExt(mask, words_type()); }

FunctionEmitter::V FunctionEmitter::mask_of(V words) {
  llvm::Type *t = words->getType();
  return t->getScalarSizeInBits() == 1 ? words : b_.CreateICmpSLT(words, llvm::Constant::getNullValue(t));
}

/// Behind a statement by which lanes may have left the iteration of the `while` around it.
void FunctionEmitter::mask_out_exited_lanes() {
  lanes_->mask = both(lanes_->mask, mask_of(b_.CreateLoad(words_type(), lanes_->turns.back().running)));
}

void FunctionEmitter::wide_while(const While &n) {
  const std::vector<UniformInduction> &counters = lanes_->view->uniform_inductions(n);
  BasicBlock *head = block("while"), *body = block("loop"), *done = block("done");
  llvm::Type *word = words_type()->getScalarType();
  Lanes::Turns turns{cell_of_lanes(word, lanes_->count, "alive"),
                     cell_of_lanes(word, lanes_->count, "running")};
  V outer = lanes_->mask, first = words_of(outer ? outer : splat(b_.getInt1(true)));
  b_.CreateStore(first, turns.alive);
  for (const UniformInduction &c : counters) open_count(c);
  if (outer && !counters.empty())  // from here on some lane goes on
    b_.CreateCondBr(any_lane(first), head, done);
  else
    b_.CreateBr(head);
  b_.SetInsertPoint(head);
  memo_.clear(), lanes_->memo.clear();
  V alive = b_.CreateLoad(words_type(), turns.alive);
  if (counters.empty()) {
    lanes_->mask = mask_of(alive);
    V going = b_.CreateAnd(alive, words_of(widen(n.cond)));
    b_.CreateStore(going, turns.alive);
    b_.CreateCondBr(any_lane(going), body, done);
  } else {
    count_on(n, alive, turns.alive, body, done);
  }
  b_.SetInsertPoint(body);
  memo_.clear(), lanes_->memo.clear();
  V going = b_.CreateLoad(words_type(), turns.alive);
  b_.CreateStore(going, turns.running);
  lanes_->mask = mask_of(going);
  lanes_->turns.push_back(turns);
  statements(n.body);
  lanes_->turns.pop_back();
  poll(head);
  b_.SetInsertPoint(done);
  for (const UniformInduction &c : counters) lanes_->counts.erase(c.cell.get());
  lanes_->mask = outer;
  memo_.clear(), lanes_->memo.clear();
}

void FunctionEmitter::open_count(const UniformInduction &c) {
  llvm::IRBuilder<> at_entry(entry_, entry_->begin());
  V count = at_entry.CreateAlloca(type(c.cell->dtype), nullptr, c.cell->sym->name);
  b_.CreateStore(expr(c.first), count);
  lanes_->counts[c.cell.get()] = count;
}

/// Those of the lanes, in words, in which the condition holds. Jumps to `none` where a part of it that is the
/// same in all lanes does not.
FunctionEmitter::V FunctionEmitter::active_lanes(const Expr &cond, V lanes, BasicBlock *none) {
  if (const Logic *n = as<Logic>(cond); n && n->is_and)
    return active_lanes(n->b, active_lanes(n->a, lanes, none), none);
  lanes_->mask = mask_of(lanes);
  V holds = widen_side(cond, lanes_->mask), same = llvm::getSplatValue(holds);
  if (!same) return b_.CreateAnd(lanes, words_of(holds));
  BasicBlock *some = block("while");
  b_.CreateCondBr(same, some, none);
  b_.SetInsertPoint(some);
  return lanes;
}

/// Goes on to the body with the lanes in which the condition holds, or ends. Lanes that end take the counts
/// along: a branch that most iterations do not take.
void FunctionEmitter::count_on(const While &n, V alive, V cell, BasicBlock *body, BasicBlock *done) {
  auto take_along = [&](V lanes) {
    for (const UniformInduction &c : lanes_->view->uniform_inductions(n)) {
      V kept = entry_of(lanes_->cells, c.cell.get());
      V count = splat(b_.CreateLoad(type(c.cell->dtype), entry_of(lanes_->counts, c.cell.get())));
      b_.CreateStore(b_.CreateSelect(mask_of(lanes), count, b_.CreateLoad(count->getType(), kept)), kept);
    }
  };
  BasicBlock *none = block("all_end"), *some = block("some_end");
  V going = active_lanes(n.cond, alive, none);
  V ended = b_.CreateAnd(alive, b_.CreateNot(going));
  b_.CreateStore(going, cell);
  b_.CreateCondBr(any_lane(ended), some, body);
  b_.SetInsertPoint(some);
  take_along(ended);
  b_.CreateCondBr(any_lane(going), body, done);
  b_.SetInsertPoint(none);
  take_along(alive);
  b_.CreateBr(done);
}

/// What follows in the block runs in no lane.
void FunctionEmitter::wide_jump(const Jump &n) {
  const Lanes::Turns &turns = lanes_->turns.back();
  V stay = b_.CreateNot(words_of(lanes_->mask));
  auto leave = [&](V cell) { b_.CreateStore(b_.CreateAnd(b_.CreateLoad(words_type(), cell), stay), cell); };
  leave(turns.running);
  if (n.kind == JumpKind::break_loop) leave(turns.alive);
  lanes_->mask = llvm::Constant::getNullValue(lanes_->mask->getType());
}

}  // namespace kw
