// Rewrites a loop that uses what it has accumulated so far, such as a cumulative sum, for a GPU.
//     for i: s += x[i]; y[i] = s   →   for b in grid: part = 0; for k in block: part += x[k]; parts[b] = part
//         for b: starts[b] = s; s += parts[b]
//         for b in grid: for tiles of 4096: for e in block: tile[e] = x[e]   … tile[e] = the sum before e
//             for e in block: own = tile[e]; own += x[e]; y[e] = own
#pragma once

#include <optional>

#include "ir/func.h"

namespace kw {

/// What a loop accumulates and uses.
struct Scan {
  Buf cell;
  BinOp op;
  bool is_free = false;  ///< it is not exact, and runs in any order all the same
  Expr term;             ///< of one iteration; the values between are part of it
};

/// Returns the scan that a loop is, but for statements that only use it; nothing if it is none. Judges no
/// other dependences between iterations. In the fast mode sums of floats may run in an order whose error
/// bound is not above that of the source (language.md 3), as here.
std::optional<Scan> scan_of(const For &loop, FpMode fp);

/// Returns the loop in which each iteration begins with a value of its own, whatever it is: what else its
/// iterations share, they still share.
Stmt without_scan(const For &loop, const Scan &scan, const Loc &loc);

/// Returns the statements that stand for the loop.
Stmt scanned(const For &loop, FpMode fp, const Loc &loc);

}  // namespace kw
