// llvm::Module → ELF bytes or text through a few passes and the code generator. Owns target set-up; emits no
// IR.
#pragma once

#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "codegen/llvm/llvm_entry.h"
#include "support/target.h"

namespace kw {

/// Tells a module what it is for; comes before code is put into it. Throws an internal error when LLVM does
/// not know the triple.
void prepare_module(llvm::Module &module, const Target &target);

/// Turns modules into objects for one target, one at a time; its owner may change threads in between. The
/// passes for objects are set up once: that is a tenth of a small compile.
class ObjectWriter {
 public:
  /// Throws an internal error when LLVM does not know the triple.
  explicit ObjectWriter(const Target &target);
  ~ObjectWriter();
  /// mem2reg, EarlyCSE and code generation; the text forms are for reading.
  std::string write(llvm::Module &module, KwLlvmWant want);

 private:
  struct Passes;
  std::unique_ptr<Passes> passes(KwLlvmWant want, bool long_bodies) const;

  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Passes> to_object_;
};

}  // namespace kw
