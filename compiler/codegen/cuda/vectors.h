// Emits iterations of a grid loop that one thread executes side by side: their elements are loaded and stored
// at once where memory allows it, and one by one elsewhere.
//     if (aligned && j0 + 4 <= n) { a_4 = kw_ld(&a[j0]); for (u: 4) c_4.v[u] = a_4.v[u] + 1; kw_st(&c[j0],
//     c_4); } else for (j = j0; j < min(n, j0 + 4); j++) c[j] = a[j] + 1;
#pragma once

#include <string>

#include "analysis/gpu/vector_accesses.h"

namespace kw {

class CudaStatements;

/// Returns a condition under which the accesses of all threads are aligned.
std::string vectors_are_aligned(const For &n, CudaStatements &out);

/// Emits the iterations from `first` on, as many as the loop's vectors have and as come before `end`.
void emit_vector(const For &n, const std::string &first, const std::string &end, const std::string &aligned,
                 CudaStatements &out);

}  // namespace kw
