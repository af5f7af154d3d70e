// Elementary functions that a kernel calls often have code of their own, which the calls share: the expansion
// of one sine is 400 instructions, so that 300 lines of sines would take 12 s to compile with one for each.
#include "codegen/llvm/emit.h"
#include "ir/build.h"
#include "ir/intrinsics.h"
#include "ir/match.h"
#include "support/text.h"
#include "transform/math/expand.h"

namespace kw {

using llvm::Function;

namespace {

/// The function over cells of one lane for each element:
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

}  // namespace

/// T fn(T) or T fn(T, T), over single values or over as many lanes as a vector loop has.
Function *FunctionEmitter::math_function(Fn fn, DType from, DType to, size_t arity, uint32_t count) {
  std::string name = cat(row_of(fn).name, "_", short_name(from), "x", count);
  if (Function *made = module_.getFunction(name)) return made;
  auto shaped = [&](DType t) -> llvm::Type * {
    return count == 1 ? type(t) : llvm::FixedVectorType::get(type(t), count);
  };
  std::vector<llvm::Type *> parameters(arity, shaped(from));
  FunctionEmitter inner(module_, f_, target_);
  inner.fn_ = Function::Create(llvm::FunctionType::get(shaped(to), parameters, false),
                               Function::InternalLinkage, name, module_);
  inner.set_attributes();
  inner.fn_->addFnAttr(llvm::Attribute::NoInline);
  inner.entry_ = inner.block("entry");
  inner.b_.SetInsertPoint(inner.entry_);
  if (count == 1) {
    std::vector<Expr> args;
    for (size_t i = 0; i < arity; ++i) {
      args.push_back(kw::ref(make_sym(SymKind::local, from, i ? "y" : "x")));
      inner.values_[as<Ref>(args[i])->sym.get()] = inner.fn_->getArg(static_cast<unsigned>(i));
    }
    inner.b_.CreateRet(inner.expr(expand_call(fn, args, {}, target_)));
    return inner.fn_;
  }
  WideFunction wide(fn, from, to, arity, count, target_);
  auto declare_cell = [&](const Buf &b) {
    return inner.lane_cells_[b.get()] = inner.b_.CreateAlloca(shaped(b->dtype), nullptr, b->sym->name);
  };
  for (size_t i = 0; i < arity; ++i)
    inner.b_.CreateStore(inner.fn_->getArg(static_cast<unsigned>(i)), declare_cell(wide.operands[i]));
  V result = declare_cell(wide.result);
  inner.statements(wide.body);
  inner.b_.CreateRet(inner.b_.CreateLoad(shaped(to), result));
  return inner.fn_;
}

}  // namespace kw
