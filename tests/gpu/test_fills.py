"""Outputs that are zero where a kernel does not write: the nest that writes the rest writes them, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, View, bits

import kernelwright as kw
from kernelwright import output_tensor

SIDES = [1, 2, 3, 8, 9, 10, 11, 16, 18, 131]


def five_points(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = (x[i - 1, j] + x[i + 1, j]) + (x[i, j - 1] + x[i, j + 1]) - 4 * x[i, j]
    return y


def rows_below(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(2, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - x[i - 2, j]
    return y


def padded(x):
    y = output_tensor((x.shape[0] + 3, x.shape[1] + 2), x.dtype)
    for i in range(2, x.shape[0] + 2):
        for j in range(1, x.shape[1] + 1):
            y[i, j] = x[i - 2, j - 1]
    return y


def turned(x):
    y = output_tensor((x.shape[1], x.shape[0]), x.dtype)
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j] + x[i - 1, j]
    return y


def one_dimension(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(1, x.shape[0]):
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s = s - x[i, j]
        y[i] = s
    return y


def twice(x):
    """The second nest reads the zeros that the first one has written."""
    y = np.zeros(x.shape, x.dtype)
    z = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0] - 1):
        for j in range(x.shape[1]):
            y[i, j] = x[i - 1, j] + x[i + 1, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1):
            z[i, j] = y[i, j] + y[i, j + 1]
    return y, z


def corner_first(x):
    """What stands there before may not become zero."""
    y = output_tensor(x.shape, x.dtype)
    y[0, 0] = x[0, 0]
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = x[i, j]
    return y


def under_a_condition(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 3:
                y[i, j] = x[i, j]
    return y


def adds(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += x[i, j]
    return y


def below_the_diagonal(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(min(i, x.shape[1])):
            y[i, j] = x[i, j]
    return y


FOLDED = [five_points, rows_below, padded, turned, one_dimension, twice]
FILLED = [corner_first, under_a_condition, adds, below_the_diagonal]


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
@pytest.mark.parametrize("function", FOLDED + FILLED, ids=lambda f: f.__name__)
def test_each_shape(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, rows in enumerate(SIDES):
        shape = (rows, SIDES[(3 * number + 1) % len(SIDES)])
        x = np.random.default_rng(number).integers(0, 9, shape).astype(dtype)
        device.seed(number)
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x)), shape


@pytest.mark.parametrize("function", FOLDED + FILLED, ids=lambda f: f.__name__)
def test_which_need_no_fill(function: Callable[..., Any]) -> None:
    told = str(kw.kernel(function).explain("f32[:, :]", device="sm_90"))
    assert ("fold_fill i" in told) == (function in FOLDED)
    assert (": y: not zeroed" in told) == (function in FOLDED)


def test_memory_that_is_given(device: Device) -> None:
    kernel = kw.kernel(five_points)
    x = np.random.default_rng(1).standard_normal((20, 30)).astype("float32")
    out = kw.Tensor(np.full((20, 30), 7, "float32"), device="cuda")
    assert kernel(kw.Tensor(x, device="cuda"), out=out) is out
    assert out.numpy().tobytes() == kernel(x).tobytes()


def filled_in_part(x):
    y = output_tensor(x.shape, x.dtype)
    if x[0] > 0:
        for i in range(1, x.shape[0]):
            y[i] = x[i] + x[i - 1]
    return y


def folded(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(1, x.shape[0]):
        y[i] = x[i] + x[i - 1]
    return y


@pytest.mark.parametrize("function", [filled_in_part, folded], ids=lambda f: f.__name__)
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_memory_with_gaps(function: Callable[..., Any], debug: bool, first: float, device: Device) -> None:
    """What lies between the elements of `out=` stays."""
    kernel = kw.kernel(debug=debug)(function)
    x = np.arange(10.0)
    x[0] = first
    for step in (2, 3, -2):
        there, here = np.full(40, 7.0), np.full(40, 7.0)
        owner = kw.Tensor(there, device="cuda")
        part = there[::step][:10] if step > 0 else there[30::step][:10]
        kernel(kw.Tensor(x, device="cuda"), out=View(owner, part, there.ctypes.data))
        kernel(x, out=here[::step][:10] if step > 0 else here[30::step][:10])
        assert owner.numpy().tobytes() == here.tobytes(), step


def test_calls_that_run_on_the_host(device: Device) -> None:
    """Its kernel expects zeros, which that of the device writes itself."""

    @kw.kernel
    def shifted(a, b):
        y = output_tensor(a.shape, a.dtype)
        for i in range(1, a.shape[0] - 1):
            y[i] = a[i - 1] + a[i + 1]
        for i in range(1, a.shape[0]):
            b[i] = a[i - 1]
        return y, b

    a = np.arange(8.0)
    memory = kw.Tensor(a, device="cuda")
    first, second = View(memory, a[:6], a.ctypes.data), View(memory, a[2:], a.ctypes.data)
    used = kw.Tensor(np.full(6, 7.0), device="cuda")
    del used  # the output gets its memory
    y, _ = shifted(first, second)
    expected = np.arange(8.0)
    assert np.array_equal(y.numpy(), shifted.py(expected[:6], expected[2:])[0])
    assert np.array_equal(memory.numpy(), expected)


def test_rows_without_a_condition_share_what_they_load() -> None:
    kernel = kw.kernel(five_points)
    assert "unswitch i" in str(kernel.explain("f32[:, :]", device="sm_90"))
    text = kernel.cuda("f32[:, :]")
    full = text[text.index("#pragma unroll\n") :]
    assert "if (" not in full[: full.index("}")]


def test_nothing_is_written_twice(device: Device) -> None:
    if not device.is_emulated:
        pytest.skip("a GPU does not count the requests")
    x = kw.Tensor(np.ones((66, 1024), "float32"), device="cuda")
    with device.counted() as found:
        kw.kernel(five_points)(x)
    (counts,) = found.values()
    sectors = 66 * 1024 * 4 // 32
    assert counts.written.needed <= 1.1 * sectors
    assert counts.read.ratio <= 1.3  # neighbours


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_accepts_them(device: str) -> None:
    for function in FOLDED:
        nvrtc.expect_accepted(kw.kernel(function).cuda("f32[:, :]", device=device), device)
