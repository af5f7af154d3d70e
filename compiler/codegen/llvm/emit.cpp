// Emits the frame of kw_entry: its arguments, the workspace, and its returns.
#include "codegen/llvm/emit.h"

#include "analysis/cost.h"
#include "codegen/llvm/emit/line_info.h"
#include "codegen/llvm/emit/math_functions.h"
#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "codegen/llvm/emit/streams.h"

namespace kw {

using llvm::Function;

namespace {

/// Emits `i32 kw_entry(env, data, dims, scalars, workspace, fault)`, whose arguments runtime/abi.h describes.
/// The emitted code returns 0 for success, 1 for a fault, 2 for a cancelled run, 3 if memory is missing.
class FunctionEmitter : public Emitter {
 public:
  using Emitter::Emitter;

  void run() {
    signature();
    parameters();
    workspace();
    // The test for streams comes between the parameters and the body: it adds up the sizes of all arguments.
    streams().find();
    statements().emit(cx_.shared.func.body);
    streams().end();
    b_.CreateRet(b_.getInt32(0));
    b_.SetInsertPoint(cx_.cancelled);
    b_.CreateRet(b_.getInt32(2));
  }

 private:
  /// Makes the function, its arguments and the blocks that every kernel has.
  void signature() {
    llvm::Type *p = b_.getPtrTy();
    cx_.fn = Function::Create(llvm::FunctionType::get(b_.getInt32Ty(), {p, p, p, p, p, p}, false),
                              Function::ExternalLinkage, "kw_entry", cx_.shared.module);
    const char *names[] = {"env", "data", "dims", "scalars", "workspace", "fault"};
    V *slots[] = {&cx_.env, &data_, &dims_, &scalars_, &workspace_, &cx_.fault};
    for (unsigned i = 0; i < 6; ++i) {
      cx_.fn->getArg(i)->setName(names[i]);
      *slots[i] = cx_.fn->getArg(i);
    }
    set_attributes(*cx_.fn, target());
    if (cx_.shared.lines) cx_.shared.lines->add(*cx_.fn, b_);
    cx_.entry = block("entry");
    b_.SetInsertPoint(cx_.entry);
    cx_.cancelled = block("cancelled");
  }

  /// Loads element `number` of an array of the ABI.
  V entry(V array, llvm::Type *t, uint64_t number, const llvm::Twine &name = "") {
    return b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(t, array, number), name);
  }

  /// Loads extents, then scalars, then tensors: the strides of a tensor are computed from the values before
  /// it.
  void parameters() {
    const Func &f = cx_.shared.func;
    // KwEnv: {u32 abi, u32 threads, ptr parallel, ptr scratch, ptr cancel}
    constexpr uint64_t offset_of_cancel = 24;  // bytes
    llvm::Value *place = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), cx_.env, offset_of_cancel);
    cx_.cancel = b_.CreateLoad(b_.getPtrTy(), place, "cancel");
    for (size_t i = 0; i < f.extents.size(); ++i)
      cx_.values[f.extents[i].get()] = entry(dims_, b_.getInt64Ty(), i, f.extents[i]->name);
    uint64_t tensors = 0, scalars = 0;
    for (const Param &p : f.params) {
      if (!p.sym) continue;
      DType t = p.sym->dtype;
      // Every scalar takes 64 bits of the array; a smaller type is in the low bits.
      V word = entry(scalars_, b_.getInt64Ty(), scalars++);
      V bits = b_.CreateTrunc(word, b_.getIntNTy(bit_width(t)));
      cx_.values[p.sym.get()] = is_float(t) ? b_.CreateBitCast(bits, ops().type(t), p.sym->name) : bits;
    }
    for (const Param &p : f.params)
      if (p.buf) statements().declare(p.buf, entry(data_, b_.getPtrTy(), tensors++, p.buf->sym->name));
  }

  /// Gives every heap temporary outside parallel loops a fixed place in the workspace, computed once.
  void workspace() {
    V offset = b_.getInt64(0);
    for (const WorkspaceSlot &slot : plan_workspace(cx_.shared.func)) {
      if (slot.per_thread) continue;
      cx_.slots[slot.buf.get()] =
          b_.CreateInBoundsGEP(b_.getInt8Ty(), workspace_, offset, slot.buf->sym->name);
      offset = b_.CreateAdd(offset, value_of_size(slot.bytes), "", true, true);
    }
    cx_.memo.clear();
  }

  V data_ = nullptr, dims_ = nullptr, scalars_ = nullptr, workspace_ = nullptr;
};

}  // namespace

void emit_function(llvm::Module &module, const Func &f, const Target &target, const SourcePlaces *places) {
  ModuleContext shared{module, f, target};
  shared.math_function = math_function;
  std::optional<LineInfo> lines;
  if (places && !places->texts.empty()) shared.lines = &lines.emplace(module, f, *places);
  EmitContext cx{shared};
  FunctionEmitter(cx).run();
  if (lines) lines->finish();
}

}  // namespace kw
