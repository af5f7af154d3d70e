// Limits that parts of the compiler and the runtime share, each stated once. A limit that only one file uses
// is in that file.
#pragma once

#include <cstdint>

namespace kw {

/// Extents, and the elements that an argument reaches, are below this limit (core.md 2). Sums of a few of
/// them then cannot wrap in 64 bits. Products of extents are checked where they are computed.
inline constexpr int64_t max_extent = int64_t{1} << 46;

/// The shape of a sum in the order `lanes` (language.md 3): 64 partial sums in blocks of 4,096 iterations.
inline constexpr int64_t sum_lane_bits = 6, sum_lanes = int64_t{1} << sum_lane_bits;
inline constexpr int64_t sum_block_bits = 12, sum_block = int64_t{1} << sum_block_bits;

/// Threads of a warp, on all GPUs that kernels are compiled for (CUDA C++ Programming Guide).
inline constexpr int64_t warp_threads = 32;
/// Threads of a team that is a whole block. Chosen: eight warps, as the blocks of teams of one.
inline constexpr int64_t block_team_threads = 256;
/// Warps of a block whose warps execute iterations of their own. Chosen: a multiprocessor holds 64.
inline constexpr int64_t teams_of_block = 8;
/// Most blocks of a grid in its dimensions y and z, on all of them.
inline constexpr int64_t most_blocks_yz = 65'535;
/// Bytes of memory that a block shares without asking for more, on all of them.
inline constexpr int64_t most_shared_bytes = 48 << 10;

/// Bytes of a cache line, on all machines that kernels are compiled for.
inline constexpr uint32_t cache_line = 64;

/// Iterations of an innermost loop between two polls of the cancel flag: some 4 us, far below the 50 ms that
/// Ctrl-C may take.
inline constexpr int64_t max_trips_without_poll = 4096;

/// The widest vector loop: a row of partial sums runs as one vector, and no other loop gains from more.
inline constexpr uint32_t max_vector_width = sum_lanes;

}  // namespace kw
