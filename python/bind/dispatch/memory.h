// New arrays for results, in memory of runtime/memory/buffer that NumPy owns and frees as its own. Changes
// nothing for arrays that others make.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace kw {

/// Readies the memory handler that the arrays carry; false with an exception.
bool make_memory_handler();

/// A C-contiguous array of `bytes` bytes, zeroed where asked. Steals `descr`, a PyArray_Descr of NumPy's own
/// dtypes; null with an exception.
PyObject *new_result(void *descr, size_t rank, const int64_t *extents, size_t bytes, bool zeroed);

}  // namespace kw
