"""Loops whose iterations run one after the other: a team copies parts of what they go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw
from kernelwright import float32, output_tensor

LENGTHS = [1, 2, 255, 1023, 1024, 1025, 2048, 5000]


def running_sum(x, w):
    y = output_tensor(x.shape, x.dtype)
    s = float32(0.0)
    for j in range(x.shape[0]):
        s += x[j] * w[0]
        y[j] = s
    return y


def from_the_element_before(x, w):
    for j in range(1, x.shape[0]):
        x[j] = x[j - 1] * 0.5 + x[j]
    return x


def one_array_in_two_ways(x, w):
    y = output_tensor(x.shape, x.dtype)
    s = float32(0.0)
    for j in range(x.shape[0]):
        s = s * 0.5 + x[j] - w[j] * x[0]
        y[j] = s
        if s > 1.0:
            s = s - 1.0
    return y


def two_loops(x, w):
    y = output_tensor(x.shape, x.dtype)
    s = float32(0.0)
    for j in range(x.shape[0]):
        s = s * 0.25 + x[j]
        y[j] = s
    t = s
    for j in range(x.shape[0]):
        t = t * 0.5 + y[j]
        y[j] = t - w[j]
    return y


KERNELS = [running_sum, from_the_element_before, one_array_in_two_ways, two_loops]


@pytest.mark.parametrize("fp", ["default", "strict"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_length(function: Callable[..., Any], fp: str, device: Device) -> None:
    kernel = kw.kernel(fp=fp)(function)
    for number, length in enumerate(LENGTHS):
        rng = np.random.default_rng(number)
        x, w = (rng.standard_normal(length).astype("float32") for _ in range(2))
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(w, device="cuda")).numpy()
        assert found.tobytes() == kernel(x, w).tobytes(), length


@pytest.mark.parametrize("dtype", ["float64", "int64", "float16", "uint8"])
def test_types(dtype: str, device: Device) -> None:
    kernel = kw.kernel(
        "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    last = x[0]\n"
        "    for j in range(x.shape[0]):\n        y[j] = x[j] - last\n        last = x[j]\n    return y\n"
    )
    x = np.random.default_rng(1).integers(0, 9, 3000).astype(dtype)
    assert kernel(kw.Tensor(x, device="cuda")).numpy().tobytes() == kernel(x).tobytes()


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_they_are_copied_in_parts(function: Callable[..., Any]) -> None:
    kernel = kw.kernel(fp="strict")(function)
    assert "stage_chain j" in str(kernel.explain("f32[:]", "f32[:]", device="sm_90"))
    assert "KW_TEAM_KERNEL(128)" in kernel.cuda("f32[:]", "f32[:]")


def test_what_only_some_iterations_may_read_is_not_copied() -> None:
    """The copy of a part would read what does not exist."""
    kernel = kw.kernel(
        "def f(x, y):\n    s = 0.0\n    for j in range(y.shape[0]):\n        s = s * 0.5 + y[j]\n"
        "        if j < x.shape[0]:\n            s += x[j]\n        y[j] = s\n    return y\n"
    )
    text = kernel.cuda("f32[:]", "f32[:]")
    assert "y_part" in text and "x_part" not in text


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_accepts_them(device: str) -> None:
    for function in KERNELS:
        nvrtc.expect_accepted(kw.kernel(function).cuda("f32[:]", "f32[:]", device=device), device)


def test_chains_share_the_memory_of_a_block(device: Device) -> None:
    """Two chains of float64 would have all 48 KB, and the threads exchange sums besides."""
    kernel = kw.kernel(
        "def f(x, y):\n    p = output_tensor(x.shape, x.dtype)\n    q = output_tensor(x.shape, x.dtype)\n"
        "    s = 0.0\n    for j in range(x.shape[0]):\n        s = s * 0.5 + x[j]\n        p[j] = s\n"
        "    for j in range(x.shape[0]):\n        s = s * 0.25 + y[j]\n        q[j] = s\n"
        "    most = x[0]\n    for j in range(300):\n        most = max(most, y[j])\n"
        "    q[0] = most\n    return p, q\n"
    )
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal(3000), rng.standard_normal(3000)
    found = kernel(kw.Tensor(x, device="cuda"), kw.Tensor(y, device="cuda"))
    for of_device, of_cpu in zip(found, kernel(x, y), strict=True):
        assert of_device.numpy().tobytes() == of_cpu.tobytes()
