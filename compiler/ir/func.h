// A whole kernel in IR: parameters, symbols of the call, facts, results, check sites and body.
// All stages of the compiler exchange this structure; it has no methods.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/node.h"
#include "support/codes.h"
#include "support/diagnostic.h"
#include "support/options.h"

namespace kw {

enum class ParamMode : uint8_t { in, out, inout };

/// A tensor (buf) or a scalar (sym). `weak` marks Python scalars; `fill` says whether the caller zeroes an
/// output.
struct Param {
  Buf buf;
  Sym sym;
  ParamMode mode = ParamMode::in;
  bool weak = false;
  Fill fill = Fill::none;
};

/// The meaning of a failed condition: a sentence that contains the fault's value, and a note.
struct SiteMessage {
  enum class Value : uint8_t { none, i64, u64, f64 };  ///< how to read the fault's 64 bits
  std::string before;
  Value value = Value::none;
  std::string after;
  std::string note;  ///< "" if there is none

  friend bool operator==(const SiteMessage &, const SiteMessage &) = default;
};

/// The place of a Check and what the check guards: the index of dimension `dim` of `buf`, or the first read
/// of an element (E310). Without a buffer it is a condition that `message` explains.
struct Site {
  Code code = Code::E303;
  Loc loc;
  Buf buf;
  uint32_t dim = 0;
  bool from_end = false;     ///< the index was a negative constant, to which the extent was added
  bool is_unsigned = false;  ///< the index is an unsigned number, whose bits a fault holds
  SiteMessage message{};     ///< without a buffer; for E305 the user's own words
  uint32_t rank = 0;         ///< E310: the rank of `buf`, to derive the element from the fault's value
};

struct Func {
  std::string name;
  std::string version;  ///< distinguishes compiled versions of a kernel in names of dumps; has no meaning
  std::vector<Param> params;  ///< in the order of the ABI: inputs as called, then outputs
  std::vector<Sym> extents;   ///< extent and stride symbols in the order of the ABI's dims
  Sym misaligned{};           ///< misalignment_of the arrays; null if nothing asks for it
  std::vector<Expr> facts;    ///< b1 over extents and scalar parameters; the body may assume them
  std::vector<Buf> results;
  bool tuple_of_one = false;  ///< the only result comes back in a tuple
  std::vector<Site> sites;
  std::vector<Diagnostic> warnings{};  ///< found by passes
  FpMode fp = FpMode::normal;
  Overlap overlap = Overlap::none;
  bool orders_open = false;  ///< mark_orders has not decided the order of each sum yet
  Stmt body;
};

/// Returns the value of `Func::misaligned` in a call with these arrays: 0 if all begin at multiples of 16
/// bytes, which GPUs load and store at once.
inline int64_t misalignment_of(std::span<void *const> arrays) {
  uintptr_t all = 0;
  for (const void *a : arrays) all |= reinterpret_cast<uintptr_t>(a);
  return static_cast<int64_t>(all % 16);
}

}  // namespace kw
