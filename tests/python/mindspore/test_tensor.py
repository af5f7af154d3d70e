"""Tensors, parameters, cells and built-in operators under MindSpore's names and rules of types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelwright.mindspore as ms
from kernelwright.mindspore import Parameter, ParameterTuple, Tensor, nn, ops
from kernelwright.mindspore.ops import operations as P


def test_data_and_types() -> None:
    assert Tensor([1.0, 2.0]).dtype == ms.float32 and Tensor([1, 2]).dtype == ms.int64
    assert Tensor(2.0).shape == () and Tensor(np.zeros(2)).dtype == ms.float64
    assert Tensor([1, 2], ms.float16).dtype == ms.float16 and Tensor(True).dtype == ms.bool_
    array = np.zeros(2, np.float32)
    t = Tensor(array)
    array[0] = 5
    assert t.asnumpy().tolist() == [0, 0]  # a copy
    t.asnumpy()[0] = 3  # of a tensor on a GPU a copy
    assert (
        t[0] == (3 if t.device == "cpu" else 0)
        and t.shape == (2,)
        and t.ndim == 1
        and t.size == 2
        and t.itemsize == 4
    )
    placeholder = Tensor(shape=[4, None], dtype=ms.float32)
    assert placeholder.declared_shape == (4, -1)
    with pytest.raises(TypeError, match="contain unsupported element of type <U1"):
        Tensor("a")
    with pytest.raises(TypeError, match="there is no data"):
        Tensor()


def test_printing() -> None:
    assert str(Tensor(np.array([2, 8, 18], np.float32))) == "[ 2.  8. 18.]"
    assert str(ms.float32) == "Float32" and repr(ms.bool_) == "Bool"
    assert repr(Tensor(6.0)) == "Tensor(shape=[], dtype=Float32, value= 6)"
    assert repr(Tensor([1.0, 2.5])) == (
        "Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.50000000e+00])"
    )
    assert repr(Tensor([[1, 2]])) == "Tensor(shape=[1, 2], dtype=Int64, value=\n[[1, 2]])"


@pytest.mark.parametrize(
    "found, dtype",
    [
        (lambda: Tensor([1], ms.int32) + 0.5, ms.float32),
        (lambda: Tensor([1], ms.int32) + Tensor([1.0], ms.float32), ms.float32),
        (lambda: Tensor([1], ms.int32) / 2, ms.float32),
        (lambda: Tensor([1], ms.int32) * Tensor([1], ms.int64), ms.int64),
        (lambda: Tensor([1], ms.uint8) * Tensor([1], ms.int8), ms.int16),
        (lambda: Tensor([1.0], ms.float16) * Tensor([1], ms.int64), ms.float16),
        (lambda: Tensor([1.0], ms.float16) * 2.5, ms.float16),
        (lambda: 2 - Tensor([1], ms.int8), ms.int8),
        (lambda: Tensor([True]) + 1, ms.int64),
        (lambda: Tensor([1.0]) < 2, ms.bool_),
        (lambda: np.ones(1, np.float32) * Tensor([1], ms.int32), ms.float32),
        (lambda: ops.exp(Tensor([1], ms.int32)), ms.float32),
    ],
)
def test_types_of_results(found: Any, dtype: Any) -> None:
    assert found().dtype == dtype and isinstance(found(), Tensor)


def test_operators_in_every_spelling() -> None:
    a, b = Tensor([[1.0, -2.0], [3.0, 4.0]]), Tensor([[2.0, 1.0], [0.5, 4.0]])
    x, y = a.asnumpy(), b.asnumpy()
    cases: list[tuple[Any, Any]] = [
        (ops.mul(a, b), x * y),
        (ops.Mul()(a, b), x * y),
        (P.Add()(a, b), x + y),
        (P.Sub()(a, b), x - y),
        (P.RealDiv()(a, b), x / y),
        (P.Pow()(b, 3.0), y**3),
        (P.Neg()(a), -x),
        (P.ReLU()(a), np.maximum(x, 0)),
        (ops.relu(a), np.maximum(x, 0)),
        (P.OnesLike()(a), np.ones_like(x)),
        (ops.ZerosLike()(a), np.zeros_like(x)),
        (P.MatMul(transpose_b=True)(a, b), x @ y.T),
        (ops.matmul(a, b), x @ y),
        (ops.ReduceSum()(a), x.sum()),
        (ops.ReduceSum(keep_dims=True)(a, 1), x.sum(1, keepdims=True)),
        (ops.ReduceMean()(a, (0, 1)), x.mean()),
        (ops.ReduceMax()(a, 0), x.max(0)),
        (ops.sum(a, 0), x.sum(0)),
        (ops.mean(a), x.mean()),
        (ops.max(a, 1)[0], x.max(1)),
        (ops.max(a, 1)[1], x.argmax(1)),
        (ops.argmax(a, 0), x.argmax(0)),
        (ops.Argmax(1)(a), x.argmax(1)),
        (ops.Transpose()(a, (1, 0)), x.T),
        (ops.transpose(a, (1, 0)), x.T),
        (ops.Reshape()(a, (4,)), x.reshape(4)),
        (ops.reshape(a, (1, 4)), x.reshape(1, 4)),
        (ops.BroadcastTo((2, 2))(b[0]), np.broadcast_to(y[0], (2, 2))),
        (ops.Concat(1)((a, b)), np.concatenate([x, y], 1)),
        (ops.concat([a, b]), np.concatenate([x, y])),
        (ops.split(a, 1)[1], x[1:]),
        (ops.Gather()(a, Tensor([1, 0]), 0), x[[1, 0]]),
        (ops.gather(a, Tensor([1]), 1), x[:, [1]]),
        (ops.Cast()(a, ms.int32), x.astype(np.int32)),
        (ops.one_hot(Tensor([1, 0]), 2), np.eye(2)[[1, 0]]),
        (ops.select(a > 0, a, b), np.where(x > 0, x, y)),
        (ops.maximum(a, b), np.maximum(x, y)),
        (a.sum(), x.sum()),
        (a.T, x.T),
        (a[0, 1:], x[0, 1:]),
        (ops.zeros((2,)), np.zeros(2)),
        (ops.ones((2,), ms.int32), np.ones(2)),
    ]
    for found, expected in cases:
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-6)
    e = np.exp(x - x.max(1, keepdims=True))
    for found in (ops.softmax(a), ops.Softmax()(a), ops.exp(ops.log_softmax(a))):
        np.testing.assert_allclose(found.asnumpy(), e / e.sum(1, keepdims=True), 1e-5)
    assert float(ops.cross_entropy(a, Tensor([0, 1]))) > 0
    image, weight = ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2))
    assert ops.conv2d(image, weight).asnumpy().tolist() == [[[[4, 4], [4, 4]]]]
    assert ops.max_pool2d(image, 3).shape == (1, 1, 1, 1)
    _, mean, variance = ops.LayerNorm(epsilon=1e-7)(a, ops.ones((2,)), ops.zeros((2,)))
    np.testing.assert_allclose(mean.asnumpy()[:, 0], x.mean(1), 1e-6)
    np.testing.assert_allclose(variance.asnumpy()[:, 0], x.var(1), 1e-5)


def test_in_place_methods() -> None:
    a = Tensor([1.0, 2.0])
    held = a
    a.add_(Tensor([1.0, 1.0]))
    a[0] = 7
    assert held.asnumpy().tolist() == [7, 3] and a.contiguous() is not a
    with pytest.raises(RuntimeError, match="add_ writes a tensor that gradients go through"):
        ms.grad(lambda t: t.add_(1.0))(a)
    with pytest.raises(RuntimeError, match="cannot be written by index"):

        def f(t: Any) -> Any:
            t[0] = 1
            return t

        ms.grad(f)(a)


def test_free_attributes() -> None:
    a = Tensor([1.0])
    a.anything = 3
    assert a.anything == 3


def test_parameters_and_cells() -> None:
    class Inner(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.p = Parameter(Tensor([1.0]), name="p")
            self.fixed = Parameter(Tensor([2.0]), requires_grad=False)

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Inner()
            self.dense = nn.Dense(2, 3)
            self.relu = nn.ReLU()

        def construct(self, t: Any) -> Any:
            return self.relu(self.dense(t)) * self.inner.p

    net = Net()
    assert [n for n, _ in net.parameters_and_names()] == [
        "inner.p",
        "inner.fixed",
        "dense.weight",
        "dense.bias",
    ]
    assert len(net.trainable_params()) == 3 and len(net.untrainable_params()) == 1
    assert net.set_train().training and net.inner.training
    net.set_inputs(Tensor(shape=[None, 2], dtype=ms.float32))
    assert net(Tensor([[1.0, 2.0]])).shape == (1, 3)
    assert isinstance(net.inner.p + 1, Tensor) and not isinstance(net.inner.p + 1, Parameter)
    assert repr(net.inner.p) == "Parameter (name=inner.p, shape=(1,), dtype=Float32, requires_grad=True)"
    with pytest.raises(TypeError, match="the type of input should be 'Parameter'"):
        ParameterTuple([Tensor([1.0])])
    with pytest.raises(AttributeError, match="the method 'construct' of 'Inner' is not defined"):
        net.inner(1)

    class Hasty(nn.Cell):
        def __init__(self) -> None:
            self.p = Parameter(1.0)

    with pytest.raises(
        AttributeError, match=r"call super\(\).__init__\(\) of 'Hasty' before 'p' is assigned"
    ):
        Hasty()


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()

        def twice(a):
            c = output_tensor(a.shape, a.dtype)
            for p in grid(a.shape):
                c[p] = a[p] * 2.0
            return c

        self.op = ops.Custom(ops.kernel(twice), bprop=lambda a, out, dout: (dout * 2.0,))

    def construct(this, a: Any) -> Any:
        return this.op(a)


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_cells_name_their_first_parameter_as_they_like(mode: int) -> None:
    ms.set_context(mode=mode)
    a = Tensor([1.0, 2.0])
    assert Scaled()(a).asnumpy().tolist() == [2, 4]
    assert ms.grad(Scaled())(a).asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_cells_of_custom_operators_take_shapes_that_were_left_open(mode: int) -> None:
    ms.set_context(mode=mode)
    net = Scaled()
    net.set_inputs(Tensor(shape=[None, 2], dtype=ms.float32))
    for n in (1, 3, 1):
        a = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
        assert net(Tensor(a)).asnumpy().tolist() == (a * 2).tolist()
        assert ms.grad(net)(Tensor(a)).asnumpy().tolist() == np.full((n, 2), 2.0).tolist()


def test_py_func() -> None:
    op = P.PyFunc(
        lambda a, b: (a + b, a * b),
        [ms.float32, ms.float32],
        [(2,), (2,)],
        [ms.float32, ms.float32],
        [(2,), (2,)],
    )
    a = Tensor([1.0, 2.0])
    total, product = op((a, a))
    assert total.asnumpy().tolist() == [2, 4] and product.asnumpy().tolist() == [1, 4]


@pytest.mark.parametrize(
    "result, text",
    [
        (
            lambda a: a.astype(np.float64),
            r"output 0 is float64\[2\], but out_dtype and out_shape declare float32\[2\]",
        ),
        (lambda a: a[:1], r"output 0 is float32\[1\], but out_dtype and out_shape declare float32\[2\]"),
        (lambda a: None, "output 0 is None, but must be an array"),
        (lambda a: "text", "output 0 is 'text', but must be an array"),
    ],
)
def test_results_of_python_functions_are_checked(result: Any, text: str) -> None:
    op = ops.Custom(result, (2,), ms.float32, "pyfunc")
    with pytest.raises(TypeError, match=text):
        op(Tensor([1.0, 2.0]))


def test_what_python_functions_get() -> None:
    seen: list[Any] = []

    def f(a: Any, zero_d: Any, number: Any) -> Any:
        seen.append((type(a), type(zero_d), number))
        a[:] = 0  # its own copy
        return np.float32(zero_d)

    x = Tensor([1.0, 2.0])
    op = ops.Custom(f, (), ms.float32, "pyfunc")
    assert float(op(x, Tensor(2.5), 7)) == 2.5
    assert seen == [(np.ndarray, float, 7)] and x.asnumpy().tolist() == [1, 2]
    with pytest.raises(RuntimeError, match=r"The output num is: 1, with 2 expect."):
        ops.Custom(lambda a: a, ((2,), (2,)), (ms.float32, ms.float32), "pyfunc")(x)
    for pair in (lambda a: (a, 2 * a), lambda a: (a[0], a[1])):
        with pytest.raises(RuntimeError, match=r"The output num is: 2, with 1 expect."):
            ops.Custom(pair, (2,), ms.float32, "pyfunc")(x)


def test_contexts() -> None:
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU", save_graphs=False)
    # where tensors are made: `kw run --device gpu` decides for the whole program
    target = "CPU" if ms.Tensor(1.0).device == "cpu" else "GPU"
    assert ms.get_context("mode") == ms.GRAPH_MODE and ms.get_context("device_target") == target
    ms.context.set_context(mode=ms.PYNATIVE_MODE)
    with pytest.raises(ValueError, match=r"'device_target' must be one of .* but got TPU"):
        ms.set_context(device_target="TPU")
    with pytest.raises(ValueError, match="the option 'none' was not set"):
        ms.get_context("none")
    assert ms.jit(len) is len and ms.jit(mode="PSJit")(len) is len


def test_parts_of_tensors_by_the_names_of_primitives() -> None:
    t = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    parts = ops.Split(1, 3)(t)
    assert [p.shape for p in parts] == [(2, 1)] * 3
    assert ops.ExpandDims()(t, 1).shape == (2, 1, 3)
    assert ops.Select()(t > 2, t, -t).asnumpy().tolist() == [[0, -1, -2], [3, 4, 5]]
    assert ops.FloorDiv()(t, 2.0).asnumpy().tolist() == [[0, 0, 1], [1, 2, 2]]
    assert ops.Mod()(t, 2.0).asnumpy().tolist() == [[0, 1, 0], [1, 0, 1]]
    hot = ops.OneHot()(Tensor(np.array([1, 0])), 2, Tensor(3.0), Tensor(1.0))
    assert hot.asnumpy().tolist() == [[1, 3], [3, 1]]
    with pytest.raises(ValueError, match="an extent of 3 does not make 2 equal parts"):
        ops.Split(1, 2)(t)


def test_scatters() -> None:
    t = Tensor(np.zeros((2, 3), np.float32))
    at, updates = Tensor(np.array([[0, 1], [1, 2], [0, 1]])), Tensor(np.array([1, 2, 3], np.float32))
    expected = [[0, 4, 0], [0, 0, 2]]
    assert ops.TensorScatterAdd()(t, at, updates).asnumpy().tolist() == expected
    found = ms.grad(lambda u: ops.tensor_scatter_add(t, at, u) * 2)(updates)
    assert found.asnumpy().tolist() == [2, 2, 2]
    rows = Tensor(np.array([[1], [1]]))
    added = ops.tensor_scatter_add(t, rows, Tensor(np.ones((2, 3), np.float32)))
    assert added.asnumpy().tolist() == [[0, 0, 0], [2, 2, 2]]
    with pytest.raises(IndexError, match=r"ops\.tensor_scatter_add: an index is outside of \(2,\)"):
        ops.tensor_scatter_add(t, Tensor(np.array([[2]])), Tensor(np.ones((1, 3), np.float32)))
    with pytest.raises(ValueError, match=r"the last axis holds 1 to 2 integers"):
        ops.tensor_scatter_add(t, updates, updates)
    p = ms.Parameter(t)
    ops.scatter_add(p, Tensor(np.array([1, 1])), Tensor(np.ones((2, 3), np.float32)))
    assert p.asnumpy().tolist() == [[0, 0, 0], [2, 2, 2]]


def test_windows() -> None:
    image = Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    weight = Tensor(np.ones((1, 1, 3, 3), np.float32))
    assert ops.Conv2D(1, 3)(image, weight).asnumpy().tolist() == [[[[45, 54], [81, 90]]]]
    assert ops.Conv2D(1, 3, pad_mode="pad", pad=1)(image, weight).shape == (1, 1, 4, 4)
    assert ops.MaxPool(2, 2)(image).asnumpy().tolist() == [[[[5, 7], [13, 15]]]]
    with pytest.raises(ValueError, match=r"was given a weight of the shape \(1, 1, 3, 3\)"):
        ops.Conv2D(1, 2)(image, weight)


def test_windows_with_pads() -> None:
    image = Tensor(np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5))
    weight = Tensor(np.array([[[[1, 2], [3, 4]]]], np.float32))
    padded = np.pad(image.asnumpy()[0, 0], 3)

    def conv(top: int, left: int, count: int, stride: int) -> Any:
        """By the definition; the window of the first result begins so far outside of the image."""
        w = weight.asnumpy()[0, 0]
        starts = [3 + stride * i for i in range(count)]
        at = [(r - top, c - left) for r in starts for c in starts]
        found = [float((padded[r : r + 2, c : c + 2] * w).sum()) for r, c in at]
        return np.reshape(found, (count, count)).tolist()

    for options, expected in (
        ({}, conv(0, 0, 4, 1)),
        ({"pad_mode": "same"}, conv(0, 0, 5, 1)),
        ({"pad_mode": "same", "stride": 2}, conv(0, 0, 3, 2)),
        ({"pad_mode": "pad", "padding": 1}, conv(1, 1, 6, 1)),
        ({"pad_mode": "pad", "padding": (1, 1)}, conv(1, 1, 6, 1)),
        ({"pad_mode": "pad", "padding": (1, 0, 1, 0)}, conv(1, 1, 5, 1)),
    ):
        assert ops.conv2d(image, weight, **options).asnumpy()[0, 0].tolist() == expected
    assert ops.conv2d(image, weight, None, 1, "same").shape == (1, 1, 5, 5)
    assert ops.Conv2D(1, 2, pad_mode="same")(image, weight).asnumpy()[0, 0].tolist() == conv(0, 0, 5, 1)
    pooled = ops.MaxPool(2, 2, "same")(-image).asnumpy()[0, 0]
    assert pooled.tolist() == [[0, -2, -4], [-10, -12, -14], [-20, -22, -24]]
    for options, text in (
        ({"pad_mode": "full"}, "ops.conv2d: pad_mode must be 'valid', 'same' or 'pad', but got 'full'"),
        ({"padding": 1}, "ops.conv2d: the padding must be 0 where pad_mode is 'valid', but is 1"),
        (
            {"pad_mode": "pad", "padding": (1, 2, 3)},
            "ops.conv2d: the padding must be one, two or four numbers, but is (1, 2, 3)",
        ),
        ({"stride": (1, 2, 3)}, "a window is told by one, two or four numbers, but got (1, 2, 3)"),
    ):
        with pytest.raises(ValueError) as e:
            ops.conv2d(image, weight, **options)
        assert str(e.value) == text
    with pytest.raises(ValueError, match=r"ops\.MaxPool: pad_mode must be 'valid' or 'same', but got 'pad'"):
        ops.MaxPool(2, 2, "pad")
    with pytest.raises(
        ValueError, match=r"ops\.Conv2D: the padding must be 0 where pad_mode is 'same', but is 1"
    ):
        ops.Conv2D(1, 2, pad_mode="same", pad=1)
    for stride in (0, 1):
        with pytest.raises(ValueError, match="conv2d"):
            ops.conv2d(image if stride == 0 else image.reshape(1, 5, 5), weight, None, stride, "same")


def test_cross_entropy_with_weights_and_labels_left_out() -> None:
    logits = np.array([[1, 2, 0.5], [0, -1, 3], [2, 2, 1]], np.float32)
    labels, weight = np.array([1, -100, 0]), np.array([0.5, 2, 1], np.float32)
    rows = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    picked = np.array([rows[0, 1], 0, rows[2, 0]])
    weights = np.array([2, 0, 0.5])
    a, at, w = Tensor(logits), Tensor(labels), Tensor(weight)
    for found, expected in (
        (ops.cross_entropy(a, at), -picked.sum() / 2),
        (ops.cross_entropy(a, at, w), -(picked * weights).sum() / 2.5),
        (ops.cross_entropy(a, at, w, -100, "sum"), -(picked * weights).sum()),
        (ops.cross_entropy(a, at, w, reduction="none"), -picked * weights),
        (nn.CrossEntropyLoss(w, reduction="sum")(a, at), -(picked * weights).sum()),
        (ops.cross_entropy(a, Tensor(np.array([1, 2, 0])), ignore_index=2), -picked.sum() / 2),
        (ops.cross_entropy(a, Tensor(np.eye(3, dtype=np.float32))), -np.trace(rows) / 3),
        (ops.cross_entropy(a, Tensor(np.eye(3, dtype=np.float32)), w), -(np.diag(rows) * weight).sum() / 3),
    ):
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-5)
    wild = Tensor(np.array([[-np.inf, 0, np.nan], [0, -1, 3]], np.float32))
    rest = ops.cross_entropy(wild, Tensor(np.array([-100, 2])))
    np.testing.assert_allclose(float(rest), -rows[1, 2], 1e-5)
    slope = ms.grad(lambda t: ops.cross_entropy(t, Tensor(np.array([-100, 2]))))(wild).asnumpy()
    assert slope[0].tolist() == [0, 0, 0] and abs(slope[1].sum()) < 1e-6
    slope = ms.grad(lambda t: ops.cross_entropy(t, at, w))(a).asnumpy()
    right = (np.exp(rows) - np.array([[0, 1, 0], [0, 0, 0], [1, 0, 0]])) * weights[:, None] / 2.5
    np.testing.assert_allclose(slope, right, 1e-5, 1e-6)
    for call, kind, text in (
        (
            lambda: ops.cross_entropy(a, at, label_smoothing=0.1),
            ValueError,
            "ops.cross_entropy here takes label_smoothing=0, but got 0.1",
        ),
        (
            lambda: ops.cross_entropy(a, Tensor(np.array([1, 3, 0])), w),
            IndexError,
            "ops.cross_entropy: the label 3 of row 1 is none of 3 classes",
        ),
        (
            lambda: ops.cross_entropy(a, at, w, reduction="all"),
            ValueError,
            "ops.cross_entropy: reduction must be 'mean', 'sum' or 'none', but got 'all'",
        ),
        (
            lambda: ops.cross_entropy(a, Tensor(np.ones((3, 2), np.float32))),
            ValueError,
            "ops.cross_entropy takes logits (n, classes) and labels (n) or probabilities (n, classes), but"
            " got the shapes (3, 3) and (3, 2)",
        ),
        (
            lambda: ops.cross_entropy(a, at, Tensor(np.ones(5, np.float32))),
            ValueError,
            "ops.cross_entropy: weights of the shape (5,) for 3 classes",
        ),
        (
            lambda: nn.CrossEntropyLoss(reduction="all"),
            ValueError,
            "nn.CrossEntropyLoss: reduction must be 'mean', 'sum' or 'none', but got 'all'",
        ),
    ):
        with pytest.raises(kind) as e:
            call()
        assert str(e.value) == text


def test_functions_take_names_and_forms_of_their_own() -> None:
    t = Tensor(np.array([1.0, 2.0], np.float32))
    assert ops.add(input=t, other=t).asnumpy().tolist() == [2, 4]
    assert ops.abs(input=-t).asnumpy().tolist() == [1, 2]
    assert float(ops.gelu(t)[0]) == pytest.approx(0.8413447, abs=1e-6)
    assert float(ops.gelu(t, approximate="tanh")[0]) == pytest.approx(0.841192, abs=1e-6)
    with pytest.raises(ValueError, match="must be 'none' or 'tanh', but got 'erf'"):
        ops.gelu(t, "erf")
    with pytest.raises(ValueError, match=r"ops\.Softmax here takes one axis, but got \(0, 1\)"):
        ops.Softmax((0, 1))


def test_products_with_vectors() -> None:
    v, m = np.arange(3, dtype=np.float32), np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    for a, b in ((v, v), (m, v), (v, m.transpose(0, 2, 1).copy()), (m[0], v)):
        expected = a @ b
        for found in (Tensor(a) @ Tensor(b), ops.matmul(Tensor(a), Tensor(b))):
            assert found.shape == expected.shape and np.allclose(found.asnumpy(), expected)
    assert ms.grad(lambda t: t @ t)(Tensor(v)).asnumpy().tolist() == [0, 2, 4]


def test_layer_norms_over_several_axes() -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    gamma, beta = np.full((3, 4), 2, np.float32), np.ones((3, 4), np.float32)
    mean, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    expected = (x - mean) / np.sqrt(var + 1e-5) * gamma + beta
    given = [Tensor(t) for t in (gamma, beta)]
    assert np.allclose(ops.layer_norm(Tensor(x), (3, 4), *given).asnumpy(), expected, atol=1e-5)
    out, by_mean, by_var = ops.LayerNorm(1, 1, 1e-5)(Tensor(x), *given)
    assert np.allclose(out.asnumpy(), expected, atol=1e-5)
    assert np.allclose(by_mean.asnumpy(), mean, atol=1e-5) and np.allclose(by_var.asnumpy(), var, atol=1e-5)
    with pytest.raises(
        ValueError, match=r"ops\.layer_norm over \(2, 4\) of a tensor of the shape \(2, 3, 4\)"
    ):
        ops.layer_norm(Tensor(x), (2, 4), *given)
    with pytest.raises(ValueError, match=r"takes gamma and beta of that shape, but got \(3, 4\)"):
        ops.LayerNorm(-1, -1)(Tensor(x), *given)


def test_parameters_keep_their_shape_and_can_be_taken_away() -> None:
    layer = ms.nn.Dense(2, 2)
    with pytest.raises(
        ValueError, match=r"the data of 'weight' must have the shape \(2, 2\), but has \(3,\)"
    ):
        layer.weight = Tensor(np.ones(3, np.float32))
    del layer.bias
    assert [p.name for p in layer.get_parameters()] == ["weight"] and not hasattr(layer, "bias")


def test_half_floats_print_as_floats() -> None:
    shown = repr(Tensor([1.5, 2.0], ms.bfloat16))
    assert shown == "Tensor(shape=[2], dtype=BFloat16, value= [ 1.50000000e+00,  2.00000000e+00])"
