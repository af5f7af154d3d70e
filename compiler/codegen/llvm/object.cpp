// Target machine and the short pass pipeline (design.md 5: EarlyCSE and the code generator; no PassBuilder,
// no ORC).
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/object.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <mutex>

#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

static void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target &target) {
  initialize_once();
  std::string error;
  llvm::Triple triple(target.triple);
#if LLVM_VERSION_MAJOR >= 22
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
#else
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(target.triple, error);
#endif
  ensure(found != nullptr, cat("LLVM knows no target ", target.triple, ": ", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
#if LLVM_VERSION_MAJOR >= 21
  auto *machine = found->createTargetMachine(triple, "", target.feature_text(), options, llvm::Reloc::PIC_,
                                             llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default);
#else
  auto *machine =
      found->createTargetMachine(target.triple, "", target.feature_text(), options, llvm::Reloc::PIC_,
                                 llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default);
#endif
  ensure(machine != nullptr, cat("LLVM cannot generate code for ", target.triple));
  return std::unique_ptr<llvm::TargetMachine>(machine);
}

void prepare_module(llvm::Module &module, llvm::TargetMachine &machine, const Target &target) {
  module.setDataLayout(machine.createDataLayout());
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(llvm::Triple(target.triple));
#else
  module.setTargetTriple(target.triple);
#endif
}

std::string generate(llvm::Module &module, llvm::TargetMachine &machine, KwLlvmWant want) {
  llvm::legacy::PassManager passes;
  passes.add(llvm::createPromoteMemoryToRegisterPass());
  passes.add(llvm::createEarlyCSEPass(false));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  if (want == KW_WANT_IR) {
    passes.run(module);
    module.print(out, nullptr);
    return std::string(bytes.begin(), bytes.end());
  }
  auto kind = want == KW_WANT_ASM ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  bool failed = machine.addPassesToEmitFile(passes, out, nullptr, kind, true);
  ensure(!failed, "LLVM cannot emit this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace kw
