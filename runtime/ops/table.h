// Helpers with which the files of this folder register their operators: rows, and functions that several
// kernels and gradients need. For this folder only.
#pragma once

#include "runtime/calls/call.h"
#include "runtime/calls/loop_kernel.h"
#include "runtime/calls/tape.h"

namespace kw::ops {

using Tensors = std::vector<Tensor>;
using Axes = std::vector<int64_t>;

/// Returns the kernel of a text in the language. It is never destroyed, and compiled at its first call.
LoopKernel &loops(std::string name, std::string text, const char *file);

using Run = std::function<void(KernelContext &)>;
using Infer = std::function<TensorTypes(const OpCall &)>;
using Grad = std::function<Tensors(const GradCall &)>;

/// The registration of one operator. If `grad` is empty, `no_gradient` says why.
struct Row {
  std::string name;
  std::vector<OpInput> inputs;
  std::vector<OpAttr> attrs;
  Infer infer;
  Run run;
  Grad grad;
  std::string no_gradient = {};
  bool saves_inputs = true, saves_outputs = true;
  BodyKind kind = BodyKind::jit_loop;
  std::vector<OpOutput> outputs = {{"output"}};
  bool makes_outputs = false;  ///< `run` sets the outputs: they are views, or made by other operators
};
/// Adds the operator `kw::NAME` with its kernel and its gradient; messages give `file` and `line` as its
/// place.
void add_row(Registration &to, Row row, const char *file = __builtin_FILE(), int line = __builtin_LINE());

/// Returns required inputs of these names.
inline std::vector<OpInput> inputs(std::initializer_list<const char *> names) {
  std::vector<OpInput> out;
  for (const char *name : names) out.push_back({name});
  return out;
}

TensorType type_of(const Tensor &t);
std::vector<int64_t> shape_of(const Tensor &t);
/// Returns the value of an attribute that is a list of ints.
Axes axes_of(const OpCall &call, std::string_view name);
/// Returns the axes, sorted, with negative ones counted from the end; all of `rank` if none is given. Throws
/// OpError for an axis out of range or given twice.
std::vector<size_t> positive_axes(const OpCall &call, std::span<const int64_t> axes, size_t rank);
/// Returns one axis, with a negative one counted from the end. Throws OpError if it is out of range.
size_t positive_axis(const OpCall &call, int64_t axis, size_t rank);
Attr list_attr(std::span<const int64_t> values);
/// Returns the dtype in which numbers of dtype `t` are computed: float32 for 16-bit floats.
DType working_dtype(DType t);
/// Throws OpError if the tensors of a call are not floats.
void need_floats(const OpCall &call);
/// Runs a loop kernel for the outputs of a call. Results of other dtypes than the outputs are converted.
void run_into(KernelContext &x, LoopKernel &kernel, std::span<const Operand> operands);
inline void run_into(KernelContext &x, LoopKernel &kernel, std::initializer_list<Operand> operands) {
  run_into(x, kernel, std::span<const Operand>(operands.begin(), operands.size()));
}
/// Writes the elements of `from`, converted, into those of `to`, a view of the same shape.
void copy_into(const Tensor &to, const Tensor &from);
/// Convert the dtype, or make a row-major copy if needed, without an operator call.
Tensor converted(const Tensor &x, DType dtype);
Tensor contiguous(const Tensor &x);

// one function per file
void register_elementwise(Registration &to);
void register_shapes(Registration &to);
void register_reductions(Registration &to);
void register_matmul(Registration &to);
void register_rows(Registration &to);
void register_windows(Registration &to);
void register_indexed(Registration &to);

}  // namespace kw::ops
