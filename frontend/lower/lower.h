// Syntax tree + signature + captured values → typed IR. Here names get types and constructs get their
// meaning. Bounds and initialization are left to analysis, schedules to the scheduler.
#pragma once

#include <span>

#include "frontend/ast.h"
#include "ir/func.h"
#include "ir/signature.h"
#include "support/diagnostic.h"

namespace kw {

/// The type that an assignment gives to a local name; shown by explain.
struct LocalNote {
  std::string name, type;
  Loc loc;
};

/// The input of the front end for one kernel. References and pointers must outlive the lowering.
struct FrontendInput {
  SourceMap &sources;
  uint32_t source = 0;
  const Signature &signature;
  const Captures &captures;
  const CodegenOptions &options;
  std::span<const uint32_t> callees = {};    ///< sources of the captured functions; the first has number 1
  std::vector<LocalNote> *locals = nullptr;  ///< filled if not null, in the order of the assignments
};

/// Lowers a parsed function. Errors go to the sink; throws CompileError if there are any.
Func lower(const ast::Function &f, const FrontendInput &input, Sink &sink);

/// Compiles a text to IR: tokenizes, parses and lowers it. A text under "# kw-ir 2" is read as IR. Throws
/// CompileError.
Func compile_source(const FrontendInput &input, Sink &sink);

}  // namespace kw
