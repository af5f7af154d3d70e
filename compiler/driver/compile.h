// Compiles ir::Func → artifact: verifies, analyses, transforms, schedules and emits. Takes no text and does
// not depend on Python. Resolves the diagnostics against the given sources.
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
  std::span<const TextPlace> places{};  ///< where the texts begin, for line tables; empty: none
};

/// Takes a source program (driver/pipeline): verifies, analyses, runs the pipeline and the back end.
/// `warnings` come from the front end and are stored with the warnings found here. Throws CompileError.
Artifact compile(const Func &f, const CompileInput &input, std::span<const Diagnostic> warnings);

/// Compiles a function as it is, without analyses and schedule, for tests of a back end. Its arguments are
/// contiguous. Throws CompileError.
Artifact compile_unscheduled(const Func &f, const Target &target);

/// Returns the index in the signature of each parameter that is an argument; unused arguments count too.
/// Outputs have none.
std::vector<std::optional<size_t>> argument_numbers(const Func &f, const Signature &signature);

/// Returns the IR after a stage, for inspection: "lower" (the input, a source program), the first pass of
/// that name, or "final" (the input of the back end). Nothing for other names.
std::optional<Func> func_at_stage(Func f, const CompileInput &input, std::string_view stage);
/// Returns the names that func_at_stage knows, in the order of a compilation.
std::vector<std::string> stage_names(const CompileInput &input);
/// Returns every name that KW_DEBUG=dump:after= accepts, "all" included.
std::vector<std::string> dump_names();

}  // namespace kw
