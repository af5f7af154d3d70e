// Operators along the last axis: softmax, log-softmax, layer norm, gelu and cross entropy. Rows are computed
// in at least float32.
#include <algorithm>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

// The maximum of the row is subtracted first, so that exp gets no positive number and cannot overflow.
constexpr const char *softmax_text = R"(def softmax_rows(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        m = x[i, 0]
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
        s = 0
        for j in range(x.shape[1]):
            y[i, j] = exp(x[i, j] - m)
            s = s + y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / s
    return y
)";

constexpr const char *log_softmax_text = R"(def log_softmax_rows(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        m = x[i, 0]
        for j in range(x.shape[1]):
            m = max(m, x[i, j])
        s = 0
        for j in range(x.shape[1]):
            s = s + exp(x[i, j] - m)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - m - log(s)
    return y
)";

// The variance is computed in a second pass over differences from the mean, because a difference of two large
// sums would cancel.
constexpr const char *layernorm_text = R"(def layernorm_rows(x, gamma, beta, epsilon):
    y = output_tensor(x.shape, x.dtype)
    mean = output_tensor((x.shape[0],), x.dtype)
    inverse = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        s = 0
        for j in range(x.shape[1]):
            s = s + x[i, j]
        m = s / x.shape[1]
        v = 0
        for j in range(x.shape[1]):
            v = v + (x[i, j] - m) * (x[i, j] - m)
        r = 1 / sqrt(v / x.shape[1] + epsilon)
        mean[i] = m
        inverse[i] = r
        for j in range(x.shape[1]):
            y[i, j] = (x[i, j] - m) * r * gamma[j] + beta[j]
    return y, mean, inverse
)";

// The tanh approximation of GELU; 0.79788… is the root of 2 / pi.
constexpr const char *gelu_text = R"(def gelu_of(x):
    y = output_tensor(x.shape, x.dtype)
    for p in grid(x.shape):
        t = tanh(0.7978845608028654 * (x[p] + 0.044715 * x[p] * x[p] * x[p]))
        y[p] = 0.5 * x[p] * (1 + t)
    return y
)";

/// Views a tensor as rows along `axis`, and converts results back.
struct RowView {
  size_t axis, rank;
  std::vector<int64_t> moved;  ///< the shape with the axis last

  /// Returns the permutation that puts `axis` last and keeps the order of the others.
  std::vector<size_t> order() const {
    std::vector<size_t> out;
    for (size_t d = 0; d < rank; ++d)
      if (d != axis) out.push_back(d);
    out.push_back(axis);
    return out;
  }
  /// Returns `x` as (rows, length); copies it unless the rows are contiguous. Stores the shape for `back`.
  Tensor rows(const Tensor &x) {
    Tensor last = contiguous(x.permuted(order()));
    moved = shape_of(last);
    int64_t length = moved.back(), count = 1;
    for (size_t d = 0; d + 1 < rank; ++d) count *= moved[d];
    return last.reshaped(std::array{count, length});
  }
  /// Undoes `rows`: returns a view of the result in the shape and axis order of the input.
  Tensor back(const Tensor &rows) const {
    std::vector<size_t> there = order(), home(rank);
    for (size_t d = 0; d < rank; ++d) home[there[d]] = d;
    return rows.reshaped(moved).permuted(home);
  }
};

/// Infers the type of the only input, which must hold floats.
std::vector<TensorType> same_float(const OpCall &c) {
  need_floats(c);
  return {type_of(c.inputs[0])};
}

/// Registers an operator along one axis that keeps the shape; `grad` reads the result, never the input.
void add_softmax(Registration &to, const char *name, const char *text,
                 Tensor (*grad)(const GradCall &, const Axes &)) {
  LoopKernel &kernel = loops(cat(name, "_rows"), text, __builtin_FILE());
  Row row;
  row.name = name;
  row.inputs = inputs({"x"});
  row.attrs = {{"axis", AttrType::integer, Attr(-1)}};
  row.infer = [](const OpCall &c) {
    const Tensor &x = c.inputs[0];
    size_t axis = positive_axis(c, c.get<int64_t>("axis"), x.rank());
    if (x.shape()[axis] == 0) throw_value_error(cat(call_text(c), ": axis ", axis, " has no elements"));
    return same_float(c);
  };
  row.run = [&kernel](KernelContext &x) {
    const Tensor &of = x.call.inputs[0];
    RowView view{positive_axis(x.call, x.call.get<int64_t>("axis"), of.rank()), of.rank(), {}};
    Tensor rows = view.rows(converted(of, working_dtype(of.dtype())));
    // rows along the last axis are rows of the output, too
    if (view.axis + 1 == view.rank) return run_into(x, kernel, {rows});
    copy_into(x.outputs[0], view.back(kernel({rows})[0]));
  };
  row.grad = [grad](const GradCall &g) { return Tensors{grad(g, {g.call.get<int64_t>("axis")})}; };
  row.saves_inputs = false;
  add_row(to, std::move(row));
}

/// Registers `gelu`. The gradient recomputes tanh instead of saving it.
void add_gelu(Registration &to) {
  LoopKernel &kernel = loops("gelu_of", gelu_text, __builtin_FILE());
  Row row;
  row.name = "gelu";
  row.inputs = inputs({"x"});
  row.infer = same_float;
  row.run = [&kernel](KernelContext &x) {
    run_into(x, kernel, {converted(x.call.inputs[0], working_dtype(x.types[0].dtype))});
  };
  row.grad = [](const GradCall &g) {
    const Tensor &x = g.call.inputs[0];
    auto num = [&](double v) { return number(x.dtype(), v); };
    constexpr double root = 0.7978845608028654, cubic = 0.044715;
    Tensor square = mul(x, x);
    Tensor t = unary("tanh", mul(num(root), mul(x, add(num(1), mul(num(cubic), square)))));
    // With y = x (1 + t) / 2 and t = tanh(u): dy/dx = (1 + t) / 2 + x (1 - t²) / 2 du/dx. Here slope is
    // du/dx.
    Tensor slope = mul(num(root), add(num(1), mul(num(3 * cubic), square)));
    Tensor inner = mul(mul(mul(num(0.5), x), sub(num(1), mul(t, t))), slope);
    return Tensors{mul(g.grads[0], add(mul(num(0.5), add(num(1), t)), inner))};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Throws OpError unless `gamma` and `beta` have one element, of the dtype of x, per column.
void check_layernorm(const OpCall &c) {
  need_floats(c);
  const Tensor &x = c.inputs[0];
  for (size_t i = 1; i < 3; ++i) {
    const Tensor &t = c.inputs[i];
    if (x.rank() == 0 || t.rank() != 1 || t.shape()[0] != x.shape().back() || t.dtype() != x.dtype())
      throw_value_error(cat(call_text(c), ": '", c.op->def.inputs[i].name,
                            "' must have one element, of the same dtype, per column"));
  }
}

/// Registers `layernorm`, with the outputs (y, mean, 1 / deviation). The gradients treat the last two as
/// functions of x.
void add_layernorm(Registration &to) {
  LoopKernel &kernel = loops("layernorm_rows", layernorm_text, __builtin_FILE());
  Row row;
  row.name = "layernorm";
  row.inputs = inputs({"x", "gamma", "beta"});
  row.outputs = {{"output"}, {"mean"}, {"inverse"}};
  row.attrs = {{"epsilon", AttrType::real, Attr(1e-5)}};
  row.infer = [](const OpCall &c) {
    check_layernorm(c);
    TensorType x = type_of(c.inputs[0]);
    std::vector<int64_t> per_row = shape_of(c.inputs[0]);
    per_row.back() = 1;
    return std::vector<TensorType>{x, {x.dtype, per_row}, {x.dtype, per_row}};
  };
  row.run = [&kernel](KernelContext &x) {
    const OpCall &c = x.call;
    DType t = working_dtype(x.types[0].dtype);
    RowView view{c.inputs[0].rank() - 1, c.inputs[0].rank(), {}};
    run_into(x, kernel,
             {view.rows(converted(c.inputs[0], t)), converted(c.inputs[1], t), converted(c.inputs[2], t),
              c.get<double>("epsilon")});
  };
  row.grad = [](const GradCall &g) {
    const Tensor &x = g.call.inputs[0], &gamma = g.call.inputs[1], &dy = g.grads[0];
    const Tensor &mean = g.outputs[1], &inverse = g.outputs[2];
    Axes last{-1}, others;
    for (size_t d = 0; d + 1 < x.rank(); ++d) others.push_back(static_cast<int64_t>(d));
    Tensor n = number(x.dtype(), static_cast<double>(x.shape().back()));
    Tensor centred = sub(x, mean), normal = mul(centred, inverse), dn = mul(dy, gamma);
    // normal = (x - mean) inverse; both depend on x
    Tensor through_mean = div(sum(dn, last, true), n);
    Tensor through_scale = mul(normal, div(sum(mul(dn, normal), last, true), n));
    Tensor dx = mul(inverse, sub(sub(dn, through_mean), through_scale));
    // d mean / dx = 1 / n, d inverse / dx = -inverse^3 (x - mean) / n
    Tensor cube = mul(inverse, mul(inverse, inverse));
    Tensor of_rest = sub(g.grads[1], mul(g.grads[2], mul(cube, centred)));
    dx = add(dx, div(of_rest, n));
    auto columns = [&](const Tensor &t) { return others.empty() ? t : sum(t, others, false); };
    return Tensors{dx, columns(mul(dy, normal)), columns(dy)};
  };
  add_row(to, std::move(row));
}

constexpr const char *pick_text = R"(def pick(x, labels):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        y[i] = -x[i, labels[i]]
    return y
)";

// The transpose of `pick`. It writes the whole row, so the result needs no other initialization.
constexpr const char *place_text = R"(def place(x, labels, dy):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = -dy[i] if labels[i] == j else 0
    return y
)";

/// Registers `nll_rows`: the negated log-probability of each row's label, from log-probabilities (n,
/// classes).
void add_nll(Registration &to) {
  LoopKernel &pick = loops("pick", pick_text, __builtin_FILE()),
             &place = loops("place", place_text, __builtin_FILE());
  auto check = [](const OpCall &c) {
    const Tensor &x = c.inputs[0], &labels = c.inputs[1];
    if (x.rank() != 2 || labels.rank() != 1 || labels.shape()[0] != x.shape()[0] || !is_float(x.dtype()) ||
        !is_int(labels.dtype()))
      throw_value_error(cat(call_text(c), " takes floats of shape (n, classes) and n integers"));
  };
  Row row;
  row.name = "nll_rows";
  row.inputs = inputs({"x", "labels"});
  row.infer = [check](const OpCall &c) {
    check(c);
    return std::vector<TensorType>{{c.inputs[0].dtype(), {c.inputs[0].shape()[0]}}};
  };
  row.run = [&pick](KernelContext &x) { run_into(x, pick, {x.call.inputs[0], x.call.inputs[1]}); };
  row.grad = [](const GradCall &g) {
    return Tensors{call_op("kw::nll_rows_grad", {g.call.inputs[0], g.call.inputs[1], g.grads[0]})[0],
                   Tensor()};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));

  Row back;
  back.name = "nll_rows_grad";
  back.inputs = inputs({"x", "labels", "dy"});
  back.infer = [check](const OpCall &c) {
    check(c);
    if (type_of(c.inputs[2]) != TensorType{c.inputs[0].dtype(), {c.inputs[0].shape()[0]}})
      throw_value_error(cat(call_text(c), ": 'dy' must have one element per row"));
    return std::vector<TensorType>{type_of(c.inputs[0])};
  };
  back.run = [&place](KernelContext &x) {
    run_into(x, place, {x.call.inputs[0], x.call.inputs[1], x.call.inputs[2]});
  };
  back.grad = [](const GradCall &g) {
    // the loss is linear in x: there is no gradient by x and the labels, and the one by dy picks again
    return Tensors{Tensor(), Tensor(), call_op("kw::nll_rows", {g.grads[0], g.call.inputs[1]})[0]};
  };
  back.saves_outputs = false;
  add_row(to, std::move(back));
}

/// Returns the gradient of softmax. With y = softmax(x): dx = y (dy - sum(dy y)).
Tensor softmax_grad(const GradCall &g, const Axes &axis) {
  const Tensor &y = g.outputs[0], &dy = g.grads[0];
  return mul(y, sub(dy, sum(mul(dy, y), axis, true)));
}

/// Returns the gradient of log-softmax. With y = log_softmax(x): dx = dy - exp(y) sum(dy).
Tensor log_softmax_grad(const GradCall &g, const Axes &axis) {
  return sub(g.grads[0], mul(exp(g.outputs[0]), sum(g.grads[0], axis, true)));
}

/// Registers `cross_entropy`: from logits (n, classes) and labels (n) to one number, or n of them.
void add_cross_entropy(Registration &to) {
  Row row;
  row.name = "cross_entropy";
  row.inputs = inputs({"logits", "labels"});
  row.attrs = {{"reduction", AttrType::text, Attr("mean"), [](const Attr &a) -> std::string {
                  const std::string &s = *a.as<std::string>();
                  return s == "mean" || s == "sum" || s == "none"
                             ? ""
                             : cat("must be 'mean', 'sum' or 'none', but got '", s, "'");
                }}};
  // log_softmax and a pick, because the logarithm of a softmax that rounds to 0 would be infinite
  auto losses = [](const OpCall &c, const Tensor &x) {
    Tensor logarithms = call_op("kw::log_softmax", {x})[0];
    Tensor rows = call_op("kw::nll_rows", {logarithms, c.inputs[1]})[0];
    const std::string &reduction = c.get<std::string>("reduction");
    if (reduction == "none") return rows;
    return call_op(cat("kw::", reduction), {rows})[0];
  };
  row.run = [losses](KernelContext &x) { x.outputs = {losses(x.call, x.call.inputs[0])}; };
  row.makes_outputs = true;
  row.grad = [losses](const GradCall &g) {
    // computed through its parts: their gradients give this gradient and those of higher order
    bool outer = is_recording();
    GradModeGuard on(true);
    Tensor x = make_variable(g.call.inputs[0]), y = losses(g.call, x);
    GradModeGuard as_before(outer);
    return Tensors{gradients({y}, {g.grads[0]}, {x})[0], Tensor()};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));
}

}  // namespace

void register_rows(Registration &to) {
  add_softmax(to, "softmax", softmax_text, softmax_grad);
  add_softmax(to, "log_softmax", log_softmax_text, log_softmax_grad);
  add_gelu(to);
  add_layernorm(to);
  add_nll(to);
  add_cross_entropy(to);
}

}  // namespace kw::ops
