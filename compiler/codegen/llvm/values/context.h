// The state that the emitters of a function share. It holds the LLVM function as it grows, the values of
// symbols and buffers, and the current place in the loop nest. Emitters hold a reference to this state and no
// state of their own.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/vector/interleaved_loads.h"
#include "ir/func.h"
#include "support/target.h"

namespace kw {

struct ArgReduction;
class LineInfo;
class VectorizationAnalysis;
struct VectorState;

/// The state that the functions of one module share.
struct ModuleContext {
  llvm::Module &module;
  const Func &func;
  const Target &target;
  LineInfo *lines = nullptr;        ///< null: no line tables
  llvm::Function *raise = nullptr;  ///< fills in the fault; made when first needed
  std::unordered_map<int, llvm::Function *> fmods{};
  /// Returns the LLVM function of an elementary function `fn(from…) → to` over `count` lanes.
  llvm::Function *(*math_function)(ModuleContext &, Fn fn, DType from, DType to, size_t arity,
                                   uint32_t count) = nullptr;
};

/// A buffer in memory. Strides are in elements; null stands for 1.
struct Memory {
  llvm::Value *base = nullptr;
  std::vector<llvm::Value *> strides;
};

/// The targets of the jumps of an enclosing loop.
struct JumpTargets {
  llvm::BasicBlock *next;  ///< made by the first `continue`
  llvm::BasicBlock *done;
};

/// The sub-range of an inner loop that a chunk of a region runs.
struct SubRange {
  const For *loop = nullptr;
  llvm::Value *first = nullptr, *count = nullptr;  ///< iterations
  llvm::Value *is_whole = nullptr;                 ///< whether the sub-range is the whole loop
};

struct SameNode {
  size_t operator()(const Expr &e) const { return std::hash<const ExprNode *>()(e.p.get()); }
  bool operator()(const Expr &a, const Expr &b) const { return a.p == b.p; }
};
/// Values of shared expressions, valid within one statement. The map keeps the expressions alive: a freed
/// address may return as that of another expression.
using Memo = std::unordered_map<Expr, llvm::Value *, SameNode, SameNode>;

struct EmitContext {
  ModuleContext &shared;
  llvm::IRBuilder<> b{shared.module.getContext()};
  llvm::Function *fn = nullptr;
  llvm::BasicBlock *entry = nullptr;
  llvm::BasicBlock *cancelled = nullptr;  ///< where a cancelled run ends
  llvm::Value *env = nullptr, *fault = nullptr, *cancel = nullptr;
  llvm::Value *status = nullptr;  ///< in a chunk of a region: the address for its status

  std::unordered_map<const SymNode *, llvm::Value *> values{};
  std::unordered_map<const BufNode *, Memory> buffers{};
  std::unordered_map<const BufNode *, llvm::Value *> cells{};         ///< scalars, on the stack
  std::unordered_map<const BufNode *, llvm::Value *> vector_cells{};  ///< register buffers of rank 1
  std::unordered_map<const BufNode *, llvm::Value *> slots{};         ///< places in the workspace
  Memo memo{};
  std::vector<JumpTargets> targets{};  ///< of the enclosing loops, the innermost last

  /// Cells of recurrences, whose value is in lane 0 of a vector register, and values computed from them
  /// there.
  std::unordered_set<const BufNode *> recurrences{};
  std::unordered_map<const SymNode *, llvm::Value *> recurrence_values{};

  SubRange sub_range{};
  const For *whole_block = nullptr;         ///< in a chunk: the loop over one block that runs all blocks
  const For *collapsed_row = nullptr;       ///< the loop over the elements of a row that runs one row or all
  llvm::Value *collapsed_length = nullptr;  ///< the iterations of collapsed_row

  std::unordered_set<const BufNode *> only_written{};  ///< outputs that the function never reads
  llvm::Value *streams = nullptr;  ///< whether this call is large enough to stream; null: nothing is streamed
  bool streaming = false;          ///< stores to only_written are non-temporal

  VectorState *vector = nullptr;            ///< of the vector loop around the place; null outside
  InterleavedLoads *interleaved = nullptr;  ///< of that loop
  /// Set while an iteration runs once more for an arg-reduction: it stores to nothing else from outside.
  const ArgReduction *selected = nullptr;
  const VectorizationAnalysis *selected_view = nullptr;
};

/// Sets a variable for the life of a scope.
template <class T>
class Scoped {
 public:
  Scoped(T &place, T value) : place_(place), before_(std::exchange(place, std::move(value))) {}
  ~Scoped() { place_ = std::move(before_); }
  Scoped(const Scoped &) = delete;
  Scoped &operator=(const Scoped &) = delete;

 private:
  T &place_;
  T before_;
};

}  // namespace kw
