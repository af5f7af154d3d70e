// Matrix products: batches are broadcast as in NumPy, and operands are transposed by their strides.
#include <algorithm>

#include "runtime/op_error.h"
#include "runtime/ops/ops.h"
#include "runtime/ops/table.h"
#include "support/text.h"

namespace kw::ops {

namespace {

/// Returns an operand, with its last two dimensions exchanged if `transposed`.
Tensor oriented(const Tensor &x, bool transposed) {
  std::vector<size_t> order;
  for (size_t d = 0; d < x.rank(); ++d) order.push_back(d);
  if (transposed) std::swap(order[x.rank() - 1], order[x.rank() - 2]);
  return x.permuted(order);
}

/// The checked operands of one call: views of the inputs with the matrices last.
struct Product {
  Tensor a, b;                 ///< after transposition
  std::vector<int64_t> batch;  ///< the common leading extents
  std::vector<int64_t> shape;  ///< shape of the result
};

/// Checks ranks and the contracted extent, and computes the shape of the result. Throws OpError.
Product read_product(const OpCall &c) {
  const Tensor &x = c.inputs[0], &y = c.inputs[1];
  if (x.rank() < 2 || y.rank() < 2)
    throw_value_error(cat(call_text(c), " takes tensors of at least 2 dimensions"));
  Product p;
  p.a = oriented(x, c.get<bool>("transpose_a")), p.b = oriented(y, c.get<bool>("transpose_b"));
  Extents a = p.a.shape(), b = p.b.shape();
  if (a.back() != b[b.size() - 2])
    throw_value_error(
        cat(call_text(c), ": rows of ", a.back(), " elements meet columns of ", b[b.size() - 2]));
  p.batch = broadcast_shape(a.first(a.size() - 2), b.first(b.size() - 2));
  p.shape = p.batch;
  p.shape.push_back(a[a.size() - 2]);
  p.shape.push_back(b.back());
  return p;
}

/// Returns the matrices of an operand as (batch, rows, columns). A single matrix becomes a view with one
/// batch, so even a transposed operand is not copied.
Tensor batched(const Tensor &x, const std::vector<int64_t> &batch) {
  std::vector<int64_t> shape = batch;
  shape.insert(shape.end(), x.shape().end() - 2, x.shape().end());
  int64_t count = 1;
  for (int64_t e : batch) count *= e;
  if (x.rank() == 2 && count == 1)
    return x.view(x.data(), std::array{int64_t{1}, x.shape()[0], x.shape()[1]},
                  std::array{int64_t{0}, x.strides()[0], x.strides()[1]});
  return contiguous(x.broadcast(shape))
      .reshaped(std::array{count, x.shape()[x.rank() - 2], x.shape()[x.rank() - 1]});
}

// The k loop encloses the second j loop, so that c and a row-major b have stride 1 in the innermost loop.
constexpr const char *text = R"(def matmul_of(a, b):
    c = output_tensor((a.shape[0], a.shape[1], b.shape[2]), a.dtype)
    for n in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(b.shape[2]):
                c[n, i, j] = 0
            for k in range(a.shape[2]):
                for j in range(b.shape[2]):
                    c[n, i, j] += a[n, i, k] * b[n, k, j]
    return c
)";

/// Returns the gradients. With C = A B they are dA = dC Bᵀ and dB = Aᵀ dC, transposed where the operands
/// were.
Tensors gradient(const GradCall &g) {
  const Tensor &x = g.call.inputs[0], &y = g.call.inputs[1], &dz = g.grads[0];
  bool ta = g.call.get<bool>("transpose_a"), tb = g.call.get<bool>("transpose_b");
  Tensor dx = ta ? matmul(y, dz, tb, true) : matmul(dz, y, false, !tb);
  Tensor dy = tb ? matmul(dz, x, true, ta) : matmul(x, dz, !ta, false);
  return {cast(sum_to(dx, x.shape()), x.dtype()), cast(sum_to(dy, y.shape()), y.dtype())};
}

}  // namespace

void register_matmul(Registration &to) {
  LoopKernel &kernel = loops("matmul_of", text, __builtin_FILE());
  auto dtype = [](const OpCall &c) {
    auto common = promote(c.inputs[0].dtype(), c.inputs[1].dtype());
    if (!common) throw_type_error(cat(call_text(c), ": the dtypes have no common one"));
    return *common;
  };
  Row row;
  row.name = "matmul";
  row.inputs = inputs({"x", "y"});
  row.attrs = {{"transpose_a", AttrType::boolean, Attr(false)},
               {"transpose_b", AttrType::boolean, Attr(false)}};
  row.infer = [dtype](const OpCall &c) { return std::vector<TensorType>{{dtype(c), read_product(c).shape}}; };
  row.run = [&kernel](KernelContext &x) {
    Product p = read_product(x.call);
    // 16-bit floats are multiplied and summed in float32 and rounded once, at the end
    DType working = working_dtype(x.types[0].dtype);
    auto operand = [&](const Tensor &of) { return batched(converted(of, working), p.batch); };
    run_into(x, kernel, {operand(p.a), operand(p.b)});
  };
  row.grad = gradient;
  row.saves_outputs = false;
  add_row(to, std::move(row));
}

Tensor matmul(const Tensor &a, const Tensor &b, bool transpose_a, bool transpose_b) {
  return call_op("kw::matmul", {a, b},
                 {{"transpose_a", Attr(transpose_a)}, {"transpose_b", Attr(transpose_b)}})[0];
}

}  // namespace kw::ops
