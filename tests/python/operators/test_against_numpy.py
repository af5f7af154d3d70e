"""The built-in operators beside NumPy: values, shapes, dtypes. Gradients are tested apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from placed import tensor

import kernelwright as kw

f32 = np.float32


def some(*shape: int, dtype: Any = f32, seed: int = 1, low: float = -2, high: float = 2) -> Any:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def check(found: Any, expected: Any, tolerance: float = 2e-6) -> None:
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    assert found.numpy_dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected, tolerance, tolerance)


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


unary = {
    "identity": lambda x: x,
    "neg": np.negative,
    "exp": np.exp,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf),
    "gelu": gelu,
    "ones_like": np.ones_like,
    "zeros_like": np.zeros_like,
}


@pytest.mark.parametrize("name", unary)
@pytest.mark.parametrize("dtype", [np.float16, f32, np.float64])
def test_unary(name: str, dtype: Any) -> None:
    op = kw.ops.get(f"kw::{name}")
    for shape in ((), (5,), (2, 3), (0, 4), (2, 3, 4)):
        x = some(*shape, dtype=dtype)
        expected = unary[name](x.astype(np.float64)).astype(dtype) if x.size else x
        check(op(tensor(x)), expected, 2e-3 if dtype == np.float16 else 2e-6)
    turned = some(4, 3, dtype=dtype).T
    check(
        op(turned),
        unary[name](turned.astype(np.float64)).astype(dtype),
        2e-3 if dtype == np.float16 else 2e-6,
    )


@pytest.mark.parametrize("name", ["log", "sqrt"])
def test_functions_of_positive_numbers(name: str) -> None:
    x = some(3, 4, low=0.1, high=9)
    check(kw.ops.get(f"kw::{name}")(x), getattr(np, name)(x))


def test_functions_of_integers_are_floats() -> None:
    check(kw.ops.exp(np.arange(3, dtype=np.int32)), np.exp(np.arange(3.0)))
    check(kw.ops.neg(np.arange(3, dtype=np.int32)), -np.arange(3, dtype=np.int32))


binary = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor_div": np.floor_divide,
    "mod": np.mod,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
}


@pytest.mark.parametrize("name", binary)
def test_binary(name: str) -> None:
    op = kw.ops.get(f"kw::{name}")
    for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((4, 1), (3,)), ((), (2,)), ((0, 3), (1, 3))):
        x, y = some(*a), some(*b, seed=2)
        check(op(x, y), binary[name](x, y))
    i, j = np.array([7, -7, 3], np.int32), np.array([2, 2, -2], np.int32)
    expected = binary[name](i, j)
    check(op(i, j), expected)


def test_mixed_dtypes_are_promoted() -> None:
    i, x = np.arange(3, dtype=np.int32), some(3)
    check(kw.ops.add(i, x), i + x.astype(np.float64))
    check(kw.ops.mul(np.arange(3, dtype=np.int8), x), np.arange(3, dtype=np.int8) * x)
    check(kw.ops.pow(some(4, low=0.1), 2.5), some(4, low=0.1) ** f32(2.5))


def test_arithmetic_of_tensors() -> None:
    x, y = some(2, 3), some(3, seed=2)
    t, u = tensor(x), tensor(y)
    check(t + u, x + y)
    check(u - t, y - x)
    check(y - kw.Tensor(x), y - x)
    check(2 * t / 4, 2 * x / 4)
    check(1 - t, 1 - x)
    check(t**2, x**2)
    check(-t, -x)
    check(abs(t), abs(x))
    check(t < 0.5, x < 0.5)
    check(t > u, x > y)
    check(t == t, x == x)
    check(t @ tensor(x.T), x @ x.T)
    check(tensor(np.arange(3, dtype=np.int32)) + 0.5, np.arange(3) + 0.5)
    assert isinstance(x + kw.Tensor(x), kw.Tensor)
    assert bool(tensor([1.0]) < 2) and float(tensor(3.5)) == 3.5 and len(t) == 2
    with pytest.raises(ValueError, match="ambiguous"):
        bool(t)
    with pytest.raises(TypeError):
        t + "a"


axes: list[Any] = [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axis", axes)
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(axis: Any, keep: bool) -> None:
    x = some(3, 4, 5)
    t = tensor(x)
    check(t.sum(axis, keep), x.sum(axis, keepdims=keep), 1e-5)
    check(t.mean(axis, keep), x.mean(axis, keepdims=keep), 1e-5)
    check(t.max(axis, keep), x.max(axis, keepdims=keep))
    check(t.min(axis, keep), x.min(axis, keepdims=keep))


def test_reductions_of_other_layouts() -> None:
    x = some(5, 4, 3).transpose(2, 0, 1)
    check(kw.ops.sum(x, [1]), x.sum(1), 1e-5)
    check(kw.ops.max(x, [0, 2]), x.max((0, 2)))
    check(kw.ops.sum(np.ones((2, 2), bool)), np.int64(4))
    check(kw.ops.sum(np.ones(3000, np.float16)), np.float16(3000))
    check(kw.ops.sum(np.zeros((0, 3), f32), [0]), np.zeros(3, f32))
    with pytest.raises(ValueError, match=r"max\(float32\[0, 3\].*\): axis 0 has no elements"):
        kw.ops.max(np.zeros((0, 3), f32), [0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_argmax(axis: int) -> None:
    x = some(4, 6)
    x[1, 2] = x[2, 2] = x[1, 4] = 9
    check(kw.ops.argmax(x, axis), x.argmax(axis).astype(np.int32))
    x[3, 1] = np.nan
    check(kw.ops.argmax(x, axis), x.argmax(axis).astype(np.int32))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax(axis: int) -> None:
    x = some(3, 7, low=-30, high=30)
    e = np.exp(x - x.max(axis, keepdims=True))
    expected = e / e.sum(axis, keepdims=True)
    check(kw.ops.softmax(x, axis), expected, 1e-5)
    check(kw.ops.log_softmax(x, axis), np.log(expected.astype(np.float64)).astype(f32), 1e-5)


def test_layernorm() -> None:
    x, gamma, beta = some(2, 3, 8), some(8, seed=2), some(8, seed=3)
    mean, deviation = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    y, m, inverse = kw.ops.layernorm(x, gamma, beta, 1e-3)
    check(y, (x - mean) / deviation * gamma + beta, 1e-5)
    check(m, mean, 1e-5)
    check(inverse, 1 / deviation, 1e-5)


@pytest.mark.parametrize(
    "a, b", [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 4))]
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, y = some(*a), some(*b, seed=2)
    check(kw.ops.matmul(x, y), x @ y, 1e-5)
    check(kw.ops.matmul(np.swapaxes(x, -1, -2), y, True), x @ y, 1e-5)
    check(kw.ops.matmul(x, np.swapaxes(y, -1, -2), False, True), x @ y, 1e-5)
    check(
        kw.ops.matmul(np.swapaxes(x, -1, -2).copy(), np.swapaxes(y, -1, -2).copy(), True, True), x @ y, 1e-5
    )


def test_shapes() -> None:
    x = some(2, 3, 4)
    t = tensor(x)
    check(t.reshape(4, -1), x.reshape(4, -1))
    check(t.reshape((24,)), x.reshape(24))
    check(t.transpose(2, 0, 1), x.transpose(2, 0, 1))
    check(t.T.reshape(6, 4), x.T.reshape(6, 4))
    check(kw.ops.broadcast_to(some(3, 1), [2, 3, 4]), np.broadcast_to(some(3, 1), (2, 3, 4)))
    check(kw.ops.concat([x, x[:, :1]], axis=1), np.concatenate([x, x[:, :1]], 1))
    check(kw.ops.narrow(x, 2, 1, 2), x[:, :, 1:3])
    check(t.astype(np.int32), x.astype(np.int32))


def test_indices() -> None:
    x = some(3, 4, 5)
    t = tensor(x)
    for index in (
        1,
        -1,
        (0, 2),
        (slice(1, 3), 2),
        (..., 0),
        (None, 1),
        slice(5, 9),
        (slice(None), slice(-2, None)),
        slice(None, None, 2),
        (slice(None, None, -1), slice(3, 0, -2), 1),
        (..., slice(None, None, -3)),
        [2, 0],
        [],
        np.array([[0, 2], [1, -1]]),
        (slice(None), [3, 1]),
        (1, [3, 1]),
        (..., np.array([[0], [4]]), None),
        x > 0,
        (slice(1, None), x[0] > 0),
        (slice(None), x[0, :, 0] > 0),
        [True, False, True],
        np.zeros(3, bool),
    ):
        check(t[index], x[index])
    check(t[tensor(np.array([1, 1]))], x[[1, 1]])
    check(t[tensor(x > 0)], x[x > 0])
    assert [r.shape for r in t] == [(4, 5)] * 3
    with pytest.raises(IndexError, match="index 3 is out of range for dimension 0, whose extent is 3"):
        t[3]
    with pytest.raises(IndexError, match="4 indices for a tensor of 3 dimensions"):
        t[0, 0, 0, 0]
    with pytest.raises(TypeError, match="an index of a tensor is float"):
        t[0.5]


def test_indices_that_tensors_do_not_take() -> None:
    t = tensor(some(3, 4, 5))
    for index, error, text in (
        (([0], [1]), IndexError, "an index of a tensor holds more than one array"),
        (
            (0, slice(None), [1]),
            IndexError,
            "an index of a tensor holds an array and an integer that do not stand side by side",
        ),
        (
            np.zeros((4, 3), bool),
            IndexError,
            "a mask of the shape (4, 3) for dimensions of the shape (3, 4)",
        ),
        (
            [0.5],
            TypeError,
            "an index of a tensor is an array of float64, but must be of integers or booleans",
        ),
        ([1, -4], IndexError, "index -4 is out of range for dimension 0, whose extent is 3"),
        ((0, [4]), IndexError, "index 4 is out of range for dimension 1, whose extent is 4"),
        (np.zeros((3, 4, 5, 1), bool), IndexError, "4 indices for a tensor of 3 dimensions"),
        ((slice(None),) * 4, IndexError, "4 indices for a tensor of 3 dimensions"),
        ((..., 0, ...), IndexError, "an index holds more than one ellipsis"),
    ):
        with pytest.raises(error) as e:
            t[index]
        assert str(e.value) == text


def test_gradients_of_indices() -> None:
    x = some(3, 4)
    for index in (slice(None, None, 2), (slice(None), [1, 1]), x > 0, (..., slice(None, None, -1))):
        picked = np.zeros_like(x)
        np.add.at(picked, index, 2.0)
        check(kw.grad(lambda t, index=index: (t[index] * 2.0).sum())(tensor(x)), picked)


def test_gather_and_scatter() -> None:
    x, index = some(3, 4, 2), np.array([[0, 3], [1, 1]])
    check(kw.ops.gather(x, index, 1), np.take(x, index, 1))
    updates = some(2, 2, 4, 2, seed=3)
    rows = np.array([[0, 2], [2, 2]], np.int32)
    expected = x.copy()
    np.add.at(expected, rows, updates)
    check(kw.ops.scatter_add(x, rows, updates), expected, 1e-5)
    check(kw.ops.one_hot(np.array([1, 0]), 3), np.array([[0, 1, 0], [1, 0, 0]], f32))
    with pytest.raises(IndexError, match="index 4 is out of range for dimension 1 of 'x', whose extent is 4"):
        kw.ops.gather(x, np.array([4]), 1)
    with pytest.raises(TypeError, match="'indices' must be integers"):
        kw.ops.gather(x, np.array([0.5]), 1)


def conv(x: Any, w: Any, stride: Any, pad: Any, dilation: Any, groups: int) -> Any:
    """By the definition, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    size = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *size))
    per = w.shape[0] // groups
    for o in range(w.shape[0]):
        g = o // per * w.shape[1]
        for i in range(size[0]):
            for j in range(size[1]):
                a, b = i * stride[0], j * stride[1]
                window = x[
                    :, g : g + w.shape[1], a : a + reach[0] : dilation[0], b : b + reach[1] : dilation[1]
                ]
                y[:, o, i, j] = (window * w[o]).sum((1, 2, 3))
    return y.astype(f32)


@pytest.mark.parametrize(
    "stride, pad, dilation, groups",
    [
        ((1, 1), (0, 0), (1, 1), 1),
        ((2, 1), (1, 2), (1, 1), 1),
        ((1, 2), (1, 1), (2, 1), 2),
        ((1, 1), (1, 1), (1, 1), 4),
    ],
)
def test_conv2d(stride: Any, pad: Any, dilation: Any, groups: int) -> None:
    x, w = some(2, 4, 7, 6), some(8, 4 // groups, 3, 2, seed=2)
    found = kw.ops.conv2d(x, w, list(stride), list(pad), list(dilation), groups)
    check(found, conv(x, w, stride, pad, dilation, groups), 1e-5)


def test_maxpool() -> None:
    x = some(2, 3, 6, 7)
    expected = x[:, :, :6, :6].reshape(2, 3, 3, 2, 3, 2).max((3, 5))
    check(kw.ops.maxpool2d(x, [2]), expected)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    slides = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2]
    check(kw.ops.maxpool2d(x, [3], [2], [1]), slides.max((4, 5)))


def test_cross_entropy() -> None:
    x, labels = some(5, 4), np.array([0, 3, 1, 1, 2])
    rows = -(x - np.log(np.exp(x).sum(1, keepdims=True)))[np.arange(5), labels]
    check(kw.ops.cross_entropy(x, labels), rows.mean(), 1e-5)
    check(kw.ops.cross_entropy(x, labels, "sum"), rows.sum(), 1e-5)
    check(kw.ops.cross_entropy(x, labels, reduction="none"), rows, 1e-5)
    with pytest.raises(ValueError, match="'reduction' of kw::cross_entropy must be 'mean', 'sum' or 'none'"):
        kw.ops.cross_entropy(x, labels, "max")


def test_select() -> None:
    x, y = some(2, 3), some(3, seed=2)
    check(kw.ops.select(x > 0, x, y), np.where(x > 0, x, y))
