// One call of an exported kernel: reads and checks the arguments, runs the entry program, chooses the body.
// Allocates only temporaries of the kernel, and throws nothing.
#pragma once

#include "runtime/abi.h"
#include "runtime/array_view.h"
#include "runtime/exported/description.h"
#include "runtime/exported/standalone/message.h"
#include "runtime/versions/entry.h"

namespace kw {

/// What the functions of an exported library return.
enum ExportedStatus : int {
  exported_ok = 0,
  exported_check_failed = 1,  ///< a check of the kernel; results may be partly written
  exported_refused = 2,       ///< an argument or a result does not fit; nothing was written
  exported_no_memory = 3,
  exported_wrong_processor = 4,
};

/// The arrays and scalars of a caller, by position: arguments, then outputs.
struct ExportedArrays {
  void *const *data;              ///< of an array its first element, of a scalar its address
  const int64_t *const *shapes;   ///< null at scalars
  const int64_t *const *strides;  ///< in elements; null, or null at an array: row-major
};

class ExportedCall {
 public:
  ExportedCall(const ExportedArrays &arrays, Message &message) : arrays_(arrays), message_(message) {}

  /// Reads the arguments; `with_data`: the elements of arrays are there too.
  int read(bool with_data);
  /// Runs the entry program of `main`, and of `plain` if the facts of `main` do not hold.
  int enter();
  /// Checks the arrays given for the outputs.
  int check_outputs();
  /// Runs the kernel in the calling thread.
  int run();
  /// Returns the extents of the parameter, known after enter().
  const int64_t *extents_of(uint32_t param) const { return views_[param].extents; }

 private:
  const char *name(const ExportedParam &p) const;
  int refuse(const ExportedParam &p, const char *why);
  int read_array(uint32_t param, bool with_data);
  int read_scalar(const ExportedParam &p);
  int check_shape(uint32_t param, const int64_t *shape);
  int check_memory(uint32_t param);
  int check_overlap(uint32_t written);
  int entry_error();

  ExportedArrays arrays_;
  Message &message_;
  ArrayView views_[max_args + max_outputs]{};
  int64_t row_major_[max_args + max_outputs][max_rank];  ///< strides of arrays without others
  void *data_[max_args + max_outputs];
  uint64_t scalars_[max_args];
  int64_t dims_[max_args * max_rank * 2];  ///< extents of the arguments, then their strides
  size_t dim_count_ = 0, scalar_count_ = 0;
  const ExportedBody *body_ = nullptr;
  EntryResult entry_;
};

/// The description that the library contains.
const Exported &exported_kernel();
/// Returns what lies at a place of the description.
template <class T>
const T *exported_at(uint64_t place) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(&exported_kernel()) + place);
}
inline const ExportedParam &exported_param(uint32_t index) {
  return exported_at<ExportedParam>(exported_kernel().params_at)[index];
}

}  // namespace kw
