"""Columns that threads go down in their order, ahead of which tiles are copied: the bits of the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, bits

import kernelwright as kw
from kernelwright import float32, output_tensor

# Eight tiles of 32 rows are there at once; from 4,224 columns on, a team has 32 of them.
SHAPES = [(0, 5), (5, 0), (1, 1), (31, 33), (32, 32), (224, 3), (225, 33), (256, 31), (257, 64), (300, 37)]
SHAPES += [(40, 4223), (1, 4224), (65, 4225), (70, 4256), (260, 4230)]


def column_sums(x, w):
    y = output_tensor((x.shape[1],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[j] += x[i, j]
    return y


def weighted(x, w):
    y = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        s = float32(0.5)
        for i in range(x.shape[0]):
            s = s * w[i] + x[i, j]
        y[j] = s
    return y


def running_sums(x, w):
    y = output_tensor(x.shape, x.dtype)
    for j in range(x.shape[1]):
        s = float32(0.0)
        for i in range(x.shape[0]):
            s += x[i, j]
            y[i, j] = s
    return y


def in_place(x, w):
    for j in range(x.shape[1]):
        s = float32(1.0)
        for i in range(x.shape[0]):
            s = s * 0.5 + x[i, j]
            x[i, j] = s + w[i]
            s = s + x[i, j]
    return x


def two_passes(x, w):
    y = output_tensor(x.shape, x.dtype)
    for j in range(x.shape[1]):
        m = float32(0.0)
        for i in range(x.shape[0]):
            m = m * 0.25 + x[i, j]
        s = float32(0.0)
        for i in range(1, x.shape[0]):
            s = s + (x[i, j] - m) * (x[i, j] - m)
            y[i, j] = s
    return y


def from_the_row_above(x, w):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if i == 0:
                y[i, j] = x[i, j]
            else:
                y[i, j] = y[i - 1, j] * 0.5 + x[i, j]
    return y


KERNELS = [column_sums, weighted, running_sums, in_place, two_passes, from_the_row_above]
STAGED = [k for k in KERNELS if k is not from_the_row_above]


@pytest.mark.parametrize("fp", ["default", "strict"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_columns_of_each_shape(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, shape in enumerate(SHAPES):
        rng = np.random.default_rng(number)
        x, w = rng.standard_normal(shape).astype("float32"), rng.standard_normal(shape[0]).astype("float32")
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(w, device="cuda"))
        assert bits(found) == bits(kernel(x, w)), shape


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "float16", "uint8"])
def test_types(dtype: str, device: Device) -> None:
    kernel = kw.kernel(column_sums)
    x = np.random.default_rng(1).integers(0, 9, (260, 45)).astype(dtype)
    w = x[:, 0].copy()
    assert bits(kernel(kw.Tensor(x, device="cuda"), kw.Tensor(w, device="cuda"))) == bits(kernel(x, w))


def test_columns_of_several_dimensions(device: Device) -> None:
    @kw.kernel
    def sums(x):
        y = output_tensor((x.shape[0], x.shape[2]), x.dtype)
        for b in range(x.shape[0]):
            for i in range(x.shape[1]):
                for j in range(x.shape[2]):
                    y[b, j] += x[b, i, j]
        return y

    assert "stage_columns j" in str(sums.explain("f32[:, :, :]", device="sm_90"))
    for shape in ((3, 40, 35), (1, 1, 100), (5, 64, 32)):
        x = np.random.default_rng(2).standard_normal(shape).astype("float32")
        assert bits(sums(kw.Tensor(x, device="cuda"))) == bits(sums(x))


@pytest.mark.parametrize("function", STAGED, ids=lambda f: f.__name__)
def test_they_are_copied_ahead(function: Callable[..., Any]) -> None:
    kernel = kw.kernel(fp="strict")(function)
    explained = str(kernel.explain("f32[:, :]", "f32[:]", device="sm_90"))
    assert "stage_columns j" in explained
    assert "pipelined, copies to shared memory are 7 tiles ahead" in explained
    text = kernel.cuda("f32[:, :]", "f32[:]")
    assert "specialize j below 4224" in explained and "stage_columns j by 8" in explained
    assert text.count("KW_TEAM_KERNEL(32)") == 2  # for few columns, and for many
    passes = 2 if function is two_passes else 1
    assert text.count("kw_wait_groups<6>();") == 2 * passes


def test_a_known_number_of_columns(device: Device) -> None:
    for columns, tile in ((40, 8 * 32), (4300, 32 * 32)):
        kernel = kw.kernel(
            f"def f(x):\n    y = output_tensor(({columns},), x.dtype)\n    for i in range(x.shape[0]):\n"
            f"        for j in range({columns}):\n            y[j] += x[i, j]\n    return y\n"
        )
        text = kernel.cuda("f32[:, :]")
        assert [int(n) for n in re.findall(r"KW_SHARED\(f32, x_tile_all, (\d+)\);", text)] == [8 * tile]
        x = np.random.default_rng(3).standard_normal((50, columns)).astype("float32")
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x))


def test_what_several_threads_load_is_not_copied() -> None:
    """A row of threads would copy a tile of b each, and load a tile of a eight times as often as now."""
    kernel = kw.kernel(
        "def f(a, b):\n    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)\n"
        "    for i in range(a.shape[0]):\n        for j in range(b.shape[1]):\n"
        "            for k in range(a.shape[1]):\n                c[i, j] += a[i, k] * b[k, j]\n"
        "    return c\n"
    )
    assert "stage_columns" not in str(kernel.explain("f32[:, :]", "f32[:, :]", device="sm_90"))


def test_halves_are_not_copied_ahead() -> None:
    kernel = kw.kernel(column_sums)
    assert "kw_wait_groups<" not in kernel.cuda("f16[:, :]", "f16[:]").split("#endif")[-1]


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_accepts_them(device: str) -> None:
    for function in KERNELS:
        nvrtc.expect_accepted(kw.kernel(function).cuda("f32[:, :]", "f32[:]", device=device), device)


@pytest.mark.parametrize("second", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(70, 64), (97, 40), (33, 130), (64, 4256)], ids=str)
def test_copies_of_two_types(device: Device, second: str, shape: tuple[int, int]) -> None:
    """As many elements of each as the wider type has in 16 bytes, so copies of 2 to 16 bytes."""

    @kw.kernel
    def both(x, z):
        y = output_tensor((x.shape[1],), "float64")
        for j in range(x.shape[1]):
            s = 0.0
            for i in range(x.shape[0]):
                s = s * 0.5 + x[i, j] + z[i, j]
            y[j] = s
        return y

    rng = np.random.default_rng(5)
    x, z = rng.random(shape, dtype=np.float32), rng.integers(0, 9, shape).astype(second)
    found = both(kw.Tensor(x, device="cuda"), kw.Tensor(z, device="cuda"))
    assert np.array_equal(bits(found.numpy()), bits(both(x, z)))
