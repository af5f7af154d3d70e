// Arguments of a call → the words that select a plan, data pointers, extents and strides. Reads NumPy objects
// by their fields.
#pragma once

#include "bind/dispatch/state.h"

namespace kw {

/// One call, taken apart. Arrays are borrowed from the caller; copies made for odd strides are owned.
struct CallFrame {
  PyObject *args[max_args];
  size_t arg_count = 0;
  PyObject *given[max_outputs];  ///< arrays given as out=, or null
  PyObject *outs[max_outputs];   ///< what the kernel writes for them: the arrays themselves or aligned copies
  size_t out_count = 0;
  bool has_out = false;
  size_t given_words = 0;    ///< of the arguments; those of out= follow
  size_t given_strides = 0;  ///< likewise
  size_t given_copies = 0;   ///< likewise
  uint32_t temporaries = 0;  ///< outputs, by bits, that are computed apart and then copied to their out=
  bool overlaps = false;     ///< a written array shares memory with another: set by check_written
  bool same_views = false;   ///< a written argument is the same view as another: set by check_written
  /// Then: of each argument the first one that is the same view, its own index when there is none; of each
  /// array of out= an argument that is the same view, or UINT8_MAX.
  uint8_t alias[max_args], out_alias[max_outputs];

  uint16_t words[max_words];
  size_t word_count = 0;
  void *data[max_args + max_outputs];
  size_t data_count = 0;
  int64_t extents[max_dims];  ///< the strides follow them for the run
  size_t extent_count = 0;
  int64_t strides[max_dims];
  size_t stride_count = 0;
  uint64_t scalars[max_args];
  size_t scalar_count = 0;
  std::vector<std::pair<PyRef, PyObject *>> copies;   ///< (contiguous copy, original)
  std::vector<std::pair<PyRef, PyObject *>> foreign;  ///< (the array in `args`, what the caller passed)

  PyRef defaults;  ///< holds the default values among `args`
};

/// An argument as the caller passed it.
inline PyObject *passed(const CallFrame &f, size_t i) {
  for (const auto &[view, original] : f.foreign)
    if (view.get() == f.args[i]) return original;
  return f.args[i];
}

/// Takes positional arguments, keywords, defaults and out= apart; false with an exception.
bool bind_arguments(const KernelState &k, PyObject *const *args, size_t nargs, PyObject *kwnames,
                    CallFrame &f);
/// Classifies every argument; false with an exception that names the parameter.
bool read_arguments(const KernelState &k, CallFrame &f);
/// The name of a parameter, or "out" behind the last one.
std::string parameter_name(const KernelState &k, size_t i);
/// Appends what `alias` says: such calls have plans of their own.
void add_alias_words(CallFrame &f);
/// Reads out= again when some of its outputs are computed apart; false with an exception.
bool reread_out(const KernelState &k, CallFrame &f);

/// NumPy's C interface, imported once by the module; false with an exception.
bool import_numpy();
/// The DType of an array as a number, or -1 when it is none of ours.
int dtype_of_array(PyObject *array);
/// NumPy's immortal object of a dtype, borrowed; null for bfloat16 without ml_dtypes.
const void *output_descr(DType dtype);
/// Of the elements of a contiguous array.
int64_t bytes_of(DType dtype, size_t rank, const int64_t *extents);
/// A new array for an output; E102 for bfloat16 without ml_dtypes.
PyObject *new_array(DType dtype, size_t rank, const int64_t *extents, bool zeroed);
/// Checks of arrays that the kernel writes: writable, no element twice; notes overlaps with other tensors.
/// False with an exception.
bool check_written(const KernelState &k, const CallPlan &plan, CallFrame &f);
/// Checks that out= has an entry per output; false with an exception.
bool check_out_count(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f);
/// Checks out= against the outputs' shapes and dtypes; false with an exception.
bool check_out(const KernelState &k, const LoadedKernel &kernel, const CallFrame &f,
               const int64_t *out_extents);
/// False with an exception.
bool zero_array(PyObject *array);
/// Copies all elements; false with an exception.
bool copy_array(PyObject *to, PyObject *from);
void *array_data(PyObject *array);
std::vector<int64_t> shape_of_array(PyObject *array);
/// Copies written temporaries back to the arrays they stand for; false with an exception.
bool write_back(const LoadedKernel &kernel, CallFrame &f);

}  // namespace kw
