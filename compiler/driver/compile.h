// ir::Func → artifact. Takes no text and knows no Python; the diagnostics it finds are resolved against the
// sources that came with it.
#pragma once

#include <string_view>

#include "codegen/artifact.h"
#include "codegen/llvm_library.h"

namespace kw {

struct CompileInput {
  const SourceMap &sources;
  const Signature &signature;
  const CodegenOptions &options;
  const Target &target;
  std::string_view backend = "llvm";
};

/// Verifies, analyses, runs the pipeline and the back end. `warnings` come from the front end and are shipped
/// with those found here. Throws CompileError.
Artifact compile(const Func &f, const CompileInput &input, std::span<const Diagnostic> warnings);

/// The argument of each parameter that is one: its number in the signature, where unused ones count too.
/// Outputs have none.
std::vector<std::optional<size_t>> argument_numbers(const Func &f, const Signature &signature);

/// The IR after a stage, for inspection: "lower" (as it came), a pass by its name (the first of that name),
/// or "final" (what the back end gets). Nothing for other names.
std::optional<Func> func_at_stage(Func f, const CompileInput &input, std::string_view stage);
/// The stages that func_at_stage knows, in the order of a compilation.
std::vector<std::string> stage_names(const CompileInput &input);
/// Every stage that KW_DEBUG=dump:after= can name, "all" included.
std::vector<std::string> dump_names();

}  // namespace kw
