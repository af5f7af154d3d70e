// Indexing operators: gather along an axis and its transpose, scatter_add; one_hot.
#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

// gather and scatter_add use three dimensions (before the axis, along it, after it), so one text serves every
// rank and axis.
constexpr const char *gather_text = R"(def gather_of(x, index):
    y = output_tensor((x.shape[0], index.shape[0], x.shape[2]), x.dtype)
    for i in range(x.shape[0]):
        for k in range(index.shape[0]):
            for j in range(x.shape[2]):
                y[i, k, j] = x[i, index[k], j]
    return y
)";

// Copies x first, then adds the updates, so repeated indices accumulate.
constexpr const char *scatter_text = R"(def scatter_add_of(x, index, updates):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            for j in range(x.shape[2]):
                y[i, k, j] = x[i, k, j]
    for i in range(x.shape[0]):
        for k in range(index.shape[0]):
            for j in range(x.shape[2]):
                y[i, index[k], j] += updates[i, k, j]
    return y
)";

constexpr const char *one_hot_text = R"(def one_hot_of(index, depth):
    y = output_tensor((index.shape[0], depth), "float32")
    for i in range(index.shape[0]):
        for k in range(depth):
            y[i, k] = 1 if index[i] == k else 0
    return y
)";

/// Returns the axis of a call, counted from 0.
size_t axis_of(const OpCall &c) { return positive_axis(c, c.get<int64_t>("axis"), c.inputs[0].rank()); }

/// Returns x in three dimensions (before, along, after), where `axes` dimensions from `axis` on are the ones
/// along.
Tensor around(const Tensor &x, size_t axis, size_t axes) {
  std::array<int64_t, 3> shape{1, 1, 1};
  for (size_t d = 0; d < x.rank(); ++d) shape[d < axis ? 0 : d < axis + axes ? 1 : 2] *= x.shape()[d];
  return contiguous(x).reshaped(shape);
}

/// Returns the elements of `x` as one dimension. Copies only if `x` is not contiguous.
Tensor flat(const Tensor &x) { return contiguous(x).reshaped(std::array{x.size()}); }

/// Throws OpError (a type error) unless input `i` holds integers.
void need_index(const OpCall &c, size_t i) {
  if (!is_int(c.inputs[i].dtype()))
    throw_type_error(cat(call_text(c), ": '", c.op->def.inputs[i].name, "' must be integers"));
}

/// Returns the shape of x with the axis replaced by the dimensions of the index. With x (2, 5, 3), axis 1 and
/// an index (4, 6) that is (2, 4, 6, 3).
std::vector<int64_t> gathered_shape(const OpCall &c) {
  size_t axis = axis_of(c);
  Extents x = c.inputs[0].shape(), index = c.inputs[1].shape();
  std::vector<int64_t> shape(x.begin(), x.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), x.begin() + static_cast<ptrdiff_t>(axis) + 1, x.end());
  return shape;
}

/// Registers `gather`. Its gradient adds each row back at its index, which is scatter_add into zeros.
void add_gather(Registration &to) {
  LoopKernel &kernel = loops("gather_of", gather_text, __builtin_FILE());
  Row row;
  row.name = "gather";
  row.inputs = inputs({"x", "indices"});
  row.attrs = {{"axis", AttrType::integer, Attr(0)}};
  row.infer = [](const OpCall &c) {
    need_index(c, 1);
    return std::vector<TensorType>{{c.inputs[0].dtype(), gathered_shape(c)}};
  };
  row.run = [&kernel](KernelContext &x) {
    const OpCall &c = x.call;
    run_into(x, kernel, {around(c.inputs[0], axis_of(c), 1), flat(c.inputs[1])});
  };
  row.grad = [](const GradCall &g) {
    return Tensors{call_op("kw::scatter_add", {zeros_like(g.call.inputs[0]), g.call.inputs[1], g.grads[0]},
                           g.call.attrs)[0],
                   Tensor()};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Registers `scatter_add`. It is linear in `x` and `updates`: their gradients are `dy` and a gather of
/// `dy`.
void add_scatter(Registration &to) {
  LoopKernel &kernel = loops("scatter_add_of", scatter_text, __builtin_FILE());
  Row row;
  row.name = "scatter_add";
  row.inputs = inputs({"x", "indices", "updates"});
  row.attrs = {{"axis", AttrType::integer, Attr(0)}};
  row.infer = [](const OpCall &c) {
    need_index(c, 1);
    const Tensor &x = c.inputs[0], &updates = c.inputs[2];
    std::vector<int64_t> shape = gathered_shape(c);
    if (x.dtype() != updates.dtype() || shape != shape_of(updates))
      throw_value_error(cat(call_text(c), ": 'updates' must be ", type_text(x.dtype(), shape)));
    return std::vector<TensorType>{type_of(x)};
  };
  row.run = [&kernel](KernelContext &x) {
    const auto &inputs = x.call.inputs;
    size_t axis = axis_of(x.call);
    run_into(x, kernel,
             {around(inputs[0], axis, 1), flat(inputs[1]), around(inputs[2], axis, inputs[1].rank())});
  };
  row.grad = [](const GradCall &g) {
    Tensor by_updates = call_op("kw::gather", {g.grads[0], g.call.inputs[1]}, g.call.attrs)[0];
    return Tensors{g.grads[0], Tensor(), by_updates};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Registers `one_hot`: integers of any shape become float32 with a new last dimension of `depth`. A row
/// whose index is out of range is all zeros.
void add_one_hot(Registration &to) {
  LoopKernel &kernel = loops("one_hot_of", one_hot_text, __builtin_FILE());
  Row row;
  row.name = "one_hot";
  row.inputs = inputs({"indices"});
  row.attrs = {{"depth", AttrType::integer}};
  row.infer = [](const OpCall &c) {
    need_index(c, 0);
    std::vector<int64_t> shape = shape_of(c.inputs[0]);
    shape.push_back(c.get<int64_t>("depth"));
    return std::vector<TensorType>{{DType::f32, std::move(shape)}};
  };
  row.run = [&kernel](KernelContext &x) {
    run_into(x, kernel, {flat(x.call.inputs[0]), x.call.get<int64_t>("depth")});
  };
  row.no_gradient = "it is a function of integers";
  add_row(to, std::move(row));
}

}  // namespace

void register_indexed(Registration &to) {
  add_gather(to);
  add_scatter(to);
  add_one_hot(to);
}

}  // namespace kw::ops
