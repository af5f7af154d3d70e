// Python objects → the arguments of an invocation. Reads NumPy objects directly through their fields, and
// other libraries' arrays through NumPy.
#pragma once

#include "bind/dispatch/state.h"

namespace kw {

/// One call from Python. Arrays are borrowed from the caller; copies made for irregular strides are owned.
struct CallFrame : Invocation {
  PyObject *args[max_args];
  size_t arg_count = 0;
  PyObject *given[max_outputs];  ///< arrays given as out=, or null
  PyObject *outs[max_outputs];   ///< arrays that the kernel writes for `given`: the same or aligned copies
  size_t out_count = 0;
  bool has_out = false;
  size_t given_words = 0;                             ///< words of the arguments; those of out= follow
  size_t given_strides = 0;                           ///< strides of the arguments, likewise
  size_t given_copies = 0;                            ///< copies of the arguments, likewise
  std::vector<std::pair<PyRef, PyObject *>> copies;   ///< (contiguous copy, original)
  std::vector<std::pair<PyRef, PyObject *>> foreign;  ///< (the array in `args`, what the caller passed)

  PyRef defaults;  ///< holds the default values among `args`
};

/// Returns an argument or an array of out= as the caller passed it.
inline PyObject *as_passed(const CallFrame &f, PyObject *o) {
  for (const auto &[view, original] : f.foreign)
    if (view.get() == o) return original;
  return o;
}
inline PyObject *passed(const CallFrame &f, size_t i) { return as_passed(f, f.args[i]); }

/// Binds positional arguments, keywords, defaults and out=. Returns false with an exception.
bool bind_arguments(const KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CallFrame &f);
/// Classifies every argument. Returns false with an exception that names the parameter.
bool read_arguments(const KernelState &k, CallFrame &f);
/// Reads an argument that is not an array: a number, or what a kernel must not use. Returns false with an
/// exception.
bool read_number(const KernelState &k, size_t i, CallFrame &f);
/// Raises E221 for argument `i`: `what` ends the sentence "argument 'x' of kernel 'k' is …". Returns false.
bool refuse_type(const KernelState &k, size_t i, const std::string &what, const std::string &help);
/// Raises E221 for argument `i`, whose gradient a kernel that is no operator would lose. Returns false.
bool refuse_history(const KernelState &k, size_t i);
/// Returns the name of a parameter; "out" after the last one.
std::string parameter_name(const KernelState &k, size_t i);
/// Reads out= again if some of its outputs are computed in new arrays. Returns false with an exception.
bool reread_out(const KernelState &k, CallFrame &f);

/// Imports NumPy's C interface, once for the module. Returns false with an exception.
bool import_numpy();
/// Returns how the runtime reads an object; no array for other objects than arrays of our dtypes. Valid until
/// Python code runs, which may resize it.
ArrayView array_of(PyObject *object);
/// Returns the DType of an array as a number; -1 if the language does not have it.
int dtype_of_array(PyObject *array);
/// Returns NumPy's immortal object of a dtype, borrowed; null for bfloat16 without ml_dtypes.
const void *output_descr(DType dtype);
/// Returns the bytes of the elements of a contiguous array.
int64_t bytes_of(DType dtype, size_t rank, const int64_t *extents);
/// Returns a new array for an output. Raises E102 for bfloat16 without ml_dtypes.
PyObject *new_array(DType dtype, size_t rank, const int64_t *extents, bool zeroed);
/// Checks the arrays that the kernel writes (runtime/calls/invocation). Returns false with an exception.
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
