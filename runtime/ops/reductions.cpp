// Reductions over axes: sum, mean, max, min, argmax. The reduced axes are made adjacent, so that the loops
// have three dimensions: before, reduced, after.
#include <algorithm>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

/// Returns the shape of the result: reduced axes are omitted, or are 1 with `keep_dims`.
std::vector<int64_t> reduced_shape(const OpCall &c) {
  const Tensor &x = c.inputs[0];
  std::vector<size_t> axes = positive_axes(c, axes_of(c, "axes"), x.rank());
  std::vector<int64_t> shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d))
      shape.push_back(x.shape()[d]);
    else if (c.get<bool>("keep_dims"))
      shape.push_back(1);
  }
  return shape;
}

/// Returns the shape of the result with the reduced axes kept as 1.
std::vector<int64_t> kept_shape(const OpCall &c) {
  const Tensor &x = c.inputs[0];
  std::vector<int64_t> shape = shape_of(x);
  for (size_t d : positive_axes(c, axes_of(c, "axes"), x.rank())) shape[d] = 1;
  return shape;
}

/// Returns x as (before, reduced, after), row-major. If the reduced axes are not adjacent, they are moved
/// after all others, which usually copies.
/// adjacent:  (a, b, c, d) over axes 1, 2 → (a, b c, d)
/// otherwise: (a, b, c, d) over axes 0, 2 → (b d, a c, 1)
Tensor three_dims(const OpCall &c, const Tensor &x) {
  std::vector<size_t> axes = positive_axes(c, axes_of(c, "axes"), x.rank());
  if (axes.empty()) return x.reshaped(std::array<int64_t, 3>{1, 1, 1});
  bool adjacent = axes.back() - axes.front() + 1 == axes.size();
  std::vector<size_t> order;
  for (size_t d = 0; d < x.rank(); ++d)
    if (!std::binary_search(axes.begin(), axes.end(), d) && (d < axes.front() || !adjacent))
      order.push_back(d);
  size_t before = order.size();
  order.insert(order.end(), axes.begin(), axes.end());
  for (size_t d = axes.back() + 1; adjacent && d < x.rank(); ++d) order.push_back(d);
  Tensor y = contiguous(x.permuted(order));
  std::array<int64_t, 3> shape{1, 1, 1};
  for (size_t d = 0; d < y.rank(); ++d)
    shape[d < before ? 0 : d < before + axes.size() ? 1 : 2] *= y.shape()[d];
  return y.reshaped(shape);
}

/// Returns loops that reduce dimension 1 of three. `rows` selects the loop order that is fast for contiguous
/// elements.
std::string reduce_text(std::string_view name, std::string_view start, std::string_view update, bool rows) {
  if (rows)
    return cat("def ", name, "_rows(x):\n", "    y = output_tensor((x.shape[0],), x.dtype)\n",
               "    for i in range(x.shape[0]):\n", "        s = ", start, "\n",
               "        for k in range(x.shape[1]):\n", "            s = ", update, "\n",
               "        y[i] = s\n", "    return y\n");
  return cat("def ", name, "_columns(x):\n", "    y = output_tensor((x.shape[0], x.shape[2]), x.dtype)\n",
             "    for i in range(x.shape[0]):\n", "        for j in range(x.shape[2]):\n",
             "            s = ", start, "\n", "            for k in range(x.shape[1]):\n",
             "                s = ", update, "\n", "            y[i, j] = s\n", "    return y\n");
}

/// The parts of the two loop texts: the value before the first iteration, and its update by one element.
struct Reduction {
  const char *name, *start_row, *update_row, *start_column, *update_column;
};

const Reduction sum_loops{"sum", "0", "s + x[i, k]", "0", "s + x[i, k, j]"};
const Reduction max_loops{"max", "x[i, 0]", "max(s, x[i, k])", "x[i, 0, j]", "max(s, x[i, k, j])"};
const Reduction min_loops{"min", "x[i, 0]", "min(s, x[i, k])", "x[i, 0, j]", "min(s, x[i, k, j])"};

/// A kernel and the tensor to run it on.
struct Reducing {
  LoopKernel &kernel;
  Tensor operand;
};

/// Returns a function that chooses the kernel which reduces the middle one of three dimensions and gives the
/// elements of the result in order. `rows` serves contiguous reduced elements, `columns` all others.
std::function<Reducing(const Tensor &)> reducer(const Reduction &r) {
  LoopKernel &rows =
      loops(cat(r.name, "_rows"), reduce_text(r.name, r.start_row, r.update_row, true), __builtin_FILE());
  LoopKernel &columns = loops(cat(r.name, "_columns"),
                              reduce_text(r.name, r.start_column, r.update_column, false), __builtin_FILE());
  return [&rows, &columns](const Tensor &x) {
    if (x.shape()[2] != 1) return Reducing{columns, x};
    return Reducing{rows, x.reshaped(x.shape().first(2))};
  };
}

std::vector<OpAttr> reduce_attrs() {
  return {{"axes", AttrType::integers, Attr(std::vector<Attr>{})},
          {"keep_dims", AttrType::boolean, Attr(false)}};
}

/// Throws OpError for a reduction over no elements: extrema and argmax start with the first element, which
/// must exist.
void need_elements(const OpCall &c) {
  const Tensor &x = c.inputs[0];
  for (size_t d : positive_axes(c, axes_of(c, "axes"), x.rank()))
    if (x.shape()[d] == 0 && x.rank()) throw_value_error(cat(call_text(c), ": axis ", d, " has no elements"));
}

/// Registers `sum`. Float16 and bfloat16 accumulate in float32 and are rounded once.
void add_sum(Registration &to) {
  Row row;
  row.name = "sum";
  row.inputs = inputs({"x"});
  row.attrs = reduce_attrs();
  row.infer = [](const OpCall &c) {
    DType t = c.inputs[0].dtype();
    // narrow integers are summed in 64 bits, as in NumPy
    if (t == DType::b1 || is_signed_int(t)) t = DType::i64;
    if (is_unsigned_int(t)) t = DType::u64;
    return std::vector<TensorType>{{t, reduced_shape(c)}};
  };
  row.run = [reduce = reducer(sum_loops)](KernelContext &x) {
    Tensor wide = converted(x.call.inputs[0], working_dtype(x.types[0].dtype));
    auto [kernel, operand] = reduce(three_dims(x.call, wide));
    run_into(x, kernel, {operand});
  };
  row.grad = [](const GradCall &g) {
    // each element adds to one sum with weight 1, so the gradient of the sum is broadcast over the axes
    Tensor kept = reshape(g.grads[0], kept_shape(g.call));
    return Tensors{cast(broadcast_to(kept, g.call.inputs[0].shape()), g.call.inputs[0].dtype())};
  };
  row.saves_inputs = row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Registers `mean`: a sum in the working dtype, divided before it is rounded to a narrow dtype.
void add_mean(Registration &to) {
  // number of elements per mean
  auto count = [](const OpCall &c) {
    int64_t n = 1;
    for (size_t d : positive_axes(c, axes_of(c, "axes"), c.inputs[0].rank())) n *= c.inputs[0].shape()[d];
    return static_cast<double>(n);
  };
  Row row;
  row.name = "mean";
  row.inputs = inputs({"x"});
  row.attrs = reduce_attrs();
  row.infer = [](const OpCall &c) {
    need_floats(c);
    return std::vector<TensorType>{{c.inputs[0].dtype(), reduced_shape(c)}};
  };
  LoopKernel &scale = loops("scale",
                            "def scale(x, n):\n"
                            "    y = output_tensor(x.shape, x.dtype)\n"
                            "    for i in range(x.shape[0]):\n"
                            "        y[i] = x[i] / n\n"
                            "    return y\n",
                            __builtin_FILE());
  row.run = [reduce = reducer(sum_loops), &scale, count](KernelContext &x) {
    Tensor wide = converted(x.call.inputs[0], working_dtype(x.types[0].dtype));
    auto [kernel, operand] = reduce(three_dims(x.call, wide));
    Tensor total = kernel({operand})[0];
    run_into(x, scale, {total.reshaped(std::array{total.size()}), count(x.call)});
  };
  row.grad = [count](const GradCall &g) {
    Tensor kept = div(reshape(g.grads[0], kept_shape(g.call)), number(g.grads[0].dtype(), count(g.call)));
    return Tensors{broadcast_to(kept, g.call.inputs[0].shape())};
  };
  row.saves_inputs = row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Registers max or min; equal extrema share the gradient.
void add_extremum(Registration &to, const char *name, const Reduction &r) {
  Row row;
  row.name = name;
  row.inputs = inputs({"x"});
  row.attrs = reduce_attrs();
  row.infer = [](const OpCall &c) {
    need_elements(c);
    return std::vector<TensorType>{{c.inputs[0].dtype(), reduced_shape(c)}};
  };
  row.run = [reduce = reducer(r)](KernelContext &x) {
    auto [kernel, operand] = reduce(three_dims(x.call, contiguous(x.call.inputs[0])));
    run_into(x, kernel, {operand});
  };
  row.grad = [](const GradCall &g) {
    const Tensor &x = g.call.inputs[0];
    std::vector<int64_t> kept = kept_shape(g.call);
    Tensor chosen = cast(equal(x, reshape(g.outputs[0], kept)), x.dtype());
    Tensor share = div(chosen, sum(chosen, axes_of(g.call, "axes"), true));
    return Tensors{mul(share, reshape(g.grads[0], kept))};
  };
  add_row(to, std::move(row));
}

/// Registers `argmax`. Of equal elements the first wins; the first NaN wins over all numbers, as in NumPy.
void add_argmax(Registration &to) {
  Row row;
  row.name = "argmax";
  row.inputs = inputs({"x"});
  row.attrs = {{"axis", AttrType::integer, Attr(-1)}, {"dtype", AttrType::dtype, Attr(DType::i32)}};
  // shapes and views of a reduction read the attribute `axes`, so the one axis becomes a list
  auto as_axes = [](const OpCall &c) {
    return OpCall{c.op, c.inputs, {{"axes", c.attrs[0].second}, {"keep_dims", Attr(false)}}};
  };
  auto with_list = [as_axes](const OpCall &c) {
    OpCall out = as_axes(c);
    convert_attr(out.attrs[0].second, AttrType::integers);
    return out;
  };
  row.infer = [with_list](const OpCall &c) {
    OpCall listed = with_list(c);
    need_elements(listed);
    return std::vector<TensorType>{{c.get<DType>("dtype"), reduced_shape(listed)}};
  };
  LoopKernel &kernel =
      loops("argmax_of",
            "def argmax_of(x):\n"
            "    y = output_tensor((x.shape[0], x.shape[2]), \"int64\")\n"
            "    for i in range(x.shape[0]):\n"
            "        for j in range(x.shape[2]):\n"
            "            best = x[i, 0, j]\n"
            "            at = int64(0)\n"
            "            for k in range(x.shape[1]):\n"
            "                if x[i, k, j] > best or (x[i, k, j] != x[i, k, j] and best == best):\n"
            "                    best = x[i, k, j]\n"
            "                    at = int64(k)\n"
            "            y[i, j] = at\n"
            "    return y\n",
            __builtin_FILE());
  row.run = [&kernel, with_list](KernelContext &x) {
    run_into(x, kernel, {three_dims(with_list(x.call), contiguous(x.call.inputs[0]))});
  };
  row.no_gradient = "an index does not change smoothly with the elements";
  add_row(to, std::move(row));
}

}  // namespace

void register_reductions(Registration &to) {
  add_sum(to);
  add_mean(to);
  add_extremum(to, "max", max_loops);
  add_extremum(to, "min", min_loops);
  add_argmax(to);
}

Tensor sum(const Tensor &x, std::span<const int64_t> axes, bool keep_dims) {
  return call_op("kw::sum", {x}, {{"axes", list_attr(axes)}, {"keep_dims", Attr(keep_dims)}})[0];
}

}  // namespace kw::ops
