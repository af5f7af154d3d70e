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

/// Where a Check stands and what it guards: the index of dimension `dim` of `buf`, or the user's own
/// condition (E305) without a buffer.
struct Site {
  Code code = Code::E303;
  Loc loc;
  Buf buf;
  uint32_t dim = 0;
  bool from_end = false;  ///< the index was a negative constant, to which the extent was added
  std::string message;    ///< E305: what the user says of the failure
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
