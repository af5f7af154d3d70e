// Arguments of a call → the words that select a plan, data pointers, extents and strides. Reads NumPy objects
// directly through their fields.
#pragma once

#include "bind/dispatch/state.h"

namespace kw {

/// The arguments of one call. Arrays are borrowed from the caller; copies made for irregular strides are
/// owned.
struct CallFrame {
  PyObject *args[max_args];
  size_t arg_count = 0;
  PyObject *given[max_outputs];  ///< arrays given as out=, or null
  PyObject *outs[max_outputs];   ///< arrays that the kernel writes for `given`: the same or aligned copies
  size_t out_count = 0;
  bool has_out = false;
  size_t given_words = 0;    ///< words of the arguments; those of out= follow
  size_t given_strides = 0;  ///< strides of the arguments, likewise
  size_t given_copies = 0;   ///< copies of the arguments, likewise
  uint32_t temporaries = 0;  ///< bit set of outputs computed in a new array and then copied to out=
  bool overlaps = false;     ///< a written array shares memory with another: set by check_written
  bool same_views = false;   ///< a written argument is the same view as another: set by check_written
  /// Valid if `same_views`. `alias`: the first argument that is the same view, or the argument's own index.
  /// `out_alias`: an argument that is the same view as the out= array, or UINT8_MAX.
  uint8_t alias[max_args], out_alias[max_outputs];

  uint16_t words[max_words];
  size_t word_count = 0;
  void *data[max_args + max_outputs];
  size_t data_count = 0;
  int64_t extents[max_dims];  ///< followed by the strides during the run
  size_t extent_count = 0;
  int64_t strides[max_dims];
  size_t stride_count = 0;
  uint64_t scalars[max_args];
  size_t scalar_count = 0;
  std::vector<std::pair<PyRef, PyObject *>> copies;   ///< (contiguous copy, original)
  std::vector<std::pair<PyRef, PyObject *>> foreign;  ///< (the array in `args`, what the caller passed)

  PyRef defaults;  ///< holds the default values among `args`
};

/// Returns an argument as the caller passed it.
inline PyObject *passed(const CallFrame &f, size_t i) {
  for (const auto &[view, original] : f.foreign)
    if (view.get() == f.args[i]) return original;
  return f.args[i];
}

/// Binds positional arguments, keywords, defaults and out=. Returns false with an exception.
bool bind_arguments(const KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CallFrame &f);
/// Classifies every argument. Returns false with an exception that names the parameter.
bool read_arguments(const KernelState &k, CallFrame &f);
/// Returns the name of a parameter; "out" after the last one.
std::string parameter_name(const KernelState &k, size_t i);
/// Appends the words for `alias` and `out_alias`, because such calls have separate plans.
void add_alias_words(CallFrame &f);
/// Reads out= again if some of its outputs are computed in new arrays. Returns false with an exception.
bool reread_out(const KernelState &k, CallFrame &f);

/// Imports NumPy's C interface, once for the module. Returns false with an exception.
bool import_numpy();
/// Returns the DType of an array as a number; -1 if the language does not have it.
int dtype_of_array(PyObject *array);
/// Returns NumPy's immortal object of a dtype, borrowed; null for bfloat16 without ml_dtypes.
const void *output_descr(DType dtype);
/// Returns the bytes of the elements of a contiguous array.
int64_t bytes_of(DType dtype, size_t rank, const int64_t *extents);
/// Returns a new array for an output. Raises E102 for bfloat16 without ml_dtypes.
PyObject *new_array(DType dtype, size_t rank, const int64_t *extents, bool zeroed);
/// Checks that arrays which the kernel writes are writable and have no element twice. Notes overlaps with
/// other tensors. Returns false with an exception.
bool check_written(const KernelState &k, const CallPlan &plan, CallFrame &f);
/// Checks that out= has one entry per output. Returns false with an exception.
bool check_out_count(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f);
/// Checks out= against the outputs' shapes and dtypes. Returns false with an exception.
bool check_out(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f,
               const int64_t *out_extents);
/// Sets all elements to zero. Returns false with an exception.
bool zero_array(PyObject *array);
/// Copies all elements. Returns false with an exception.
bool copy_array(PyObject *to, PyObject *from);
void *array_data(PyObject *array);
std::vector<int64_t> shape_of_array(PyObject *array);
/// Copies written temporaries back to the arrays that they replace. Returns false with an exception.
bool write_back(const LoadedKernel &kernel, CallFrame &f);

}  // namespace kw
