// Target machine and the short pass pipeline (design.md 5: EarlyCSE and the code generator; no PassBuilder,
// no ORC).
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/object.h"

#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Pass.h>
#include <llvm/Support/CommandLine.h>
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
    // Addresses come as a row and a place in it, and x86 adds them for nothing: reducing them to pointers
    // that step costs a quarter of the compile time and gains nothing.
    const char *words[] = {"kernelwright", "-disable-lsr"};
    llvm::raw_null_ostream silent;
    ensure(llvm::cl::ParseCommandLineOptions(2, words, "", &silent), "LLVM does not know -disable-lsr");
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

#if LLVM_VERSION_MAJOR >= 22
/// What addPassesToEmitFile does, less the passes for things that our IR never holds: garbage collection,
/// stack maps, statepoints, debug values, funclets, XRay, patch points. They cost a tenth of a small compile.
static bool add_code_generator(llvm::legacy::PassManager &passes, llvm::TargetMachine &machine,
                               llvm::raw_pwrite_stream &out, llvm::CodeGenFileType kind) {
  auto *info = new llvm::MachineModuleInfoWrapperPass(&machine);  // owned by `passes`, like the configuration
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  for (llvm::AnalysisID unused :
       {&llvm::GCLoweringID, &llvm::ShadowStackGCLoweringID, &llvm::GCMachineCodeAnalysisID,
        &llvm::StackMapLivenessID, &llvm::FixupStatepointCallerSavedID, &llvm::LiveDebugValuesID,
        &llvm::RemoveRedundantDebugValuesID, &llvm::RemoveLoadsIntoFakeUsesID, &llvm::FuncletLayoutID,
        &llvm::XRayInstrumentationID, &llvm::FEntryInserterID, &llvm::PatchableFunctionID,
        &llvm::MachineSanitizerBinaryMetadataID, &llvm::StackFrameLayoutAnalysisPassID})
    config->disablePass(unused);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, out, nullptr, kind, info->getMMI().getContext())) return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}
#else
static bool add_code_generator(llvm::legacy::PassManager &passes, llvm::TargetMachine &machine,
                               llvm::raw_pwrite_stream &out, llvm::CodeGenFileType kind) {
  return !machine.addPassesToEmitFile(passes, out, nullptr, kind, true);
}
#endif

std::string generate(llvm::Module &module, llvm::TargetMachine &machine, KwLlvmWant want) {
  llvm::legacy::PassManager passes;
  // before the first pass that asks what the machine can do: else masked accesses are taken to pieces
  passes.add(llvm::createTargetTransformInfoWrapperPass(machine.getTargetIRAnalysis()));
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
  ensure(add_code_generator(passes, machine, out, kind), "LLVM cannot emit this kind of file");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace kw
