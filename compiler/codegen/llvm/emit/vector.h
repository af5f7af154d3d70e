// Emits statements and expressions of a vector loop, for all lanes at once. Uniform values stay scalars.
// Memory is accessed as contiguous or reversed vectors, as interleaved loads, or element by element.
#pragma once

#include <functional>

#include "analysis/vector/register_transpose.h"
#include "analysis/vector/vectorization.h"
#include "codegen/llvm/emit/emitter.h"
#include "codegen/llvm/emit/reductions.h"

namespace kw {

/// Iterations of an inner loop whose memory is transposed in registers: one or two blocks of as many as
/// lanes.
struct OpenBlocks {
  const TransposedBlocks *view;
  uint32_t iteration = 0;
  std::vector<std::vector<llvm::Value *>> values{};  ///< per block and iteration, a vector over the lanes
};

/// The iterations of a vector loop that run at once: lane l is the iteration first + l · step.
struct VectorState {
  VectorizationAnalysis *view;
  bool prefetches;  ///< contiguous loads prefetch the page after theirs
  int64_t step;
  uint32_t count;
  llvm::Value *first;
  llvm::Value *number;           ///< the number of the iteration in lane 0, from 0
  llvm::Value *mask = nullptr;   ///< the active lanes; null: all
  llvm::Value *begun = nullptr;  ///< the lanes that began the iteration
  llvm::Value *rest = nullptr;   ///< the number of these lanes, if they are the first ones
  std::unordered_map<const SymNode *, llvm::Value *> values{};
  std::unordered_map<const BufNode *, llvm::Value *> cells{};
  std::unordered_map<const BufNode *, llvm::Value *> counts{};  ///< uniform inductions of a `while`
  Memo memo{};
  OpenBlocks *blocks = nullptr;
  const ReductionCells *outer = nullptr;
  /// The masks of an enclosing `while`: the lanes that stay in the loop, and those that stay in this
  /// iteration.
  struct Turns {
    llvm::Value *alive, *running;
  };
  std::vector<Turns> turns{};
};

/// Returns whether the active lanes are the first `rest` lanes.
inline bool runs_first_lanes(const VectorState &s) { return s.rest && s.mask == s.begun; }

/// The place of the elements of an access. Lane 0 is at `at`. The other lanes follow with a stride of `step`
/// or `by` elements, or lie at `offsets` from `at`.
struct VectorPlace {
  llvm::Value *at;
  llvm::Value *offsets = nullptr;
  std::optional<int64_t> step{};
  llvm::Value *by = nullptr;  ///< the stride of the lanes if it is no constant
};

class VectorEmitter : public Emitter {
 public:
  explicit VectorEmitter(EmitContext &cx) : Emitter(cx), vec_(*cx.vector) {}

  /// Returns false for a statement that is emitted as it is outside vector loops.
  bool statement(const Stmt &s);
  /// Returns the value of an expression as a vector over the lanes.
  V widen(const Expr &e);
  VectorPlace place_of(const Buf &b, const std::vector<Expr> &index);
  V splat(V v);
  V and_mask(V mask, V cond) { return mask ? b_.CreateAnd(mask, cond) : cond; }
  /// Returns whether a lane of a mask is set. The mask may consist of words that are all ones or all zeros.
  V any_lane(V mask);

 private:
  void store(const Store &n);
  void allocate(const Alloc &n);
  void branch(const If &n);
  void under_mask(V mask, const std::function<void(llvm::BasicBlock *)> &body);
  V widen_uncached(const Expr &e);
  V widen_side(const Expr &e, V mask);
  V widen_ref(const Ref &n);
  V widen_load(const Load &n);
  V widen_select(const Select &n);
  V widen_logic(const Logic &n);
  V part_of_cell(const Load &n, V cell);
  void store_to_cell(const Store &n, V cell, V value);
  V addresses(const VectorPlace &place, llvm::Type *element);
  V reversed(V v) { return b_.CreateVectorReverse(v); }

  VectorState &vec_;
};

/// Returns a mask of `count` lanes, of which the first `rest` are set.
llvm::Value *mask_of_first(EmitContext &cx, llvm::Value *rest, uint32_t count);

}  // namespace kw
