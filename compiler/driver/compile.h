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

/// The IR after the pipeline and the back end's tail, for inspection.
Func lower_for_backend(const Func &f, const CompileInput &input);

}  // namespace kw
