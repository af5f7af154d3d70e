// Memory of results and workspaces: 64-byte aligned, from 2 MB on at multiples of 2 MB with huge pages. What
// is released is kept for the next buffer of its size. Tracks no owners.
#pragma once

#include <cstddef>

namespace kw {

/// At least one byte; all of them zero when `zeroed`. Null when there is no memory.
void *allocate_buffer(size_t bytes, bool zeroed = false) noexcept;
/// In any thread, also while threads and the process end.
void release_buffer(void *data) noexcept;
/// The buffer with its first bytes kept, here or elsewhere; null, and the old one as it was, when there is no
/// memory.
void *resize_buffer(void *data, size_t bytes) noexcept;

/// Bytes that are kept, those of threads' lists aside.
size_t kept_buffer_bytes();
/// Frees what is kept, those of threads' lists aside.
void give_back_buffers();

}  // namespace kw
