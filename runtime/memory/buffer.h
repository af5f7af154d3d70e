// Memory of results and workspaces: 64-byte aligned; from 2 MB on aligned to 2 MB, with huge pages. Released
// memory is kept for the next buffer of its size. Tracks no owners.
#pragma once

#include <cstddef>

namespace kw {

/// Allocates at least one byte; all bytes are zero if `zeroed`. Returns null if there is no memory.
void *allocate_buffer(size_t bytes, bool zeroed = false) noexcept;
/// Releases a buffer. Callable in any thread, also while threads and the process end.
void release_buffer(void *data) noexcept;
/// Resizes a buffer, in place or elsewhere, and keeps its first bytes. If there is no memory, returns null
/// and leaves the old buffer unchanged.
void *resize_buffer(void *data, size_t bytes) noexcept;

/// Returns the number of kept bytes, without the lists of threads.
size_t kept_buffer_bytes();
/// Frees the kept buffers, except those in the lists of threads.
void give_back_buffers();

}  // namespace kw
