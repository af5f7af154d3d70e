// Compiles an llvm::Module to ELF bytes or text, by a few passes and the code generator. Sets LLVM up for the
// target; emits no IR.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "codegen/llvm/llvm_entry.h"
#include "support/target.h"

namespace kw {

/// Sets the triple and the data layout of a module, before code is added. Throws an internal error if LLVM
/// does not know the triple.
void prepare_module(llvm::Module &module, const Target &target);

/// Compiles modules for one target, one at a time; its owner may change threads in between. The passes for
/// objects are set up once, since that takes a tenth of a small compile.
class ObjectWriter {
 public:
  /// Throws an internal error if LLVM does not know the triple.
  explicit ObjectWriter(const Target &target);
  ~ObjectWriter();
  /// Runs mem2reg, EarlyCSE and code generation. The text forms are for reading.
  std::string write(llvm::Module &module, KwLlvmWant want);

 private:
  struct Passes;
  std::unique_ptr<Passes> passes(KwLlvmWant want, bool long_bodies) const;

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Passes> to_object_;
};

}  // namespace kw
