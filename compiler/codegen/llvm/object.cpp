// Makes the target machine and the short pass pipeline (design.md 5: EarlyCSE and the code generator; no
// PassBuilder, no ORC).
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/object.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
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

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>

#include "support/diagnostic.h"
#include "support/text.h"

namespace kw {

/// Sets LLVM up for the machine of this process and disables passes, once per process.
static void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    // Addresses come as a row and a place in it, which x86 adds at no cost. Reducing them to pointers that
    // step (lsr) costs a quarter of the compile time and gains nothing. The other passes look for code that
    // the emitters never make.
    auto &options = llvm::cl::getRegisteredOptions();  // parsing a command line looks at all of them
    for (llvm::StringRef name : {"disable-lsr", "disable-mergeicmps", "disable-constant-hoisting",
                                 "disable-partial-libcall-inlining", "disable-replace-with-vec-lib"}) {
      auto found = options.find(name);
      bool is_set = found != options.end() && !found->second->addOccurrence(0, name, "true");
      ensure(is_set, cat("LLVM does not know -", name.str()));
    }
  });
}

static std::unique_ptr<llvm::TargetMachine> make_machine(const Target &target) {
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
  // fuse_fma has fused by the rule of the language; LLVM must not fuse more.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EmitStackSizeSection = true;  // the loader reports how much stack the code takes
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

#if LLVM_VERSION_MAJOR >= 22
/// Adds passes to a list, except those for code that the emitters never make: exceptions, garbage collection,
/// tiles, variable frames, hardening, profiles, debug values. Also leaves out the pass that shortens vector
/// constants in memory, for which it sorts a large table. Together these cost a tenth of a small compile, and
/// more of the first one, which also loads their code. If LLVM renames a pass, only that time is lost.
class UsefulPasses : public llvm::legacy::PassManagerBase {
 public:
  UsefulPasses(llvm::legacy::PassManagerBase &list, bool keeps_blocks)
      : list_(list), keeps_blocks_(keeps_blocks) {}
  void add(llvm::Pass *pass) override {
    static constexpr std::string_view useless[] = {
        "Argument Stack Rebase",
        "Check CFA info and insert CFI instructions if needed",
        "Exception handling preparation",
        "Expand indirectbr instructions",
        "Expand memcmp() to load/stores",
        "Init Undef Pass",
        "Insert KCFI indirect call checks",
        "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
        "Local Dynamic TLS Access Clean-up",
        "Lower AMX intrinsics",
        "Lower AMX type for load/store",
        "ObjC ARC contraction",
        "Prepare callbr",
        "Pseudo Probe Inserter",
        "Register Allocation Pass Scoring",
        "Safe Stack instrumentation pass",
        "Stack Frame Layout Analysis",
        "Tile Register Configure",
        "Tile Register Pre-configure",
        "Unpack machine instruction bundles",
        "X86 Atom pad short functions",
        "X86 Avoid Store Forwarding Blocks",
        "X86 Domain Reassignment Pass",
        "X86 DynAlloca Expander",
        "X86 Fixup Vector Constants",
        "X86 Indirect Branch Tracking",
        "X86 Indirect Thunks",
        "X86 Load Value Injection (LVI) Load Hardening",
        "X86 Load Value Injection (LVI) Ret-Hardening",
        "X86 Lower Tile Copy",
        "X86 PIC Global Base Reg Initialization",
        "X86 Return Thunks",
        "X86 Speculative Execution Side Effect Suppression",
        "X86 Suppress APX features for relocation",
        "X86 insert wait instruction",
        "X86 speculative load hardening"};
    std::string_view name = pass->getPassName();
    bool joins_blocks = name == "CodeGen Prepare";
    if (!(keeps_blocks_ && joins_blocks) &&
        std::find(std::begin(useless), std::end(useless), name) == std::end(useless))
      return list_.add(pass);
    delete pass;
  }

 private:
  llvm::legacy::PassManagerBase &list_;
  bool keeps_blocks_;
};

/// Adds the passes of addPassesToEmitFile, except the useless ones and two more kinds. Both are named by
/// their address, which a compiler checks. The first kind is for code that the emitters never make. The
/// second kind, from StackColoring on, gains less in our loops than the time it takes. Long bodies also do
/// without two passes of quadratic time. The scheduler compares all accesses of a block. The motion of
/// constants out of a loop makes values that the register allocator must split again.
static bool add_code_generator(llvm::legacy::PassManager &passes, llvm::TargetMachine &machine,
                               llvm::raw_pwrite_stream &out, llvm::CodeGenFileType kind, bool long_bodies) {
  auto *info = new llvm::MachineModuleInfoWrapperPass(&machine);  // owned by `passes`, like the configuration
  UsefulPasses useful(passes, long_bodies);
  llvm::TargetPassConfig *config = machine.createPassConfig(useful);
  config->setDisableVerify(true);
  for (llvm::AnalysisID unused : {&llvm::GCLoweringID,
                                  &llvm::ShadowStackGCLoweringID,
                                  &llvm::GCMachineCodeAnalysisID,
                                  &llvm::StackMapLivenessID,
                                  &llvm::FixupStatepointCallerSavedID,
                                  &llvm::LiveDebugValuesID,
                                  &llvm::RemoveRedundantDebugValuesID,
                                  &llvm::RemoveLoadsIntoFakeUsesID,
                                  &llvm::FuncletLayoutID,
                                  &llvm::XRayInstrumentationID,
                                  &llvm::FEntryInserterID,
                                  &llvm::PatchableFunctionID,
                                  &llvm::MachineSanitizerBinaryMetadataID,
                                  &llvm::StackFrameLayoutAnalysisPassID,
                                  &llvm::StackColoringLegacyID,
                                  &llvm::LocalStackSlotAllocationID,
                                  &llvm::OptimizePHIsLegacyID,
                                  &llvm::EarlyIfConverterLegacyID,
                                  &llvm::ShrinkWrapID,
                                  &llvm::PostRAMachineSinkingID,
                                  &llvm::MachineLateInstrsCleanupID,
                                  &llvm::StackSlotColoringID,
                                  &llvm::PostRASchedulerID,
                                  &llvm::UnpackMachineBundlesID})
    config->disablePass(unused);
  if (long_bodies)
    for (llvm::AnalysisID slow : {&llvm::MachineSchedulerID, &llvm::EarlyMachineLICMID})
      config->disablePass(slow);
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
                               llvm::raw_pwrite_stream &out, llvm::CodeGenFileType kind, bool) {
  return !machine.addPassesToEmitFile(passes, out, nullptr, kind, true);
}
#endif

/// Returns the most instructions of a block outside of loops, or of a loop without its inner loops.
static size_t longest_body(llvm::Function &f) {
  llvm::DominatorTree tree(f);
  llvm::LoopInfo loops(tree);
  std::map<const llvm::Loop *, size_t> sizes;
  size_t most = 0;
  for (const llvm::BasicBlock &block : f) {
    const llvm::Loop *loop = loops.getLoopFor(&block);
    most = std::max(most, loop ? sizes[loop] += block.size() : block.size());
  }
  return most;
}

/// Returns whether passes whose time grows with the square of a body's length would take longer than all
/// others.
static bool has_long_body(llvm::Module &module) {
  constexpr size_t limit = 1000;  // 100 statements in a loop: the scheduler takes 10 ms of 40
  return std::any_of(module.begin(), module.end(), [](llvm::Function &f) {
    return f.getInstructionCount() > limit && longest_body(f) > limit;
  });
}

/// Splits straight-line code into blocks of a length that LLVM is made for. For each use of a constant,
/// instruction selection looks at all its uses in the block. The two-address pass follows each value through
/// the block. A chain of 20,000 statements took 70 seconds, and takes 3 in blocks of 1,000 instructions.
static void cut_long_blocks(llvm::Module &module) {
  // Most instructions of a block. Chosen: see the times above.
  constexpr size_t longest = 1000;
  std::vector<llvm::Instruction *> cuts;
  for (llvm::Function &f : module)
    for (llvm::BasicBlock &block : f) {
      size_t length = 0;
      for (llvm::Instruction &i : block) {
        if (llvm::isa<llvm::AllocaInst>(i) || llvm::isa<llvm::PHINode>(i) || ++length % longest) continue;
        if (!i.isTerminator()) cuts.push_back(&i);
      }
    }
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) (*cut)->getParent()->splitBasicBlock(*cut);
}

/// Saves compile time for code that runs once in a call, or only if a check fails. These are functions
/// without loops that hand loops to threads, a fifth of the code of a small kernel, and cold functions.
class FastCompile : public llvm::FunctionPass {
 public:
  static inline char ID = 0;
  FastCompile() : llvm::FunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "Hurry code that runs once"; }
  bool runOnFunction(llvm::Function &f) override {
    bool hands_over = false;
    for (const llvm::Instruction &i : llvm::instructions(f)) {
      auto *call = llvm::dyn_cast<llvm::CallBase>(&i);
      hands_over |= call && call->isIndirectCall();
    }
    llvm::SmallVector<std::pair<const llvm::BasicBlock *, const llvm::BasicBlock *>, 4> backwards;
    if (hands_over) llvm::FindFunctionBackedges(f, backwards);
    bool hurries = f.hasFnAttribute(llvm::Attribute::Cold) || (hands_over && backwards.empty());
    if (hurries) f.addFnAttr(llvm::Attribute::OptimizeNone);
    if (hurries) f.addFnAttr(llvm::Attribute::NoInline);  // OptimizeNone requires it
    return hurries;
  }
};

void prepare_module(llvm::Module &module, const Target &target) {
#if LLVM_VERSION_MAJOR >= 22
  llvm::Triple triple(target.triple);
  module.setDataLayout(triple.computeDataLayout());
  module.setTargetTriple(triple);
#else
  module.setDataLayout(make_machine(target)->createDataLayout());
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(llvm::Triple(target.triple));
#else
  module.setTargetTriple(target.triple);
#endif
#endif
}

/// A list of passes, and the buffer that the last one writes to. The list may run many times.
struct ObjectWriter::Passes {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out{bytes};
  llvm::legacy::PassManager list;
};

ObjectWriter::ObjectWriter(const Target &target)
    : machine_(make_machine(target)), to_object_(passes(KW_WANT_OBJECT, false)) {}
ObjectWriter::~ObjectWriter() = default;

std::unique_ptr<ObjectWriter::Passes> ObjectWriter::passes(KwLlvmWant want, bool long_bodies) const {
  auto p = std::make_unique<Passes>();
  // This comes before the first pass that asks what the machine can do. Else masked accesses are split into
  // scalars.
  p->list.add(llvm::createTargetTransformInfoWrapperPass(machine_->getTargetIRAnalysis()));
  p->list.add(llvm::createPromoteMemoryToRegisterPass());
  p->list.add(llvm::createEarlyCSEPass(false));
  if (want == KW_WANT_IR) return p;
  p->list.add(new FastCompile);  // owned by the list
  auto kind = want == KW_WANT_ASM ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  ensure(add_code_generator(p->list, *machine_, p->out, kind, long_bodies),
         "LLVM cannot emit this kind of file");
  return p;
}

std::string ObjectWriter::write(llvm::Module &module, KwLlvmWant want) {
  std::unique_ptr<Passes> for_this;
  bool long_bodies = has_long_body(module);
  if (long_bodies) cut_long_blocks(module);
  if (want != KW_WANT_OBJECT || long_bodies) for_this = passes(want, long_bodies);
  Passes &p = for_this ? *for_this : *to_object_;
  ensure(module.getDataLayout() == machine_->createDataLayout(), "the module is for another target");
  p.list.run(module);
  if (want == KW_WANT_IR) module.print(p.out, nullptr);
  std::string written(p.bytes.begin(), p.bytes.end());
  p.bytes.clear();
  return written;
}

}  // namespace kw
