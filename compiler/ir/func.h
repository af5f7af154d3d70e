// A whole kernel in IR: parameters, symbols of the call, facts, results, check sites and body.
// What crosses every seam of the compiler; it has no methods.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/node.h"
#include "support/codes.h"
#include "support/diagnostic.h"
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

/// What the failure of a condition means: a sentence with the fault's value in it, and a note.
struct SiteMessage {
  enum class Value : uint8_t { none, i64, u64, f64 };  ///< how the fault's 64 bits are read
  std::string before;
  Value value = Value::none;
  std::string after;
  std::string note;  ///< "" when there is none

  friend bool operator==(const SiteMessage &, const SiteMessage &) = default;
};

/// Where a Check stands and what it guards: the index of dimension `dim` of `buf`, the first read of an
/// element of `buf` (E310), or without a buffer a condition that `message` explains.
struct Site {
  Code code = Code::E303;
  Loc loc;
  Buf buf;
  uint32_t dim = 0;
  bool from_end = false;     ///< the index was a negative constant, to which the extent was added
  bool is_unsigned = false;  ///< the index is an unsigned number, of which a fault holds the bits
  SiteMessage message{};     ///< without a buffer; of E305 the user's own words
  uint32_t rank = 0;         ///< of E310: the rank of `buf`, from which the fault's value tells the element
};

struct Func {
  std::string name;
  std::string version;        ///< tells compiled versions of a kernel apart in names of dumps; means nothing
  std::vector<Param> params;  ///< in the order of the ABI: inputs as called, then outputs
  std::vector<Sym> extents;   ///< extent and stride symbols in the order of the ABI's dims
  std::vector<Expr> facts;    ///< b1 over extents and scalar parameters; the body may assume them
  std::vector<Buf> results;
  bool tuple_of_one = false;  ///< the only result comes back in a tuple
  std::vector<Site> sites;
  std::vector<Diagnostic> warnings{};  ///< that passes found
  FpMode fp = FpMode::normal;
  Overlap overlap = Overlap::none;
  Stmt body;
};

}  // namespace kw
