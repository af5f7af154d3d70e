// Which loops the host of a GPU can launch as grids, and the form of a kernel around them. The host computes
// with shapes, integer scalars and the iterators of its own loops; it sees no element of an array.
//     for t in serial(0, steps, 1):            the host's loop
//       for i in grid(0, n, 1, per_block=256): a launch
//         …
//       total[()] = …                          statements without a grid loop: a launch of one thread
#pragma once

#include <unordered_set>

#include "ir/func.h"

namespace kw {

/// The symbols whose values the host knows.
class HostValues {
 public:
  /// Begins with the extents, strides, alignment and integer scalars of a function.
  explicit HostValues(const Func &f);
  void add(const Sym &s) { known_.insert(s.get()); }
  void remove(const Sym &s) { known_.erase(s.get()); }
  /// Returns whether the host can compute an expression: integers and bools of known symbols, without loads.
  bool holds(const Expr &e) const;

 private:
  std::unordered_set<const SymNode *> known_;
};

/// Returns the loops that may become grid loops: serial loops whose bounds the host knows. Around each stand
/// only loops that the host can run, which no jump leaves early, or one grid loop or two of which it is all.
/// The host knows the extents of temporaries that are made around it.
std::unordered_set<const For *> launchable_loops(const Func &f);
std::unordered_set<const For *> launchable_loops(Func &&f) = delete;  // the loops would be gone

/// Returns whether a statement holds a grid loop.
bool holds_grid(const Stmt &s);

/// Returns why the host cannot run the statements around the grid loops of a function, or "".
std::string launch_form_error(const Func &f);

}  // namespace kw
