"""`out=` that overlaps an input gives what the call without it gives; and parameters called `out`."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelwright as kw


@kw.kernel
def differences(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0] - 1):
        y[i] = x[i + 1] - x[i]
    return y


@kw.kernel
def running(x):
    y = output_tensor(x.shape, x.dtype)
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        y[i] = s + x[x.shape[0] - 1 - i]
    return y


@kw.kernel
def twice(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] * 2
    return y


@kw.kernel
def softmax(x):
    y = output_tensor(x.shape, x.dtype)
    top = x[0]
    for i in range(x.shape[0]):
        top = max(top, x[i])
    for i in range(x.shape[0]):
        y[i] = exp(x[i] - top)
    return y


@kw.kernel
def two(x, a):
    y = output_tensor(x.shape, x.dtype)
    z = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        a[i] = a[i] + 1
        y[i] = x[x.shape[0] - 1 - i] + a[i]
        z[i] = x[i]
    return y, z, a


KERNELS = [differences, running, twice, softmax]


@pytest.mark.parametrize("n", [1, 7, 100, 5000])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_an_input_as_out(kernel: Any, n: int) -> None:
    x = np.linspace(0, 1, n) ** 2
    expected = kernel(x)
    assert kernel(x, out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("shift", [-3, -1, 1, 2])
@pytest.mark.parametrize("step", [1, 2, -1])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_a_shifted_view_as_out(kernel: Any, step: int, shift: int) -> None:
    base = np.linspace(0, 1, 400) ** 2
    x = base[10:300:step] if step > 0 else base[300:10:step]
    out = base[10 + shift : 300 + shift : step] if step > 0 else base[300 + shift : 10 + shift : step]
    expected = kernel(x.copy())
    assert kernel(x, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_an_unaligned_view_as_out() -> None:
    raw = np.zeros(8 * 50 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = np.arange(50.0)
    expected = differences(x.copy())
    differences(x, out=x)
    np.testing.assert_array_equal(x, expected)


def test_out_that_overlaps_a_written_argument() -> None:
    a, x = np.arange(10.0), np.arange(10.0) * 3
    y, z, _ = two(x.copy(), a.copy())
    w = a.copy()
    two(x, w, out=(w, None))
    np.testing.assert_array_equal(w, y)
    v = x.copy()
    two(v, a, out=(None, v))
    np.testing.assert_array_equal(v, z)


def test_two_entries_that_overlap_are_refused() -> None:
    base = np.zeros(20)
    with pytest.raises(kw.KernelValueError, match="two arrays of out= of kernel 'two' overlap"):
        two(np.ones(10), np.ones(10), out=(base[:10], base[5:15]))


@kw.kernel
def gradient(x, out, dout):
    g = np.zeros_like(x)
    for i in range(x.shape[0]):
        g[i] = 2 * x[i] * dout[i] + 0 * out[i]
    return g


def test_a_parameter_called_out_is_a_parameter() -> None:
    x = np.arange(3.0)
    for _ in range(3):
        np.testing.assert_array_equal(gradient(x, x, x), 2 * x * x)
        np.testing.assert_array_equal(gradient(x, dout=x, out=x), 2 * x * x)
    with pytest.raises(TypeError, match="multiple values for argument 'out'"):
        gradient(x, x, x, out=x)


def changes_and_returns(x, y):
    z = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] + 1
        z[i] = y[i] * 10
    return y, z


@pytest.mark.parametrize("offset", [0, 3])
def test_out_over_a_written_argument_holds_the_result(offset: int) -> None:
    memory = bytearray(48)
    y = np.ndarray((5,), np.int64, memory, offset)  # with an offset of 3, the call works on a copy of y
    kw.kernel(changes_and_returns)(np.arange(5), y, out=y)
    assert y.tolist() == [10, 20, 30, 40, 50]
