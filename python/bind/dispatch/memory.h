// New arrays for results, in memory of runtime/memory/buffer. NumPy owns the memory and frees it like its
// own. Does not affect arrays that others make.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace kw {

/// Creates the memory handler of these arrays. Returns false with an exception.
bool make_memory_handler();

/// Returns a C-contiguous array of `bytes` bytes, zeroed if `zeroed`. Steals `descr`, a PyArray_Descr of
/// NumPy's own dtypes. Returns null with an exception.
PyObject *new_result(void *descr, size_t rank, const int64_t *extents, size_t bytes, bool zeroed);

}  // namespace kw
