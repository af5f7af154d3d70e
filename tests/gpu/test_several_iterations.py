"""Several iterations of one thread: rows that share what they read, and iterations that are apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw
from kernelwright import output_tensor


def between(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 0.0
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = x[i - 1, j - 1] + x[i, j] + x[i + 1, j + 1]
    return y


def in_blocks(x):
    y = output_tensor((x.shape[0], x.shape[0], x.shape[1] // 2), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            for k in range(x.shape[1] // 2):
                y[i, j, k] = x[i, 2 * k] - x[j, 2 * k + 1] + x[(j + 1) % x.shape[0], k]
    return y


def neighbours(x):
    y = output_tensor((x.shape[0], x.shape[1] // 2), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1] // 2):
            y[i, j] = max(x[i, j], x[i, j + 1])
    return y


def downwards(x):
    y = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        y[j] = 0.0
    for j in range(x.shape[1] - 1, 2, -3):
        y[j] = x[0, j - 2] * 2.0
    return y


def under_a_condition(x):
    y = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        y[j] = 1.0
    if x[0, 0] > 0:
        for j in range(x.shape[1] - 1):
            y[j] = x[0, j + 1] if x[0, j] > 0 else x[0, j]
    return y


KERNELS = [between, in_blocks, neighbours, downwards, under_a_condition]
ROWS = {between: "; u < 8; u++)"}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "float16"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_length(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    shapes = [(1, 1), (3, 4), (7, 5), (8, 2), (9, 129), (10, 130), (11, 515), (17, 514), (1, 2050)]
    for number, shape in enumerate(shapes):
        x = np.random.default_rng(number).integers(-9, 9, shape).astype(dtype)
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda")).numpy()
        assert found.tobytes() == kernel(x).tobytes(), str(shape)


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_the_texts(function: Callable[..., Any]) -> None:
    text = kw.kernel(function).cuda("f32[:, :]", device="sm_90")
    wanted = ROWS.get(function, "; u < 4; u++)")
    assert wanted in text[text.rindex("#endif") :]


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in KERNELS:
        made = nvrtc.compile_text(kw.kernel(function).cuda("f32[:, :]", device=device), device)
        assert made.code == 0 and " 0 bytes spill stores" in made.log, made.log


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
def test_rows_share_their_loads() -> None:
    """Eight rows of a column of three take ten loads."""

    @kw.kernel
    def column(x):
        y = output_tensor((x.shape[0] - 2, x.shape[1] - 1), x.dtype)
        for i in range(x.shape[0] - 2):
            for j in range(x.shape[1] - 1):
                y[i, j] = x[i, j + 1] + x[i + 1, j + 1] + x[i + 2, j + 1]
        return y

    made = nvrtc.compile_text(column.cuda("f32[:, :]", device="sm_90"), "compute_90")
    assert made.code == 0, made.log
    # a loop of one row is for the last ones; NVRTC writes both out for each way of dividing
    stores, loads = made.ptx.count("st.global"), made.ptx.count("ld.global")
    assert stores % (8 + 1) == 0 and loads * (8 + 1) == stores * (10 + 3)
