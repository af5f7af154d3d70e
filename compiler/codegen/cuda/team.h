// Threads of a warp, or of a whole block, that share the iterations of block loops. What stands between these
// loops, each thread executes with the same values; one of them stores to memory.
//     for j in block(0, n, 1, threads=32): top[()] = max(top[()], x[i, j])
//         →  f32 top_own = top;
//            for (i64 j = t; j < n; j += 32) top_own = kw_max(top_own, x[i * n + j]);
//            top = kw_fold(top_own, kw_max);
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "codegen/cuda/barriers.h"
#include "ir/limits.h"
#include "ir/node.h"

namespace kw {

class CudaStatements;

struct CudaTeam {
  uint32_t threads;          ///< 32, or those of a block: 128 or 256; 0 if each thread is for itself
  std::string thread;        ///< name of the number of a thread in its team
  std::string number = "0";  ///< of the present iteration of the grid
  TeamBarriers waits;

  bool is_block() const { return threads > warp_threads; }
  std::string_view wait() const { return is_block() ? "kw_sync();" : "kw_sync_warp();"; }
  std::string any(std::string_view condition) const;
};

/// Declares the memory by which the warps of a block exchange values, under a name that kernels do not use.
std::string_view cuda_slots();

/// Emits a loop whose iterations the threads of a team share, and combines what they reduce.
void emit_block_loop(const For &n, const CudaTeam &team, CudaStatements &out);

}  // namespace kw
