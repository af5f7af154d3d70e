"""Rows that teams write and read again lie in shared memory if they fit: the bits of the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, bits, total

import kernelwright as kw
from kernelwright import exp, float32, output_tensor

sys.path.append(str(Path(__file__).parents[1] / "golden"))
from kernels import softmax

# A warp has a row of up to 1,024 elements, or a block for few of them or longer ones; 8,192 float32 fit.
SHAPES = [(1, 1), (3, 63), (3, 64), (2, 65), (2100, 5), (2049, 70), (2, 1023), (5, 1024), (2, 1025)]
LONG = [(3, 4097), (2, 8192), (2, 8193), (1, 40000)]


def by_a_local(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = float32(1.0)
        squares = float32(0.0)
        for j in range(x.shape[1]):
            e = exp(x[i, j])
            y[i, j] = e
            total += e
            squares += e * e
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total + squares
    return y


def read_twice(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 2
            s += x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] - s
        m = float32(0.0)
        for j in range(x.shape[1]):
            m = max(m, y[i, j])
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] * m
    return y


def read_at_the_end(x):
    """The row leaves for memory and stays in shared memory."""
    y = output_tensor(x.shape, x.dtype)
    z = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            s += x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - s
        t = float32(0.0)
        for j in range(x.shape[1]):
            t += y[i, j] * y[i, j]
        z[i] = t
    return y, z


def some_change(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]
            s += x[i, j]
        for j in range(x.shape[1]):
            if y[i, j] > s:
                y[i, j] = s
    return y


def of_neighbours(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]
            s += x[i, j]
        t = float32(0.0)
        for j in range(x.shape[1] - 1):
            t += y[i, j + 1] * s
        y[i, 0] = t
    return y


def in_part(x):
    """What the second loop reads before it writes may be another call's."""
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            s += x[i, j]
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] - s
    return x


def normalised_in_place(x):
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] * 2
            s += x[i, j] * x[i, j]
        for j in range(x.shape[1]):
            x[i, j] = x[i, j] / s
    return x


def stores_twice(x):
    """Between the stores of one iteration, the row is what the first of them made."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 3
            s += y[i, j]
        for j in range(x.shape[1]):
            t = y[i, j]
            y[i, j] = x[i, j] - s
            y[i, j] = y[i, j] * 2 + t
    return y


def stores_twice_under_a_condition(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 3
            s += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] - s
            if y[i, j] > x[i, j]:
                y[i, j] = y[i, j] * 2
            y[i, j] += y[i, j]
    return y


def reads_what_a_branch_stores(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * 3
            s += y[i, j]
        for j in range(x.shape[1]):
            t = x[i, j]
            if t > 0:
                y[i, j] = t - s
                t = y[i, j] * 2
            y[i, j] = t
    return y


def numbers(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = j
            s += x[i, j]
        for j in range(x.shape[1]):
            if s > 0:
                y[i, j] = y[i, j] + 1
    return y


CACHED = [softmax, by_a_local, read_twice, read_at_the_end, some_change, stores_twice]
CACHED += [stores_twice_under_a_condition, reads_what_a_branch_stores, numbers]
OTHERS = [of_neighbours, in_part, normalised_in_place]


@pytest.mark.parametrize("function", CACHED + OTHERS, ids=lambda f: f.__name__)
def test_each_shape(function: Callable[..., Any], device: Device) -> None:
    kernel = kw.kernel(function)
    for number, shape in enumerate(SHAPES + LONG):
        x = np.random.default_rng(number).standard_normal(shape).astype("float32")
        device.seed(number)
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x.copy())), shape


@pytest.mark.parametrize("length", ["x.shape[2]", "200"])
def test_rows_of_several_dimensions(length: str, device: Device) -> None:
    """A condition of the host stands around all loops of a launch."""
    kernel = kw.kernel(
        "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for b in range(x.shape[0]):\n"
        "        for i in range(x.shape[1]):\n            s = float32(0.0)\n"
        f"            for j in range({length}):\n                y[b, i, j] = exp(x[b, i, j])\n"
        f"                s += y[b, i, j]\n            for j in range({length}):\n"
        "                y[b, i, j] = y[b, i, j] / s\n    return y\n"
    )
    told = str(kernel.explain("f32[:, :, :]", device="sm_90"))
    assert "cache y at b" in told and ("specialize b" in told) == (length != "200")
    long = ((2, 3, 1024), (1, 2, 8193), (2, 1, 8192), (3, 2, 1023)) if length != "200" else ()
    for shape in ((1, 1, 200), (3, 5, 200), (2, 70, 200), *long):
        x = np.random.default_rng(1).standard_normal(shape).astype("float32")
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x))


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_types(dtype: str, device: Device) -> None:
    kernel = kw.kernel(softmax)
    for shape in ((3, 1024), (2, 4096), (2, 4097), (1, 16385)):
        x = np.random.default_rng(1).standard_normal(shape).astype(dtype)
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x))


@pytest.mark.parametrize("function", CACHED + OTHERS, ids=lambda f: f.__name__)
def test_which_are_kept(function: Callable[..., Any]) -> None:
    told = str(kw.kernel(function).explain("f32[:, :]", device="sm_90"))
    assert ("\n              cache " in told) == (function in CACHED)


def test_sums_in_lanes_have_a_loop_of_their_own() -> None:
    """One warp of a block sums 4,096 terms; all of its threads compute them."""
    kernels = kw.kernel(by_a_local).cuda("f32[:, :]").split("KW_TEAM_KERNEL(256)")
    block = next(k for k in kernels if "KW_SHARED(f32, y_row_all, 8192);" in k)
    assert block.count("kw_exp_f32(") == 1
    assert block.index("kw_exp_f32(") < block.index("total_own[half]")


def test_memory_is_read_and_written_once(device: Device) -> None:
    if not device.is_emulated:
        pytest.skip("a GPU does not count the requests")
    x = kw.Tensor(np.ones((4, 4096), "float32"), device="cuda")
    with device.counted() as found:
        kw.kernel(softmax)(x)
    sums = total(found)
    assert sums.written.needed == 4 * 4096 * 4 // 32
    # for the largest element, from the second on, and for all terms
    assert sums.read.needed <= 2.3 * sums.written.needed


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_accepts_them(device: str) -> None:
    for function in CACHED:
        nvrtc.expect_accepted(kw.kernel(function).cuda("f32[:, :]", device=device), device)
