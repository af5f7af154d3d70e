// The program that a call runs on its extents before the kernel. It computes output shapes, the choice
// between the main and the plain body, the workspace and the work estimate. A stack bytecode over i64 without
// loops, made from IR expressions here and evaluated by runtime/versions/entry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost.h"
#include "ir/func.h"
#include "support/source_map.h"

namespace kw {

/// Operands are integers in 64 bits, sign- or zero-extended from their own dtype.
enum class Op : uint8_t {
  push,    ///< 8 bytes: a constant
  dim,     ///< 1 byte: index into dims
  scalar,  ///< 2 bytes: index into scalars, dtype; sign- or zero-extended
  add,
  sub,
  mul,
  floor_div,
  floor_mod,
  min,
  max,
  neg,
  lt,
  le,
  eq,
  ne,
  both,
  any,
  invert,
  choose,
  apply_unary,   ///< 2 bytes: operation, dtype; by ir/scalar_ops
  apply_binary,  ///< 2 bytes: operation, dtype of both operands; by ir/scalar_ops
  convert,       ///< 2 bytes: dtype of the operand, dtype of the result; by ir/scalar_ops
  out_extent,    ///< pops the next extent of the next output
  fact,          ///< pops a condition; if it is 0, the plain body runs
  workspace,     ///< pops bytes
  work,          ///< pops the work estimate
};

/// The place where an output is declared, as in Resolved.
struct ExtentPlace {
  int32_t line = -1;
  uint32_t column = 0, end_column = 0;
  std::string line_text;
};

struct EntryProgram {
  std::string code;
  bool bounded = true;                     ///< there is a work estimate, and it bounds the work
  std::vector<ExtentPlace> extent_places;  ///< per output extent: its declaration
};

/// Builds the program for a function that its back end has lowered. `work` estimates the function before
/// lowering. Throws E206 if the extent of an output does not follow from shapes and integer scalars.
EntryProgram build_entry_program(const Func &f, const WorkEstimate &work, const SourceMap &sources);

}  // namespace kw
