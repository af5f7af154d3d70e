// Finds which elements of outputs and temporaries are written before they are read, and before the kernel
// returns. A region holds one interval or everything per dimension. Two regions merge if one begins where the
// other ends.
#pragma once

#include <vector>

#include "ir/func.h"
#include "support/diagnostic.h"

namespace kw {

struct InitReport {
  std::vector<Buf> needs_zero;   ///< outputs and Allocs that must start as zero
  std::vector<Buf> early_reads;  ///< np.empty buffers with an element that may be read before it is written
  std::vector<std::pair<Buf, Loc>> first_reads;  ///< all reads that may precede the write, intended or not
  std::vector<Diagnostic> warnings;              ///< W301: such reads that may be mistakes
};

InitReport analyse_initialisation(const Func &f);

}  // namespace kw
