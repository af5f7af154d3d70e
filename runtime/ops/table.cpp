// Functions that several files of this folder use.
#include "runtime/ops/table.h"

#include <algorithm>

#include "runtime/op_error.h"
#include "support/text.h"

namespace kw::ops {

/// Returns the part "runtime/ops/rows.cpp" of a path that the compiler was given.
static std::string short_path(std::string_view file) {
  size_t at = file.rfind("runtime/ops/");
  return std::string(at == std::string_view::npos ? file : file.substr(at));
}

LoopKernel &loops(std::string name, std::string text, const char *file) {
  static std::mutex mutex;
  static auto *const known = new std::map<std::string, std::unique_ptr<LoopKernel>>;  // never destroyed
  std::scoped_lock lock(mutex);
  // keyed by the text, which contains the name: callers may ask at every call and get the same compiled
  // kernel
  std::unique_ptr<LoopKernel> &slot = (*known)[text];
  if (!slot) slot = std::make_unique<LoopKernel>(std::move(name), std::move(text), short_path(file));
  return *slot;
}

void add_row(Registration &to, Row row, const char *file, int line) {
  std::string source = cat(short_path(file), ":", line), name = cat("kw::", row.name);
  // one row becomes an operator, its only kernel and its gradient, all from the same source line
  GradDef grad{name,
               row.grad ? GradKind::graph : GradKind::none,
               std::move(row.grad),
               row.saves_inputs,
               row.saves_outputs,
               std::move(row.no_gradient),
               source};
  to.kernels.push_back({.op = name,
                        .kind = row.kind,
                        .run = std::move(row.run),
                        .device = std::nullopt,  // views and loops
                        .source = source,
                        .makes_outputs = row.makes_outputs});
  to.grads.push_back(std::move(grad));
  to.ops.push_back({name,
                    std::move(row.inputs),
                    std::move(row.outputs),
                    std::move(row.attrs),
                    {},
                    std::move(row.infer),
                    source});
}

TensorType type_of(const Tensor &t) { return {t.dtype(), shape_of(t)}; }

std::vector<int64_t> shape_of(const Tensor &t) { return {t.shape().begin(), t.shape().end()}; }

Axes axes_of(const OpCall &call, std::string_view name) {
  Axes out;
  if (const auto *items = call.attr(name)->as<std::vector<Attr>>())
    for (const Attr &a : *items) out.push_back(*a.as<int64_t>());
  return out;
}

size_t positive_axis(const OpCall &call, int64_t axis, size_t rank) {
  auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n)
    throw_value_error(cat(call_text(call), ": axis ", axis, " of a tensor of ", counted(rank, "dimension")));
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

std::vector<size_t> positive_axes(const OpCall &call, std::span<const int64_t> axes, size_t rank) {
  std::vector<size_t> out;
  for (int64_t axis : axes) out.push_back(positive_axis(call, axis, rank));
  if (axes.empty())
    for (size_t d = 0; d < rank; ++d) out.push_back(d);
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    throw_value_error(cat(call_text(call), ": an axis is given twice"));
  return out;
}

Attr list_attr(std::span<const int64_t> values) {
  return Attr(std::vector<Attr>(values.begin(), values.end()));
}

DType working_dtype(DType t) { return is_half(t) ? DType::f32 : t; }

void need_floats(const OpCall &call) {
  for (const Tensor &t : call.inputs)
    if (!is_float(t.dtype())) throw_type_error(cat(call_text(call), " takes floats"));
}

void copy_into(const Tensor &to, const Tensor &from) {
  static LoopKernel &kernel = loops("copy_into",
                                    "def copy_into(y, x):\n"
                                    "    for p in grid(x.shape):\n"
                                    "        y[p] = x[p]\n"
                                    "    return y\n",
                                    __builtin_FILE());
  kernel({to, from});
}

void run_into(KernelContext &x, LoopKernel &kernel, std::span<const Operand> operands) {
  Tensors made = kernel(operands, x.outputs);
  for (size_t i = 0; i < made.size(); ++i)
    if (made[i].data() != x.outputs[i].data())
      copy_into(x.outputs[i], made[i].reshaped(x.outputs[i].shape()));
}

Tensor converted(const Tensor &x, DType dtype) {
  if (x.dtype() == dtype) return x;
  // one text per target dtype; the dtype and layout of x are in the signature of each call
  std::string text =
      cat("def convert(x):\n"
          "    y = output_tensor(x.shape, \"",
          numpy_name(dtype),
          "\")\n"
          "    for p in grid(x.shape):\n"
          "        y[p] = x[p]\n"
          "    return y\n");
  return loops("convert", std::move(text), __builtin_FILE())({x})[0];
}

Tensor contiguous(const Tensor &x) {
  if (x.is_contiguous()) return x;
  return loops("copy",
               "def copy(x):\n"
               "    y = output_tensor(x.shape, x.dtype)\n"
               "    for p in grid(x.shape):\n"
               "        y[p] = x[p]\n"
               "    return y\n",
               __builtin_FILE())({x})[0];
}

}  // namespace kw::ops
