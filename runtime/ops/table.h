// How the files of this folder put their operators into the registry: rows, and what kernels and gradients
// of several of them need. For them alone.
#pragma once

#include "runtime/calls/call.h"
#include "runtime/calls/loop_kernel.h"
#include "runtime/calls/tape.h"

namespace kw::ops {

using Tensors = std::vector<Tensor>;
using Axes = std::vector<int64_t>;

/// A kernel of the language in text, kept for good; compiled when it is first called.
LoopKernel &loops(std::string name, std::string text, const char *file);

using Run = std::function<Tensors(const OpCall &, std::span<const TensorType>)>;
using Infer = std::function<std::vector<TensorType>(const OpCall &)>;
using Grad = std::function<Tensors(const GradCall &)>;

/// What one operator is; `grad` empty: `no_gradient` says why there is none.
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
  std::vector<std::string> outputs = {"output"};
};
/// Adds the operator `kw::NAME` with its kernel and its gradient; `file` and `line` tell people where it is.
void add_row(Registration &to, Row row, const char *file = __builtin_FILE(), int line = __builtin_LINE());

/// Returns required inputs of these names.
inline std::vector<OpInput> inputs(std::initializer_list<const char *> names) {
  std::vector<OpInput> out;
  for (const char *name : names) out.push_back({name});
  return out;
}

TensorType type_of(const Tensor &t);
std::vector<int64_t> shape_of(const Tensor &t);
/// The value of a list attribute of ints.
Axes axes_of(const OpCall &call, std::string_view name);
/// Axes counted from the end made positive, sorted; all of `rank` when there are none. Throws OpError for one
/// out of range or given twice.
std::vector<size_t> positive_axes(const OpCall &call, std::span<const int64_t> axes, size_t rank);
/// One of them.
size_t positive_axis(const OpCall &call, int64_t axis, size_t rank);
Attr list_attr(std::span<const int64_t> values);
/// The dtype in which numbers of this one are computed: float32 for those of 16 bits.
DType working_dtype(DType t);
/// Refuses a call whose tensors are no floats.
void need_floats(const OpCall &call);
/// Without a call: conversion, and a row-major copy where it is none.
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
