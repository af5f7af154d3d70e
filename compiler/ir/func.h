// A whole kernel in IR: parameters, symbols of the call, facts, results, check sites and body.
// What crosses every seam of the compiler; it has no methods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/node.h"
#include "support/codes.h"
#include "support/options.h"

namespace kw {

enum class ParamMode : uint8_t { in, out, inout };

/// A tensor (buf) or a scalar (sym). `weak` marks Python scalars; `fill` says whether the caller hands an
/// output over zeroed.
struct Param {
  Buf buf;
  Sym sym;
  ParamMode mode = ParamMode::in;
  bool weak = false;
  Fill fill = Fill::none;
};

/// Where a Check stands and what it guards: the index of dimension `dim` of `buf`, the first read of an
/// element of `buf` (E310, `dim` is its rank), or without a buffer a condition that `message` explains.
struct Site {
  Code code = Code::E303;
  Loc loc;
  Buf buf;
  uint32_t dim = 0;
  bool from_end = false;  ///< the index was a negative constant, to which the extent was added
  /// Without a buffer: what the failure means. Of E305 the user's own words; of others a line that may hold
  /// {i}, {u} or {f} in the place of the fault's value (an i64, u64 or f64), then lines that are notes.
  std::string message;
  bool is_unsigned = false;  ///< the index is an unsigned number, of which a fault holds the bits
};

struct Func {
  std::string name;
  std::vector<Param> params;  ///< in the order of the ABI: inputs as called, then outputs
  std::vector<Sym> extents;   ///< extent and stride symbols in the order of the ABI's dims
  std::vector<Expr> facts;    ///< b1 over extents and scalar parameters; the body may assume them
  std::vector<Buf> results;
  bool tuple_of_one = false;  ///< the only result comes back in a tuple
  std::vector<Site> sites;
  FpMode fp = FpMode::normal;
  Stmt body;
};

}  // namespace kw
