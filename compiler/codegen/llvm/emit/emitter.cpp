// Defines the handles, where all emitters are complete types.
#include "codegen/llvm/emit/emitter.h"

#include "codegen/llvm/emit/loops.h"
#include "codegen/llvm/emit/recurrences.h"
#include "codegen/llvm/emit/reductions.h"
#include "codegen/llvm/emit/regions.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/streams.h"
#include "codegen/llvm/emit/vector.h"
#include "codegen/llvm/emit/vector_loop.h"
#include "transform/lowering/passes.h"

namespace kw {

ScalarEmitter Emitter::scalars() const { return ScalarEmitter(cx_); }
StatementEmitter Emitter::statements() const { return StatementEmitter(cx_); }
LoopEmitter Emitter::loops() const { return LoopEmitter(cx_); }
RecurrenceEmitter Emitter::recurrences() const { return RecurrenceEmitter(cx_); }
VectorEmitter Emitter::vectors() const { return VectorEmitter(cx_); }
VectorLoopEmitter Emitter::vector_loops() const { return VectorLoopEmitter(cx_); }
ReductionEmitter Emitter::reductions() const { return ReductionEmitter(cx_); }
StreamEmitter Emitter::streams() const { return StreamEmitter(cx_); }
RegionEmitter Emitter::regions() const { return RegionEmitter(cx_); }

llvm::Value *Emitter::value_of_size(const Expr &e) const { return scalars().expr(guard_operations(e)); }

/// Without "no-builtins", LLVM would turn loops into calls of memset and its like. These would be undefined
/// symbols of the object.
void set_attributes(llvm::Function &fn, const Target &target) {
  fn.setDoesNotThrow();
  fn.addFnAttr("no-builtins");
  fn.addFnAttr("frame-pointer", "all");
  fn.addFnAttr("target-features", target.feature_text());
}

}  // namespace kw
