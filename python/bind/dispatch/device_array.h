// Arrays of other libraries on a GPU, by the CUDA array interface (version 3 of its description by Numba) or
// by DLPack: tensors over their memory, and our own tensors for other libraries. Copies nothing. Arrays of
// the host are read by NumPy (bind/dispatch/foreign).
#pragma once

#include "bind/dispatch/state.h"
#include "runtime/cuda/driver.h"
#include "runtime/tensor.h"

namespace kw {

/// Returns a tensor object over the memory of an object that has the interface. The stream of this thread
/// waits for the stream that the object names, and that one for ours when the tensor is released. Objects
/// that name none and export DLPack are left to tensor_of_dlpack. Returns null without an exception for other
/// objects, and null with a TypeError for a description that is malformed or of a dtype that operators do not
/// have.
PyRef tensor_of_cuda_array(PyObject *o);

/// Returns the description of a tensor on a GPU; null with an AttributeError for others.
PyObject *cuda_array_interface(const Tensor &t);

/// Returns a tensor object over the memory of an object on a GPU that exports it, in the order of the stream
/// of this thread. Returns null without an exception for other objects, and null with the exception that the
/// object raised, or a TypeError for a dtype that operators do not have.
PyRef tensor_of_dlpack(PyObject *o);

/// Returns a tensor object over an array of a GPU, by either interface; null without an exception for other
/// objects, and null with an exception as above.
PyRef adopted(PyObject *o);

/// Lets a call run in the stream in which the library of its first array works at present, unless
/// kw.cuda.stream has chosen one. Of torch alone: the streams of other libraries end, and what a call returns
/// may be used later than that.
class LibraryStream {
 public:
  LibraryStream() = default;
  LibraryStream(const LibraryStream &) = delete;
  ~LibraryStream();
  /// Looks at an array of another library; at the first one of a call only.
  void follow(PyObject *array);

 private:
  bool has_looked_ = false, is_set_ = false;
  uint32_t index_ = 0;
  CuStream before_ = nullptr;
};

/// Returns a result as an array of the library that an argument comes from, torch or CuPy, over the same
/// memory; the tensor itself for arguments of other libraries. Steals the reference to the tensor. Returns
/// null with the exception of the library, for a dtype that it does not have.
PyObject *in_library_of(PyObject *original, PyObject *tensor);

/// Exports a tensor as a capsule, of DLPack 1 or of the versions before it. `stream`, of a GPU, will wait for
/// the work on the tensor so far: a number as DLPack defines it, or None. Returns null with a BufferError for
/// read-only memory that the version cannot express, and with a ValueError for a stream that does not fit the
/// device.
PyObject *dlpack_capsule(const Tensor &t, PyObject *stream, bool is_versioned);
/// Returns (type, number) of the tensor's device.
PyObject *dlpack_device(const Tensor &t);

}  // namespace kw
