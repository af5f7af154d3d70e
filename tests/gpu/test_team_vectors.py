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


MASKED = {
    "some_of_a_row": "if j < m:\n                c[i, j] = x[i, j] - top",
    "behind_an_offset": "if j + first < m:\n                c[i, j] = x[i, j] - top",
    "of_what_is_there": "c[i, j] = c[i, j] - top if x[i, j] > 0.5 else 0.0",
    "loaded_in_a_branch": "v = x[i, j]\n            if v > 0.5:\n                v = c[i, j] * 2\n"
    "            c[i, j] = v",
    "of_a_shorter_row": "if j < y.shape[1]:\n                c[i, j] = y[i, j] * top",
}


@pytest.mark.parametrize("name", MASKED)
def test_elements_under_a_condition(name: str, device: Device) -> None:
    kernel = kw.kernel(
        "def f(x, y, c, m, first):\n    for i in range(x.shape[0]):\n        top = x[i, 0]\n"
        "        for j in range(x.shape[1]):\n            top = max(top, x[i, j])\n"
        f"        for j in range(x.shape[1]):\n            {MASKED[name]}\n    return c\n"
    )
    rng = np.random.default_rng(9)
    for shape in ((4, 256), (3, 1028), (2100, 130)):
        x, c = rng.standard_normal((2, *shape)).astype(np.float32)
        for m in (0, 5, 128, shape[1] - 1, shape[1] + 9):
            y = rng.standard_normal((shape[0], max(min(m, shape[1]), 1))).astype(np.float32)
            # the second offset lets the last sum wrap
            for first, most in ((3, m), (2**63 - 101, 2**62)):
                moved = [kw.Tensor(a, device="cuda") for a in (x, y, c)]
                found = kernel(*moved, most, first).numpy()
                assert found.tobytes() == kernel(x, y, c.copy(), most, first).tobytes(), (shape, m, first)
            if shape[0] > 2000:
                break


def test_tiles_of_what_is_there(device: Device) -> None:
    @kw.kernel
    def turned(a, c):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                x = a[j, i]
                c[i, j] = x if x > 0 else c[i, j] * 2
        return c

    a, c = np.random.default_rng(2).standard_normal((2, 64, 96)).astype(np.float32)
    c = np.ascontiguousarray(c.reshape(96, 64))
    found = turned(kw.Tensor(a, device="cuda"), kw.Tensor(c, device="cuda")).numpy()
    assert found.tobytes() == turned(a, c.copy()).tobytes()


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
        vectors = sum(nvrtc.accesses_of_16_bytes(made.ptx, space=r"\w+"))
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
