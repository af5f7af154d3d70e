// The small program that a call runs on its extents before the kernel: output shapes, the choice between the
// optimised and the plain body, workspace, work estimate. An i64 stack bytecode without loops; made from IR
// expressions here, evaluated by runtime/versions/entry.
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
  fact,          ///< pops a condition; when it is 0 the plain body runs
  workspace,     ///< pops bytes
  work,          ///< pops the work estimate
};

/// Where an output is declared; as in Resolved.
struct ExtentPlace {
  int32_t line = -1;
  uint32_t column = 0, end_column = 0;
  std::string line_text;
};

struct EntryProgram {
  std::string code;
  bool bounded = true;                     ///< the work estimate is one
  std::vector<ExtentPlace> extent_places;  ///< per output extent: its declaration
};

/// For a function as its back end lowered it, with the work of the function before. Throws E206 when the
/// extent of an output does not follow from shapes and integer scalars.
EntryProgram build_entry_program(const Func &f, const WorkEstimate &work, const SourceMap &sources);

}  // namespace kw
