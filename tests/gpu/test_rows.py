"""Rows that threads go through in their order, by tiles in the memory that a team shares: bits of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, bits

import kernelwright as kw
from kernelwright import float32, output_tensor

SHAPES = [(0, 5), (1, 1), (3, 0), (31, 33), (32, 32), (33, 64), (70, 100), (300, 37), (257, 129)]


def running_sum(x, w):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            s += x[i, j]
            y[i, j] = s
    return y


def from_the_element_before(x, w):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if j == 0:
                y[i, j] = x[i, j]
            else:
                y[i, j] = y[i, j - 1] * 0.5 + x[i, j]
    return y


def in_place(x, w):
    for i in range(x.shape[0]):
        s = float32(1.0)
        for j in range(x.shape[1]):
            s = s * 0.5 + x[i, j]
            x[i, j] = s + w[j]
    return x


def with_weights(x, w):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        s = w[0] if w.shape[0] > 0 else float32(0.0)
        for j in range(x.shape[1]):
            s = s * w[j] + x[i, j]
        y[i] = s * 2.0
    return y


def two_passes(x, w):
    y = output_tensor(x.shape, x.dtype)
    last = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        s = float32(0.0)
        for j in range(x.shape[1]):
            s = s * 0.25 + x[i, j]
            y[i, j] = s
        t = s
        for j in range(x.shape[1]):
            t = t * 0.5 + y[i, j]
            y[i, j] = t - s
        last[i] = t
    return y, last


def some_columns(x, w):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        s = float32(i)
        for j in range(x.shape[1]):
            if j < w.shape[0] // 2:
                s = s + w[j] * x[i, j]
            y[i, j] = s
    return y


def sums_of_two_orders(x, w):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        in_order = float32(0.0)
        in_lanes = float32(0.0)
        for j in range(x.shape[1]):
            in_order = in_order * 0.5 + x[i, j]
            in_lanes += x[i, j] * w[j]
        y[i] = in_order - in_lanes
    return y


KERNELS = [
    sums_of_two_orders,
    running_sum,
    from_the_element_before,
    in_place,
    with_weights,
    two_passes,
    some_columns,
]
STAGED = [k for k in KERNELS if k not in (from_the_element_before, sums_of_two_orders)]


@pytest.mark.parametrize("fp", ["default", "strict"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_rows_of_each_shape(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, shape in enumerate(SHAPES):
        rng = np.random.default_rng(number)
        x, w = rng.standard_normal(shape).astype("float32"), rng.standard_normal(shape[1]).astype("float32")
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(w, device="cuda"))
        assert bits(found) == bits(kernel(x, w)), shape


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "float16", "uint8"])
def test_types(dtype: str, device: Device) -> None:
    @kw.kernel
    def running(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j]
                if j > 0:
                    y[i, j] += y[i, j - 1]
        return y

    @kw.kernel
    def shifted(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            last = x[i, 0]
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] - last
                last = x[i, j]
        return y

    x = np.random.default_rng(1).integers(0, 9, (67, 45)).astype(dtype)
    for kernel in (running, shifted):
        assert bits(kernel(kw.Tensor(x, device="cuda"))) == bits(kernel(x))


def test_rows_of_several_dimensions(device: Device) -> None:
    @kw.kernel
    def running(x):
        y = output_tensor(x.shape, x.dtype)
        for b in range(x.shape[0]):
            for i in range(x.shape[1]):
                s = float32(b)
                for j in range(x.shape[2]):
                    s = s * 0.5 + x[b, i, j]
                    y[b, i, j] = s
        return y

    assert "stage_rows i" in str(running.explain("f32[:, :, :]", device="sm_90"))
    for shape in ((3, 40, 35), (1, 1, 100), (5, 64, 32)):
        x = np.random.default_rng(2).standard_normal(shape).astype("float32")
        assert bits(running(kw.Tensor(x, device="cuda"))) == bits(running(x))


def test_two_planes_of_one_array(device: Device) -> None:
    """A tile holds elements of one of them only."""

    @kw.kernel
    def differences(x):
        y = output_tensor((x.shape[1], x.shape[2]), x.dtype)
        for i in range(x.shape[1]):
            s = float32(0.0)
            for j in range(x.shape[2]):
                s = s * 0.5 + x[0, i, j] - x[1, i, j]
                y[i, j] = s
        return y

    for shape in ((2, 40, 35), (2, 1, 100)):
        x = np.random.default_rng(2).standard_normal(shape).astype("float32")
        assert bits(differences(kw.Tensor(x, device="cuda"))) == bits(differences(x))


@pytest.mark.parametrize("function", STAGED, ids=lambda f: f.__name__)
def test_they_are_copied_by_tiles(function: Callable[..., Any]) -> None:
    kernel = kw.kernel(fp="strict")(function)
    assert "stage_rows i" in str(kernel.explain("f32[:, :]", "f32[:]", device="sm_90"))
    tile = "y_tile" if function is some_columns else "x_tile"  # only some iterations load x
    assert tile in kernel.cuda("f32[:, :]", "f32[:]")


def sums_of_rows(x):
    s = np.zeros((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i] += x[i, j]
    return s


def normalised(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = float32(0.0)
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * x[i, j]
            total += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / total
    return y


def logarithms(x):
    """A value that is loaded has a name between the loops."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        total = float32(0.0)
        for j in range(x.shape[1]):
            total += x[i, j] * x[i, j]
        shift = 1.0 / (total + x[0, 0] * x[0, 0] + 1.0)
        twice = shift + shift
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * shift - twice
    return y


def places(x):
    """The greatest element, which is loaded again under a condition, and where it stands."""
    y = output_tensor((x.shape[0],), "int64")
    z = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        best = x[i, 0]
        place = 0
        for j in range(1, x.shape[1]):
            if x[i, j] > best:
                best = x[i, j]
                place = j
        y[i] = place
        z[i] = best
    return y, z


def greatest(x):
    """All but the first element."""
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        best = x[i, 0]
        for j in range(1, x.shape[1]):
            best = max(best, x[i, j])
        y[i] = best
    return y


SHORT = [sums_of_rows, normalised, logarithms, places, greatest]


@pytest.mark.parametrize("fp", ["default", "strict", "fast"])
@pytest.mark.parametrize("function", SHORT, ids=lambda f: f.__name__)
def test_short_rows(function: Callable[..., Any], fp: str, device: Device) -> None:
    """A warp for each row would have nothing to do for most of its threads."""
    kernel = kw.kernel(fp=fp)(function)
    if fp != "strict" or function in (places, greatest):
        assert "short_rows i j" in str(kernel.explain("f32[:, :]", device="sm_90"))
    for length in (1, 2, 31, 32, 33, 63, 64, 65):
        x = np.random.default_rng(length).standard_normal((70, length)).astype("float32")
        x[3:6] = np.ceil(x[3:6] + 3)  # equal elements
        found, expected = kernel(kw.Tensor(x, device="cuda")), kernel(x)
        assert bits(found) == bits(expected) or fp == "fast"
        if fp == "fast" and function is not places:
            assert np.allclose(found.numpy(), expected, rtol=1e-5)


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_accepts_them(device: str) -> None:
    for function in KERNELS:
        nvrtc.expect_accepted(kw.kernel(function).cuda("f32[:, :]", "f32[:]", device=device), device)
