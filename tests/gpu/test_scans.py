"""What is used as it is accumulated, in three launches: sums before each element, running maxima."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device

import kernelwright as kw
from kernelwright import output_tensor


def inclusive(x):
    y = output_tensor(x.shape, x.dtype)
    total = x[0] - x[0]
    for i in range(x.shape[0]):
        total += x[i]
        y[i] = total
    return y


def exclusive(x):
    y = output_tensor((x.shape[0] + 1,), x.dtype)
    total = x[0] * 2
    for i in range(x.shape[0]):
        y[i] = total
        total -= x[i]
    y[x.shape[0]] = total
    return y


def in_place(x):
    total = x[0]
    for i in range(x.shape[0]):
        total = total ^ x[i]
        x[i] = total + i
    return x


def through_memory(x):
    y = output_tensor(x.shape, x.dtype)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] + x[i] * x[i]
    return y


def backwards(x):
    y = output_tensor(x.shape, x.dtype)
    least = x[x.shape[0] - 1]
    for i in range(x.shape[0] - 1, -1, -1):
        least = min(least, x[i])
        y[i] = least if x[i] > 0 else least + 1
    return y


def of_each_step(x):
    y = output_tensor((3, x.shape[0]), x.dtype)
    total = x[0]
    for k in range(3):
        for i in range(x.shape[0]):
            total += x[i] + k
            y[k, i] = total
    return y


def strictly(x):
    """Of floats, one after the other."""
    y = output_tensor(x.shape, x.dtype)
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        y[i] = total
    return y


def multiplied(x):
    """No scan in any mode: a product of parts overflows where a factor of 0 comes before them."""
    y = output_tensor(x.shape, x.dtype)
    product = 1.0
    for i in range(x.shape[0]):
        product *= x[i]
        y[i] = product
    return y


def smoothed(x):
    """No scan: each iteration needs the whole state of the last one."""
    y = output_tensor(x.shape, x.dtype)
    state = x[0] - x[0]
    for i in range(x.shape[0]):
        state = state * 2 + x[i]
        y[i] = state
    return y


KERNELS = [inclusive, exclusive, in_place, through_memory, backwards, of_each_step]
SIZES = [1, 63, 1023, 1024, 1025, 4095, 4096, 4097, 8193, 131073]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_length(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    for number, size in enumerate(SIZES):
        x = np.random.default_rng(number).integers(0, 2**31, size).astype(dtype)
        device.seed(number)
        found = kernel(kw.Tensor(x, device="cuda")).numpy()
        assert found.tobytes() == kernel(x.copy()).tobytes(), size


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_maxima_of_floats(dtype: str, device: Device) -> None:
    @kw.kernel
    def highest(x):
        y = output_tensor(x.shape, x.dtype)
        top = x[0]
        for i in range(x.shape[0]):
            top = max(top, x[i])
            y[i] = top
        return y

    for size in SIZES[4:]:
        x = np.random.default_rng(size).standard_normal(size).astype(dtype)
        x[0], x[size // 3] = -0.0, 0.0
        x[-5] = np.nan
        found = highest(kw.Tensor(x, device="cuda")).numpy()
        assert found.tobytes() == highest(x).tobytes(), size


def test_several_tiles_in_each_part(device: Device) -> None:
    kernel = kw.kernel(inclusive)
    x = np.arange(4096 * 1024 + 5, dtype="int32")
    found = kernel(kw.Tensor(x, device="cuda")).numpy()
    assert found.tobytes() == np.cumsum(x, dtype="int32").tobytes()


def test_sums_of_floats_in_any_order(device: Device) -> None:
    kernel = kw.kernel(strictly, fp="fast")
    x = np.arange(9000, dtype="float32") % 8
    found = kernel(kw.Tensor(x, device="cuda")).numpy()
    assert np.array_equal(found, np.cumsum(x))


def launches(function: Callable[..., Any], types: str, **options: Any) -> int:
    text = kw.kernel(function, **options).cuda(types, device="sm_90")
    return text[text.rindex("#endif") :].count("KERNEL(")


def test_which_loops_are_scans() -> None:
    assert [launches(f, "i32[:]") for f in (inclusive, through_memory)] == [4, 4]
    assert launches(strictly, "f32[:]", fp="fast") == 4
    assert launches(strictly, "f32[:]") == launches(smoothed, "i32[:]") == 1
    assert launches(inclusive, "i16[:]") == launches(multiplied, "f32[:]", fp="fast") == 1


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_do_not_spill(device: str) -> None:
    for function in KERNELS:
        made = nvrtc.compile_text(kw.kernel(function).cuda("i64[:]", device=device), device)
        assert made.code == 0 and " 0 bytes spill stores" in made.log, made.log
