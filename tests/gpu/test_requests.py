"""What kernels ask of the memory: warps read and write whole sectors, and no bank of shared memory twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device import Count, Device, total
from test_scans import inclusive

import kernelwright as kw
from kernelwright import allocate, output_tensor

sys.path.append(str(Path(__file__).parents[1] / "golden"))
sys.path.append(str(Path(__file__).parents[2] / "bench/gallery"))
from kernels import (
    column_sum,
    cumsum,
    full_sum,
    layernorm,
    row_sum,
    softmax,
    transpose,
)
from windows import average_pool, max_pool


def chain(a, b):
    t = allocate(a.shape, a.dtype)
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t[i, j] = a[i, j] * b[i, j]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = t[i, j] + a[i, j]
    return c


def broadcast(a, v):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = a[i, j] + v[j] * a[i, 0]
    return c


def argmax(a):
    s = output_tensor((a.shape[0],), "int64")
    for i in range(a.shape[0]):
        best = a[i, 0]
        place = 0
        for j in range(a.shape[1]):
            if a[i, j] > best:
                best = a[i, j]
                place = j
        s[i] = place
    return s


def permute(a):
    c = output_tensor((a.shape[2], a.shape[0], a.shape[1]), a.dtype)
    for i in range(a.shape[2]):
        for j in range(a.shape[0]):
            for k in range(a.shape[1]):
                c[i, j, k] = a[j, k, i]
    return c


def stencil(a):
    c = output_tensor(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            c[i, j] = 0.0
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            c[i, j] = a[i - 1, j] + 2.0 * a[i, j] + a[i + 1, j]
    return c


def recurrence(x):
    y = output_tensor(x.shape, x.dtype)
    state = 0.0
    for i in range(x.shape[0]):
        state = state * 0.5 + x[i]
        y[i] = state
    return y


def histogram(x, bins):
    for i in range(x.shape[0]):
        bins[x[i]] += 1
    return bins


def gather(t, index):
    c = output_tensor((index.shape[0], t.shape[1]), t.dtype)
    for i in range(index.shape[0]):
        for j in range(t.shape[1]):
            c[i, j] = t[index[i], j]
    return c


def normal(*shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.standard_normal(shape).astype("float32")


def whole(most: int, dtype: str, *shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(0, most, shape).astype(dtype)


MATRIX = normal(64, 1024)
CASES = {
    chain: (MATRIX, MATRIX),
    broadcast: (MATRIX, normal(1024)),
    row_sum: (MATRIX,),
    column_sum: (normal(256, 1024),),
    full_sum: (normal(64, 4096),),
    argmax: (normal(64, 4096),),  # each thread reads its best element again: 64 sectors a row besides
    softmax: (MATRIX,),
    layernorm: (MATRIX, normal(1024), normal(1024)),
    transpose: (normal(256, 256),),
    permute: (normal(8, 64, 64),),
    stencil: (normal(66, 1024),),
    cumsum: (MATRIX,),
    inclusive: (whole(64, "int32", 32768),),
    recurrence: (normal(8192),),
    histogram: (whole(64, "int32", 65536), lambda rng: np.zeros(64, "int32")),
    gather: (normal(100, 1024), whole(100, "int64", 64)),
}


@pytest.fixture(autouse=True)
def needs_the_emulator(device: Device) -> None:
    if not device.is_emulated:
        pytest.skip("a GPU does not count the requests")


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_sectors_and_banks(function: Callable[..., Any], device: Device) -> None:
    rng = np.random.default_rng(1)
    arguments = [kw.Tensor(make(rng), device="cuda") for make in CASES[function]]
    kernel = kw.kernel(function)
    with device.counted() as found:
        kernel(*arguments)
    assert found
    sums = total(found)
    assert sums.read.needed + sums.written.needed > 1000
    assert sums.read.ratio <= 1.1 and sums.written.ratio <= 1.1, found
    assert sums.shared_read.ratio == 1.0 and sums.shared_written.ratio == 1.0, found


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8"])
@pytest.mark.parametrize("rows", [256, 255])
def test_tiles_of_each_type(rows: int, dtype: str, device: Device) -> None:
    """With 255 rows, threads copy one element each, and those of a row of results do not begin with a
    sector."""
    x = kw.Tensor(np.ones((rows, 256), dtype), device="cuda")
    with device.counted() as found:
        kw.kernel(transpose)(x)
    sums = total(found)
    assert sums.read.ratio == 1.0
    assert sums.shared_written.ratio == 1.0 and sums.shared_read.ratio == 1.0
    if rows == 256:
        assert sums.written.ratio == 1.0
        return
    # what a warp stores has so many sectors in each row of the results, and one more
    sectors = {"float32": 4, "float64": 4, "float16": 2, "uint8": 1}[dtype]
    assert sums.written.ratio <= 1 + 1.1 / sectors


@pytest.mark.parametrize("columns", [34, 56, 112])
def test_windows_are_read_side_by_side(columns: int, device: Device) -> None:
    """A thread for each row of an image took eight times the sectors, because no tile holds windows. Those of
    every second column take two sectors where one would do."""

    x = kw.Tensor(np.ones((2, 3, 20, columns), "float32"), device="cuda")
    for kernel, most in ((average_pool, 1.3), (max_pool, 2.0)):
        with device.counted() as found:
            kernel(x)
        assert total(found).read.ratio <= most, kernel.__name__


def test_neighbours_of_a_row_straddle_sectors(device: Device) -> None:
    """One sector more than four is the least that a warp can do; a thread for several neighbours took 16."""

    @kw.kernel
    def smoothed(a):
        c = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                c[i, j] = 0.0
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                c[i, j] = a[i, j - 1] + a[i, j + 1] + a[i - 1, j] + a[i + 1, j]
        return c

    a = kw.Tensor(np.ones((66, 1024), "float32"), device="cuda")
    with device.counted() as found:
        smoothed(a)
    assert max(counts.read.ratio for counts in found.values()) <= 1.3


def test_strides_are_counted(device: Device) -> None:
    """The counts themselves: 8 sectors for every second one of 64 floats, 32 for floats 32 bytes apart."""

    @kw.kernel
    def every(x, s: kw.static):
        y = output_tensor((x.shape[0] // s,), x.dtype)
        for i in range(x.shape[0] // s):
            y[i] = x[s * i] + (x[s * i] if x[s * i] > 0 else 0.0)
        return y

    for stride, sectors in ((2, 8), (3, 12), (8, 32), (64, 32)):
        x = kw.Tensor(np.ones(1024 * stride, "float32"), device="cuda")
        with device.counted() as found:
            every(x, stride)
        (counts,) = found.values()
        assert counts.read.least % 4 == 0 and counts.read.ratio == sectors / 4, stride
        assert counts.written == Count(128, 128)
