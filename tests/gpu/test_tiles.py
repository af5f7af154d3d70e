"""Tiles that a team copies so that its threads read and store side by side: every shape and type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, View, total

import kernelwright as kw
from kernelwright import output_tensor


def transposed(x):
    y = output_tensor((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[1]):
        for j in range(x.shape[0]):
            y[i, j] = x[j, i]
    return y


def stored_transposed(x):
    y = output_tensor((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j, i] = x[i, j]
    return y


def parts_of_it(x):
    y = np.zeros((x.shape[1] + 3, x.shape[0] + 5), x.dtype)
    for i in range(2, x.shape[1]):
        for j in range(1, x.shape[0] - 1):
            y[i + 1, j + 4] = x[j, i] + x[j, i]
    return y


def under_a_condition(x):
    y = np.ones((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[1]):
        for j in range(x.shape[0]):
            v = x[j, i]
            if v > 0:
                y[i, j] = v
    return y


def both_ways(x):
    y = output_tensor((x.shape[1], x.shape[0]), x.dtype)
    for i in range(x.shape[1]):
        for j in range(x.shape[0]):
            y[i, j] = x[j, i] * x[0, i] + x[j, 0]
    return y


KERNELS = [transposed, stored_transposed, parts_of_it, under_a_condition]
SHAPES = [
    (0, 3),
    (1, 1),
    (1, 70),
    (129, 1),
    (63, 64),
    (64, 66),
    (128, 128),
    (129, 257),
    (300, 144),
    (128, 256),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64", "float16"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_shape(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, shape in enumerate(SHAPES):
        x = (np.random.default_rng(number).standard_normal(shape) * 50).astype(dtype)
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda")).numpy()
        assert found.tobytes() == kernel(x).tobytes(), str(shape)


def test_views_and_more_dimensions(device: Device) -> None:
    @kw.kernel
    def swapped(x, w):
        y = output_tensor((x.shape[0], x.shape[2], x.shape[1]), x.dtype)
        for b in range(x.shape[0]):
            for i in range(x.shape[2]):
                for j in range(x.shape[1]):
                    y[b, i, j] = x[b, j, i] - w[j, i]
        return y

    x = np.random.default_rng(1).standard_normal((5, 40, 90)).astype("float32")
    w = np.random.default_rng(2).standard_normal((90, 40)).astype("float32")
    wanted = swapped(x, np.ascontiguousarray(w.T))
    on_device = kw.Tensor(x, device="cuda"), kw.Tensor(np.ascontiguousarray(w.T), device="cuda")
    assert swapped(*on_device).numpy().tobytes() == wanted.tobytes()
    text = swapped.cuda("f32[:, :, :]", "f32[:, :]", device="sm_90")
    assert text.count("KW_SHARED(") == 1 + 2 * (1 + 2)  # the word; what warps exchange and two tiles, twice


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_only_whole_vectors_are_vectors(dtype: str, device: Device) -> None:
    """Arrays that begin between two vectors, and rows that are no multiples of them as the loops are."""

    @kw.kernel
    def corner(x, n, m):
        y = np.zeros((n, m), x.dtype)
        for i in range(n):
            for j in range(m):
                y[i, j] = x[j, i]
        return y

    kernel, rng = kw.kernel(transposed), np.random.default_rng(7)
    for width, first in ((96, 0), (144, 8), (144, 6), (144, 7), (146, 8), (147, 0)):
        base = rng.integers(0, 99, (64, width)).astype(dtype)
        x = base[:, first : first + 96]
        found = kernel(View(kw.Tensor(base, device="cuda"), x, base.ctypes.data)).numpy()
        assert found.tobytes() == kernel(x).tobytes(), (width, first)
    for shape, n, m in (((64, 66), 64, 64), ((66, 64), 64, 64), ((65, 65), 64, 60), ((64, 64), 62, 62)):
        x = rng.integers(0, 99, shape).astype(dtype)
        found = corner(kw.Tensor(x, device="cuda"), n, m).numpy()
        assert found.tobytes() == corner(x, n, m).tobytes(), (shape, n, m)


def test_parts_and_sums_of_whole_vectors(device: Device) -> None:
    """Loops that begin behind the first vector, elements that are also loaded, results in a part of an array,
    and temporaries."""

    @kw.kernel
    def later_ones(x, y):
        for i in range(8, x.shape[1]):
            for j in range(4, x.shape[0] - 4):
                y[i, j] += x[j, i]
        return y

    @kw.kernel
    def twice(x):
        t = np.zeros((x.shape[1], x.shape[0]), x.dtype)
        for i in range(x.shape[1]):
            for j in range(x.shape[0]):
                t[i, j] = x[j, i] * 2
        y = np.zeros(x.shape, x.dtype)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = t[j, i] + 1
        return y

    assert "_square" in later_ones.cuda("f32[:, :]", "f32[:, :]", device="sm_90")
    rng = np.random.default_rng(3)
    for shape in ((64, 64), (72, 140), (132, 96), (70, 70)):
        x, y = (rng.integers(0, 9, s).astype("float32") for s in (shape, shape[::-1]))
        found = later_ones(kw.Tensor(x, device="cuda"), kw.Tensor(y, device="cuda")).numpy()
        assert found.tobytes() == later_ones(x, y.copy()).tobytes(), shape
        assert twice(kw.Tensor(x, device="cuda")).numpy().tobytes() == twice(x).tobytes(), shape
    for first in (0, 1, 4):
        x, base = rng.integers(0, 9, (64, 96)).astype("float32"), np.zeros((96, 80), "float32")
        owner, part = kw.Tensor(base, device="cuda"), base[:, first : first + 64]
        kw.kernel(transposed)(kw.Tensor(x, device="cuda"), out=View(owner, part, base.ctypes.data))
        assert np.array_equal(owner.numpy()[:, first : first + 64], x.T), first
        assert owner.numpy().sum() == x.sum()


@pytest.mark.parametrize("count", [64, 70_000])
def test_as_many_matrices_as_a_constant_says(count: int) -> None:
    """A grid has 65,535 blocks in z, for more of which a kernel needs a loop."""
    kernel = kw.kernel(
        "def f(x, y):\n"
        f"    for b in range({count}):\n"
        "        for i in range(x.shape[2]):\n"
        "            for j in range(x.shape[1]):\n"
        "                y[b, i, j] = x[b, j, i]\n"
        "    return y\n"
    )
    text = kernel.cuda("f32[:, :, :]", "f32[:, :, :]", device="sm_90")
    assert ("_square" in text) == (count == 64)
    said = str(kernel.explain("f32[:, :, :]", "f32[:, :, :]", device="sm_90"))
    assert "True" not in said and "False" not in said


@kw.kernel
def sum_of_transposed(a, b, c, d, e, f, g):
    y = output_tensor((a.shape[1], a.shape[0]), a.dtype)
    for i in range(a.shape[1]):
        for j in range(a.shape[0]):
            y[i, j] = a[j, i] + b[j, i] + c[j, i] + d[j, i] + e[j, i] + f[j, i] + g[j, i]
    return y


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8"])
def test_tiles_of_several_arrays_are_smaller(dtype: str, device: Device) -> None:
    """Seven tiles of float64 have no room: their elements are read where they lie."""
    rng = np.random.default_rng(1)
    for shape in ((70, 132), (31, 33), (33, 64), (65, 32)):
        arrays = [rng.integers(0, 20, shape).astype(dtype) for _ in range(7)]
        found = sum_of_transposed(*(kw.Tensor(x, device="cuda") for x in arrays)).numpy()
        assert found.tobytes() == sum_of_transposed(*arrays).tobytes(), shape
    kind = str(arrays[0].dtype.kind) + str(8 * arrays[0].dtype.itemsize)
    text = sum_of_transposed.cuda(*[f"{kind}[:, :]"] * 7, device="sm_90")
    sides = {"float64": 0, "float32": 32, "int16": 32, "uint8": 64}
    assert text.count("_tile_all, ") == (14 if sides[dtype] else 0)
    bank = max(1, 4 // arrays[0].itemsize)
    for pitch in (sides[dtype], sides[dtype] + bank):  # of vectors, and of elements
        assert text.count(f"_tile_all, {sides[dtype] * pitch});") == 7 or not sides[dtype]


def test_what_is_staged() -> None:
    for function in KERNELS:
        said = str(kw.kernel(function).explain("f32[:, :]", device="sm_90"))
        assert "stage " in said and "a block for each tile" in said, function.__name__
    said = str(kw.kernel(transposed).explain("f32[:, :]", device="sm_90"))
    whole = "x.shape[1] % 4 == 0 and x.shape[0] % 4 == 0 and x.shape[1] <= 4194240"
    assert f"if {whole} and all arrays are aligned to 16 bytes\n" in said
    assert "or x.shape[1] > 4194240 or an array is not aligned to 16 bytes\n" in said
    assert "stage " not in str(kw.kernel(both_ways).explain("f32[:, :]", device="sm_90"))  # other elements


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in KERNELS:
        made = nvrtc.compile_text(kw.kernel(function).cuda("f32[:, :]", device=device), device)
        assert made.code == 0 and "bytes spill" in made.log, made.log
        assert all(" 0 bytes spill stores" in line for line in made.log.splitlines() if "spill" in line)


def matrices_turned(x):
    y = output_tensor((x.shape[0], x.shape[2], x.shape[1]), x.dtype)
    for b in range(x.shape[0]):
        for i in range(x.shape[2]):
            for j in range(x.shape[1]):
                y[b, i, j] = x[b, j, i]
    return y


@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64"])
def test_many_matrices(dtype: str, device: Device) -> None:
    """Small ones have no tile each: most of its threads would have no element."""
    kernel = kw.kernel(matrices_turned)
    small = ((300, 8, 8), (70, 3, 3), (3, 31, 40), (3, 40, 31), (5, 8, 200))
    for shape in (*small, (2, 32, 32), (2, 33, 65), (3, 132, 68)):
        x = np.random.default_rng(1).integers(0, 99, shape).astype(dtype)
        with device.counted() as counts:
            found = kernel(kw.Tensor(x, device="cuda"))
        assert np.array_equal(found.numpy(), x.transpose(0, 2, 1)), shape
        tiled = shape[1] >= 32 and shape[2] >= 32
        assert bool(total(counts).shared_read.needed) == tiled, shape
    said = str(kernel.explain("f32[:, :, :]", device="sm_90"))
    assert "if x.shape[1] >= 32 and x.shape[2] >= 32" in said
