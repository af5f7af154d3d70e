// Which elements of outputs and temporaries are written before they are read, and before the kernel returns.
// A region is one index expression, or everything, per dimension; two of them are one where one
// goes on as the other ends.
#pragma once

#include <vector>

#include "ir/func.h"
#include "support/diagnostic.h"

namespace kw {

struct InitReport {
  std::vector<Buf> needs_zero;   ///< outputs and Allocs that must start as zero
  std::vector<Buf> early_reads;  ///< those of np.empty of which an element may be read before it is written
  std::vector<std::pair<Buf, Loc>> first_reads;  ///< all reads that may come before the write, meant or not
  std::vector<Diagnostic> warnings;              ///< W301: such a read that may be a slip
};

InitReport analyse_initialisation(const Func &f);

}  // namespace kw
