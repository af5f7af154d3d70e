// Line tables: which line of the source each instruction comes from, for debuggers. Only with debug_info.
// Describes functions and lines; no variables and no types.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <string>

#include "ir/func.h"

namespace kw {

class LineInfo {
 public:
  LineInfo(llvm::Module &module, const Func &f, const SourcePlaces &places);

  /// Makes a function known, whose name is that of the kernel. Until a statement is emitted, instructions are
  /// at its first line: LLVM inlines no call without a place.
  void add(llvm::Function &fn, llvm::IRBuilder<> &builder);
  /// Returns the place of a statement in a function that was added; empty if it has none.
  llvm::DebugLoc at(const Loc &loc, const llvm::Function &fn);
  /// Completes the tables. Called once, after all functions are emitted.
  void finish() { builder_.finalize(); }

 private:
  llvm::DIFile *file(const std::string &path);

  llvm::DIBuilder builder_;
  const SourcePlaces &places_;
  std::string name_;
  std::map<std::string, llvm::DIFile *> files_;
};

}  // namespace kw
