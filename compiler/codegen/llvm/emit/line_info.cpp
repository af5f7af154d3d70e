// Builds DWARF by LLVM's DIBuilder.
#include "codegen/llvm/emit/line_info.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "support/text.h"

namespace kw {

LineInfo::LineInfo(llvm::Module &module, const Func &f, const SourcePlaces &places)
    : builder_(module), places_(places), name_(f.name) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  // C99: of the languages that debuggers know well, the one without mangled names
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C99, file(places.texts[0].path), "kernelwright", true, "",
                             0);
}

llvm::DIFile *LineInfo::file(const std::string &path) {
  llvm::DIFile *&made = files_[path];
  size_t slash = path.rfind('/');
  if (!made && slash == std::string::npos) made = builder_.createFile(path, ".");
  if (!made) made = builder_.createFile(path.substr(slash + 1), path.substr(0, slash));
  return made;
}

/// The names are those that runtime/cpu/code_events gives the functions of a loaded object.
void LineInfo::add(llvm::Function &fn, llvm::IRBuilder<> &builder) {
  const TextPlace &place = places_.texts[0];
  llvm::DIFile *in = file(place.path);
  std::string name = cat("kw_", name_, "_", place.first_line);
  if (fn.getName() != "kw_entry") name += cat(".", std::string_view(fn.getName()));
  auto *type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  auto flags = llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized;
  fn.setSubprogram(builder_.createFunction(in, name, "", in, place.first_line, type, place.first_line,
                                           llvm::DINode::FlagZero, flags));
  builder.SetCurrentDebugLocation(
      llvm::DILocation::get(fn.getContext(), place.first_line, 0, fn.getSubprogram()));
}

llvm::DebugLoc LineInfo::at(const Loc &loc, const llvm::Function &fn) {
  llvm::DISubprogram *scope = fn.getSubprogram();
  if (!scope || !loc.source) return {};
  uint32_t text = places_.sources.text_number(loc.source);
  if (text >= places_.texts.size()) return {};
  const TextPlace &place = places_.texts[text];
  Position position = places_.sources.position(loc);
  llvm::DIScope *inner = scope;
  if (text != 0) inner = builder_.createLexicalBlockFile(scope, file(place.path));
  return llvm::DILocation::get(fn.getContext(), place.first_line + position.line, position.column, inner);
}

}  // namespace kw
