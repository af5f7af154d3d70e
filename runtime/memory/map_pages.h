// Large memory from the operating system, at addresses where huge pages fit, and how much memory there is.
// Keeps nothing: runtime/memory/buffer_pool does.
#pragma once

#include <cstddef>

namespace kw {

/// The size of a huge page, and what addresses of mapped memory are a multiple of.
inline constexpr size_t huge_page = size_t{2} << 20;
/// Bytes before every mapping that belong to it.
inline constexpr size_t before_mapping = 64;

/// `bytes` of zeros at a multiple of 2 MB for which huge pages are advised; null when the system refuses.
void *map_pages(size_t bytes);
/// Gives back what map_pages(bytes) returned.
void unmap_pages(void *data, size_t bytes);
/// Lets the system take the pages when it runs short; their contents are lost. False when it cannot.
bool offer_pages(void *data, size_t bytes);

/// Bytes that this process may use: of the machine, its control group and its address space the least.
size_t usable_memory();

}  // namespace kw
