// A memory handler (NumPy's interface for allocators) over runtime/memory/buffer, set on each result. So
// NumPy itself resizes, copies, pickles and frees the array, and `owndata` is true.
#include "bind/dispatch/memory.h"

#include "bind/dispatch/numpy.h"

#include <cstring>

#include "runtime/memory/buffer.h"

namespace kw {

namespace {

constexpr unsigned trace_domain = 389047;  ///< numpy.lib.tracemalloc_domain

/// Declares PyTraceMalloc_Track by its symbol, because some versions of Python declare it without C linkage.
extern "C" int track_memory(unsigned domain, uintptr_t data, size_t bytes) __asm__("PyTraceMalloc_Track");

// the first parameter is the context of the handler, which has none
void *handler_malloc(void *, size_t bytes) { return allocate_buffer(bytes); }
void *handler_calloc(void *, size_t count, size_t item) {
  size_t bytes = 0;
  return __builtin_mul_overflow(count, item, &bytes) ? nullptr : allocate_buffer(bytes, true);
}
void *handler_realloc(void *, void *data, size_t bytes) { return resize_buffer(data, bytes); }
void handler_free(void *, void *data, size_t) {
  if (data) release_buffer(data);
}

PyDataMem_Handler handler{
    "kernelwright", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};
PyObject *handler_object = nullptr;  ///< a capsule of the handler, kept forever

}  // namespace

bool make_memory_handler() {
  if (!handler_object) handler_object = PyCapsule_New(&handler, "mem_handler", nullptr);
  return handler_object != nullptr;
}

PyObject *new_result(void *descr, size_t rank, const int64_t *extents, size_t bytes, bool zeroed) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  auto *dims = reinterpret_cast<npy_intp *>(const_cast<int64_t *>(extents));
  void *data = allocate_buffer(bytes, zeroed);
  // if there is no memory, NumPy makes the array and raises the error
  PyObject *o =
      PyArray_NewFromDescr(&PyArray_Type, static_cast<PyArray_Descr *>(descr), static_cast<int>(rank), dims,
                           nullptr, data, data ? NPY_ARRAY_CARRAY : 0, nullptr);
  if (data && o) [[likely]] {
    auto *fields = reinterpret_cast<PyArrayObject_fields *>(o);
    fields->mem_handler = Py_NewRef(handler_object);
    fields->flags |= NPY_ARRAY_OWNDATA;
    // so that tracemalloc counts this memory like that of other arrays
    track_memory(trace_domain, reinterpret_cast<uintptr_t>(data), bytes);
  } else if (data) {
    release_buffer(data);
  } else if (o && zeroed) {
    std::memset(PyArray_DATA(reinterpret_cast<PyArrayObject *>(o)), 0, bytes);
  }
  return o;
}

}  // namespace kw
