"""Iterations of teams that a thread executes side by side: each length, first element, type and alignment."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import nvrtc
import pytest
from device import Device, View, bits

import kernelwright as kw
from kernelwright import float32, output_tensor


def largest(x, first):
    y = output_tensor(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(first, x.shape[1]):
            top = max(top, x[i, j])
        y[i] = top
    return y


def largest_but_one(x, first):
    y = output_tensor(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(1, x.shape[1]):
            top = max(top, x[i, j])
        y[i] = top
    return y


def scaled_by_largest(x, first):
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        for j in range(first, x.shape[1]):
            x[i, j] = x[i, j] + top
    return x


def place_of_least(x, first):
    y = output_tensor(x.shape[0], "int64")
    for i in range(x.shape[0]):
        least = x[i, 0]
        place = 0
        for j in range(first, x.shape[1]):
            if x[i, j] < least:
                least = x[i, j]
                place = j
        y[i] = place
    return y


def moved_by(x, first):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        for j in range(x.shape[1] - first):
            y[i, j] = x[i, j + first] + top
    return y


def kept_rows(x, first):
    """The row stays in the memory that a team shares, with one element for each element of x."""
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + x[i, j]
            top = max(top, y[i, j])
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] + top
    return y


KERNELS = [largest, largest_but_one, scaled_by_largest, place_of_least, moved_by, kept_rows]
LENGTHS = [1, 3, 31, 64, 65, 127, 128, 130, 132, 256, 260, 515]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_each_length(function: Callable[..., Any], dtype: str, device: Device) -> None:
    kernel = kw.kernel(function)
    random = np.random.default_rng(7)
    for number, length in enumerate(LENGTHS):
        x = (random.standard_normal((9, length)) * 20).astype(dtype)
        for first in {0, 1, min(number % 6, length)}:
            device.seed(number)
            found = kernel(kw.Tensor(x, device="cuda"), first).numpy()
            assert found.tobytes() == kernel(x.copy(), first).tobytes(), (length, first)


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_many_and_long_rows(function: Callable[..., Any], device: Device) -> None:
    """A warp for each row, and a block."""
    kernel = kw.kernel(function)
    for shape in [(2100, 132), (3, 4100), (2, 4099)]:
        x = np.random.default_rng(shape[1]).standard_normal(shape).astype(np.float32)
        found = kernel(kw.Tensor(x, device="cuda"), 3).numpy()
        assert found.tobytes() == kernel(x.copy(), 3).tobytes(), shape


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("offset", [1, 2, 4])
def test_memory_that_may_not_be_aligned(function: Callable[..., Any], offset: int, device: Device) -> None:
    kernel = kw.kernel(function)
    x = np.random.default_rng(offset).standard_normal(3 * 256 + 4).astype(np.float32)
    owner = kw.Tensor(x, device="cuda")
    part = x[offset : offset + 3 * 256].reshape(3, 256)
    found = kernel(View(owner, part, x.__array_interface__["data"][0]), 1)
    if function is scaled_by_largest:  # the view itself
        found = owner.numpy()[offset : offset + 3 * 256].reshape(3, 256)
    assert bits(found) == bits(kernel(part.copy(), 1))


def test_a_condition_that_the_last_iteration_does_not_decide(device: Device) -> None:
    @kw.kernel
    def some(x, m):
        y = np.zeros(x.shape, x.dtype)
        for i in range(x.shape[0]):
            top = x[i, 0]
            for j in range(x.shape[1]):
                top = max(top, x[i, j])
            for j in range(5, 261):
                if j % 32 < m:
                    y[i, j] = x[i, j] + top
            for j in range(x.shape[1]):
                if j < m * 9:
                    y[i, j] = y[i, j] * top
        return y

    x = np.random.default_rng(3).standard_normal((3, 264)).astype(np.float32)
    for m in (0, 1, 5, 10, 29, 32):
        assert bits(some(kw.Tensor(x, device="cuda"), m)) == bits(some(x, m)), m


def test_a_nan_and_zeros_of_both_signs(device: Device) -> None:
    kernel = kw.kernel(place_of_least)
    x = np.zeros((4, 256), np.float32)
    x[0, 100:] = -0.0
    x[1, 77], x[2, 0] = np.nan, np.nan
    x[3, [5, 6, 130, 131]] = -1.0
    found = kernel(kw.Tensor(x, device="cuda"), 0).numpy()
    assert found.tobytes() == kernel(x, 0).tobytes()


def test_sums_of_integers_in_parts(device: Device) -> None:
    @kw.kernel
    def total(x):
        s = output_tensor(1, x.dtype)
        for i in range(x.shape[0]):
            s[0] += x[i]
        return s

    for size in [4096, 5000, 12289]:
        x = np.random.default_rng(size).integers(-(2**31), 2**31, size).astype(np.int32)
        found = total(kw.Tensor(x, device="cuda")).numpy()
        assert found.tobytes() == total(x).tobytes(), size


def test_what_keeps_teams_from_vectors() -> None:
    def text(body: str, dtype: str = "f32[:, :]") -> str:
        source = f"""
def f(x, y):
    for i in range(x.shape[0]):
        top = x[i, 0]
        for j in range(x.shape[1]):
            top = max(top, x[i, j])
        for j in range(x.shape[1] - 1):
            {body}
    return y
"""
        return kw.kernel(source).cuda(dtype, dtype)

    assert text("y[i, j] = x[i, j] + top").count("kw_st((") == 2  # of warps and of blocks
    assert "kw_st((" not in text("y[i, j] = x[i, j] + x[i, j + 1]")  # spread over more memory
    assert "kw_st((" not in text("y[i, j + 1] = x[i, j] + top")  # never begins with a vector
    assert "kw_st((" not in text("y[i, j] = exp(x[i, j] - top)")  # the function takes the registers
    assert "kw_vec<f64, 2>" in text("y[i, j] = x[i, j] + top", "f64[:, :]")


@pytest.mark.skipif(not nvrtc.is_here(), reason="libnvrtc.so.13 or .12 was not found")
@pytest.mark.parametrize("device", ["sm_80", "sm_90", "sm_100"])
def test_they_are_single_instructions(device: str) -> None:
    for function in KERNELS:
        text = kw.kernel(function).cuda("f32[:, :]", "i64", device=device)
        made = nvrtc.compile_text(text, device.replace("sm_", "compute_"))
        assert made.code == 0, made.log
        vectors = len(re.findall(r"(?:ld|st)\.\w+(?:\.nc)?\.v4\.(?:f32|b32|u32)", made.ptx))
        named = len(re.findall(r"kw_ld\(\(|kw_st(?:_shared)?\(\(", text))
        # A loop of two groups has two of each.
        assert named and vectors >= named, function.__name__


def test_layernorm_keeps_its_bits(device: Device) -> None:
    @kw.kernel
    def centred(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            total = float32(0.0)
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / x.shape[1]
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] - mean
        return y

    for length in [64, 100, 128, 1024, 1030]:
        x = np.random.default_rng(length).standard_normal((5, length)).astype(np.float32)
        found = centred(kw.Tensor(x, device="cuda")).numpy()
        assert found.tobytes() == centred(x).tobytes(), length
