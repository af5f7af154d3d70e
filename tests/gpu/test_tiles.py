"""Tiles that a team copies so that its threads read and store side by side: every shape and type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

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
SHAPES = [(0, 3), (1, 1), (1, 70), (33, 1), (31, 32), (32, 33), (64, 64), (65, 257), (300, 70), (128, 192)]


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
    assert text.count("KW_SHARED(") == 2 + 1  # the word, and two tiles


def test_what_is_staged() -> None:
    for function in KERNELS:
        assert "stage " in str(kw.kernel(function).explain("f32[:, :]", device="sm_90")), function.__name__
    assert "stage " not in str(kw.kernel(both_ways).explain("f32[:, :]", device="sm_90"))  # other elements


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in KERNELS:
        made = nvrtc.compile_text(kw.kernel(function).cuda("f32[:, :]", device=device), device)
        assert made.code == 0 and "bytes spill" in made.log, made.log
        assert all(" 0 bytes spill stores" in line for line in made.log.splitlines() if "spill" in line)
