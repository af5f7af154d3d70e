// Expressions: values, loads, lazy operators.
#include <unordered_set>

#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/diagnostic.h"

namespace kw {

using llvm::BasicBlock;

llvm::Type *FunctionEmitter::type(DType t) {
  switch (t) {
    case DType::f16: return b_.getHalfTy();
    case DType::bf16: return b_.getBFloatTy();
    case DType::f32: return b_.getFloatTy();
    case DType::f64: return b_.getDoubleTy();
    default: return b_.getIntNTy(bit_width(t));
  }
}

llvm::Type *FunctionEmitter::memory_type(DType t) { return t == DType::b1 ? b_.getInt8Ty() : type(t); }
FunctionEmitter::V FunctionEmitter::to_memory(V v, DType t) {
  return t == DType::b1 ? b_.CreateZExt(v, b_.getInt8Ty()) : v;
}
FunctionEmitter::V FunctionEmitter::from_memory(V v, DType t) {
  return t == DType::b1 ? b_.CreateICmpNE(v, b_.getInt8(0)) : v;
}

FunctionEmitter::V FunctionEmitter::literal(DType t, uint64_t bits) {
  auto *word = llvm::ConstantInt::get(context_, llvm::APInt(bit_width(t), bits));
  return is_float(t) ? b_.CreateBitCast(word, type(t)) : static_cast<V>(word);
}

/// Shared nodes are emitted once per statement. What a lazy operator evaluates on one side is not visible
/// behind it.
FunctionEmitter::V FunctionEmitter::expr(const Expr &e) {
  bool shared = e.p.use_count() > 1;
  if (shared)
    if (auto found = memo_.find(e.p.get()); found != memo_.end()) return found->second;
  V v = expr_uncached(e);
  if (shared) memo_[e.p.get()] = v;
  return v;
}

FunctionEmitter::V FunctionEmitter::expr_uncached(const Expr &e) {
  DType t = e.dtype();
  return match(
      e, [&](const Const &n) { return literal(t, n.bits); },
      [&](const Ref &n) { return entry_of(values_, n.sym.get()); }, [&](const Load &n) { return load(n); },
      [&](const Unary &n) { return unary(n.op, t, expr(n.a)); },
      [&](const Binary &n) {
        V a = expr(n.a), b = expr(n.b);
        return binary(n.op, n.a.dtype(), a, b);
      },
      [&](const Logic &n) { return logic(n); }, [&](const Select &n) { return select(n); },
      [&](const Cast &n) { return convert(n.a.dtype(), t, expr(n.a)); },
      [&](const Call &n) {
        std::vector<V> args;
        for (const Expr &a : n.args) args.push_back(expr(a));
        return call(n.fn, n.args[0].dtype(), t, args);
      });
}

/// The row and the place in it are added one after the other: in a loop over the last subscript the row
/// stays.
FunctionEmitter::V FunctionEmitter::address(const Buf &b, const std::vector<Expr> &index) {
  const Memory &m = entry_of(buffers_, b.get());
  llvm::Type *element = memory_type(b->dtype);
  V row = nullptr, base = m.base;
  for (size_t d = 0; d < index.size(); ++d) {
    V i = expr(index[d]);
    V scaled = m.strides[d] ? b_.CreateMul(i, m.strides[d]) : i;
    if (d + 1 == index.size()) {
      if (row) base = b_.CreateInBoundsGEP(element, base, row);
      return b_.CreateInBoundsGEP(element, base, scaled);
    }
    row = row ? b_.CreateAdd(row, scaled) : scaled;
  }
  return base;
}

FunctionEmitter::V FunctionEmitter::load(const Load &n) {
  if (auto cell = cells_.find(n.buf.get()); cell != cells_.end()) {
    if (!chained_.count(n.buf.get())) return b_.CreateLoad(type(n.buf->dtype), cell->second);
    auto *lanes = llvm::FixedVectorType::get(type(n.buf->dtype), 4);
    return b_.CreateExtractElement(b_.CreateLoad(lanes, cell->second), uint64_t{0});
  }
  if (auto cell = lane_cells_.find(n.buf.get()); cell != lane_cells_.end()) {
    auto *lanes = llvm::cast<llvm::AllocaInst>(cell->second)->getAllocatedType();
    return b_.CreateExtractElement(b_.CreateLoad(lanes, cell->second), expr(n.index[0]));
  }
  V at = address(n.buf, n.index);
  return from_memory(b_.CreateLoad(memory_type(n.buf->dtype), at), n.buf->dtype);
}

namespace {

/// Operations of a function call itself, in those of an addition.
int cost_of(Fn fn) {
  if (fn == Fn::to_bits || fn == Fn::from_bits) return 0;
  if (row_of(fn).cost == Cost::function && fn != Fn::fmod) return 24;  // as analysis/vectorization counts it
  return fn == Fn::fma || fn == Fn::abs || fn == Fn::scale ? 1 : 4;
}

}  // namespace

/// What is left of a budget of operations after evaluating e now; negative for a load from memory. What this
/// statement has evaluated already is free, and so is what has been `counted`.
int FunctionEmitter::cost_within_budget(const Expr &e, int budget, Counted &counted) const {
  if (budget < 0 || is_known(e)) return budget;
  if (e.p.use_count() > 1 && !counted.insert(e.p.get()).second) return budget;
  auto both = [&](const Expr &a, const Expr &b, int cost) {
    return cost_within_budget(b, cost_within_budget(a, budget - cost, counted), counted);
  };
  return match(
      e, [&](const Const &) { return budget; }, [&](const Ref &) { return budget; },
      [&](const Load &n) { return n.buf->space == Space::registers ? budget : -1; },
      [&](const Unary &n) { return cost_within_budget(n.a, budget, counted); },
      [&](const Binary &n) {
        return both(n.a, n.b, n.op == BinOp::floor_div || n.op == BinOp::floor_mod ? 8 : 1);
      },
      [&](const Logic &n) { return both(n.a, n.b, 0); },
      [&](const Select &n) { return cost_within_budget(n.cond, both(n.yes, n.no, 0), counted); },
      [&](const Cast &n) { return cost_within_budget(n.a, budget, counted); },
      [&](const Call &n) {
        int left = budget - cost_of(n.fn);
        for (const Expr &a : n.args) left = cost_within_budget(a, left, counted);
        return left;
      });
}

int FunctionEmitter::cost_within_budget(const Expr &e, int budget) const {
  Counted counted;
  return cost_within_budget(e, budget, counted);
}

/// Evaluating it early is safe and cheap: no load, few operations. Between lanes a branch saves less: it is
/// taken when one of them takes it.
bool FunctionEmitter::is_eager(const Expr &e) const { return cost_within_budget(e, lanes_ ? 32 : 8) >= 0; }

/// This statement has evaluated it.
bool FunctionEmitter::is_known(const Expr &e) const {
  return memo_.count(e.p.get()) || (lanes_ && lanes_->memo.count(e.p.get()));
}

namespace {

/// Calls f for the shared nodes that evaluating e evaluates in any case; f says whether to go on below one.
template <class F>
void each_certain(const Expr &e, F &&f) {
  if (e.p.use_count() > 1 && !f(e)) return;
  match(
      e, [](const Const &) {}, [](const Ref &) {},
      [&](const Load &n) {
        for (const Expr &i : n.index) each_certain(i, f);
      },
      [&](const Unary &n) { each_certain(n.a, f); },
      [&](const Binary &n) { each_certain(n.a, f), each_certain(n.b, f); },
      [&](const Logic &n) { each_certain(n.a, f); }, [&](const Select &n) { each_certain(n.cond, f); },
      [&](const Cast &n) { each_certain(n.a, f); },
      [&](const Call &n) {
        for (const Expr &a : n.args) each_certain(a, f);
      });
}

}  // namespace

/// What both sides of a branch evaluate is evaluated before it, so that code does not double with each
/// branch.
void FunctionEmitter::evaluate_common(const Expr &yes, const Expr &no) {
  std::unordered_set<const ExprNode *> of_yes, visited;
  each_certain(yes, [&](const Expr &e) { return !is_known(e) && of_yes.insert(e.p.get()).second; });
  each_certain(no, [&](const Expr &e) {
    if (of_yes.count(e.p.get())) return lanes_ && lanes_->view->is_divergent(e) ? widen(e) : expr(e), false;
    return visited.insert(e.p.get()).second;
  });
}

FunctionEmitter::V FunctionEmitter::select(const Select &n) {
  V cond = expr(n.cond);
  if (is_eager(n.yes) && is_eager(n.no)) {
    V yes = expr(n.yes), no = expr(n.no);
    return b_.CreateSelect(cond, yes, no);
  }
  return lazily(cond, n.yes, n.no, nullptr, nullptr);
}

FunctionEmitter::V FunctionEmitter::logic(const Logic &n) {
  V a = expr(n.a);
  if (is_eager(n.b)) {
    V b = expr(n.b);
    return n.is_and ? b_.CreateAnd(a, b) : b_.CreateOr(a, b);
  }
  V decided = b_.getInt1(!n.is_and);
  return n.is_and ? lazily(a, n.b, {}, nullptr, decided) : lazily(a, {}, n.b, decided, nullptr);
}

/// A branch with a phi; a side without an expression has its value already.
FunctionEmitter::V FunctionEmitter::lazily(V cond, const Expr &yes, const Expr &no, V yes_value, V no_value) {
  if (yes && no) evaluate_common(yes, no);
  BasicBlock *on_yes = block("yes"), *on_no = block("no"), *join = block("join");
  b_.CreateCondBr(cond, on_yes, on_no);
  auto outer = memo_;
  b_.SetInsertPoint(on_yes);
  if (yes) yes_value = expr(yes);
  BasicBlock *yes_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  memo_ = outer;
  b_.SetInsertPoint(on_no);
  if (no) no_value = expr(no);
  BasicBlock *no_end = b_.GetInsertBlock();
  b_.CreateBr(join);
  memo_ = std::move(outer);
  b_.SetInsertPoint(join);
  llvm::PHINode *phi = b_.CreatePHI(yes_value->getType(), 2);
  phi->addIncoming(yes_value, yes_end);
  phi->addIncoming(no_value, no_end);
  return phi;
}

}  // namespace kw
