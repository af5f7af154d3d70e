// Large memory from the operating system, at addresses that suit huge pages, and the amount of memory
// available. Keeps nothing: runtime/memory/buffer_pool does.
#pragma once

#include <cstddef>

namespace kw {

/// Bytes of a huge page. Addresses of mapped memory are multiples of it.
inline constexpr size_t huge_page = size_t{2} << 20;
/// Bytes before the data of each mapping that the caller may use.
inline constexpr size_t before_mapping = 64;

/// Maps `bytes` of zeros at a multiple of 2 MB and advises huge pages; returns null if the system refuses.
void *map_pages(size_t bytes);
/// Unmaps what map_pages(bytes) returned.
void unmap_pages(void *data, size_t bytes);
/// Lets the system take the pages when memory is short; their contents are lost. Returns false if it cannot.
bool offer_pages(void *data, size_t bytes);

/// Returns the bytes that this process may use: the least of the machine's, its control group's and its
/// address space's limit.
size_t usable_memory();

}  // namespace kw
