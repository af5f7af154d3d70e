// Elementwise operators. Their loops differ in one expression; their operands are converted to one dtype and
// broadcast to one shape by strides of 0.
#include <algorithm>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

/// Returns the text "def NAME(a, b): …" of one expression over a[p] and b[p]. The result has the shape of
/// `a`, so callers broadcast every operand to the common shape first. loop_text("neg", "a", "a.dtype",
/// "-a[p]"):
///   def neg_loops(a):
///       c = output_tensor(a.shape, a.dtype)
///       for p in grid(a.shape):
///           c[p] = -a[p]
///       return c
std::string loop_text(std::string_view name, std::string_view params, std::string_view dtype,
                      std::string_view expression) {
  return cat("def ", name, "_loops(", params, "):\n    c = output_tensor(a.shape, ", dtype,
             ")\n    for p in grid(a.shape):\n        c[p] = ", expression, "\n    return c\n");
}

/// Returns the kernel of `loop_text` as `NAME_loops`; `dtype` is an expression for the dtype of the result.
LoopKernel &loops_of(std::string_view name, std::string_view params, std::string_view dtype,
                     std::string_view expression) {
  return loops(cat(name, "_loops"), loop_text(name, params, dtype, expression), __builtin_FILE());
}

/// Returns the dtype to which both operands of a binary operator are promoted. Throws OpError (a type error)
/// if there is none.
DType common_dtype(const OpCall &call) {
  DType a = call.inputs[0].dtype(), b = call.inputs[1].dtype();
  if (auto common = promote(a, b)) return *common;
  throw_type_error(
      cat(call_text(call), ": ", numpy_name(a), " and ", numpy_name(b), " have no common dtype"));
}

enum class Domain : uint8_t { any, reals };  ///< reals: integers are converted to floats

/// One row of the table of unary operators: its loop body and its derivative in operator calls.
struct Unary {
  const char *name, *expression;
  Domain domain;
  Tensor (*grad)(const Tensor &x, const Tensor &y, const Tensor &dy);  ///< null: it is 0 everywhere
  bool is_linear = false;                                              ///< its gradient reads no elements
};

/// `times` and `minus_from` create the constant in the dtype of `x`, so that it does not promote the
/// gradient.
Tensor times(const Tensor &x, double v) { return mul(x, number(x.dtype(), v)); }
Tensor minus_from(double v, const Tensor &x) { return sub(number(x.dtype(), v), x); }

constexpr double two_over_root_pi = 1.1283791670955126;

/// The unary operators. `exp`, `sqrt`, `tanh` and `sigmoid` express their derivatives by the result `y`,
/// which is cheaper than computing the function of `x` again.
const Unary unaries[] = {
    {"identity", "a[p]", Domain::any, [](auto &, auto &, auto &dy) { return dy; }, true},
    {"neg", "-a[p]", Domain::any, [](auto &, auto &, auto &dy) { return neg(dy); }, true},
    {"exp", "exp(a[p])", Domain::reals, [](auto &, auto &y, auto &dy) { return mul(dy, y); }},
    {"log", "log(a[p])", Domain::reals, [](auto &x, auto &, auto &dy) { return div(dy, x); }},
    {"sqrt", "sqrt(a[p])", Domain::reals, [](auto &, auto &y, auto &dy) { return div(times(dy, 0.5), y); }},
    {"tanh", "tanh(a[p])", Domain::reals,
     [](auto &, auto &y, auto &dy) { return mul(dy, minus_from(1, mul(y, y))); }},
    {"sigmoid", "sigmoid(a[p])", Domain::reals,
     [](auto &, auto &y, auto &dy) { return mul(dy, mul(y, minus_from(1, y))); }},
    {"sin", "sin(a[p])", Domain::reals, [](auto &x, auto &, auto &dy) { return mul(dy, unary("cos", x)); }},
    {"cos", "cos(a[p])", Domain::reals,
     [](auto &x, auto &, auto &dy) { return neg(mul(dy, unary("sin", x))); }},
    {"erf", "erf(a[p])", Domain::reals,
     [](auto &x, auto &, auto &dy) { return mul(dy, times(exp(neg(mul(x, x))), two_over_root_pi)); }},
    {"abs", "abs(a[p])", Domain::any, [](auto &x, auto &, auto &dy) { return mul(dy, unary("sign", x)); }},
    {"relu", "max(a[p], 0)", Domain::any,
     [](auto &x, auto &, auto &dy) { return select(less(number(x.dtype(), 0), x), dy, zeros_like(dy)); }},
    {"sign", "sign(a[p])", Domain::any, nullptr, true},
    {"floor", "floor(a[p])", Domain::any, nullptr, true},
    {"ones_like", "1", Domain::any, nullptr, true},
    {"zeros_like", "0", Domain::any, nullptr, true},
};

/// Registers one unary operator. If its domain is `reals`, integers are converted to float64 before the loops
/// run.
void add_unary(Registration &to, const Unary &u) {
  LoopKernel &kernel = loops_of(u.name, "a", "a.dtype", u.expression);
  auto result = [domain = u.domain](const OpCall &c) {
    DType t = c.inputs[0].dtype();
    return domain == Domain::reals && !is_float(t) ? DType::f64 : t;
  };
  Row row;
  row.name = u.name;
  row.inputs = inputs({"x"});
  row.infer = [result](const OpCall &c) {
    return std::vector<TensorType>{{result(c), shape_of(c.inputs[0])}};
  };
  row.run = [&kernel](KernelContext &x) {
    run_into(x, kernel, {converted(x.call.inputs[0], x.types[0].dtype)});
  };
  row.grad = [grad = u.grad](const GradCall &g) {
    const Tensor &x = g.call.inputs[0];
    if (!grad) return Tensors{zeros_like(x)};
    return Tensors{cast(grad(x, g.outputs[0], g.grads[0]), x.dtype())};
  };
  // a gradient that reads no elements stays valid if the memory of the call is written later
  row.saves_inputs = row.saves_outputs = !u.is_linear;
  add_row(to, std::move(row));
}

/// One row of the table of binary operators. If `compares`, the result is bool. If `divides`, integers are
/// converted to float64.
struct Binary {
  const char *name, *expression;
  bool compares, divides;
  /// Returns the gradients by a and b in the common shape; if null, both are 0.
  std::pair<Tensor, Tensor> (*grad)(const Tensor &a, const Tensor &b, const Tensor &y, const Tensor &dy);
  bool is_linear = false;  ///< its gradient reads no elements
};

/// Returns the gradients of a minimum of `chosen_if_less` and `other`; equal elements get half each. Callers
/// negate both for a maximum.
std::pair<Tensor, Tensor> grad_of_extremum(const Tensor &chosen_if_less, const Tensor &other,
                                           const Tensor &dy) {
  Tensor half = times(dy, 0.5), none = zeros_like(dy);
  Tensor is_less = less(chosen_if_less, other), is_same = equal(chosen_if_less, other);
  return {select(is_same, half, select(is_less, dy, none)), select(is_same, half, select(is_less, none, dy))};
}

using Pair = std::pair<Tensor, Tensor>;
const Binary binaries[] = {
    {"add", "a[p] + b[p]", false, false, [](auto &, auto &, auto &, auto &dy) { return Pair{dy, dy}; }, true},
    {"sub", "a[p] - b[p]", false, false, [](auto &, auto &, auto &, auto &dy) { return Pair{dy, neg(dy)}; },
     true},
    {"mul", "a[p] * b[p]", false, false,
     [](auto &a, auto &b, auto &, auto &dy) { return Pair{mul(dy, b), mul(dy, a)}; }},
    {"div", "a[p] / b[p]", false, true,
     [](auto &, auto &b, auto &y, auto &dy) {
       Tensor by_a = div(dy, b);
       return Pair{by_a, neg(mul(by_a, y))};
     }},
    {"pow", "a[p] ** b[p]", false, false,
     [](auto &a, auto &b, auto &y, auto &dy) {
       Tensor less_one = sub(b, number(b.dtype(), 1)), zero = number(a.dtype(), 0);
       // by b: y log(a), or 0 if a is 0, which is its limit
       Tensor logarithm = select(equal(a, zero), zeros_like(y), log(a));
       Tensor none = zeros_like(y);
       // by a: b pow(a, b - 1), or 0 if b is 0: at a = 0 the power is infinite, and 0 times infinity is NaN
       Tensor slope = select(equal(b, number(b.dtype(), 0)), none, mul(b, binary("pow", a, less_one)));
       return Pair{mul(dy, slope), mul(dy, mul(y, logarithm))};
     }},
    {"maximum", "max(a[p], b[p])", false, false,
     [](auto &a, auto &b, auto &, auto &dy) { return grad_of_extremum(neg(a), neg(b), dy); }},
    {"minimum", "min(a[p], b[p])", false, false,
     [](auto &a, auto &b, auto &, auto &dy) { return grad_of_extremum(a, b, dy); }},
    {"floor_div", "a[p] // b[p]", false, false, nullptr, true},
    {"mod", "a[p] % b[p]", false, false,
     [](auto &a, auto &b, auto &, auto &dy) { return Pair{dy, neg(mul(dy, binary("floor_div", a, b)))}; }},
    {"less", "a[p] < b[p]", true, false, nullptr, true},
    {"less_equal", "a[p] <= b[p]", true, false, nullptr, true},
    {"equal", "a[p] == b[p]", true, false, nullptr, true},
    {"not_equal", "a[p] != b[p]", true, false, nullptr, true},
};

/// Returns the broadcast shape of both inputs. Throws an OpError that names the call if they do not fit.
std::vector<int64_t> common_shape(const OpCall &c) {
  try {
    return broadcast_shape(c.inputs[0].shape(), c.inputs[1].shape());
  } catch (const OpError &e) {
    throw_value_error(cat(call_text(c), ": ", e.what()));
  }
}

/// Registers one binary operator. `run` converts both operands to the common dtype, then broadcasts them as
/// views with strides of 0.
void add_binary(Registration &to, const Binary &b) {
  LoopKernel &kernel = loops_of(b.name, "a, b", b.compares ? "\"bool\"" : "a.dtype", b.expression);
  auto operand_dtype = [divides = b.divides](const OpCall &c) {
    DType t = common_dtype(c);
    return divides && !is_float(t) ? DType::f64 : t;
  };
  Row row;
  row.name = b.name;
  row.inputs = inputs({"x", "y"});
  row.infer = [operand_dtype, compares = b.compares](const OpCall &c) {
    DType t = operand_dtype(c);
    return std::vector<TensorType>{{compares ? DType::b1 : t, common_shape(c)}};
  };
  row.run = [&kernel, operand_dtype](KernelContext &x) {
    DType t = operand_dtype(x.call);
    auto operand = [&](const Tensor &of) { return converted(of, t).broadcast(x.types[0].shape); };
    run_into(x, kernel, {operand(x.call.inputs[0]), operand(x.call.inputs[1])});
  };
  row.grad = [grad = b.grad](const GradCall &g) {
    const Tensor &x = g.call.inputs[0], &y = g.call.inputs[1];
    if (!grad) return Tensors{zeros_like(x), zeros_like(y)};
    DType t = g.grads[0].dtype();
    auto [by_x, by_y] = grad(cast(x, t), cast(y, t), g.outputs[0], g.grads[0]);
    // an operand that was broadcast gets the sum over its copies
    return Tensors{cast(sum_to(by_x, x.shape()), x.dtype()), cast(sum_to(by_y, y.shape()), y.dtype())};
  };
  row.saves_inputs = row.saves_outputs = !b.is_linear;
  add_row(to, std::move(row));
}

/// Registers `select`: elements of `x` where the condition is true, of `y` elsewhere. It promotes no dtypes.
void add_select(Registration &to) {
  LoopKernel &kernel = loops_of("select", "a, b, w", "a.dtype", "a[p] if w[p] else b[p]");
  Row row;
  row.name = "select";
  row.inputs = inputs({"condition", "x", "y"});
  row.infer = [](const OpCall &c) {
    if (c.inputs[1].dtype() != c.inputs[2].dtype() || c.inputs[0].dtype() != DType::b1)
      throw_type_error(cat(call_text(c), " takes a bool and two tensors of one dtype"));
    auto values = broadcast_shape(c.inputs[1].shape(), c.inputs[2].shape());
    return std::vector<TensorType>{{c.inputs[1].dtype(), broadcast_shape(c.inputs[0].shape(), values)}};
  };
  row.run = [&kernel](KernelContext &x) {
    auto operand = [&](size_t i) { return x.call.inputs[i].broadcast(x.types[0].shape); };
    run_into(x, kernel, {operand(1), operand(2), operand(0)});
  };
  row.grad = [](const GradCall &g) {
    const Tensor &condition = g.call.inputs[0], &dy = g.grads[0];
    Tensor none = zeros_like(dy);
    return Tensors{Tensor(), sum_to(select(condition, dy, none), g.call.inputs[1].shape()),
                   sum_to(select(condition, none, dy), g.call.inputs[2].shape())};
  };
  row.saves_outputs = false;
  add_row(to, std::move(row));
}

/// Registers `cast`. Only a conversion between floats passes a gradient.
void add_cast(Registration &to) {
  Row row;
  row.name = "cast";
  row.inputs = inputs({"x"});
  row.attrs = {{"dtype", AttrType::dtype}};
  row.infer = [](const OpCall &c) {
    return std::vector<TensorType>{{c.get<DType>("dtype"), shape_of(c.inputs[0])}};
  };
  row.run = [](KernelContext &x) { x.outputs = {converted(x.call.inputs[0], x.types[0].dtype)}; };
  row.makes_outputs = true;  // the input itself if it has the dtype
  row.grad = [](const GradCall &g) {
    DType from = g.call.inputs[0].dtype();
    bool goes_on = is_float(from) && is_float(g.call.get<DType>("dtype"));  // to integers it has steps
    return Tensors{goes_on ? cast(g.grads[0], from) : Tensor()};
  };
  row.saves_inputs = row.saves_outputs = false;
  add_row(to, std::move(row));
}

}  // namespace

void register_elementwise(Registration &to) {
  for (const Unary &u : unaries) add_unary(to, u);
  for (const Binary &b : binaries) add_binary(to, b);
  add_select(to);
  add_cast(to);
}

Tensor unary(std::string_view name, const Tensor &x) { return call_op(cat("kw::", name), {x})[0]; }
Tensor binary(std::string_view name, const Tensor &a, const Tensor &b) {
  return call_op(cat("kw::", name), {a, b})[0];
}

Tensor add(const Tensor &a, const Tensor &b) { return binary("add", a, b); }
Tensor sub(const Tensor &a, const Tensor &b) { return binary("sub", a, b); }
Tensor mul(const Tensor &a, const Tensor &b) { return binary("mul", a, b); }
Tensor div(const Tensor &a, const Tensor &b) { return binary("div", a, b); }
Tensor less(const Tensor &a, const Tensor &b) { return binary("less", a, b); }
Tensor equal(const Tensor &a, const Tensor &b) { return binary("equal", a, b); }
Tensor select(const Tensor &condition, const Tensor &a, const Tensor &b) {
  return call_op("kw::select", {condition, a, b})[0];
}
Tensor neg(const Tensor &x) { return unary("neg", x); }
Tensor exp(const Tensor &x) { return unary("exp", x); }
Tensor log(const Tensor &x) { return unary("log", x); }
Tensor zeros_like(const Tensor &x) { return unary("zeros_like", x); }

Tensor cast(const Tensor &x, DType dtype) {
  return x.dtype() == dtype ? x : call_op("kw::cast", {x}, {{"dtype", Attr(dtype)}})[0];
}

Tensor number(DType dtype, double value) {
  Tensor t = Tensor::empty(DType::f64, {});
  // the conversion kernel rounds, so the number equals the result of a cast
  *static_cast<double *>(t.data()) = value;
  return converted(t, dtype);
}

Tensor integer(DType dtype, int64_t value) {
  Tensor t = Tensor::empty(DType::i64, {});
  *static_cast<int64_t *>(t.data()) = value;
  return converted(t, dtype);
}

bool fits(DType dtype, int64_t value) {
  if (is_float(dtype)) return true;
  if (dtype == DType::b1) return value == 0 || value == 1;
  // 64 bits are a special case, because shifting by the full width is undefined
  uint32_t bits = bit_width(dtype);
  if (is_unsigned_int(dtype)) return value >= 0 && (bits == 64 || value >> bits == 0);
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1));
}

Tensor copied(const Tensor &x) {
  static LoopKernel &kernel = loops_of("copied", "a", "a.dtype", "a[p]");
  return kernel({x})[0];
}

}  // namespace kw::ops
