// Operators that change shapes: views where the strides allow it, else copies.
#include <algorithm>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

/// Returns the shape argument of a reshape; -1 is replaced by the remaining extent.
std::vector<int64_t> wanted_shape(const OpCall &c) {
  Axes shape = axes_of(c, "shape");
  int64_t known = 1, elements = c.inputs[0].size();
  auto open = std::find(shape.begin(), shape.end(), -1);
  for (auto e = shape.begin(); e != shape.end(); ++e)
    if (e != open && (*e < 0 || __builtin_mul_overflow(known, *e, &known)))
      throw_value_error(cat(call_text(c), ": only one extent may be -1, the others are at least 0"));
  // an extent of 0 among the known ones leaves -1 undetermined: 0 avoids the division
  if (open != shape.end()) *open = known ? elements / known : 0;
  int64_t all = open == shape.end() ? known : known * *open;
  if (all != elements)
    throw_value_error(
        cat(call_text(c), ": ", elements, " elements do not fill the shape ", shape_text(shape)));
  return shape;
}

/// Returns the permutation of a call of transpose; without axes all dimensions are reversed. Throws OpError
/// for an axis out of range or given twice, and if axes are missing.
std::vector<size_t> wanted_axes(const OpCall &c) {
  Axes given = axes_of(c, "axes");
  size_t rank = c.inputs[0].rank();
  std::vector<size_t> axes;
  if (given.empty())
    for (size_t d = rank; d-- > 0;) axes.push_back(d);
  for (int64_t a : given) axes.push_back(positive_axis(c, a, rank));
  // called only for its check: it throws if an axis is given twice
  positive_axes(c, given, rank);
  if (axes.size() != rank)
    throw_value_error(
        cat(call_text(c), ": ", counted(axes.size(), "axis"), " for ", counted(rank, "dimension")));
  return axes;
}

/// Returns the type of a single output: the dtype of `x`, with another shape.
std::vector<TensorType> like(const Tensor &x, std::vector<int64_t> shape) {
  return {{x.dtype(), std::move(shape)}};
}

/// Registers `reshape`: a view of contiguous memory, else a copy.
void add_reshape(Registration &to) {
  Row row;
  row.name = "reshape";
  row.inputs = inputs({"x"});
  row.attrs = {{"shape", AttrType::integers}};
  row.infer = [](const OpCall &c) { return like(c.inputs[0], wanted_shape(c)); };
  row.run = [](KernelContext &x) { x.outputs = {contiguous(x.call.inputs[0]).reshaped(x.types[0].shape)}; };
  row.makes_outputs = true;
  row.grad = [](const GradCall &g) { return Tensors{reshape(g.grads[0], g.call.inputs[0].shape())}; };
  row.saves_inputs = row.saves_outputs = false;
  row.kind = BodyKind::cpp_kernel;
  add_row(to, std::move(row));
}

/// Registers `transpose`, which is a view with permuted strides. Its gradient permutes by the inverse.
void add_transpose(Registration &to) {
  Row row;
  row.name = "transpose";
  row.inputs = inputs({"x"});
  row.attrs = {{"axes", AttrType::integers, Attr(std::vector<Attr>{})}};
  row.infer = [](const OpCall &c) {
    std::vector<int64_t> shape;
    for (size_t a : wanted_axes(c)) shape.push_back(c.inputs[0].shape()[a]);
    return like(c.inputs[0], std::move(shape));
  };
  row.run = [](KernelContext &x) { x.outputs = {x.call.inputs[0].permuted(wanted_axes(x.call))}; };
  row.makes_outputs = true;
  row.grad = [](const GradCall &g) {
    std::vector<size_t> axes = wanted_axes(g.call);
    Axes back(axes.size());
    for (size_t d = 0; d < axes.size(); ++d) back[axes[d]] = static_cast<int64_t>(d);
    return Tensors{back.empty() ? g.grads[0] : transpose(g.grads[0], back)};
  };
  row.saves_inputs = row.saves_outputs = false;
  row.kind = BodyKind::cpp_kernel;
  add_row(to, std::move(row));
}

/// Registers `broadcast_to`. An extent of -1 keeps the extent of the input.
void add_broadcast(Registration &to) {
  Row row;
  row.name = "broadcast_to";
  row.inputs = inputs({"x"});
  row.attrs = {{"shape", AttrType::integers}};
  row.infer = [](const OpCall &c) {
    Axes shape = axes_of(c, "shape");
    size_t skipped = shape.size() - std::min(shape.size(), c.inputs[0].rank());
    for (size_t d = skipped; d < shape.size(); ++d)
      if (shape[d] == -1) shape[d] = c.inputs[0].shape()[d - skipped];
    // called only for its check: it throws for a shape that does not fit
    static_cast<void>(c.inputs[0].broadcast(shape));
    return like(c.inputs[0], std::move(shape));
  };
  row.run = [](KernelContext &x) { x.outputs = {contiguous(x.call.inputs[0].broadcast(x.types[0].shape))}; };
  row.makes_outputs = true;  // the input itself if it has the shape
  row.grad = [](const GradCall &g) { return Tensors{sum_to(g.grads[0], g.call.inputs[0].shape())}; };
  row.saves_inputs = row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Returns a view of x with `count` steps from `first` on along an axis.
Tensor part_of(const Tensor &x, size_t axis, int64_t first, int64_t count) {
  std::vector<int64_t> shape = shape_of(x);
  shape[axis] = count;
  auto *data = static_cast<std::byte *>(x.data()) +
               first * x.strides()[axis] * static_cast<int64_t>(item_size(x.dtype()));
  return x.view(data, shape, x.strides());
}

/// Registers `concat`. Each input is copied into its part of one new tensor; the gradient extracts these
/// parts.
void add_concat(Registration &to) {
  Row row;
  row.name = "concat";
  row.inputs = {OpInput::list("values")};
  row.attrs = {{"axis", AttrType::integer, Attr(0)}};
  row.infer = [](const OpCall &c) {
    if (c.inputs.empty()) throw_value_error("concat of no tensors");
    size_t axis = positive_axis(c, c.get<int64_t>("axis"), c.inputs[0].rank());
    std::vector<int64_t> shape = shape_of(c.inputs[0]);
    shape[axis] = 0;
    for (const Tensor &t : c.inputs) {
      std::vector<int64_t> other = shape_of(t);
      // gives the axis its extent so far, so that the shapes can be compared as a whole
      int64_t added = axis < other.size() ? std::exchange(other[axis], shape[axis]) : 0;
      if (other != shape || t.dtype() != c.inputs[0].dtype())
        throw_value_error(cat(call_text(c), ": shapes may differ along axis ", axis, " alone, dtypes not"));
      shape[axis] += added;
    }
    return like(c.inputs[0], std::move(shape));
  };
  row.run = [](KernelContext &x) {
    const Tensor &y = x.outputs[0];
    size_t axis = positive_axis(x.call, x.call.get<int64_t>("axis"), y.rank());
    int64_t at = 0;
    for (const Tensor &t : x.call.inputs) {
      copy_into(part_of(y, axis, at, t.shape()[axis]), t);
      at += t.shape()[axis];
    }
  };
  row.grad = [](const GradCall &g) {
    Tensors out;
    size_t axis = positive_axis(g.call, g.call.get<int64_t>("axis"), g.grads[0].rank());
    int64_t at = 0;
    for (const Tensor &t : g.call.inputs) {
      int64_t count = t.shape()[axis];
      out.push_back(call_op("kw::narrow", {g.grads[0]},
                            {{"axis", Attr(axis)}, {"first", Attr(at)}, {"count", Attr(count)}})[0]);
      at += count;
    }
    return out;
  };
  row.saves_inputs = row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Registers `narrow`: the view of `count` steps from `first` on along one axis, without a copy.
void add_narrow(Registration &to) {
  Row row;
  row.name = "narrow";
  row.inputs = inputs({"x"});
  row.attrs = {{"axis", AttrType::integer}, {"first", AttrType::integer}, {"count", AttrType::integer}};
  row.infer = [](const OpCall &c) {
    std::vector<int64_t> shape = shape_of(c.inputs[0]);
    int64_t &extent = shape[positive_axis(c, c.get<int64_t>("axis"), shape.size())];
    int64_t first = c.get<int64_t>("first"), count = c.get<int64_t>("count");
    if (first < 0 || count < 0 || first > extent || count > extent - first)
      throw_value_error(cat(call_text(c), ": the extent is ", extent));
    extent = count;
    return like(c.inputs[0], std::move(shape));
  };
  row.run = [](KernelContext &x) {
    const OpCall &c = x.call;
    size_t axis = positive_axis(c, c.get<int64_t>("axis"), c.inputs[0].rank());
    x.outputs = {part_of(c.inputs[0], axis, c.get<int64_t>("first"), c.get<int64_t>("count"))};
  };
  row.makes_outputs = true;
  row.grad = [](const GradCall &g) {
    const Tensor &x = g.call.inputs[0];
    size_t axis = positive_axis(g.call, g.call.get<int64_t>("axis"), x.rank());
    int64_t first = g.call.get<int64_t>("first"),
            behind = x.shape()[axis] - first - g.call.get<int64_t>("count");
    // elements outside of the part have no influence, so their gradients are zeros
    auto zeros = [&](int64_t count) {
      std::vector<int64_t> shape = shape_of(x);
      shape[axis] = count;
      return Tensor::zeros(x.dtype(), shape, x.device());
    };
    return Tensors{
        call_op("kw::concat", {zeros(first), g.grads[0], zeros(behind)}, {{"axis", Attr(axis)}})[0]};
  };
  row.saves_inputs = row.saves_outputs = false;
  row.kind = BodyKind::cpp_kernel;
  add_row(to, std::move(row));
}

}  // namespace

void register_shapes(Registration &to) {
  add_reshape(to);
  add_transpose(to);
  add_broadcast(to);
  add_concat(to);
  add_narrow(to);
}

Tensor reshape(const Tensor &x, Extents shape) {
  return call_op("kw::reshape", {x}, {{"shape", list_attr(shape)}})[0];
}

Tensor transpose(const Tensor &x, std::span<const int64_t> axes) {
  return call_op("kw::transpose", {x}, {{"axes", list_attr(axes)}})[0];
}

Tensor broadcast_to(const Tensor &x, Extents shape) {
  return call_op("kw::broadcast_to", {x}, {{"shape", list_attr(shape)}})[0];
}

Tensor sum_to(const Tensor &x, Extents shape) {
  if (std::equal(x.shape().begin(), x.shape().end(), shape.begin(), shape.end())) return x;
  // broadcasting adds leading dimensions and stretches extents of 1: these dimensions are summed
  size_t skipped = x.rank() - shape.size();
  Axes stretched;
  for (size_t d = 0; d < x.rank(); ++d)
    if (d < skipped || (shape[d - skipped] == 1 && x.shape()[d] != 1))
      stretched.push_back(static_cast<int64_t>(d));
  return reshape(stretched.empty() ? x : sum(x, stretched, true), shape);
}

}  // namespace kw::ops
