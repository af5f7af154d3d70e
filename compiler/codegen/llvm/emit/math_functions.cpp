// The body of each function is the expansion of transform/math over its arguments.
#include "codegen/llvm/emit/math_functions.h"

#include "codegen/llvm/emit/scalars.h"
#include "codegen/llvm/emit/statements.h"
#include "ir/build.h"
#include "ir/match.h"
#include "support/text.h"
#include "transform/lowering/if_convert.h"
#include "transform/lowering/passes.h"
#include "transform/math/expand.h"

namespace kw {

using llvm::Function;

namespace {

/// An elementary function over vector cells, with a lane for each element:
///   for l in vector(0, count, 1, vector_width=count): result[l] = exp(x[l])
struct WideFunction {
  std::vector<Buf> operands;
  Buf result;
  Stmt body;

  WideFunction(Fn fn, DType from, DType to, size_t arity, uint32_t count, const Target &target) {
    auto cell = [&](DType t, const char *name) {
      return make_buf(make_sym(SymKind::buffer, t, name), {const_int(count)}, Space::registers);
    };
    Sym lane = make_sym(SymKind::iter, DType::i64, "l");
    std::vector<Expr> args;
    for (size_t i = 0; i < arity; ++i) {
      operands.push_back(cell(from, i ? "y" : "x"));
      args.push_back(load(operands.back(), {kw::ref(lane)}));
    }
    result = cell(to, "result");
    Stmt one = store(result, {kw::ref(lane)}, expand_call(fn, args, {}, target));
    body = for_loop({lane,
                     const_int(0),
                     const_int(count),
                     1,
                     ForKind::vector,
                     Hint::none,
                     {.vector_width = count},
                     std::move(one)});
  }
};

/// Emits one such function. Its body is made during emission, after all passes have run, so the passes that
/// the emitters rely on are applied to it here.
class FunctionBody : public Emitter {
 public:
  using Emitter::Emitter;

  /// Makes the function. It is never inlined: sharing its code is the purpose.
  void begin(const std::string &name, llvm::FunctionType *type) {
    cx_.fn = Function::Create(type, Function::InternalLinkage, name, cx_.shared.module);
    set_attributes(*cx_.fn, target());
    cx_.fn->addFnAttr(llvm::Attribute::NoInline);
    cx_.entry = block("entry");
    b_.SetInsertPoint(cx_.entry);
  }

  /// Emits the body over single values.
  void scalar(Fn fn, DType from, size_t arity) {
    std::vector<Expr> args;
    for (size_t i = 0; i < arity; ++i) {
      args.push_back(kw::ref(make_sym(SymKind::local, from, i ? "y" : "x")));
      cx_.values[as<Ref>(args[i])->sym.get()] = cx_.fn->getArg(static_cast<unsigned>(i));
    }
    b_.CreateRet(scalars().expr(guard_operations(if_convert(expand_call(fn, args, {}, target())))));
  }

  /// Emits the body over lanes: arguments go to vector cells, a vector loop of one chunk computes the result.
  void vector(const WideFunction &wide, llvm::Type *result_type) {
    auto declare_cell = [&](const Buf &b, llvm::Type *t) {
      return cx_.vector_cells[b.get()] = b_.CreateAlloca(t, nullptr, b->sym->name);
    };
    for (size_t i = 0; i < wide.operands.size(); ++i) {
      V argument = cx_.fn->getArg(static_cast<unsigned>(i));
      b_.CreateStore(argument, declare_cell(wide.operands[i], argument->getType()));
    }
    V result = declare_cell(wide.result, result_type);
    statements().emit(guard_operations(if_convert(wide.body), target()));
    b_.CreateRet(b_.CreateLoad(result_type, result));
  }
};

}  // namespace

Function *math_function(ModuleContext &shared, Fn fn, DType from, DType to, size_t arity, uint32_t count) {
  // The name is the key: the module holds at most one function for each type and number of lanes.
  std::string name = cat(row_of(fn).name, "_", short_name(from), "x", count);
  if (Function *made = shared.module.getFunction(name)) return made;
  EmitContext cx{shared};
  auto shaped = [&](DType t) -> llvm::Type * {
    llvm::Type *element = OpEmitter(cx).type(t);
    return count == 1 ? element : llvm::FixedVectorType::get(element, count);
  };
  std::vector<llvm::Type *> parameters(arity, shaped(from));
  FunctionBody body(cx);
  body.begin(name, llvm::FunctionType::get(shaped(to), parameters, false));
  if (count == 1)
    body.scalar(fn, from, arity);
  else
    body.vector(WideFunction(fn, from, to, arity, count, shared.target), shaped(to));
  return cx.fn;
}

}  // namespace kw
