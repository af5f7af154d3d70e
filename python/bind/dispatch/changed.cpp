// Compares NumPy's fields with those of the frame.
#include "bind/dispatch/changed.h"

#include "bind/dispatch/numpy.h"

#include <algorithm>

#include "support/text.h"

namespace kw {

namespace {

/// Raises E222 for argument `i`, or for out= if `i` is max_args. Returns false.
bool refuse(const KernelState &k, size_t i) {
  raise_error(Code::E222,
              cat("argument '", parameter_name(k, i), "' of kernel '", k.name,
                  "' was changed while the call read its arguments"),
              "a property of another argument, or another thread, has resized it");
  return false;
}

/// Compares arrays with the values that a frame holds of them. The arrays must come in the order in which
/// they were read, because each one advances the positions in the frame's lists.
class Comparison {
 public:
  explicit Comparison(const CallFrame &f) : f_(f) {}

  /// Compares the next argument, an array; its word says how it was read.
  bool next(PyObject *argument, uint16_t word) {
    PyArrayObject *a = array_read(argument);
    int rank = rank_of(word);
    StrideClass c = class_of(word);
    bool same = PyArray_DATA(a) == f_.data[data_++] && PyArray_NDIM(a) == rank;
    for (int d = 0; d < rank; ++d) {
      int64_t extent = f_.extents[extent_++];
      same = same && PyArray_DIM(a, d) == extent;
    }
    // the frame has no strides of a contiguous array: it must only be contiguous still
    if (c == StrideClass::contiguous) return same && (PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS);
    return strides(a, static_cast<int>(passed_strides(c, static_cast<uint32_t>(rank))), same);
  }
  /// Compares the next output. If `general`, its strides follow those of the arguments in the frame.
  bool next_output(PyArrayObject *a, bool general) {
    bool same = PyArray_DATA(a) == f_.data[data_++];
    if (!general) return same && (PyArray_FLAGS(a) & NPY_ARRAY_C_CONTIGUOUS);
    return strides(a, PyArray_NDIM(a), same);
  }

 private:
  /// Returns the array that is read for an argument: itself, or its contiguous copy. Copies are in the order
  /// of the arguments.
  PyArrayObject *array_read(PyObject *argument) {
    bool copied = copy_ < f_.copies.size() && f_.copies[copy_].second == argument;
    return reinterpret_cast<PyArrayObject *>(copied ? f_.copies[copy_++].first.get() : argument);
  }
  /// Compares the next `count` strides, counted in elements. Advances past all of them even if `same` is
  /// false.
  bool strides(PyArrayObject *a, int count, bool same) {
    for (int d = 0; d < count; ++d) {
      int64_t stride = f_.strides[stride_++];
      same = same && PyArray_STRIDE(a, d) / PyArray_ITEMSIZE(a) == stride;
    }
    return same;
  }
  const CallFrame &f_;
  size_t data_ = 0, extent_ = 0, stride_ = 0, copy_ = 0;  ///< next positions in the frame's lists
};

}  // namespace

bool check_unchanged(const KernelState &k, const CallFrame &f, std::span<PyObject *const> outputs) {
  Comparison compare(f);
  for (size_t i = 0; i < f.arg_count; ++i)
    if (PyArray_Check(f.args[i]) && !compare.next(f.args[i], f.words[i])) return refuse(k, i);
  for (size_t i = 0; i < outputs.size();
       ++i) {  // without words, or with alias marks in their place, none is general
    size_t word = f.given_words + i;
    bool general = word < f.words.size() && f.words[word] == output_word(true);
    if (!compare.next_output(reinterpret_cast<PyArrayObject *>(outputs[i]), general))
      return refuse(k, max_args);
  }
  return true;
}

}  // namespace kw
