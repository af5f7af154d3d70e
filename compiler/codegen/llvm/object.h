// llvm::Module → ELF bytes or text through a few passes and the code generator. Owns target set-up; emits no
// IR.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "codegen/llvm/llvm_entry.h"
#include "support/target.h"

namespace kw {

/// The target machine for `target`; throws an internal error when LLVM does not know the triple.
std::unique_ptr<llvm::TargetMachine> make_machine(const Target &target);
void prepare_module(llvm::Module &module, llvm::TargetMachine &machine, const Target &target);
/// mem2reg, EarlyCSE and code generation; the text forms are for reading.
std::string generate(llvm::Module &module, llvm::TargetMachine &machine, KwLlvmWant want);

}  // namespace kw
