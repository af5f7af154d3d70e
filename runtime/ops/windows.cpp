// Operators over windows of images (batch, channels, rows, columns): convolution and maximum. Padding is
// zeros in a convolution and ignored in a maximum.
#include <algorithm>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

// group g convolves its own channels; sy, sx: strides; py, px: padding before; ey, ex: dilation
constexpr const char *conv_text = R"(def conv2d_of(x, w, rows, columns, sy, sx, py, px, ey, ex, groups):
    y = output_tensor((x.shape[0], w.shape[0], rows, columns), x.dtype)
    for n in range(x.shape[0]):
        for o in range(w.shape[0]):
            first = o * groups // w.shape[0] * w.shape[1]
            for i in range(rows):
                for j in range(columns):
                    s = 0
                    for c in range(w.shape[1]):
                        for u in range(w.shape[2]):
                            for v in range(w.shape[3]):
                                a = i * sy - py + u * ey
                                b = j * sx - px + v * ex
                                if 0 <= a and a < x.shape[2] and 0 <= b and b < x.shape[3]:
                                    s = s + x[n, first + c, a, b] * w[o, c, u, v]
                    y[n, o, i, j] = s
    return y
)";

// The transpose of conv2d in x: the same loops, with read and write of the image exchanged.
constexpr const char *conv_by_x_text =
    R"(def conv2d_by_x(dy, w, channels, rows, columns, sy, sx, py, px, ey, ex, groups):
    dx = output_tensor((dy.shape[0], channels, rows, columns), dy.dtype)
    for n in range(dy.shape[0]):
        for o in range(w.shape[0]):
            first = o * groups // w.shape[0] * w.shape[1]
            for i in range(dy.shape[2]):
                for j in range(dy.shape[3]):
                    for c in range(w.shape[1]):
                        for u in range(w.shape[2]):
                            for v in range(w.shape[3]):
                                a = i * sy - py + u * ey
                                b = j * sx - px + v * ex
                                if 0 <= a and a < rows and 0 <= b and b < columns:
                                    dx[n, first + c, a, b] += dy[n, o, i, j] * w[o, c, u, v]
    return dx
)";

// The transpose of conv2d in the weights: each weight collects the products that it took part in.
constexpr const char *conv_by_w_text =
    R"(def conv2d_by_w(x, dy, channels, height, width, sy, sx, py, px, ey, ex, groups):
    dw = output_tensor((dy.shape[1], channels, height, width), x.dtype)
    for n in range(x.shape[0]):
        for o in range(dy.shape[1]):
            first = o * groups // dy.shape[1] * channels
            for i in range(dy.shape[2]):
                for j in range(dy.shape[3]):
                    for c in range(channels):
                        for u in range(height):
                            for v in range(width):
                                a = i * sy - py + u * ey
                                b = j * sx - px + v * ex
                                if 0 <= a and a < x.shape[2] and 0 <= b and b < x.shape[3]:
                                    dw[o, c, u, v] += dy[n, o, i, j] * x[n, first + c, a, b]
    return dw
)";

// Starts from the first element of the window inside the image, not from a constant, so no least value of the
// dtype is needed.
constexpr const char *pool_text = R"(def maxpool_of(x, rows, columns, height, width, sy, sx, py, px):
    y = output_tensor((x.shape[0], x.shape[1], rows, columns), x.dtype)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            for i in range(rows):
                for j in range(columns):
                    top = max(i * sy - py, 0)
                    left = max(j * sx - px, 0)
                    s = x[n, c, top, left]
                    for u in range(height):
                        for v in range(width):
                            a = i * sy - py + u
                            b = j * sx - px + v
                            if 0 <= a and a < x.shape[2] and 0 <= b and b < x.shape[3]:
                                s = max(s, x[n, c, a, b])
                    y[n, c, i, j] = s
    return y
)";

// the first of the greatest elements of a window gets its gradient
constexpr const char *pool_grad_text = R"(def maxpool_grad_of(x, y, dy, height, width, sy, sx, py, px):
    dx = output_tensor(x.shape, x.dtype)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    is_open = True
                    for u in range(height):
                        for v in range(width):
                            a = i * sy - py + u
                            b = j * sx - px + v
                            if is_open and 0 <= a and a < x.shape[2] and 0 <= b and b < x.shape[3]:
                                if x[n, c, a, b] == y[n, c, i, j]:
                                    dx[n, c, a, b] += dy[n, c, i, j]
                                    is_open = False
    return dx
)";

/// Returns an attribute of two numbers, given as one or two. Throws OpError unless both are from `least` to
/// 2^30.
std::array<int64_t, 2> pair_of(const OpCall &c, const char *name, int64_t least) {
  Axes given = axes_of(c, name);
  if (given.size() == 1) given.push_back(given[0]);
  constexpr int64_t most = 1 << 30;
  if (given.size() != 2 || std::min(given[0], given[1]) < least || std::max(given[0], given[1]) > most)
    throw_value_error(
        cat(call_text(c), ": '", name, "' must be one or two numbers from ", least, " to ", most));
  return {given[0], given[1]};
}

/// The geometry of windows on an image.
struct Windows {
  std::array<int64_t, 2> size, stride, pad, step{1, 1};

  /// Returns how many windows fit along an axis of `extent` elements; throws OpError if none does.
  int64_t count(const OpCall &c, size_t axis, int64_t extent) const {
    int64_t reach = (size[axis] - 1) * step[axis] + 1, room = extent + 2 * pad[axis] - reach;
    if (room < 0)
      throw_value_error(
          cat(call_text(c), ": a window of ", reach, " does not fit into ", extent + 2 * pad[axis]));
    return room / stride[axis] + 1;
  }
};

/// Throws OpError unless input `i` has 4 dimensions and floats of the dtype of the first input.
void need_image(const OpCall &c, size_t i) {
  const Tensor &t = c.inputs[i];
  if (t.rank() != 4 || !is_float(t.dtype()) || t.dtype() != c.inputs[0].dtype())
    throw_value_error(cat(call_text(c), ": '", c.op->def.inputs[i].name,
                          "' must be a tensor of 4 dimensions of the same kind of floats"));
}

/// Returns the attributes of conv2d and its gradients. A list of one number applies to rows and columns.
std::vector<OpAttr> conv_attrs() {
  auto list = [](std::initializer_list<int64_t> v) { return Attr(std::vector<Attr>(v.begin(), v.end())); };
  return {{"stride", AttrType::integers, list({1})},
          {"pad", AttrType::integers, list({0})},
          {"dilation", AttrType::integers, list({1})},
          {"groups", AttrType::integer, Attr(1)}};
}

/// Appends the last arguments of the loops of a convolution.
void append_windows(std::vector<Operand> &to, const Windows &w) {
  for (const auto &pair : {w.stride, w.pad, w.step}) to.insert(to.end(), {pair[0], pair[1]});
}

/// Reads the windows of a convolution; `weights` is the shape (results, channels, rows, columns).
Windows conv_windows(const OpCall &c, Extents weights) {
  return {{weights[2], weights[3]}, pair_of(c, "stride", 1), pair_of(c, "pad", 0), pair_of(c, "dilation", 1)};
}

/// The kernels of a convolution and of its two transposes.
struct ConvKernels {
  LoopKernel &forward = loops("conv2d_of", conv_text, __builtin_FILE());
  LoopKernel &by_x = loops("conv2d_by_x", conv_by_x_text, __builtin_FILE());
  LoopKernel &by_w = loops("conv2d_by_w", conv_by_w_text, __builtin_FILE());
};

/// Runs one of these kernels; 16-bit floats are computed in float32.
void convolve(KernelContext &x, LoopKernel &kernel, std::initializer_list<int64_t> extents,
              const Windows &w) {
  const OpCall &c = x.call;
  DType working = working_dtype(c.inputs[0].dtype());
  std::vector<Operand> operands{converted(c.inputs[0], working), converted(c.inputs[1], working)};
  operands.insert(operands.end(), extents.begin(), extents.end());
  append_windows(operands, w);
  operands.push_back(c.get<int64_t>("groups"));
  run_into(x, kernel, operands);
}

/// Returns the attributes for a gradient, which cannot infer its extents: with a stride, several image sizes
/// give the same number of windows.
Attrs with_shape(const OpCall &c, const Tensor &like) {
  Attrs attrs = c.attrs;
  // a gradient of a gradient has its own shape last, in the order of conv_attrs
  if (find_attr(attrs, "shape")) attrs.pop_back();
  attrs.emplace_back("shape", list_attr(like.shape()));
  return attrs;
}

/// Returns the attributes of conv2d itself from those of one of its gradients.
Attrs without_shape(const OpCall &c) {
  Attrs attrs = c.attrs;
  attrs.pop_back();
  return attrs;
}

/// Registers `conv2d` and its gradients. It is linear in both operands, so each gradient is a gradient of the
/// other.
void add_conv(Registration &to) {
  static ConvKernels k;
  Row row;
  row.name = "conv2d";
  row.inputs = inputs({"x", "weights"});
  row.attrs = conv_attrs();
  row.infer = [](const OpCall &c) {
    need_image(c, 0), need_image(c, 1);
    Extents x = c.inputs[0].shape(), w = c.inputs[1].shape();
    int64_t groups = c.get<int64_t>("groups");
    if (groups < 1 || x[1] != w[1] * groups || w[0] % groups != 0)
      throw_value_error(cat(call_text(c), ": ", x[1], " channels in ", groups,
                            " groups do not meet weights for ", w[1], " channels and ", w[0], " results"));
    Windows windows = conv_windows(c, w);
    return std::vector<TensorType>{
        {c.inputs[0].dtype(), {x[0], w[0], windows.count(c, 0, x[2]), windows.count(c, 1, x[3])}}};
  };
  row.run = [](KernelContext &x) {
    Extents s = x.types[0].shape;
    convolve(x, k.forward, {s[2], s[3]}, conv_windows(x.call, x.call.inputs[1].shape()));
  };
  row.grad = [](const GradCall &g) {
    const Tensor &x = g.call.inputs[0], &w = g.call.inputs[1], &dy = g.grads[0];
    return Tensors{call_op("kw::conv2d_by_x", {dy, w}, with_shape(g.call, x))[0],
                   call_op("kw::conv2d_by_weights", {x, dy}, with_shape(g.call, w))[0]};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));

  // both gradients take the extents of their result as an attribute
  auto of_shape = [](const OpCall &c) {
    need_image(c, 0), need_image(c, 1);
    if (axes_of(c, "shape").size() != 4)
      throw_value_error(cat(call_text(c), ": 'shape' must have 4 extents"));
    return std::vector<TensorType>{{c.inputs[0].dtype(), axes_of(c, "shape")}};
  };
  Row by_x;
  by_x.name = "conv2d_by_x";
  by_x.inputs = inputs({"dy", "weights"});
  by_x.attrs = conv_attrs();
  by_x.attrs.push_back({"shape", AttrType::integers});
  by_x.infer = of_shape;
  by_x.run = [](KernelContext &x) {
    Extents s = x.types[0].shape;
    convolve(x, k.by_x, {s[1], s[2], s[3]}, conv_windows(x.call, x.call.inputs[1].shape()));
  };
  by_x.grad = [](const GradCall &g) {
    const Tensor &dy = g.call.inputs[0], &w = g.call.inputs[1], &ddx = g.grads[0];
    return Tensors{call_op("kw::conv2d", {ddx, w}, without_shape(g.call))[0],
                   call_op("kw::conv2d_by_weights", {ddx, dy}, with_shape(g.call, w))[0]};
  };
  by_x.saves_outputs = false;
  add_row(to, std::move(by_x));

  Row by_w;
  by_w.name = "conv2d_by_weights";
  by_w.inputs = inputs({"x", "dy"});
  by_w.attrs = conv_attrs();
  by_w.attrs.push_back({"shape", AttrType::integers});
  by_w.infer = of_shape;
  by_w.run = [](KernelContext &x) {
    Extents s = x.types[0].shape;
    convolve(x, k.by_w, {s[1], s[2], s[3]}, conv_windows(x.call, s));
  };
  by_w.grad = [](const GradCall &g) {
    const Tensor &x = g.call.inputs[0], &dy = g.call.inputs[1], &ddw = g.grads[0];
    return Tensors{call_op("kw::conv2d_by_x", {dy, ddw}, with_shape(g.call, x))[0],
                   call_op("kw::conv2d", {x, ddw}, without_shape(g.call))[0]};
  };
  by_w.saves_outputs = false;
  add_row(to, std::move(by_w));
}

/// Reads the windows of a pool; without a stride they are adjacent. Padding of at most half a window leaves
/// an element of a nonempty image in each of them.
Windows pool_windows(const OpCall &c) {
  Windows w{pair_of(c, "size", 1), {}, pair_of(c, "pad", 0)};
  w.stride = axes_of(c, "stride").empty() ? w.size : pair_of(c, "stride", 1);
  for (size_t i = 0; i < 2; ++i)
    if (2 * w.pad[i] > w.size[i])
      throw_value_error(cat(call_text(c), ": padding of more than half a window"));
  return w;
}

std::vector<OpAttr> pool_attrs() {
  return {{"size", AttrType::integers},
          {"stride", AttrType::integers, Attr(std::vector<Attr>{})},
          {"pad", AttrType::integers, Attr(std::vector<Attr>{Attr(0)})}};
}

/// Registers `maxpool2d` and its gradient. The gradient finds the maximum again by comparison with `y`.
void add_maxpool(Registration &to) {
  LoopKernel &forward = loops("maxpool_of", pool_text, __builtin_FILE()),
             &backward = loops("maxpool_grad_of", pool_grad_text, __builtin_FILE());
  Row row;
  row.name = "maxpool2d";
  row.inputs = inputs({"x"});
  row.attrs = pool_attrs();
  row.infer = [](const OpCall &c) {
    need_image(c, 0);
    Extents x = c.inputs[0].shape();
    Windows w = pool_windows(c);
    return std::vector<TensorType>{
        {c.inputs[0].dtype(), {x[0], x[1], w.count(c, 0, x[2]), w.count(c, 1, x[3])}}};
  };
  row.run = [&forward](KernelContext &x) {
    Windows w = pool_windows(x.call);
    Extents s = x.types[0].shape;
    run_into(
        x, forward,
        {x.call.inputs[0], s[2], s[3], w.size[0], w.size[1], w.stride[0], w.stride[1], w.pad[0], w.pad[1]});
  };
  row.grad = [](const GradCall &g) {
    return Tensors{
        call_op("kw::maxpool2d_grad", {g.call.inputs[0], g.outputs[0], g.grads[0]}, g.call.attrs)[0]};
  };
  add_row(to, std::move(row));

  Row back;
  back.name = "maxpool2d_grad";
  back.inputs = inputs({"x", "y", "dy"});
  back.attrs = pool_attrs();
  back.infer = [](const OpCall &c) {
    for (size_t i = 0; i < 3; ++i) need_image(c, i);
    if (type_of(c.inputs[1]) != type_of(c.inputs[2]))
      throw_value_error(cat(call_text(c), ": 'y' and 'dy' must be alike"));
    return std::vector<TensorType>{type_of(c.inputs[0])};
  };
  back.run = [&backward](KernelContext &x) {
    const auto &inputs = x.call.inputs;
    Windows w = pool_windows(x.call);
    run_into(x, backward,
             {inputs[0], inputs[1], inputs[2], w.size[0], w.size[1], w.stride[0], w.stride[1], w.pad[0],
              w.pad[1]});
  };
  back.no_gradient = "gradients of the second order through maxpool2d are not available yet";
  add_row(to, std::move(back));
}

}  // namespace

void register_windows(Registration &to) {
  add_conv(to);
  add_maxpool(to);
}

}  // namespace kw::ops
